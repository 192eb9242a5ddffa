"""`devlint check --shard` and `devlint merge`: the parts make the whole, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from devlint.check import groups
from devlint.cli import main
from devlint.reporters.formats import FORMATS

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MIXED = "import torch\nx = torch.ones(3).cuda() + torch.ones(3)\n"
MEANT = MIXED.replace("3)\n", "3)  # devlint: ignore -- meant\n")
# One file holds what waits for a call, another one the call that brings it from the host.
SHIFT = "import torch\n\n\ndef shift(rows: torch.Tensor):\n    return rows + torch.arange(4)\n"
USE = (
    "import torch\nfrom a.shift import shift\n\n\ndef use(path):\n"
    '    return shift(torch.load(path, map_location="cpu"))\n'
)
FILLER = "# a line\n" * 600
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `devlint …` in the folder of the project, with groups as in a large one."""
    monkeypatch.setattr(groups, "ALONE", 0)
    monkeypatch.setattr(groups, "LEAST", 4_000)
    monkeypatch.setattr(groups, "MOST", 9_000)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def invoke(*arguments: str) -> Result:
        result = CliRunner().invoke(main, [*arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def project(run: Run) -> Path:
    here = Path.cwd()
    shutil.copytree(FIXTURES / "teaching", here / "teaching")
    shutil.copytree(FIXTURES / "projects", here / "projects")
    write("a/shift.py", SHIFT + FILLER)
    write("z/use.py", USE + FILLER)
    write("meant.py", MEANT)
    write("pyproject.toml", '[tool.devlint]\nmin-confidence = "possible"\njobs = 1\n')
    return here


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def shards(run: Run, count: int, *options: str, form: str = "json") -> list[str]:
    """The results of all shards, as files beside the project."""
    files = [f"../{number}.{form}" for number in range(1, count + 1)]
    for number, file in enumerate(files, 1):
        run("check", f"--shard={number}/{count}", f"--output={form}={file}", *options)
    return files


def findings(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


# --- the whole ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_shards_merged_are_the_whole_check_in_every_format(
    run: Run, project: Path, count: int
) -> None:
    files = shards(run, count)
    for form in FORMATS:
        whole = run("check", "--format", form, "--show-suppressed")
        merged = run("merge", *files, "--format", form, "--show-suppressed")
        assert merged.stdout == whole.stdout
        assert (merged.exit_code, merged.stderr) == (whole.exit_code, whole.stderr) == (1, "")


def test_sarif_results_carry_as_much(run: Run, project: Path) -> None:
    files = shards(run, 2, form="sarif")
    for form in ("text", "sarif"):
        assert (
            run("merge", *files, "--format", form).stdout == run("check", "--format", form).stdout
        )


def test_each_file_is_in_one_shard_and_each_shard_has_its_share(run: Run, project: Path) -> None:
    sizes = []
    names: list[str] = []
    for number in (1, 2, 3):
        found = run("check", f"--shard={number}/3", "--format=junit").stdout
        own = sorted(name for name in every_python_file() if f'"{name}"' in found)
        names += own
        sizes.append(sum(Path(name).stat().st_size for name in own))
    assert sorted(names) == every_python_file()
    assert min(sizes) > sum(sizes) / 6


def every_python_file() -> list[str]:
    return sorted(file.as_posix() for file in Path().rglob("*.py"))


def test_a_shard_sees_the_whole_project(run: Run) -> None:
    """What is imported from a file of another shard is followed."""
    write("a/make.py", "import torch\n\n\ndef make():\n    return torch.ones(4).cuda()\n" + FILLER)
    use = "import torch\nfrom a.make import make\n\nx = make() + torch.ones(4)\n"
    write("z/use.py", use + FILLER)
    assert [f["path"] for f in findings(run("check", "--shard=2/2", "--format=json"))] == [
        "z/use.py"
    ]
    assert findings(run("check", "--shard=1/2", "--format=json")) == []


def test_what_waits_for_calls_is_settled_by_those_of_all_shards(run: Run, project: Path) -> None:
    """`shift` is handed what lives on the host: the shard of the call says so to the first."""
    first, last = shards(run, 2)
    assert "a/shift.py" in Path(first).read_text()
    found = {
        f["path"]: f["confidence"] for f in findings(run("merge", last, first, "--format=json"))
    }
    assert found["a/shift.py"] == "possible"


def test_only_some_folders_can_be_checked_in_shards(run: Run, project: Path) -> None:
    files = shards(run, 2, "a", "teaching")
    whole = run("check", "--format=json", "a", "teaching")
    assert run("merge", *files, "--format=json").stdout == whole.stdout
    assert findings(whole)


def test_the_exit_code_is_the_whole_checks(run: Run) -> None:
    write("a.py", "x = 1\n" + FILLER)
    write("b.py", MIXED + FILLER)
    assert run("merge", *shards(run, 2, "--select=DEV1")).exit_code == 1
    assert run("merge", *shards(run, 2, "--select=DEV3")).exit_code == 0
    assert run("merge", *shards(run, 2, "--fail-on=never")).exit_code == 0
    assert run("merge", *shards(run, 2, "--fail-on=never"), "--fail-on=warning").exit_code == 1
    write("c.py", "def f(:\n" + FILLER)
    whole, merged = run("check"), run("merge", *shards(run, 3))
    assert (merged.exit_code, merged.stdout) == (whole.exit_code, whole.stdout)
    assert whole.exit_code == 3


def test_a_missing_path_is_one_error(run: Run) -> None:
    write("a.py", "x = 1\n" + FILLER)
    files = shards(run, 2, "a.py", "gone.py")
    whole = run("check", "a.py", "gone.py", "--format=json")
    assert run("merge", *files, "--format=json").stdout == whole.stdout
    assert whole.exit_code == 3


def test_the_baseline_holds_and_what_is_stale_is_said_once(run: Run, project: Path) -> None:
    run("baseline", "create")
    lines = Path(".devlint-baseline").read_text()
    write(".devlint-baseline", lines + "meant.py DEV101 0123456789abcdef\n")
    write("z/new.py", MIXED)
    files = shards(run, 3, "--error-on-stale")
    for form in ("text", "sarif"):
        whole = run("check", "--error-on-stale", "--format", form)
        merged = run("merge", *files, "--format", form)
        assert merged.stdout == whole.stdout
        assert merged.stderr == whole.stderr
        assert "meant.py" in whole.stderr
    Path("z/new.py").unlink()
    assert run("merge", *shards(run, 3, "--error-on-stale")).exit_code == 1
    assert run("merge", *shards(run, 3)).exit_code == 0


def test_paths_are_those_of_where_it_was_checked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that merges need not have the files, and may lie elsewhere."""
    write("pyproject.toml", "[tool.devlint]\n")
    write("src/a.py", MIXED + FILLER)
    write("src/b.py", MIXED + FILLER)
    monkeypatch.chdir("src")
    for number in (1, 2):
        run("check", f"--shard={number}/2", f"--output=json={tmp_path}/{number}.json")
    whole = run("check")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    merged = run("merge", "../2.json", "../1.json")
    assert merged.stdout == whole.stdout
    assert " --> a.py:2" in whole.stdout


# --- results that are of no shard ----------------------------------------------------------------


def test_results_that_overlap_have_each_finding_once(run: Run) -> None:
    for name in "abc":
        write(f"{name}.py", MIXED)
    run("check", "a.py", "b.py", "--output=json=../first.json")
    run("check", "b.py", "c.py", "--output=json=../second.json")
    whole = run("check", "--format=json")
    merged = run("merge", "../second.json", "../first.json", "--format=json")
    assert findings(merged) == findings(whole)
    assert merged.exit_code == 1
    twice = run("merge", "../first.json", "../first.json", "--format=json")
    assert findings(twice) == [f for f in findings(whole) if f["path"] != "c.py"]


def test_a_shard_that_is_given_twice_counts_once(run: Run, project: Path) -> None:
    files = shards(run, 2)
    assert run("merge", *files, files[0]).stdout == run("check").stdout


def test_sarif_of_no_shard_becomes_the_same_sarif(run: Run, project: Path) -> None:
    run("check", "--output=sarif=../whole.sarif", "--show-suppressed")
    merged = run("merge", "../whole.sarif", "--format=sarif", "--show-suppressed")
    assert json.loads(merged.stdout) == json.loads(Path("../whole.sarif").read_text())


def test_json_of_no_shard_becomes_the_same_json(run: Run, project: Path) -> None:
    run("check", "--output=json=../whole.json", "--show-suppressed")
    merged = run("merge", "../whole.json", "--format=json", "--show-suppressed")
    assert merged.stdout == Path("../whole.json").read_text()


# --- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no JSON"),
        ("[]", "is no JSON or SARIF result of devlint"),
        ('{"version": 2, "files": 0, "findings": [], "errors": []}', "no object of a version"),
        ('{"version": 1, "files": 1, "findings": [{}], "errors": []}', "KeyError: 'rule'"),
        ('{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "Ruff"}}}]}', "of Ruff"),
        (
            '{"version": 1, "files": 0, "findings": [], "errors": [], "shard": {"data": "eJw="}}',
            "the data of its shard cannot be used",
        ),
    ],
)
def test_what_is_no_result_is_named(run: Run, text: str, said: str) -> None:
    write("odd.json", text)
    result = run("merge", "odd.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: odd.json: ")
    assert said in result.stderr


def test_a_result_that_is_not_there_is_named(run: Run) -> None:
    result = run("merge", "gone.json")
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: gone.json: cannot be read: No such file or directory\n",
    )


def test_a_shard_that_is_missing_is_named(run: Run, project: Path) -> None:
    files = shards(run, 4)
    result = run("merge", files[0], files[2])
    assert result.exit_code == 2
    assert "shards 2/4, 4/4 missing" in result.stderr


@pytest.mark.parametrize("change", ["options", "files", "count"])
def test_shards_of_different_checks_are_refused(run: Run, change: str) -> None:
    write("a.py", "x = 1\n" + FILLER)
    write("b.py", "x = 1\n" + FILLER)
    first, _ = shards(run, 2)
    if change == "files":
        write("c.py", "x = 1\n" + FILLER)
    options = ["--ignore=DEV301"] if change == "options" else []
    number = "2/3" if change == "count" else "2/2"
    run("check", f"--shard={number}", "--output=json=../other.json", *options)
    result = run("merge", first, "../other.json")
    assert result.exit_code == 2
    assert "is of another check than ../1.json (1/2)" in result.stderr


@pytest.mark.parametrize("value", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3"])
def test_a_shard_is_a_number_of_a_number(run: Run, value: str) -> None:
    result = run("check", f"--shard={value}")
    assert result.exit_code == 2
    assert "is not I/N" in result.stderr


@pytest.mark.parametrize("option", ["--fix", "--diff", "--staged", "--diff-base=HEAD", "-"])
def test_what_writes_or_compares_is_not_done_in_shards(run: Run, option: str) -> None:
    result = run("check", "--shard=1/2", option)
    assert result.exit_code == 2
    assert "cannot be used together" in result.stderr
