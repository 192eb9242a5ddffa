"""Choices between an accelerator and the host, as code makes them.

Where code has a way without an accelerator, its writer runs it on other machines, whatever the way
is called: a switch that whoever runs or calls it may leave off, or a condition of which one arm
takes the accelerator, and the other the host.

    parser.add_argument("--gpu", action="store_true")
    device = torch.device(f"cuda:{ids[0]}") if ids else torch.device("cpu")
    if args.gpu >= 0:
        net = net.cuda(args.gpu)

The number of a card is no switch (`--gpu 0`), and a condition whose arms all take one is no choice,
wherever it stands: `if gpu is not None: net.cuda(gpu) else: DataParallel(net).cuda()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.syntax.text import code, dotted, every, keywords_of, parts
from devlint.inference.syntax.words import asks_for_accelerator, is_training

_Choice: TypeAlias = "cst.If | cst.IfExp"

_TRUTHS = ("True", "False")
_SWITCHING = ("store_true", "store_false", "BooleanOptionalAction")
_OPTIONS = ("add_argument", "add_option", "option")
# By type: an `isinstance` of LibCST's asks a metaclass each time.
_FUNCTIONS = frozenset({cst.FunctionDef, cst.Lambda})
_TELLING = frozenset({cst.Call, cst.SimpleString, cst.FormattedString})
_SWITCHES = ("DEFINE_bool", "DEFINE_boolean")


class HostChoices:
    """The choices that a file leaves: to whoever runs it, and to whoever calls what is in it."""

    def __init__(self, tree: cst.Module, text: str) -> None:
        self.to_runner = self.to_caller = False
        if "if " in text or "if(" in text:
            self._read_conditions(_Arms(tree))
        if not self.to_runner and any(f"{each}(" in text for each in (*_OPTIONS, *_SWITCHES)):
            self.to_runner = any(map(_is_switch, every(tree, cst.Call)))
            self.to_caller |= self.to_runner

    def _read_conditions(self, arms: _Arms) -> None:
        demanding = {code(each.test) for each in arms.choices if arms.all_demand(each)}
        left = [
            is_inside
            for each, is_inside in arms.choices.items()
            if arms.leave_host(each) and code(each.test) not in demanding
        ]
        self.to_runner, self.to_caller = not all(left), bool(left)


def _is_switch(call: cst.Call) -> bool:
    """`add_argument("--cuda", action="store_true")`, `DEFINE_bool("use_gpu", …)`."""
    callee = dotted(call.func).rpartition(".")[2]
    if callee not in _OPTIONS and callee not in _SWITCHES:
        return False
    given = keywords_of(call)
    if callee in _OPTIONS and not _is_truth(given):
        return False
    named = (arg.value for arg in call.args if arg.keyword is None)
    texts = (each.raw_value for each in named if isinstance(each, cst.SimpleString))
    return any(_names_flag(name) for text in texts for name in text.split("/"))


def _is_truth(given: dict[str, cst.BaseExpression]) -> bool:
    """An option is on or off."""
    said = {name: code(value) for name, value in given.items()}
    return (
        any(each in said.get("action", "") for each in _SWITCHING)
        or "bool" in said.get("type", "")
        or said.get("default") in _TRUTHS
        or said.get("is_flag") == "True"
    )


def _names_flag(name: str) -> bool:
    plain = name.lstrip("-").replace("-", "_")
    return holds("accelerator-flag", plain) or holds("host-flag", plain)


class _Arms:
    """What the parts of a file do, from one walk: which demand an accelerator, and which name the
    host."""

    def __init__(self, tree: cst.Module) -> None:
        self.choices: dict[_Choice, bool] = {}  # whether a function is around them
        self._demanding: set[cst.CSTNode] = set()
        self._on_host: set[cst.CSTNode] = set()
        order: list[tuple[cst.CSTNode, cst.CSTNode, bool]] = [(tree, tree, False)]
        for node, _, is_inside in order:  # outer ones first; it grows
            inside = is_inside or type(node) in _FUNCTIONS
            order += [(part, node, inside) for part in parts(node)]
            if type(node) is cst.If or type(node) is cst.IfExp:
                self.choices[node] = is_inside
        for node, around, _ in reversed(order):
            is_telling = type(node) in _TELLING
            if node in self._demanding or (is_telling and _demands(node)):
                self._demanding.update((node, around))
            if node in self._on_host or (is_telling and _names_host(node)):
                self._on_host.update((node, around))

    def all_demand(self, choice: _Choice) -> bool:
        """There is no way without an accelerator."""
        return choice.body in self._demanding and choice.orelse in self._demanding

    def leave_host(self, choice: _Choice) -> bool:
        """One arm takes an accelerator; another is for the host, by its name or by what is
        asked."""
        taken = choice.body in self._demanding
        if taken is (choice.orelse in self._demanding):
            return False
        host = choice.orelse if taken else choice.body
        if host in self._on_host and _is_open(choice.test):
            return True
        return taken and isinstance(choice, cst.If) and _asks_switch(choice.test)


def _is_open(test: cst.BaseExpression) -> bool:
    """It is true or not, or compares a number or a device: what compares names or looks for one
    (`backend == "gloo"`, `"cpu" in parts`) tells parts of one run apart."""
    if isinstance(test, cst.BooleanOperation):
        return _is_open(test.left) and _is_open(test.right)
    if isinstance(test, cst.Comparison):
        if isinstance(test.comparisons[0].operator, (cst.In, cst.NotIn)):
            return False
        bound = code(test.comparisons[0].comparator)
        return bound.lstrip("-").isdigit() or bound == "None" or asks_for_accelerator(test.left)
    if isinstance(test, cst.UnaryOperation):
        return _is_open(test.expression)
    return not is_training(test)


def _asks_switch(test: cst.BaseExpression) -> bool:
    """`args.cuda`, `gpu_ids`, `gpu >= 0`: whether there is one to use, and not whether there are
    several."""
    return any(_is_of_accelerator(each) for each in _atoms(test))


def _atoms(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What all is true where a condition is."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from _atoms(test.left)
        yield from _atoms(test.right)
    else:
        yield test


def _is_of_accelerator(atom: cst.BaseExpression) -> bool:
    if isinstance(atom, cst.UnaryOperation) and isinstance(atom.operator, cst.Not):
        return holds("host-flag", _last(atom.expression))
    if isinstance(atom, cst.Comparison):
        rows = ("accelerator-flag", "accelerator-count", "device-index-name")
        return _counts_from_none(atom) and any(holds(row, _last(atom.left)) for row in rows)
    return holds("accelerator-flag", _last(atom))


def _counts_from_none(node: cst.Comparison) -> bool:
    """`> 0`, `>= 0`, `!= -1`, `is not None`, `== "cuda"`."""
    target = node.comparisons[0]
    bound = code(target.comparator)
    if isinstance(target.operator, (cst.IsNot, cst.NotEqual)):
        return bound in ("None", "-1", "[]")
    if isinstance(target.operator, cst.Equal):
        return bound == "True"
    if isinstance(target.operator, cst.GreaterThanEqual):
        return bound in ("0", "1")
    return isinstance(target.operator, cst.GreaterThan) and bound in ("0", "-1")


def _last(node: cst.BaseExpression) -> str:
    """`gpu_ids` of `len(opt.gpu_ids)` and of `opt.gpu_ids[0]`, `cuda` of `options["cuda"]`."""
    if isinstance(node, cst.Call) and dotted(node.func) == "len" and node.args:
        node = node.args[0].value
    if isinstance(node, cst.Subscript):
        key = node.slice[0].slice
        if isinstance(key, cst.Index) and isinstance(key.value, cst.SimpleString):
            return key.value.raw_value
        node = node.value
    return dotted(node).rpartition(".")[2]


def _demands(node: cst.CSTNode) -> bool:
    """It moves something to CUDA, or names a device of it."""
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value == "cuda"
    text = code(node) if isinstance(node, (cst.SimpleString, cst.FormattedString)) else ""
    return holds("cuda-device-string", text)


def _names_host(node: cst.CSTNode) -> bool:
    """It names the host as a device: `x.cpu()` is for what the host computes itself."""
    return isinstance(node, cst.SimpleString) and node.raw_value == "cpu"
