"""Source text for fixes and advice: small rewrites of single expressions.

A replacement covers a node without the parentheses around it, so texts here leave these out too.
"""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.facts import Facts, Operand, Site, StepKind
from devlint.inference.syntax.code_generator import code_of
from devlint.rule import Replacement
from devlint_rules.helpers.blocks import is_written, path_to

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_ATOMS = (cst.Name, cst.Attribute, cst.Subscript, cst.Call)
_OPERATIONS = (
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.Comparison,
    cst.IfExp,
    cst.UnaryOperation,
)
_CONTAINERS = (
    cst.Tuple,
    cst.List,
    cst.Set,
    cst.Dict,
    cst.ListComp,
    cst.SetComp,
    cst.DictComp,
    cst.GeneratorExp,
)
_COMPUTING = (
    cst.Arg,
    cst.Attribute,
    cst.BinaryOperation,
    cst.Call,
    cst.Subscript,
    cst.UnaryOperation,
)
_LONGEST = 60
_COMMENT = re.compile(r"\s#[^\n]*\n")


def is_path(text: str) -> bool:
    """Whether a text is a name or dotted names: `x`, `self.mask`."""
    return _PATH.fullmatch(text) is not None


@lru_cache(maxsize=512)
def text_of(node: cst.CSTNode) -> str:
    """The source of a node, without the parentheses around it; of a parameter its name."""
    if isinstance(node, cst.Param):
        node = node.name  # LibCST writes a parameter only as a part of its list
    if isinstance(node, cst.BaseExpression) and node.lpar and not _is_empty(node):
        node = node.with_changes(lpar=(), rpar=())
    return code_of(node)


def _is_empty(node: cst.CSTNode) -> bool:
    """Whether a node is `()`, of which nothing is left without its parentheses."""
    return isinstance(node, cst.Tuple) and not node.elements


def parsed(text: str) -> cst.BaseExpression:
    """The expression of a text that may have lines of its own, as between brackets."""
    node = cst.parse_expression(f"(\n{text}\n)")
    return node.with_changes(lpar=node.lpar[1:], rpar=node.rpar[:-1])


def short(node: cst.CSTNode) -> str:
    """The source of a node on one line, cut where it gets long: for messages."""
    text = " ".join(_COMMENT.sub("\n", text_of(node)).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def atom(node: cst.CSTNode) -> str:
    """The source of a node such that `.method()` can follow it."""
    text = text_of(node)
    return text if isinstance(node, _ATOMS) else f"({text})"


def name_as_atom(operand: Operand) -> str:
    """An operand's name in a message, such that `.method()` can follow it: `(a == b)`."""
    is_open = isinstance(operand.site.node, _OPERATIONS)
    return f"({operand.name})" if is_open else operand.name


def argument(call: cst.Call, keyword: str) -> cst.Arg | None:
    """A call's argument with this keyword."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == keyword:
            return arg
    return None


def in_file(facts: Facts, *sites: Site) -> bool:
    """Whether all sites lie in the file under check; a fix stays within one file."""
    return all(site.source is facts.source for site in sites)


def with_argument(call: cst.Call, added: str) -> str | None:
    """A call's text with one more argument at its end; None where that would not parse."""
    if not call.args:
        return f"{text_of(call.func)}({added})"
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return None
    call_of_it = parsed(f"f({added})")
    assert isinstance(call_of_it, cst.Call)
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    args = [
        *call.args[:-1],
        last.with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace("")),
        call_of_it.args[0].with_changes(
            comma=last.comma, whitespace_after_arg=last.whitespace_after_arg
        ),
    ]
    return text_of(call.with_changes(args=args))


def add_argument(site: Site, added: str) -> tuple[Replacement, ...]:
    """Give the call at a site one more argument, touching nothing but its last argument."""
    call = site.node
    if not isinstance(call, cst.Call):
        return ()
    if not call.args:
        text = with_argument(call, added)
        return () if text is None else (Replacement(site, text),)
    last = call.args[-1]
    if isinstance(last.value, cst.GeneratorExp) and not last.value.lpar:
        return ()
    bare = last.with_changes(comma=cst.MaybeSentinel.DEFAULT)
    bare = bare.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return (Replacement(Site(site.source, last), f"{text_of(bare)}, {added}"),)


def without_argument(call: cst.Call, keyword: str) -> str:
    """A call's text without the argument of this keyword."""
    args = [arg for arg in call.args if arg.keyword is None or arg.keyword.value != keyword]
    if args:
        args[-1] = args[-1].with_changes(comma=call.args[-1].comma)
    return text_of(call.with_changes(args=args))


