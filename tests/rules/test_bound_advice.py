"""Advice is code for the place that it is given for: each name in it has a value there, and a
method is called on what has it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bound_names import bound_at, proposed, read_in
from everyday_code import FOUND, findings_of
from rule_check import FIXTURES, RULES, check_files, check_text

from devlint.findings import Finding

FILES = sorted(FIXTURES.glob("rules/*/bad_*.py"))
EXAMPLES = [(code, index) for code, rule in RULES.items() for index in range(len(rule.bad))]


def unbound(tree: ast.Module, finding: Finding) -> list[str]:
    """The names that the advice of a finding takes for granted and that its line does not have.

    What is made elsewhere is to be made there: by the names of a line in the trace. `torch` can be
    imported anywhere, and a function of the file is only spoken of: "let `cells` take it"."""
    lines = [finding.location.line, *(note.location.line for note in finding.related)]
    known = set[str]().union(*(bound_at(tree, line) for line in lines))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    codes = (code for code in proposed(finding.advice) if ast.unparse(code) not in functions)
    read = set[str]().union(*map(read_in, codes))
    return sorted(read - known - {"torch"})


def named(path: Path) -> str:
    return path.relative_to(FIXTURES).as_posix()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_advice_on_user_code_names_what_is_bound_there(path: Path):
    tree = ast.parse(path.read_text())
    for finding in check_files(path.parent, path):
        assert not unbound(tree, finding), (finding.rule, finding.location.line, finding.advice)


@pytest.mark.parametrize("path", FOUND, ids=named)
def test_advice_on_everyday_code_does_too(path: Path):
    tree = ast.parse(path.read_text())
    for finding in findings_of(path):
        assert not unbound(tree, finding), (finding.rule, finding.location.line, finding.advice)


@pytest.mark.parametrize(("code", "index"), EXAMPLES)
def test_advice_on_the_examples_of_pages_does_too(code: str, index: int):
    text = RULES[code].bad[index]
    tree = ast.parse(text)
    for finding in check_text(text):
        assert not unbound(tree, finding), (finding.rule, finding.location.line, finding.advice)


def advised(code: str, rule: str) -> list[str]:
    head = "import torch\nfrom torch import nn\n\n\n"
    return [finding.advice for finding in check_text(head + code) if finding.rule == rule]


HELD = """\
class Bins:
    def __init__(self, logits: torch.Tensor):
        self.logits = logits

    def sample(self, {given}):
        drawn = torch.rand(3)
        {before}
        return drawn <= self.logits.exp()
"""


@pytest.mark.parametrize(
    ("given", "before", "named"),
    [
        ("logits: torch.Tensor", "pass", True),
        ("count", "pass", False),
        ("count", "logits = 1", False),
    ],
)
def test_a_name_of_the_constructor_is_none_of_another_method(given, before, named):
    for advice in advised(HELD.format(given=given, before=before), "DEV102"):
        assert ("device=logits.device" in advice) == named


def test_what_is_bound_behind_a_factory_is_not_named_in_it():
    code = (
        "def scaled(x: torch.Tensor):\n    fill = torch.ones(3)\n"
        "    y = x * 2\n    return fill + y\n"
    )
    (advice,) = advised(code, "DEV102")
    assert "y.device" not in advice


WEIGHT = """\
class Attack(nn.Module):
    def __init__(self, n):
        super().__init__()
        {made}

    def begin(self, device):
        self.shift.to(device)
        return self.shift
"""


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("self.shift = nn.Parameter(torch.zeros(n))", False),  # a tensor may not take its name
        ('self.register_buffer("shift", torch.zeros(n))', True),
    ],
)
def test_a_parameter_is_not_rebound_to_a_tensor(made, kept):
    (advice,) = advised(WEIGHT.format(made=made), "DEV201")
    assert ("self.shift = self.shift.to(device)" in advice) == kept
    assert ("self.shift.data = self.shift.data.to(device)" in advice) != kept


LOOP = """\
def outer(args, device):
    def inner():
        for arg in args:
            {condition}
                arg = arg.to(device, non_blocking=True)
        return args
    return inner
"""


def test_a_list_of_another_function_gets_another_name_and_keeps_what_is_no_tensor():
    (advice,) = advised(LOOP.format(condition="if torch.is_tensor(arg):"), "DEV204")
    moved = "arg.to(device, non_blocking=True) if torch.is_tensor(arg) else arg"
    assert advice == f"build the moved ones: `moved = [{moved} for arg in args]`"


OVERWRITTEN = """\
class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(4))

    def refill(self, rows):
        {before}
        self.keys = {made}

    def forward(self, x):
        return x + self.keys
"""


@pytest.mark.parametrize(
    ("before", "made", "advice"),
    [
        ("pass", "torch.ones(4)", "device=self.keys.device"),
        ("pass", "torch.from_numpy(rows)", ".to(self.keys.device)"),
        ("del self.keys", "torch.ones(4)", "bring the new one to where the module is"),
    ],
)
def test_what_was_deleted_has_no_device(before, made, advice):
    (said,) = advised(OVERWRITTEN.format(before=before, made=made), "DEV207")
    assert advice in said


TABLE = """\
class Kernel({base}):
    def __init__(self):
        super().__init__()
        self.table = torch.ones(8)

    def forward(self, x: torch.Tensor):
        return x * self.table.to(x.device)
"""


@pytest.mark.parametrize(("base", "registers"), [("nn.Module", True), ("object", False)])
def test_only_a_module_registers_buffers(base, registers):
    for advice in advised(TABLE.format(base=base), "DEV301"):
        assert ("register_buffer" in advice) == registers


def test_all_factories_of_one_index_are_named():
    code = (
        "class Pick(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return x[torch.arange(len(x))[:, None], torch.arange(3)[None, :]]\n"
    )
    (advice,) = advised(code, "DEV308")
    assert "`torch.arange(len(x), device=x.device)`" in advice
    assert "`torch.arange(3, device=x.device)`" in advice


PICKED = """\
class Pool(nn.Module):
    def forward(self, x: torch.Tensor):
        picked = torch.ones(x.size(0), dtype=torch.bool)
        {use}
        return x.sum()
"""


@pytest.mark.parametrize(("use", "selects"), [("x = x[picked]", True), ("x[picked] = 0", False)])
def test_a_mask_that_selects_waits_on_the_device_too(use, selects):
    (advice,) = advised(PICKED.format(use=use), "DEV308")
    assert ("let the mask weigh" in advice) == selects
    assert ("device=x.device" in advice) != selects


FLAG = """\
class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("ready", torch.zeros(1, dtype=torch.bool))

    def forward(self, x: torch.Tensor):
        x = self.fc(x)
        if {asked}:
            {then}
        return self.fc(x)
"""


@pytest.mark.parametrize(
    ("asked", "then", "advice"),
    [
        ("self.ready", "x = x * 2", "keep the number on the host as well"),
        ("x.isnan().any()", "self.report(x)", "where a switch for debugging is on"),
        ("x.isnan().any()", "x = torch.zeros_like(x)", "torch.where"),
        ("x.sum() > 3", "x = x * 2", "torch.where"),
    ],
)
def test_a_question_is_answered_where_its_answer_is(asked, then, advice):
    (said,) = advised(FLAG.format(asked=asked, then=then), "DEV303")
    assert advice in said
