"""LibCST's nodes check themselves, but for those that its parser makes for devlint."""

from __future__ import annotations

import libcst as cst
import pytest

from devlint.project.parsing import parse, unchecked_nodes
from devlint.project.source import SourceError

PAGE = "if (a)and(b):\n    x = [1, *c]  # d\n\n\nclass C(  B ): pass\n"


def test_a_parse_gives_the_tree_that_libcst_gives() -> None:
    assert parse(PAGE).deep_equals(cst.parse_module(PAGE))


def test_no_node_is_checked_in_a_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(cst.Name, "_validate", lambda node: checked.append(node.value))
    parse(PAGE)
    assert checked == []
    cst.parse_module(PAGE)
    assert checked == ["a", "b", "x", "c", "C", "B"]


@pytest.mark.parametrize("text", [PAGE, "x = (\n"])
def test_nodes_that_others_make_are_checked(text: str) -> None:
    try:
        parse(text)
    except SourceError:
        assert text != PAGE
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_after_many_parses_nodes_are_checked_again() -> None:
    with unchecked_nodes():
        parse(PAGE)
        assert cst.Name("").value == "", "not between two of them"
        parse(PAGE)
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")


def test_instances_of_nodes_are_told_as_ever() -> None:
    call = cst.ensure_type(cst.parse_expression("f(x)"), cst.Call)
    assert isinstance(call, cst.BaseExpression)
    assert not isinstance(call, (cst.Name, cst.BaseStatement))
    assert issubclass(cst.Call, cst.CSTNode)
    with pytest.raises(TypeError, match="abstract"):
        cst.CSTNode()  # type: ignore[abstract]
