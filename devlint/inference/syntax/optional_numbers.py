"""Optional numbers: what the code declares as an integer, or as nothing.

An option of a command line (`add_argument("--gpu", type=int)`), a parameter or a declared field
(`gpu: int | None = None`). What is nothing is None, or -1 by a default. A number that is 0 by
default, or of which a help text says what 0 stands for, is no such one: 0 has a meaning there.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from devlint.inference.syntax.text import called_name, code, dotted, every, keywords_of, literal_of
from devlint.records import NamedTuple

_DECLARING = frozenset({"add_argument", "option"})  # argparse, and click


class OptionalNumber(NamedTuple):
    """Where it is declared, and what it is where there is none."""

    node: cst.CSTNode
    absent: str  # "None", or "-1"


Options = Mapping[str, OptionalNumber | None]  # None where it is something else


def options_of(tree: cst.CSTNode) -> Options:
    """The options of command lines that a file declares, by their names."""
    found: dict[str, OptionalNumber | None] = {}
    for call in every(tree, cst.Call):
        if called_name(call) in _DECLARING:
            name, made = _option_name(call), _of_option(call)
            found[name] = made if found.get(name, made) is not None else None
    return found


def of_declaration(
    node: cst.CSTNode,
    annotation: cst.Annotation | None,
    default: cst.BaseExpression | None,
    is_number: bool,
) -> OptionalNumber | None:
    """A parameter, or a field. is_number: its use shows that where it is something, it is one."""
    kinds = _kinds(annotation)
    if not kinds <= {"int", "None"} or (annotation is not None and "int" not in kinds):
        return None
    absent = code(default) if default is not None else "None" if "None" in kinds else ""
    if absent == "-1" or (absent == "None" and ("int" in kinds or is_number)):
        return OptionalNumber(node, absent)
    return None


def _kinds(annotation: cst.Annotation | None) -> set[str]:
    """`int` and `None` of `Optional[int]`."""
    if annotation is None:
        return set()
    text = code(annotation.annotation).strip("\"'").replace(" ", "").replace("typing.", "")
    for holder in ("Optional", "Union"):
        if text.startswith(f"{holder}[") and text.endswith("]"):
            kinds = set(text[len(holder) + 1 : -1].split(","))
            return kinds | {"None"} if holder == "Optional" else kinds
    return set(text.split("|"))


def _option_name(call: cst.Call) -> str:
    """The name under which the value is found: `gpu` of `"-g", "--gpu"`, or what `dest` says."""
    destination = literal_of(keywords_of(call).get("dest"))
    if destination:
        return destination
    names = [literal_of(arg.value) for arg in call.args if arg.keyword is None]
    flags = [name for name in names if name.startswith("--")] or names
    return flags[0].lstrip("-").replace("-", "_") if flags else ""


def _of_option(call: cst.Call) -> OptionalNumber | None:
    given = keywords_of(call)
    if given.keys() & {"nargs", "action", "required", "choices"}:
        return None
    first = call.args[0].value if call.args else None
    if not literal_of(first).startswith("-"):
        return None  # it has to be given
    kind, default, explained = (given.get(word) for word in ("type", "default", "help"))
    said = code(explained).lower() if explained is not None else ""
    if kind is None or code(kind) != "int" or ("0" in said and "cpu" in said):
        return None
    absent = code(default) if default is not None else "None"
    return OptionalNumber(call, absent) if absent in ("None", "-1") else None


def fields_of(info: cst.ClassDef) -> dict[str, cst.AnnAssign]:
    """The declared fields of a class, by name."""
    lines = (line for line in info.body.body if isinstance(line, cst.SimpleStatementLine))
    declared = (each for line in lines for each in line.body if isinstance(each, cst.AnnAssign))
    return {dotted(each.target): each for each in declared}
