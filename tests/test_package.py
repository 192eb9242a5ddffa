"""What `pip install` gives: the linter alone, everything in the wheel, torch only with an extra."""

from __future__ import annotations

import email.message
import email.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import try_release
import virtualenv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "devlint": "devlint",
    "rules/devlint_rules": "devlint_rules",
    "runtime_guard": "runtime_guard",
}
INFERENCE_PARTS = ("collect", "interpreter", "models", "program", "summaries", "syntax")
GUARD_PARTS = (
    "core",
    "agreement",
    "recording",
    "virtual",
    "reports",
    "commands",
    "drive",
    "startup",
)
NOT_SOURCE = shutil.ignore_patterns(
    ".git",
    "node_modules",
    ".venv*",
    ".*_cache",
    ".hypothesis",
    "__pycache__",
    "build",
    "dist",
    "*.egg-info",
)


@dataclass(frozen=True)
class Distributions:
    wheel: Path
    sdist: Path

    def files(self) -> set[str]:
        return set(zipfile.ZipFile(self.wheel).namelist())

    def metadata(self) -> email.message.Message:
        with zipfile.ZipFile(self.wheel) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
            return email.parser.Parser().parsestr(wheel.read(name).decode())


@dataclass(frozen=True)
class Environment:
    """A virtual environment outside the tests' own."""

    path: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        program = self.path / "bin" / command[0]
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        return subprocess.run(
            [str(program), *command[1:]], cwd=self.home, env=clean, capture_output=True, text=True
        )

    @property
    def home(self) -> Path:
        """Where its programs run: a project with no thousand files of libraries in it."""
        return self.path.with_name(f"{self.path.name}-home")

    def distributions(self) -> set[str]:
        listed = self.run("python", "-m", "pip", "list", "--format=json")
        return {str(entry["name"]).lower() for entry in json.loads(listed.stdout)}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """The sdist of a copy of the source tree, and the wheel built from that sdist."""
    copy = tmp_path_factory.mktemp("source") / "devlint"
    shutil.copytree(ROOT, copy, ignore=NOT_SOURCE)
    out = copy.parent / "out"
    uv = ["--installer=uv"] if "UV_INDEX_STRATEGY" in os.environ else []  # by scripts/test.py
    build = [sys.executable, "-m", "build", *uv, "--outdir", str(out), str(copy)]
    result = subprocess.run(build, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (wheel,) = out.glob("*.whl")
    (sdist,) = out.glob("*.tar.gz")
    return Distributions(wheel, sdist)


@pytest.fixture(scope="module")
def installed(
    built: Distributions, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Environment]:
    """`pip install devlint` in a fresh environment."""
    environment = Environment(tmp_path_factory.mktemp("environment"))
    environment.home.mkdir()
    virtualenv.cli_run([str(environment.path), "--no-setuptools"])
    result = environment.run("python", "-m", "pip", "install", "--quiet", str(built.wheel))
    assert result.returncode == 0, result.stderr
    yield environment


def test_the_wheel_carries_every_module_every_data_file_and_the_type_marker(
    built: Distributions,
) -> None:
    wanted = {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in PACKAGES.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".json", ".toml", ".txt"} or path.name == "py.typed"
    }
    assert {f"{package}/py.typed" for package in PACKAGES.values()} <= wanted
    carried = {name for name in built.files() if ".dist-info/" not in name}
    assert carried == wanted


def test_the_sdist_carries_what_a_packager_needs_to_run_the_tests(built: Distributions) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "constraints.txt", "scripts/test.py"} <= names
    assert {".pre-commit-hooks.yaml", "tests/test_package.py"} <= names


def test_torch_is_required_by_extras_only_and_never_pinned(built: Distributions) -> None:
    requirements = built.metadata().get_all("Requires-Dist", [])
    plain = {name(text) for text in requirements if "extra ==" not in text}
    assert plain == {"libcst", "click", "tomli"}
    torch = {text.replace("'", '"') for text in requirements if name(text) == "torch"}
    assert torch == {'torch>=2.4; extra == "guard"', 'torch>=2.4; extra == "test"'}


def test_the_metadata_names_licence_and_python(built: Distributions) -> None:
    metadata = built.metadata()
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.10"
    assert any(name.endswith("licenses/LICENSE") for name in built.files())


def test_installing_brings_libcst_and_click_and_no_torch(installed: Environment) -> None:
    """PyYAML (`pyyaml-ft` from Python 3.13 on) is libcst's own requirement."""
    allowed = {"devlint", "libcst", "click", "tomli", "pyyaml", "pyyaml-ft", "pip", "setuptools"}
    distributions = installed.distributions()
    assert {"devlint", "libcst", "click"} <= distributions <= allowed


@pytest.mark.parametrize("arguments", [["--version"], ["rules"], ["check", "--no-such-option"]])
def test_the_module_and_the_command_are_the_same(
    installed: Environment, arguments: list[str]
) -> None:
    command = installed.run("devlint", *arguments)
    module = installed.run("python", "-m", "devlint", *arguments)
    assert (module.returncode, module.stdout) == (command.returncode, command.stdout)
    assert module.stderr == command.stderr
    assert command.stdout or command.stderr


def test_the_version_is_the_packages_own(installed: Environment, built: Distributions) -> None:
    assert str(built.metadata()["Version"]) in installed.run("devlint", "--version").stdout


def test_the_installed_rules_are_found_by_their_entry_point(installed: Environment) -> None:
    assert "DEV101" in installed.run("devlint", "rules").stdout


def test_the_installed_command_finds_a_bug(installed: Environment) -> None:
    bad = installed.home / "bad.py"
    bad.write_text("import torch\n\nx = torch.zeros(3).cuda() + torch.ones(3)\n")
    result = installed.run("devlint", "check", "bad.py")
    assert result.returncode == 1, result.stderr
    assert "DEV101" in result.stdout


