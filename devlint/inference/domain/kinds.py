"""Kinds: whether a value is a tensor, as far as its uses show."""

from __future__ import annotations

from collections.abc import Iterator

MAX_ANCESTORS = 64  # that one question after a value's evidence goes back to


class Evidence:
    """Whether a value of unknown type is a tensor: shown by how it is used, here or later on."""

    __slots__ = (
        "_declared",
        "_host",
        "_tensor",
        "either",
        "foreign",
        "handed",
        "has_truth",
        "in_place",
        "index",
        "moved",
        "number",
        "output",
        "own",
        "parents",
        "part",
    )

    def __init__(self, tensor: bool = False, parents: tuple[Evidence, ...] = ()) -> None:
        self._tensor = self._declared = tensor  # from the start: by an annotation, by what made it
        self._host = False
        self.moved = False  # the function itself moves it somewhere
        self.in_place = False  # the function moves it as modules are moved: `x.to(device)` alone
        self.handed = False  # a callee out of sight gets it, which may move it if it is a module
        self.has_truth = False  # it is asked whether there is any of it: `if rates:`
        self.number = False  # by its name it is rather a number
        self.index = False  # it is used as the index of a device
        self.part = False  # one of several that a batch was unpacked into
        self.output = False  # a model out of sight gave it: a tensor, or several values
        self.own = False  # an entry of a caller's dict that the class itself makes on the host
        # It has a method or an attribute that tensors lack, or is asked whether it is of another
        # class: an object of a class out of sight.
        self.foreign = False
        self.either = False  # its annotation admits tensors beside numbers or arrays
        self.parents = parents

    def mark_tensor(self) -> None:
        self._tensor = True

    def mark_host(self) -> None:
        self._host = True

    def mark_number(self) -> None:
        """The value stands for a size, so it is a number unless it is shown to be a tensor.

        What a tensor is computed with is a tensor, so all that a number was computed from are
        numbers.
        """
        if not self.is_tensor:
            for evidence in list(self.ancestry()):
                evidence._host = True

    @property
    def is_host(self) -> bool:
        """Shown to be no tensor, by its own use or by that of all it was computed from."""
        if self._host or not self.parents:
            return self._host
        return all(parent._host for parent in self.parents)

    @property
    def is_tensor(self) -> bool:
        """Shown of the value itself, or of one that it was computed from."""
        if self._host or self._tensor or not self.parents:
            return self._tensor and not self._host
        return any(each._tensor and not each._host for each in self.ancestry())

    @property
    def is_declared(self) -> bool:
        """The value is a tensor from the start, or what it was computed from: no use had to show
        it."""
        return any(each._declared for each in self.ancestry())

    @property
    def was_moved(self) -> bool:
        """The function itself moves it somewhere, or one that it was computed from."""
        return any(each.moved for each in self.ancestry())

    def ancestry(self) -> Iterator[Evidence]:
        """The value's evidence and that of what it was computed from, but for what is no tensor."""
        asked: list[Evidence] = [self]
        for evidence in asked:  # grows on the way
            yield evidence
            if len(asked) < MAX_ANCESTORS and not evidence._host:
                asked += [parent for parent in evidence.parents if parent not in asked]
