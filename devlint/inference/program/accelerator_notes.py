"""Accelerators that a file names, as noted while it is walked."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from devlint.inference.conventions import holds, without
from devlint.inference.domain.placement import CPU
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.program.declarations import Function
from devlint.inference.program.units import Unit
from devlint.inference.syntax.host_choices import HostChoices
from devlint.inference.syntax.words import asks_for_accelerator
from devlint.records import dataclass


@dataclass(slots=True, eq=False)
class MentionNote:
    """A mention, before the file is done."""

    node: cst.CSTNode
    kind: str
    text: str
    index: int | None
    guarded: bool
    function: Function | None
    in_module: bool
    bare: bool = False  # the current device, without an index
    moves: bool = False
    refused: bool = False
    to_card: bool = False  # of a conversion: to a type of CUDA
    of_class: str = ""  # of a legacy type: the project's class of tensors that is constructed
    type_name: str = ""  # of a legacy type that is called or converted to: its whole name
    global_rank: bool = False
    returns: bool = False
    mapped: bool = False  # mapped into memory, as files of the host are
    subject: Tensor | None = None
    loader: Function | None = None  # of a load: the function of the project that is called
    follows: str = ""  # the tensor that it is for: `"cuda" if x.is_cuda else "cpu"`
    joins_host: bool = False  # of a conversion: its result meets what is on the host anyway

    @property
    def calls_backend(self) -> bool:
        """A call that raises where the backend is not there: one of its own, or for its memory."""
        return self.kind in ("backend", "pin")


class Mentions:
    """What one file's walk noted."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        text = self.text = unit.source.text
        self.loads_state = "load_state_dict" in text
        self.notes: dict[cst.CSTNode, MentionNote] = {}
        self.converts = False  # there are conversions by legacy types
        self.strayed: dict[cst.CSTNode, object] = {}  # roots of strays, and what each met first
        self.weights: set[cst.CSTNode] = set()  # calls whose result load_state_dict gets
        self.numbers: set[cst.CSTNode] = set()  # the same, of what has no tensors: a scheduler
        self.loaders: set[Function] = set()  # they load to where their parameter says
        self.placing: set[Function] = set()  # such as calls tell where, those of other files, too
        telling = ("cuda", "Tensor", "load", "optim", "device(")
        self.at_all = any(word in text for word in telling)

    @cached_property
    def is_script(self) -> bool:
        """The file is run, not imported."""
        return holds("runs-itself", self.text)

    @cached_property
    def meant(self) -> bool:
        """Nothing but an accelerator runs the file."""
        return holds("accelerator-path", self.unit.purpose) or holds("cuda-only-text", self.text)

    @cached_property
    def offers_host(self) -> bool:
        """The user, or the file itself, may choose the host, as its text says."""
        return holds("host-offering-text", without("comment", self.text))

    @cached_property
    def _choices(self) -> HostChoices:
        return HostChoices(self.unit.tree, self.text)

    def leaves_host(self, function: Function | None) -> bool:
        """The choice of the host is left: for the main part of a file to whoever runs it, for a
        function to whoever calls one, too."""
        if self.offers_host:
            return True
        choices = self._choices
        return choices.to_runner if function is None else choices.to_caller

    @cached_property
    def takes_devices(self) -> bool:
        """The file goes by the devices of tensors, or of what it is given."""
        return holds("device-taking-text", self.text)

    @cached_property
    def with_devices(self) -> set[Function | None]:
        """The functions that name a device. To be asked for once the file was walked."""
        return {note.function for note in self.notes.values() if note.kind == "device"}

    def met(self, operands: list[Tensor]) -> None:
        """`counts.scatter_(1, x.type(torch.LongTensor), 1)`: the host is meant."""
        converted = [self._conversion(tensor) for tensor in operands]
        at_home = (t for t, note in zip(operands, converted, strict=True) if note is None)
        if any(tensor.place == CPU for tensor in at_home):
            for note in converted:
                if note is not None:
                    note.joins_host = True

    def _conversion(self, tensor: Tensor) -> MentionNote | None:
        """The conversion that brought a tensor to where it is."""
        for step in tensor.origin.chain() if tensor.origin is not None else ():
            note = self.notes.get(step.node)
            if note is not None and note.subject is not None and note.moves:
                return note
            if step.kind is StepKind.MOVED:
                return None
        return None

    def named(self, function: Function | None) -> bool:
        """The function, or its class, is named or decorated for accelerators."""
        return named_for_accelerators(function)


def functions(function: Function | None) -> list[Function]:
    """A function and those that it is nested in."""
    found = []
    while function is not None:
        found.append(function)
        function = function.around
    return found


def named_for_accelerators(function: Function | None) -> bool:
    for inner in functions(function):
        if holds("accelerator-function", inner.name):
            return True
        nodes: list[cst.CSTNode] = [inner.node]
        if inner.info is not None:
            if holds("accelerator-function", inner.info.name):
                return True
            nodes.append(inner.info.node)
        for node in nodes:
            for decorator in getattr(node, "decorators", ()):
                if asks_for_accelerator(decorator.decorator):
                    return True
    return False
