"""Module names and imports: as Python resolves them, with few trees in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes import Tree

from devlint.project import imports
from devlint.project.imports import Importer, Project
from devlint.project.source import SourceError

FILES = {
    "train.py": "",
    "layers.py": "",
    "net/__init__.py": "",
    "net/model.py": "",
    "net/inner/__init__.py": "",
    "net/inner/deep.py": "",
    "src/lib/__init__.py": "",
    "src/lib/core.py": "",
    "spaces/one.py": "",
    "src/spaces/two.py": "",
    "scripts/run.py": "",
    "scripts/helper.py": "",
    "scripts/train.py": "",
    "both.py": "",
    "both/__init__.py": "",
    "both/x.py": "",
    "hidden/plain.py": "",
    "hidden.py": "",
    "broken.py": "x = (",
}


@pytest.fixture
def project(tree: Tree) -> Project:
    return Project(tree(FILES))


def importer(project: Project, name: str) -> Importer:
    return Importer(project, project.search_path(project.root / name))


@pytest.mark.parametrize(
    ("path", "name", "is_package"),
    [
        ("train.py", "train", False),
        ("net/__init__.py", "net", True),
        ("net/model.py", "net.model", False),
        ("net/inner/deep.py", "net.inner.deep", False),
        ("src/lib/core.py", "lib.core", False),
        ("src/spaces/two.py", "spaces.two", False),
        ("scripts/run.py", "scripts.run", False),
    ],
)
def test_names(project: Project, path: str, name: str, is_package: bool) -> None:
    parsed = project.parse(project.root / path)
    assert (parsed.path, parsed.module_name, parsed.is_package) == (path, name, is_package)


def test_a_file_outside_of_the_project_has_its_absolute_path(project: Project) -> None:
    inner = Project(project.root / "net")
    file = project.root / "src" / "lib" / "core.py"
    assert inner.path_of(file) == file.as_posix()
    assert inner.parse(file).module_name == "lib.core"


@pytest.mark.parametrize(
    ("importing", "name", "found"),
    [
        ("train.py", "net.model", "net/model.py"),
        ("train.py", "net", "net/__init__.py"),
        ("train.py", "net.inner", "net/inner/__init__.py"),
        ("train.py", "lib.core", "src/lib/core.py"),
        ("train.py", "helper", None),
        ("scripts/run.py", "helper", "scripts/helper.py"),
        ("scripts/run.py", "layers", "layers.py"),
        ("scripts/run.py", "train", "scripts/train.py"),
        ("net/model.py", "train", "train.py"),
        ("net/inner/deep.py", "net.model", "net/model.py"),
        ("train.py", "spaces.one", "spaces/one.py"),
        ("train.py", "spaces.two", "src/spaces/two.py"),
        ("train.py", "spaces", None),
        ("train.py", "both", "both/__init__.py"),
        ("train.py", "both.x", "both/x.py"),
        ("train.py", "hidden", "hidden.py"),
        ("train.py", "hidden.plain", None),
        ("train.py", "net.model.Net", None),
        ("train.py", "torch", None),
        ("train.py", "", None),
        ("train.py", "..net", None),
        ("train.py", "net/model", None),
    ],
)
def test_imports_find_what_python_finds(
    project: Project, importing: str, name: str, found: str | None
) -> None:
    parsed = importer(project, importing).load(name)
    assert (parsed.path if parsed else None) == found


def test_a_broken_module_is_not_found_and_raises_only_where_it_is_checked(
    project: Project,
) -> None:
    assert importer(project, "train.py").load("broken") is None
    for _ in range(2):
        with pytest.raises(SourceError, match="never closed"):
            project.parse(project.root / "broken.py")


def test_a_module_is_parsed_once(project: Project) -> None:
    tools = importer(project, "train.py")
    assert tools.load("net.model") is tools.load("net.model")
    assert tools.load("net.model") is project.parse(project.root / "net/model.py")


def test_trees_are_dropped_when_their_sources_exceed_the_budget(tree: Tree) -> None:
    root = tree({f"m{n}.py": "x = 1\n" * 10 for n in range(4)})
    project = Project(root, budget=150)  # two files
    files = [root / f"m{n}.py" for n in range(4)]
    first, second = project.parse(files[0]), project.parse(files[1])
    assert project.parse(files[0]) is first
    project.parse(files[2])
    assert project.parse(files[0]) is first, "the one used last is kept"
    assert project.parse(files[1]) is not second


def test_a_file_larger_than_the_budget_is_still_kept_while_in_use(tree: Tree) -> None:
    root = tree({"big.py": "x = 1\n" * 100})
    project = Project(root, budget=10)
    assert project.parse(root / "big.py") is project.parse(root / "big.py")


def test_given_contents_stand_for_the_file(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    assert Project(tmp_path, {file: b"y = 2\n"}).parse(file).text == "y = 2\n"


def test_a_project_that_hangs_together_is_not_parsed_whole_for_one_file(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "IMPORT_ALLOWANCE", 500)
    module = "x = 1\n" * 20
    count = 20
    root = tree({"main.py": ""} | {f"m{n}.py": module for n in range(count)})
    project = Project(root)
    tools = importer(project, "main.py")
    loaded = [n for n in range(count) if tools.load(f"m{n}")]
    assert loaded == list(range(4)), "until it is enough"
    assert tools.refused == {f"m{n}" for n in range(4, count)}
    assert tools.load("m0"), "what is loaded stays at hand"
    project.checked += 1000
    assert importer(project, "main.py").load("m19"), "many files checked allow for more"


def test_one_importer_does_not_load_without_end(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "IMPORTER_BUDGET", 500)
    root = tree({"main.py": ""} | {f"m{n}.py": "x = 1\n" * 20 for n in range(9)})
    project = Project(root)
    tools = importer(project, "main.py")
    assert [n for n in range(9) if tools.load(f"m{n}")] == list(range(5))
    assert importer(project, "main.py").load("m8")


def test_settings_are_looked_for_beside_a_file_and_above_it(tree: Tree) -> None:
    to_cuda = "import torch\ntorch.set_default_device('cuda')\n"
    names = ("run.py", "lib/defaults.py", "lib/inner/test_deep.py", "lib/inner/sub/x.py", "y/z.py")
    project = Project(tree(dict.fromkeys(names, to_cuda) | {"lib/inner/deep.py": ""}))
    asked = importer(project, "lib/inner/deep.py")
    assert sorted(asked.settings("lib/inner/deep.py")) == ["defaults", "run"]


def test_no_settings_are_looked_for_in_a_pipe(tree: Tree) -> None:
    root = tree({"main.py": "import torch\n"})
    os.mkfifo(root / "pipe.py")
    assert importer(Project(root), "main.py").settings("main.py") == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('import helper\n\nif __name__ == "__main__":\n    helper.run()\n', True),
        ("import helper\n\nhelper.run()\n", False),  # as a module of the package it finds none
    ],
)
def test_a_script_among_the_modules_of_a_package_finds_its_neighbours(
    tree: Tree, text: str, found: bool
) -> None:
    project = Project(
        tree({"style/__init__.py": "", "style/train.py": text, "style/helper.py": "run = print"})
    )
    neighbour = importer(project, "style/train.py").find("helper")
    assert (neighbour == project.root / "style" / "helper.py") is found


def test_a_script_of_a_package_finds_the_project_first(tree: Tree) -> None:
    text = 'if __name__ == "__main__":\n    pass\n'
    project = Project(
        tree({"p/__init__.py": "", "p/run.py": text, "p/net.py": "", "net/__init__.py": ""})
    )
    assert importer(project, "p/run.py").find("net") == project.root / "net" / "__init__.py"
