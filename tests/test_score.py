"""`benchmarks/score.py`: bugs of a small history, fetched, found, and judged by what mends them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import score

MOVED = """\
import torch


def shift(x):
    x = x.cuda()
    return x + torch.ones(3)


def scale(x):
    x = x.cuda()
    return x * torch.ones(3)
"""
MENDED = MOVED.replace("x + torch.ones(3)", 'x + torch.ones(3, device="cuda")')
SHIFT, SCALE = 6, 11  # the lines of the two bugs
IDENTITY = ("-c", "user.name=A Name", "-c", "user.email=name@example.org")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", os.fspath(folder), *IDENTITY, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def committed(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def history(tmp_path: Path) -> dict[str, str]:
    """`host/owner/name`, in which the second commit mends one of two bugs of `model.py`."""
    folder = tmp_path / "host/owner/name"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):  # as GitHub does
        git(folder, "config", key, "true")
    (folder / "weights.bin").write_text("no Python file")
    parent = committed(folder, model=MOVED, other="import os\n")
    return {"parent": parent, "fix": committed(folder, model=MENDED)}


def record(history: dict[str, str], name: str, line: int, **fields: Any) -> dict[str, Any]:
    plain = {"repo": "owner/name", "path": "model.py", "category": "mixed-op", "expert": "certain"}
    return {"id": name, "lines": [[line, line]], **plain, **history, **fields}


def label(history: dict[str, str], line: int, of: str) -> dict[str, Any]:
    plain = {"repo": "owner/name", "path": "model.py", "rule": "DEV101"}
    return {"sha": history["fix"], "line": line, "label": of, **plain}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(
        records: list[dict[str, Any]], *arguments: str, labels: list[dict[str, Any]] | None = None
    ) -> tuple[dict[str, Any], str, str]:
        """What is saved, and what is printed."""
        for name, some in (("records", records), ("labels", labels or [])):
            (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(r)}\n" for r in some))
        score.main(
            [
                f"{tmp_path}/records.jsonl", f"--mirror={tmp_path}/mirror", "--jobs=1",
                f"--trees={tmp_path}/trees", f"--host=file://{tmp_path}/host",
                f"--labelled={tmp_path}/labels.jsonl", f"--save={tmp_path}/saved", *arguments,
            ]
        )  # fmt: skip
        said = capsys.readouterr()
        return json.loads((tmp_path / "saved").read_text()), said.out, said.err

    return run


def test_a_bug_is_found_and_a_pair_only_if_the_mended_file_has_fewer(
    history: dict[str, str], run: Any
) -> None:
    back = {"parent": history["fix"], "fix": history["parent"]}  # reports more afterwards
    records = [
        record(history, "mended", SHIFT),
        record(history, "elsewhere", 1),
        record(history, "another kind", SHIFT, category="transfer-in-loop"),
        record(back, "not mended", SCALE, path="model.py", expert="likely"),
    ]
    saved, out, _ = run(records, "--fetch")
    assert saved["found"] == {"mended": ["DEV101"], "not mended": ["DEV101"]}
    assert saved["pairs"] == ["mended"]
    assert "found  50.0%  pair  25.0%  pair, certain  33.3%" in out


def test_noise_is_what_is_said_of_the_mended_file(history: dict[str, str], run: Any) -> None:
    saved, out, _ = run([record(history, "a", SHIFT), record(history, "b", SHIFT)], "--fetch")
    name = f"owner+name/{history['fix'][:12]}/model.py"
    (said,) = saved["noise"][name]  # once, though two bugs are in it; DEV5 aside
    assert said.startswith(f"{SCALE}:12 DEV101 error ")
    lines = MENDED.count("\n")
    assert f"noise {1000 / lines:.3f} in {lines} lines" in out


def test_labels_that_are_still_reported_are_counted(history: dict[str, str], run: Any) -> None:
    labels = [label(history, SCALE, "true"), label(history, SHIFT, "false")]
    saved, out, _ = run([], "--fetch", labels=labels)
    assert saved["labelled"] == {f"owner/name/model.py:{SCALE} DEV101": "true"}
    assert "labelled: true 1/1, false 0/1" in out


def test_what_came_and_went_since_a_saved_run(
    history: dict[str, str], run: Any, tmp_path: Path
) -> None:
    records = [record(history, "mended", SHIFT)]
    run(records, "--fetch")
    (tmp_path / "saved").rename(tmp_path / "older")
    _, same, _ = run(records, "--fetch", f"--against={tmp_path}/older")
    assert "+ " not in same and "- " not in same
    _, less, _ = run([record(history, "mended", 1)], "--fetch", f"--against={tmp_path}/older")
    assert "- pair mended" in less.splitlines()


def test_only_the_python_files_of_the_commits_are_fetched(
    history: dict[str, str], run: Any, tmp_path: Path
) -> None:
    run([record(history, "mended", SHIFT)], "--fetch")
    clone = tmp_path / "mirror/owner+name/repo"
    files = git(clone, "rev-list", "--objects", "--missing=print", "--all").splitlines()
    blob = git(clone, "ls-tree", history["fix"], "weights.bin").split()[2]
    assert [each for each in files if each.startswith("?")] == [f"?{blob}"]
    assert sorted(os.listdir(tmp_path / "trees/owner+name" / history["fix"][:12])) == [
        "model.py", "other.py",
    ]  # fmt: skip


def test_a_commit_that_no_branch_reaches_is_fetched_too(
    history: dict[str, str], run: Any, tmp_path: Path
) -> None:
    host = tmp_path / "host/owner/name"
    git(host, "reset", "-q", "--hard", history["parent"])
    saved, _, _ = run([record(history, "mended", SHIFT)], "--fetch")
    assert saved["pairs"] == ["mended"]


def test_without_the_option_nothing_is_fetched(
    history: dict[str, str], run: Any, tmp_path: Path
) -> None:
    saved, _, err = run([record(history, "mended", SHIFT)])
    assert not saved["found"] and not (tmp_path / "mirror").exists()
    assert err == "no repository: mended\n"


def test_a_repository_or_commit_that_is_gone_is_said(history: dict[str, str], run: Any) -> None:
    records = [
        record(history, "here", SHIFT),
        record(history, "no repository", SHIFT, repo="owner/gone"),
        record({**history, "fix": "0" * 39 + "1"}, "no commit", SHIFT),
    ]
    saved, out, err = run(records, "--fetch")
    assert saved["pairs"] == ["here"] and "pair  33.3%" in out
    assert "cannot be fetched: owner/gone: " in err and "no repository: no repository" in err
    assert f"cannot be fetched: owner/name {'0' * 39}1: " in err
