"""Arguments as text of a program: what the witness says is what was tried.

``Tensor("float", (2, 8))`` reads ``torch.rand(2, 8, device=card)``, and an ``Instance`` calls its
class with the values of its own parameters.  Parts of a value have addresses, so that each can be
tried otherwise: ``("arg", "x")``, ``("arg", "config", ".hidden_size")``, ``("self", "dim")``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Address = tuple[str, ...]
Kind = Literal["float", "long", "bool"]


@dataclass(frozen=True)
class Text:
    """A literal or expression."""

    source: str
    modules: tuple[str, ...] = ()
    """What it needs imported beside ``torch``."""

    @property
    def on_host(self) -> str:
        """The expression, with nothing on the card."""
        return self.source.replace(", device=card", "").replace(".to(card)", "")


@dataclass(frozen=True)
class Omitted:
    """An optional parameter that is left out."""


@dataclass(frozen=True)
class Tensor:
    """A tensor on the card."""

    kind: Kind
    shape: tuple[int, ...]
    high: int = 4
    """Whole numbers are below it."""

    @property
    def source(self) -> str:
        return self.made(", device=card")

    def made(self, where: str) -> str:
        """The expression, with ``where`` for its device: nothing for the host."""
        sizes = ", ".join(map(str, self.shape))
        if self.kind == "float":
            return f"torch.rand({sizes or '()'}{where})"
        if self.kind == "bool":
            return f"torch.ones({sizes or '()'}, dtype=torch.bool{where})"
        whole = f"({sizes},)" if len(self.shape) == 1 else f"({sizes})"
        return f"torch.randint(0, {self.high}, {whole}{where})"


@dataclass(frozen=True)
class Several:
    """A list or tuple of equal parts; the part is at ``(*address, "[]")``."""

    count: int
    as_tuple: bool = False


@dataclass(frozen=True)
class Record:
    """An object with these attributes, each at ``(*address, ".name")``."""

    attributes: tuple[str, ...]
    module: bool = False
    """Is it a module besides, as in ``next(model.parameters())`` and ``model.stride``?"""


@dataclass(frozen=True)
class Table:
    """A dict with these keys, each at ``(*address, "name")``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Instance:
    """A call of a class of the project: its parameters are at ``(*address, name)``."""

    module: str
    name: str


@dataclass(frozen=True)
class Options:
    """An object as a program makes it of its options: a record, and what is known of its parts."""

    known: tuple[tuple[str, Value], ...]


Value = Text | Omitted | Tensor | Several | Record | Table | Instance | Options
