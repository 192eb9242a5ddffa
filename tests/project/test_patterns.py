"""Patterns mean what they mean in `.gitignore`: git itself is asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from devlint.project.patterns import compile_patterns

PATHS = (
    "a.py", "b.py", "sub/a.py", "sub/b.pyc", "sub/deep/a.py", "build/x.py", "sub/build/x.py",
    "build", "docs/a.txt", "docs/api/b.txt", "[x].py", "a b.py", "!a", "#a", "x1.py", "xy.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "covered"),
    [
        (["a.py"], {"a.py", "sub/a.py", "sub/deep/a.py"}),
        (["/a.py"], {"a.py"}),
        (["sub/a.py"], {"sub/a.py"}),
        (["sub"], {"sub/a.py", "sub/b.pyc", "sub/deep/a.py", "sub/build/x.py"}),
        (["build/"], {"build/x.py", "sub/build/x.py"}),
        (["*.py", "!b.py"], {p for p in PATHS if p.endswith(".py")} - {"b.py"}),
        (["docs/*"], {"docs/a.txt", "docs/api/b.txt"}),
        (["docs/**"], {"docs/a.txt", "docs/api/b.txt"}),
        (["**/deep"], {"sub/deep/a.py"}),
        (["**/**/deep"], {"sub/deep/a.py"}),
        (["sub/**/**/a.py"], {"sub/a.py", "sub/deep/a.py"}),
        (["sub/**/a.py"], {"sub/a.py", "sub/deep/a.py"}),
        (["x?.py"], {"x1.py", "xy.py"}),
        (["x[0-9].py"], {"x1.py"}),
        (["x[!0-9].py"], {"xy.py"}),
        (["\\[x\\].py"], {"[x].py"}),
        (["\\!a", "\\#a"], {"!a", "#a"}),
        (["# a comment", "", "   "], set()),
        (["./a.py"], {"a.py"}),
        (["x[.py"], set()),
    ],
)
def test_patterns(lines: list[str], covered: set[str]) -> None:
    patterns = compile_patterns(lines)
    assert {path for path in PATHS if patterns.covers(path)} == covered


def test_patterns_of_a_folder_hold_in_it_only() -> None:
    patterns = compile_patterns(["/a.py"], base="sub")
    assert patterns.verdict("sub/a.py", False) is True
    assert patterns.verdict("a.py", False) is None
    assert patterns.verdict("sub/deep/a.py", False) is None


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    if shutil.which("git") is None:
        pytest.fail("these tests ask git")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


WORDS = st.sampled_from(["a", "ab", "*", "?", "a*", "**", "b", "[ab]", "[!a]", "*b"])
LINES = st.builds(
    lambda negated, leading, words, trailing: negated + leading + "/".join(words) + trailing,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(WORDS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
)
NAMES = st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=3)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(LINES, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=8))
@example(lines=["a", "!/**"], names=[["a", "a"]])  # a `**` alone goes across directories
def test_git_agrees(repository: Path, lines: list[str], names: list[list[str]]) -> None:
    (repository / ".gitignore").write_text("\n".join(lines) + "\n")
    paths = sorted({"/".join(parts) for parts in names})
    answer = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=repository,
        input="\n".join(paths),
        capture_output=True,
        text=True,
    )
    patterns = compile_patterns(lines)
    assert {path for path in paths if patterns.covers(path)} == set(answer.stdout.split("\n")) - {
        ""
    }
