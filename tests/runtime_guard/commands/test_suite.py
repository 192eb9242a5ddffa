"""`devlint test`: a suite on the CPU and on virtual devices, and what differs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
import warm_python
from fakes import Tree

torch = pytest.importorskip("torch")

from runtime_guard.commands import suite  # noqa: E402
from runtime_guard.commands.suite import Difference, SuiteError, SuiteRun, compare  # noqa: E402
from runtime_guard.commands.suite_records import Ended, Failure  # noqa: E402
from runtime_guard.core.sites import Site  # noqa: E402

PROJECT = Path(__file__).resolve().parents[3] / "fixtures" / "projects" / "blocks"


@pytest.fixture(autouse=True)
def _children_find_us_and_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """That new interpreters are started, with all plugins that are installed, is seen by
    `tests/cli/test_test_command.py`; the plugins alone take two seconds to import."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setattr(suite, "subprocess", warm_python)


def found_in(difference: Difference) -> dict[tuple[str, int], tuple[str, list[str]]]:
    """By line: what is the matter, and the names of the tests."""
    return {
        (Path(cause.failure.site.file).name, cause.failure.site.line): (
            cause.failure.kind,
            [test.partition("::")[2] for test in cause.tests],
        )
        for cause in difference.causes
    }


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with tests of its own; one of them is red anywhere."""
    shutil.copytree(PROJECT, tmp_path / "blocks")
    monkeypatch.chdir(tmp_path / "blocks")
    return tmp_path / "blocks"


def line_of(file: Path, text: str) -> int:
    """The number of the one line that has ``text``."""
    (number,) = (n for n, line in enumerate(file.read_text().splitlines(), 1) if text in line)
    return number


def test_what_tests_make_is_on_the_card_and_what_the_code_makes_where_it_says(blocks: Path) -> None:
    code, tests = blocks / "blocks" / "attention.py", blocks / "tests" / "test_blocks.py"
    said: list[str] = []
    difference = suite.difference_of(["tests"], say=said.append)
    mask = line_of(code, "masked_fill")
    assert found_in(difference) == {
        ("attention.py", mask): (
            "mixed-device",
            [
                "test_weights_add_up",
                "test_nothing_is_seen_ahead",
                "test_blocks_that_a_function_made",
            ],
        ),
        ("attention.py", line_of(code, ".numpy()")): ("host-read", ["test_as_list"]),
        ("attention.py", line_of(code, "weights @ self.table")): (
            "mixed-device",
            ["test_on_a_card"],  # skipped on the CPU
        ),
    }
    assert difference.causes[0].failure.rule == "DEV101"
    made = line_of(code, "torch.ones(length, length)")
    assert f"`hidden`: computed on cpu at blocks/attention.py:{made}" in (
        difference.causes[0].failure.detail
    )
    assert [name.partition("::")[2] for name in difference.on_both] == ["test_that_is_red_anywhere"]
    assert difference.exit_code == 1
    assert said == [
        "on the CPU: 8 passed, 1 failed, 1 skipped",
        "on virtual cuda:1: 4 passed, 6 failed",
    ]
    assert tests.exists()


def test_strictly_every_factory_without_a_device_shows_itself(blocks: Path) -> None:
    """Whether it does harm or not: the mask, and the table that is a buffer."""
    code = blocks / "blocks" / "attention.py"
    difference = suite.difference_of(["tests", "-k", "mask or uniform or red"], strict=True)
    assert found_in(difference) == {
        ("attention.py", line_of(code, "torch.ones(length, length)")): (
            "factory-without-device",
            ["test_the_mask"],
        ),
        ("attention.py", line_of(code, "torch.arange(length)")): (
            "factory-without-device",
            ["test_distances_of_a_uniform_look", "test_that_is_red_anywhere"],
        ),
    }


def test_where_nothing_is_put_the_suites_own_branches_decide(blocks: Path, capsys) -> None:
    assert suite.run_test(["tests"], put=False, output_format="json", write=print) == 1
    data = json.loads(capsys.readouterr().out)
    (cause,) = data["causes"]
    assert (cause["path"], cause["kind"]) == ("blocks/attention.py", "mixed-device")
    assert cause["tests"] == ["tests/test_blocks.py::test_on_a_card"]
    assert data["runs"]["cpu"] == {
        "devices": "the CPU",
        "passed": 8,
        "failed": 1,
        "skipped": 1,
        "died": "",
    }


KINDS_OF_PLACES = """\
import pytest, torch
from package import Table, on_the_host

class Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.scale = torch.ones(2)

    def forward(self, x):
        return self.inner(x) * self.scale

def test_on_the_card():
    if not torch.cuda.is_available():
        pytest.skip("on the card only")
    assert torch.ones(2).is_cuda
    assert torch.tensor([1.0], requires_grad=True).is_leaf
    assert torch.randn(3, generator=torch.Generator()).is_cuda
    assert torch.ones(2, device="cpu").device.type == "cpu"
    assert on_the_host().device.type == "cpu"
    assert torch.as_tensor(on_the_host()).device.type == "cpu"
    assert next(iter(torch.nn.Linear(2, 2).parameters())).is_cuda
    assert Own()(torch.ones(1, 2)).is_cuda
    assert Table().rows.is_cuda
    assert Table().looked_up().is_cuda
    tables = [Table() for _ in range(3)]
    assert all(table.rows.is_cuda for table in tables)

