"""`scripts/try_trees.py`: whole trees, checked several times over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import try_trees
from fakes import Tree

PROGRAM = "import torch\n\nx = torch.zeros(3).cuda() + torch.ones(3)\n"


def result(**fields: Any) -> try_trees.Result:
    usual = {"files": 2, "findings": 1, "jobs": 1, "digest": "a", "failures": [], "slow": []}
    return {**usual, **fields}


def test_a_tree_is_checked_by_processes_of_their_own(
    tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree({"a.py": PROGRAM, "b.py": "def f(:\n", "build/c.py": PROGRAM})
    assert try_trees.main(["--checks", "2", "--seconds", "60", str(root)]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{root.name}: 3 files, ")  # what is excluded by default, too
    assert " 0 findings" not in said and ", 0 complaints, " in said


@pytest.mark.parametrize(
    ("results", "complaints"),
    [
        ([result(), result()], []),
        ([result(), result(digest="b")], ["the reports of the checks differ"]),
        ([result(failures=["x.py: rule DEV101 failed"])] * 2, ["x.py: rule DEV101 failed"]),
        ([result(slow=["x.py: took 6.1 s"]), result()], []),  # the machine's doing
        ([result(slow=["x.py: took 6.1 s"]), result(slow=["x.py: took 7.0 s"])],
         ["x.py: took 6.1 s"]),
        ([result(slow=["x.py: took 6.1 s"]), result(jobs=2)], ["x.py: took 6.1 s"]),
    ],
)  # fmt: skip
def test_what_is_complained_of(results: list[try_trees.Result], complaints: list[str]) -> None:
    assert list(try_trees.complaints(results)) == complaints


def test_a_check_that_dies_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "dies.py"
    script.write_text("raise SystemExit('the stack is too deep')\n")
    monkeypatch.setattr(try_trees, "__file__", str(script))
    died = try_trees.in_a_process(tmp_path, 0, 5)
    assert died["failures"] == ["exit code 1: the stack is too deep"]


def test_a_file_that_a_defect_keeps_from_being_analysed_is_told(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **named: object) -> object:
        raise ZeroDivisionError("by zero")

    root = tree({"a.py": PROGRAM})
    monkeypatch.setattr("devlint.inference.api.infer_file", broken)
    ((failure,),) = [try_trees.one_check(root, 0, 60)["failures"]]
    assert failure.startswith("a.py: was not analysed: ZeroDivisionError: by zero")