def test_the_oldest_python_is_enough(
    built: Distributions, installed: Environment, tmp_path: Path
) -> None:
    """As `scripts/try_release.py` tries it with each Python, in a workflow."""
    oldest = try_release.VERSIONS[0]
    assert built.metadata()["Requires-Python"] == f">={oldest}"
    python = try_release.interpreter(oldest)
    if python is None:
        try_release.try_out(installed.path / "bin", tmp_path)
        warnings.warn(f"NOT TRIED: there is no Python {oldest} here", stacklevel=1)
        pytest.skip(f"there is no Python {oldest} here")
    programs = try_release.install(
        Path(sys.executable), python, built.wheel, tmp_path / "environment"
    )
    try_release.try_out(programs, tmp_path)


def test_pytest_still_runs_where_devlint_is_and_torch_is_not(installed: Environment) -> None:
    """Our pytest plugin is loaded by every pytest of that environment, and must not break it."""
    result = installed.run("python", "-m", "pip", "install", "--quiet", "pytest")
    assert result.returncode == 0, result.stderr
    (installed.home / "test_user.py").write_text("def test_user():\n    assert 1 + 1 == 2\n")
    result = installed.run("python", "-m", "pytest", "-q", "test_user.py")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout


def test_the_guard_says_which_extra_it_needs_where_torch_is_missing(
    installed: Environment,
) -> None:
    (installed.home / "test_user.py").write_text("def test_user():\n    assert 1 + 1 == 2\n")
    installed.run("python", "-m", "pip", "install", "--quiet", "pytest")
    result = installed.run("python", "-m", "pytest", "-q", "--device-guard", "test_user.py")
    assert result.returncode != 0
    assert "devlint[guard]" in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.parametrize("module", ["devlint.cli", "devlint.engine", "runtime_guard.pytest_plugin"])
def test_importing_does_not_import_torch(module: str) -> None:
    """It takes seconds, and neither the linter nor a test run without the guard needs it."""
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


STARTING = """
import sys
from devlint.__main__ import program
try:
    program()
except SystemExit:
    pass
print(*sorted(name for name in sys.modules if name.split(".")[0] == "devlint"))
print(*sorted({name.split(".")[0] for name in sys.modules} - sys.stdlib_module_names))
"""


def test_asking_for_the_version_imports_the_command_line_and_nothing_else(tmp_path: Path) -> None:
    paths = os.pathsep.join((str(ROOT), str(ROOT / "rules")))
    command = [sys.executable, "-S", "-c", STARTING, "--version"]
    click_at = str(Path(click.__file__).parent.parent)
    shown = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((paths, click_at))},
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert shown[0].startswith("devlint ")
    assert shown[1].split() == ["devlint", "devlint.__main__", "devlint.cli", "devlint.version"]
    assert set(shown[2].split()) <= {"__main__", "click", "devlint", "typing_extensions"}


def name(requirement: str) -> str:
    """The distribution that a `Requires-Dist` line names."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None
    return match[0].lower()


CHECKING = """
import sys
before = set(sys.modules)
from devlint.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    assert done.code == 1, done.code
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def loaded_by_a_check(folder: Path, *arguments: str) -> set[str]:
    """The modules that `devlint check` imports for a small file with a finding."""
    (folder / "module.py").write_text("import torch\n\nx = torch.ones(3).cuda() + torch.ones(3)\n")
    command = [sys.executable, "-c", CHECKING, "check", "module.py", *arguments]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "Traceback" not in found.stderr, found.stderr
    return set(found.stderr.split())


@pytest.mark.parametrize(
    "slow",
    [
        "devlint.check.processes",  # one group of files needs no other process
        "devlint.check.shards",
        "devlint.comparison",
        "difflib",
        "devlint.fixes",  # it compares texts and writes files; this check does neither
        "devlint.suppression_comments",
        "devlint.project.magics",
        "devlint.project.notebooks",
        "email",  # with `importlib.metadata`; entry points are found without it
        "libcst.codemod",
        "libcst.matchers",
        "multiprocessing",
        "shutil",
        "tempfile",
        "torch",
        "zipfile",
    ],
)
def test_checking_a_file_imports_only_what_it_needs(slow: str, checking: set[str]) -> None:
    assert slow not in checking


@pytest.fixture(scope="module")
def checking(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return loaded_by_a_check(tmp_path_factory.mktemp("checked"), "--no-cache")


def test_what_the_cache_knows_is_told_without_the_inference(tmp_path: Path) -> None:
    assert "devlint.inference.api" in loaded_by_a_check(tmp_path)
    again = loaded_by_a_check(tmp_path)
    assert "devlint.check.cache" in again
    assert not {"devlint.engine", "devlint.inference.api", "devlint_rules", "libcst"} & again
    for needless in ("difflib", "knowledge", "subprocess"):
        assert not [name for name in again if needless in name], needless


@pytest.mark.parametrize(
    ("package", "besides"),
    [
        ("devlint/inference", []),
        *((f"devlint/inference/{part}", []) for part in INFERENCE_PARTS),
        ("runtime_guard", []),
        *((f"runtime_guard/{part}", []) for part in GUARD_PARTS),
    ],
)
def test_the_map_of_a_package_names_every_module_once(package: str, besides: list[str]) -> None:
    folder = ROOT / package
    rooms = re.findall(r"^    ([a-z_, ]+): ", (folder / "__init__.py").read_text(), re.M)
    named = [name for room in rooms for name in room.split(", ")]
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert sorted([*named, *besides]) == sorted(modules - {"__init__", "__pycache__"})