def test_read_by_the_test():
    assert torch.ones(2).numpy().sum() == 2
"""
PACKAGE = """\
import torch

def on_the_host():
    return torch.ones(2)

class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.ones(2))
        self.first = self.rows.device

    def looked_up(self):
        return self.rows.sum() if self.first.type == "cpu" else None
"""


def test_what_is_a_tests_own(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors, modules and what modules hold, but for what names a device itself."""
    monkeypatch.chdir(tree({"test_it.py": KINDS_OF_PLACES, "package.py": PACKAGE}))
    difference = suite.difference_of([])
    assert difference.causes == ()
    assert difference.card.counts == {"passed": 2, "failed": 0, "skipped": 0}


WEIGHED = """\
import torch

class Weighed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.weights = torch.ones(2)

    def forward(self, x):
        return self.layer(x) * self.weights
"""
USES_IT = "import torch, weighed\n\ndef test(): weighed.Weighed()(torch.ones(1, 2))\n"


def test_a_module_is_moved_as_a_whole(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what it keeps as a plain attribute is named as what stays behind, by the test's line
    that made the module, as if that moved it."""
    monkeypatch.chdir(tree({"test_it.py": USES_IT, "weighed.py": WEIGHED}))
    (cause,) = suite.difference_of([]).causes
    assert cause.failure.rule == "DEV205"
    assert 'self.register_buffer("weights", …)' in cause.failure.detail
    assert "(moved at test_it.py:3)" in cause.failure.detail


DIES = """\
import os, torch

def test_before(): pass

def test_that_dies():
    if torch.cuda.is_available():
        os._exit(7)

def test_behind(): pass
"""


def test_a_run_that_dies_names_the_test(tree: Tree, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tree({"test_it.py": DIES}))
    assert suite.run_test([], write=print) == 3
    told = capsys.readouterr().out
    assert "the run on virtual cuda:1 ended with exit code 7 in test_it.py::test_that_dies" in told
    assert "2 did not run on virtual cuda:1" in told


@pytest.mark.parametrize(
    ("source", "arguments", "said"),
    [
        ("", [], "pytest found no tests on the CPU"),
        ("def test(): pass", ["--no-such-option"], "pytest refuses its arguments"),
        ("def test(): assert False", [], "every test fails on the CPU"),
        ("import nothing_of_that_name", [], "every test fails on the CPU"),
    ],
)
def test_a_suite_that_cannot_be_compared(tree: Tree, monkeypatch, source, arguments, said) -> None:
    monkeypatch.chdir(tree({"test_it.py": source}))
    with pytest.raises(SuiteError, match=said) as refused:
        suite.difference_of(arguments)
    assert refused.value.output.strip()


def test_a_file_that_cannot_be_imported_on_a_card_is_told(tree: Tree, monkeypatch) -> None:
    source = "import torch\nimport package\n\ndef test(): pass\n"
    package = "import torch\nX = torch.ones(2).to('cuda' if torch.cuda.is_available() else 'cpu')\n"
    files = {"test_it.py": source, "package.py": package + "Y = X + torch.ones(2)\n"}
    monkeypatch.chdir(tree(files))
    difference = suite.difference_of([])
    assert found_in(difference) == {("package.py", 3): ("mixed-device", [""])}
    assert difference.not_run == ("test_it.py::test",)


def test_an_impossible_machine_and_a_missing_pytest_are_said_at_once(monkeypatch) -> None:
    with pytest.raises(ValueError, match="virtual devices 'gpu:2'"):
        suite.difference_of([], virtual="gpu:2")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SuiteError, match="no pytest"):
        suite.difference_of([])


HERE = Site("/p/code.py", 3, 3, "f")


def ran(devices: str, **outcomes: str) -> SuiteRun:
    """Tests by name; a failure is told as ``KIND`` at one line."""
    tests = {}
    for name, said in outcomes.items():
        kind = "" if said in ("passed", "skipped") else said
        failures = (Failure("RuntimeError: no", HERE, kind),) if kind else ()
        tests[name] = Ended(name, "failed" if kind else said, failures)
    return SuiteRun(devices, tests)


def test_the_difference_is_what_fails_on_the_card_alone() -> None:
    difference = compare(
        ran("the CPU", a="passed", b="boom", c="skipped", d="boom", e="passed", f="passed"),
        ran(
            "virtual cuda:1",
            a="mixed-device",
            b="mixed-device",
            c="mixed-device",
            d="passed",
            f="unsupported-virtually",
        ),
    )
    assert [(cause.failure.kind, cause.tests) for cause in difference.causes] == [
        ("mixed-device", ("a", "c"))
    ]
    assert [cause.tests for cause in difference.undecided] == [("f",)]
    assert (difference.on_both, difference.on_cpu_alone) == (("b",), ("d",))
    assert difference.not_run == ("e",)
    assert difference.exit_code == 1


def test_what_virtual_devices_cannot_do_is_no_failure_of_the_suite() -> None:
    difference = compare(ran("the CPU", f="passed"), ran("virtual", f="unsupported-virtually"))
    assert difference.exit_code == 0
    assert "what virtual devices cannot do" in suite.render_text(difference)
