"""Options of a command line: a number is in `args.cards` by
`parser.add_argument("--cards", type=int)`."""

from __future__ import annotations

import libcst as cst

from devlint.inference.syntax.text import dotted, every, keywords_of, literal_of


def numbers(tree: cst.Module) -> frozenset[str]:
    """The options that are one integer, where they are left out or in any case, and that nothing
    in the file sets anew."""
    found = {_name(call) for call in every(tree, cst.Call) if _is_number(call)}
    if found:
        targets = (target.target for each in every(tree, cst.Assign) for target in each.targets)
        found -= {each.attr.value for each in targets if isinstance(each, cst.Attribute)}
    return frozenset(found - {""})


def _is_number(call: cst.Call) -> bool:
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "add_argument":
        return False
    given = keywords_of(call)
    if given.keys() & {"action", "dest"}:
        return False
    if isinstance(given.get("default"), cst.Integer):
        return True
    kind = given.get("type")
    return "nargs" not in given and kind is not None and dotted(kind) == "int"


def _name(call: cst.Call) -> str:
    """`cards` of `"--cards"`: of several names the first long one."""
    written = [arg.value for arg in call.args if arg.keyword is None]
    long = [name for name in map(literal_of, written) if name.startswith("--")]
    return long[0][2:].replace("-", "_") if long else ""
