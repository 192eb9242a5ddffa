"""Options: flags of a function, or of the object of a method, and who sets them.

    def shift(self, x, causal=False):
        if causal:
            ...

What stands in the branch runs for those alone who say `causal=True`. So it is with one of several
words, `mode="plain"` in the signature and `if mode == "noisy":` in the body; and with a member of
an enumeration that the project names only to compare with it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import libcst as cst

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.host import Const
from devlint.inference.domain.path_conditions import TRUE, Literal, PathCondition
from devlint.inference.domain.value import Value
from devlint.inference.program.assumption_sites import of_code
from devlint.inference.program.declarations import ClassInfo, Function
from devlint.inference.program.frames import Frame
from devlint.inference.program.usage import hands_in
from devlint.inference.syntax.text import code, dotted


def turned_on(frame: Frame, when: PathCondition) -> Iterator[Assumption]:
    """The assumption that somebody sets the options which lead where these facts hold, as nothing
    in the project does."""
    importer = frame.unit.context.importer
    for fact in when if importer is not None else ():
        option = _option_of(frame, fact)
        if option and importer is not None and not importer.sets_option(option):
            message = f"somebody {_said(option)}, though nothing in the project does"
            yield of_code(frame, AssumptionKind.OPTION_IS_TURNED_ON, message)
            return


def is_cold(frame: Frame) -> bool:
    """It runs seldom: by a test around, or since nothing in the project sets an option for it."""
    return frame.control.cold or any(True for _ in turned_on(frame, frame.state.when))


def _option_of(frame: Frame, fact: Literal) -> str:
    """The option that has to be set for this to hold, `causal=True`, `mode='noisy'`, `mode!'plain'`
    for any other, `Mode.NOISY`; "" where it holds by default, or is no option."""
    predicate, is_so, value = fact
    subject = predicate.subject
    if is_so and isinstance(subject, tuple) and subject[0] == "is" and value == TRUE:
        return next((side for side in subject[1:] if _is_member(side)), "")
    if predicate.born:
        return ""
    if isinstance(subject, str) and isinstance(value, str):
        return _word(frame, subject, is_so, value)
    if not isinstance(subject, tuple) or subject[0] != "bool" or not isinstance(subject[1], str):
        return ""
    if value != TRUE:
        return ""
    name, default = _default(frame, subject[1])
    if type(default) is not Const or type(default.value) is not bool or default.value is is_so:
        return ""
    return f"{name}={is_so}"


def _is_member(side: Hashable) -> bool:
    """`Mode.NOISY`, written as members of enumerations are."""
    owner, _, name = side.rpartition(".") if isinstance(side, str) else ("", "", "")
    return name.isupper() and owner.isidentifier() and owner[0].isupper() and not owner.isupper()


def _word(frame: Frame, subject: str, is_so: bool, written: str) -> str:
    """The option whose words the test tells apart, `mode == "noisy"`."""
    if written[:1] not in "'\"":
        return ""
    name, default = _default(frame, subject)
    if type(default) is not Const or type(default.value) is not str:
        return ""
    if is_so is (written == repr(default.value)):
        return ""
    return f"{name}{'=' if is_so else '!'}{written}"


def _said(option: str) -> str:
    """What somebody does: "sets `causal=True`", "chooses `Mode.NOISY`"."""
    does = "sets" if "=" in option or "!" in option else "chooses"
    return f"{does} `{option.replace('!', ' != ')}`"


def _default(frame: Frame, path: str) -> tuple[str, Value | None]:
    """The option that a path stands for, and its default."""
    function = frame.function
    if function is None:
        return path, None
    if "." not in path:
        return path, _unless_given(function, path)
    owner, _, attribute = path.partition(".")
    return _kept(function.info, attribute) if owner == "self" and function.info else (path, None)


def _kept(info: ClassInfo, attribute: str) -> tuple[str, Value | None]:
    """`self.causal = causal` in a constructor, or in a method that sets the object up, and nowhere
    else; or `self.causal = False`."""
    found = [
        _assigned(each, suite, value)
        for each in info.lineage()
        for suite, value in each.assigned.get(attribute, ())
    ]
    values = {default.value for _, default in found if type(default) is Const}
    if len(values) != 1 or any(type(default) is not Const for _, default in found):
        return attribute, None
    names = {name for name, _ in found if name}
    return (names.pop(), found[0][1]) if len(names) == 1 else (attribute, found[0][1])


def _assigned(
    info: ClassInfo, suite: cst.BaseSuite, value: cst.BaseExpression
) -> tuple[str, Value | None]:
    """What one assignment gives an attribute by default: a parameter of the method, or a flag."""
    written = code(value)
    method = next((each for each in info.methods.values() if each.node.body is suite), None)
    if method is None:
        return "", None
    if written in ("True", "False"):  # another method switches it on or off
        return "", Const(written == "True") if method.name == "__init__" else None
    name = dotted(value)
    if method.name == "__init__":
        return name, method.defaults.get(name)
    return name, _unless_given(method, name)


def _unless_given(function: Function, parameter: str) -> Value | None:
    """The default of a parameter, if no call in the file gives another value by position."""
    return None if hands_in(function, parameter) else function.defaults.get(parameter)
