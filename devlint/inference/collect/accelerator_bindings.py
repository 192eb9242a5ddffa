"""Names that are bound for accelerators alone.

    if torch.cuda.is_available():
        gpu = rank % torch.cuda.device_count()
        device = torch.device(f"cuda:{gpu}")
    model = build(device)

On a machine without one `device` has no value: every binding of it in its scope is where an
accelerator is, and the read is not. No way through the code needs to be followed for that. The read
has to be reached there: it is not, behind what leaves or fails without an accelerator, or under a
condition on accelerators, or on what was bound with the name.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from devlint.inference.collect.availability_guards import is_met
from devlint.inference.domain.provenance import Site
from devlint.inference.facts import AcceleratorBinding
from devlint.inference.program.accelerator_notes import Mentions
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import Function, functions_of
from devlint.inference.program.units import Unit
from devlint.inference.syntax.availability import Availability
from devlint.inference.syntax.control_dependence import Branches
from devlint.inference.syntax.endings import leaves
from devlint.inference.syntax.scope_names import ScopeNames
from devlint.inference.syntax.text import dotted, every, names_in
from devlint.inference.syntax.words import asks_for_accelerator

_QUESTIONS = ("is_available()", "device_count()", ".type ")
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)


def settle(unit: Unit) -> None:
    """Note the reads, of each name the first, that fail where no accelerator is."""
    if not any(map(unit.contains, _QUESTIONS)) or unit.kept(Mentions).meant:
        return
    known = Availability(unit.tree)
    written = (each for each in functions_of(unit) if isinstance(each.node, cst.FunctionDef))
    for function in (None, *written):
        if not unit.kept(Mentions).named(function):
            unit.facts.accelerator_bindings += _Scope(unit, function, known).found()


class _Scope:
    """A function, or the module: its nodes, each with the conditions around it."""

    def __init__(self, unit: Unit, function: Function | None, known: Availability) -> None:
        self.unit, self.function, self.known = unit, function, known
        self.around = unit.kept(ControlDependences).of(function)
        self._branches: dict[tuple[cst.CSTNode, cst.CSTNode], bool] = {}  # whether they are apart

    def found(self) -> Iterator[AcceleratorBinding]:
        """The names whose bindings are all for accelerators, each with a read that is not."""
        asking = [
            node
            for node in self.around
            if type(node) is cst.If and self.known.without(node.test) is not None
        ]
        if not asking:
            return
        names = ScopeNames(self.around)
        apart = {name: self._apart(bindings, names, name) for name, bindings in names.bound.items()}
        alone = {name for name, bindings in apart.items() if bindings}
        if not alone:
            return
        reads = _Reads(self, names)
        failing: set[str] = set()
        for read in names.read:
            name = read.value
            if name in alone and name not in failing and reads.fails(read, apart[name][0]):
                failing.add(name)
                yield self._fact(name, read, apart[name])

    def _apart(
        self, bindings: list[cst.CSTNode], names: ScopeNames, name: str
    ) -> list[cst.CSTNode]:
        """The bindings of a name, if all of them are where an accelerator is, and only there has it
        a value."""
        if name in names.shared or not all(self.is_apart(each) for each in bindings):
            return []
        if self.function is None:
            given = hasattr(builtins, name) or any(every(self.unit.tree, cst.ImportStar))
            return [] if given else bindings
        params = self.function.node.params
        taken = {each.name.value for each in every(params, cst.Param)}
        return [] if name in taken else bindings

    def is_apart(self, node: cst.CSTNode) -> bool:
        """The node is in a branch that is not taken where no accelerator is."""
        around = self.around[node]
        if not around:
            return False
        branch = around[-1]
        apart = self._branches.get(branch)
        if apart is None:  # that of `elif` after `elif` goes by the one before
            apart = self._is_taken(*branch) is False or self.is_apart(branch[0])
            self._branches[branch] = apart
        return apart

    def _is_taken(self, condition: cst.CSTNode, part: cst.CSTNode) -> bool | None:
        if not isinstance(condition, (cst.If, cst.IfExp, cst.While)):
            return None
        truth = self.known.without(condition.test)
        return truth if truth is None or part is condition.body else not truth

    def open(self, node: cst.CSTNode) -> Branches:
        """The branches around a node that may be taken there, or not."""
        return tuple(branch for branch in self.around[node] if not self._is_taken(*branch))

    def _fact(self, name: str, read: cst.Name, bindings: list[cst.CSTNode]) -> AcceleratorBinding:
        source = self.unit.source
        test = next(
            condition.test
            for condition, part in self.around[bindings[0]]
            if isinstance(condition, (cst.If, cst.IfExp, cst.While))
            and self._is_taken(condition, part) is False
        )
        sites = tuple(Site(source, node) for node in bindings)
        return AcceleratorBinding(
            Site(source, read), name, sites, Site(source, test), self.function is None
        )


class _Reads:
    """Which reads of a scope are reached where no accelerator is."""

    def __init__(self, scope: _Scope, names: ScopeNames) -> None:
        self._scope = scope
        self._order = {node: place for place, node in enumerate(scope.around)}
        # What is bound where an accelerator is, or set: what asks for it asks for an accelerator.
        self._with_it = {
            name
            for name, bindings in names.bound.items()
            if any(scope.is_apart(each) for each in bindings)
        }
        self._with_it |= {
            dotted(node.target)
            for node in scope.around
            if isinstance(node, cst.AssignTarget) and scope.is_apart(node)
        }
        self._leaving: dict[Branches, int] = {}  # where, and how early
        demanded = {m.site.node for m in scope.unit.facts.mentions if not m.guarded}
        for node in scope.around:
            if (node in demanded or self._leaves(node)) and not scope.is_apart(node):
                self._leaving.setdefault(scope.open(node), self._end(node))
        self._spared = set(self._spared_parts())

    def fails(self, read: cst.Name, binding: cst.CSTNode) -> bool:
        """A read that stands behind the first binding is reached, and nothing catches it."""
        place, scope = self._order[read], self._scope
        if place < self._order[binding] or read in self._spared or scope.is_apart(read):
            return False
        around = set(scope.around[read])
        if any(self._asks(*branch) for branch in around):
            return False
        if any(first < place and around.issuperset(at) for at, first in self._leaving.items()):
            return False
        return not is_met(scope.unit, scope.function, read)

    def _end(self, node: cst.CSTNode) -> int:
        """The place of the last name in a node: what it reads itself it still comes to."""
        named = (self._order.get(each, 0) for each in every(node, cst.Name))
        return max(named, default=self._order[node])

    def _leaves(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Assert):
            return self._scope.known.without(node.test) is False
        return leaves(node)

    def _asks(self, condition: cst.CSTNode, part: cst.CSTNode) -> bool:
        """A condition on accelerators that is open, or a loop over what there is of them."""
        if isinstance(condition, (cst.If, cst.IfExp, cst.While)):
            return self._scope.known.without(condition.test) is None and self._is_of(condition.test)
        if isinstance(condition, cst.For):
            return self._is_of(condition.iter)
        return True  # a handler, or a case

    def _is_of(self, node: cst.BaseExpression) -> bool:
        """It speaks of accelerators, or of what is bound with them."""
        return asks_for_accelerator(node) or any(
            path in self._with_it or path.partition(".")[0] in self._with_it
            for path in names_in(node)
        )

    def _spared_parts(self) -> Iterator[cst.CSTNode]:
        """What runs only where there is an accelerator, by an operator or a comprehension, or whose
        errors are caught."""
        for node in self._scope.around:
            if isinstance(node, cst.BooleanOperation) and self._is_of(node.left):
                yield from every(node.right, cst.Name)
            elif isinstance(node, _COMPREHENSIONS) and self._is_of(node.for_in.iter):
                yield from every(node, cst.Name)
            elif isinstance(node, (cst.Try, cst.TryStar)) and node.handlers:
                yield from every(node.body, cst.Name)
