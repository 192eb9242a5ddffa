"""`scripts/ecosystem.py`: two revisions of devlint on the same repositories, compared."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ecosystem
import pytest
from ecosystem import Claim, Difference, Repository, difference, markdown_report, text_report

FAKE = """\
import json, sys
folder = sys.argv[-1]
assert sys.argv[1:4] == ["check", "--format", "json"]
print(json.dumps({report}))
"""


def claim(line: int, rule: str = "DEV101", **fields: str) -> Claim:
    said = {"confidence": "likely", "message": "`a` is on cpu"} | fields
    return Claim("pkg/x.py", line, 1, rule, **said)


def told(found: Difference) -> tuple[list[int], list[int], list[int]]:
    """The lines of what came, went and is told differently."""
    return (
        [each.line for each in found.came],
        [each.line for each in found.went],
        [new.line for _, new in found.retold],
    )


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository("owner/name", tmp_path, "c0ffee")


def test_equal_findings_are_no_difference(repository: Repository) -> None:
    found = difference(repository, [claim(1), claim(2)], [claim(2), claim(1)])
    assert not found and told(found) == ([], [], [])


def test_what_comes_goes_and_is_told_differently(repository: Repository) -> None:
    before = [claim(1), claim(2), claim(3), claim(3)]
    after = [claim(2, confidence="certain"), claim(3), claim(4)]
    assert told(difference(repository, before, after)) == ([4], [1, 3], [2])


def test_the_reports_say_it(repository: Repository) -> None:
    found = difference(repository, [claim(1)], [claim(2, "DEV102", message="<b>`x|y`</b>\x1b[2J")])
    text = "\n".join(text_report([found, Difference(repository)]))
    assert "  + pkg/x.py:2:1: DEV102 likely: <b>`x|y`</b>" in text
    assert "  - pkg/x.py:1:1: DEV101 likely: `a` is on cpu" in text
    assert text.endswith(
        "1 came, 1 went, 0 told differently in 2 repositories (1 findings before, 1 after)"
    )
    page = markdown_report([found])
    assert '<a href="https://github.com/owner/name/blob/c0ffee/pkg/x.py&#35;L2">' in page
    assert "<b>" not in page and "\x1b" not in text + page
    assert "| DEV102 | 1 | 0 |" in page


def test_a_comment_has_its_limit(repository: Repository) -> None:
    long = [difference(repository, [], [claim(n) for n in range(500)]) for _ in range(50)]
    page = markdown_report(long)
    assert "- and 450 more" in page
    assert len(page) < 65_536 and page.endswith("a comment has its limit.\n")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commits of a program that stands in for devlint: each finds one more line."""
    home = tmp_path / "home"
    (home / "devlint").mkdir(parents=True)
    (home / "devlint/__init__.py").write_text("")
    (home / "rules").mkdir()
    (home / "rules" / "kept").write_text("")
    monkeypatch.setattr(ecosystem, "ROOT", home)

    def git(*arguments: str) -> str:
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ["git", "-C", str(home), *names, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    commits = []
    reports: list[Any] = [
        {"errors": [], "findings": [finding(line) for line in range(1, lines)]}
        for lines in range(1, 4)
    ]
    broken = {"errors": [{"path": "x.py", "message": "a defect of devlint"}], "findings": []}
    for report in (*reports, broken):
        (home / "devlint/__main__.py").write_text(FAKE.format(report=report))
        git("add", ".")
        git("commit", "-q", "-m", "one more")
        commits.append(git("rev-parse", "HEAD"))
    return commits


def finding(line: int) -> dict[str, object]:
    return {
        "path": "x.py", "line": line, "column": 1, "rule": "DEV101",
        "confidence": "certain", "message": f"line {line}",
    }  # fmt: skip


def run(folder: Path, base: str, head: str, *options: str) -> int:
    (folder / "projects" / "one").mkdir(parents=True, exist_ok=True)
    (folder / "projects" / "two").mkdir(exist_ok=True)
    given = (base, head, "--repositories", str(folder / "projects"), *options)
    return ecosystem.main(given)


def test_two_revisions(
    history: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    assert run(tmp_path, history[0], history[2], "--markdown", str(page)) == 0
    shown = capsys.readouterr().out
    assert "one: 0 findings before, 2 after" in shown
    assert shown.splitlines()[-1].startswith("4 came, 0 went, 0 told differently in 2 repo")
    assert "DEV101: +4 -0" in shown
    assert "4 came" in page.read_text(encoding="utf-8")


def test_a_second_revision_that_fails_where_the_first_does_not(
    history: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, history[0], history[3]) == 1
    assert "! after: x.py: a defect of devlint (1 files in all)" in capsys.readouterr().out
    assert run(tmp_path, history[3], history[0]) == 0


def test_a_revision_that_is_not_there(
    history: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "nowhere", history[0]) == 2
    assert "nowhere" in capsys.readouterr().err


Commits = Callable[[dict[str, str]], str]


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commits:
    """Commits to a repository `owner/name` of a host that is a folder; the new one's name."""
    host, work = tmp_path / "host", tmp_path / "work"
    monkeypatch.setattr(ecosystem, "HOST", host.as_uri())
    bare = host / "owner" / "name.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    subprocess.run(["git", "init", "-q", str(work)], check=True)

    def git(*arguments: str) -> str:
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ["git", "-C", str(work), *names, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(files: dict[str, str]) -> str:
        for name, text in files.items():
            (work / name).write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", "one more")
        git("push", "-q", str(bare), "HEAD:refs/heads/main")
        return git("rev-parse", "HEAD")

    return commit


def test_a_repository_is_fetched_once_at_its_commit(
    origin: Commits, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pinned = origin({"x.py": "x = 1\n"})
    origin({"x.py": "x = 2\n", "later.py": ""})
    listing = tmp_path / "list.toml"
    listing.write_text(f'[repositories]\n"owner/name" = "{pinned}"\n')
    (found,) = ecosystem.listed(listing, tmp_path / "cache")
    assert (found.folder / "x.py").read_text() == "x = 1\n"
    assert not (found.folder / "later.py").exists()
    assert found.commit == pinned and "fetching owner/name" in capfd.readouterr().err
    shutil.rmtree(tmp_path / "host")  # nothing is asked of it again
    assert ecosystem.listed(listing, tmp_path / "cache") == [found]
    assert "fetching" not in capfd.readouterr().err


def test_a_fetch_that_failed_is_made_anew(origin: Commits, tmp_path: Path) -> None:
    missing = "c0ffee" + "0" * 34
    for _ in range(2):
        with pytest.raises(ecosystem.Failure, match="git fetch"):
            ecosystem.clone("owner/name", missing, tmp_path / "cache")
    with pytest.raises(ecosystem.Failure, match="git fetch"):
        ecosystem.clone("owner/gone", missing, tmp_path / "cache")
    there = origin({"x.py": ""})
    half = tmp_path / "cache" / "owner+name" / f"{there}.part"
    half.mkdir(parents=True)
    (half / "left.py").write_text("")
    folder = ecosystem.clone("owner/name", there, tmp_path / "cache")
    assert [each.name for each in folder.glob("*.py")] == ["x.py"]


def test_a_link_that_leads_out_of_a_repository_is_a_file(origin: Commits, tmp_path: Path) -> None:
    (tmp_path / "work" / "out.py").symlink_to("/etc/passwd")
    folder = ecosystem.clone("owner/name", origin({}), tmp_path / "cache")
    assert not (folder / "out.py").is_symlink()
    assert (folder / "out.py").read_text() == "/etc/passwd"


def test_every_repository_of_the_list_is_pinned_to_a_commit() -> None:
    pinned = ecosystem.tomllib.loads(ecosystem.LIST.read_text(encoding="utf-8"))["repositories"]
    assert len(pinned) >= 20
    for name, commit in pinned.items():
        assert name.count("/") == 1 and len(commit) == 40 and int(commit, 16)