def move_target(call: cst.CSTNode) -> str | None:
    """The device that a move names, as an expression: `"cuda"` of `x.cuda()`, `d` of `x.to(d)`.

    None when the move says more than the device (a dtype, `copy=`), or names none.
    """
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    method = call.func.attr.value
    args = [arg for arg in call.args if not _is_keyword(arg, "non_blocking")]
    if method == "cpu":
        return '"cpu"' if not args else None
    if method == "cuda" and not args:
        return '"cuda"'
    if len(args) != 1 or args[0].star:
        return None
    value = args[0].value
    if method == "cuda":
        if isinstance(value, cst.Integer):
            return f'"cuda:{value.value}"'
        return text_of(value) if not isinstance(value, cst.BaseNumber) else None
    keyword = args[0].keyword
    if method == "to" and (keyword is None or keyword.value == "device"):
        return text_of(value)
    return None


def moves_to_host(call: cst.CSTNode) -> bool:
    """`x.cpu()`, `x.to("cpu")`, `x.to(torch.device("cpu"))`."""
    return move_target(call) in _HOST


_HOST = ('"cpu"', "'cpu'", 'torch.device("cpu")', "torch.device('cpu')")


def _is_keyword(arg: cst.Arg, keyword: str) -> bool:
    return arg.keyword is not None and arg.keyword.value == keyword


def receiver(call: cst.CSTNode) -> cst.BaseExpression | None:
    """`x` of `x.method(…)`."""
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        return call.func.value
    return None


def takes_device(operand: Operand, made: Site) -> bool:
    """Whether `device=` may be added to the factory call that made an operand: the call has such a
    parameter, and is not given it yet."""
    call = made.node
    if not isinstance(call, cst.Call) or argument(call, "device"):
        return False
    return any(step.takes_device and step.site.node is call for step in operand.steps)


def factory_of(operand: Operand) -> Site | None:
    """The factory call that made an operand, if its history begins with one."""
    for step in operand.steps:
        if step.kind is StepKind.CREATED and isinstance(step.site.node, cst.Call):
            return step.site
    return None


def sole_factory(operand: Operand) -> Site | None:
    """The factory call to give a device, where the operand comes of it alone: what it is computed
    with would not meet what is made elsewhere. `torch.cat((torch.zeros(1), torch.arange(n)))`"""
    return None if operand.mixed else factory_of(operand)


def append_to(facts: Facts, operand: Operand, suffix: str) -> tuple[Replacement, ...]:
    """Put a method call such as `.cpu()` behind an operand; not behind a container it is in, nor
    where the operand itself is to be changed."""
    site = operand.site
    if operand.element or not in_file(facts, site) or is_written(facts, site.node):
        return ()
    if not isinstance(site.node, cst.BaseExpression) or isinstance(site.node, _CONTAINERS):
        return ()
    return (Replacement(site, f"{atom(site.node)}{suffix}"),)


def moved_to(facts: Facts, operand: Operand, device: str) -> tuple[Replacement, ...]:
    """Move an operand to a device; one that is moved right there goes to this device instead, and
    one that is made right there is made on it: `x + 2 * torch.eye(n, device=x.device)`."""
    moved, made = operand.site.node, factory_of(operand)
    if operand.by_default and made is not None and takes_device(operand, made):
        if made.node is moved:
            return add_argument(made, f"device={device}") if in_file(facts, made) else ()
        if not operand.indirect and not operand.moved and _is_part(facts, made, moved):
            return add_argument(made, f"device={device}")
    before = receiver(moved)
    if before is not None and move_target(moved) is not None and in_file(facts, operand.site):
        return (Replacement(operand.site, f"{atom(before)}.to({device})"),)
    return append_to(facts, operand, f".to({device})")


def _is_part(facts: Facts, made: Site, whole: cst.CSTNode) -> bool:
    """The whole is computed from what is made in it, and in no other case from something else."""
    if not in_file(facts, made):
        return False
    around = path_to(facts.source.tree, made.node)
    return whole in around and all(
        isinstance(node, _COMPUTING) for node in around[: around.index(whole) + 1]
    )


def where_it_meets(facts: Facts, operand: Operand, other: Operand) -> tuple[Replacement, ...]:
    """Move an operand to the other one's device right where the two meet."""
    if other.element or not is_path(other.name) or operand.site.node is other.site.node:
        return ()
    return moved_to(facts, operand, device_by_name(other))


def device_by_name(operand: Operand) -> str:
    """The device of an operand, by its name: `x.device`; `device`, where that is handed over."""
    return operand.name if stands_for_device(operand) else f"{operand.name}.device"


def stands_for_device(operand: Operand) -> bool:
    """What a callee has there it has put on the device that this call hands in."""
    return holds("device-name", operand.name)
