"""Folders that a program adds to `sys.path`: what its imports find there."""

import pytest
from conftest import Tree

from devlint.project.imports import Project

HERE = "import os, sys\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
LAYOUT = {"lib/nets/__init__.py": "", "lib/nets/core.py": "", "models/nets.py": "", "other.py": ""}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('import sys\nsys.path.append("../lib")', "lib/nets/core.py"),
        ('import sys\nsys.path.insert(0, "lib")', "lib/nets/core.py"),  # seen from the root
        (f'{HERE}sys.path.append(os.path.join(HERE, "..", "lib"))', "lib/nets/core.py"),
        (f'{HERE}lib = os.path.join(HERE, "..", "lib")\nadd(lib)', None),  # who says it is added?
        (f'{HERE}lib = os.path.join(HERE, "..", "lib")\nsys.path.append(lib)', "lib/nets/core.py"),
        (f'{HERE}sys.path.append(os.path.join(os.path.dirname(HERE), "lib"))', "lib/nets/core.py"),
        (
            f'{HERE}sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, "lib"))',
            "lib/nets/core.py",
        ),
        ('import sys\nsys.path.append("/opt/lib")', None),
        ('import sys\nsys.path.append("../../lib")', None),  # out of the project
        ('import sys\nsys.path.append("absent")', None),
        ("import sys\nprint(sys.path)", None),
    ],
)
def test_a_script_finds_what_lies_in_the_folders_that_it_adds(tree: Tree, written, found) -> None:
    project = Project(tree({**LAYOUT, "tools/train.py": written}))
    roots = project.search_path(project.root / "tools" / "train.py")
    file = project.find(roots, "nets.core")
    assert (None if file is None else project.path_of(file)) == found


def test_a_module_that_is_imported_for_its_folders_adds_them(tree: Tree) -> None:
    adds = f'{HERE}sys.path.insert(0, os.path.join(HERE, "..", "lib"))'
    files = {"tools/_init_paths.py": adds, "tools/train.py": "import _init_paths\n"}
    project = Project(tree({**LAYOUT, **files}))
    roots = project.search_path(project.root / "tools" / "train.py")
    assert project.find(roots, "nets.core") == project.root / "lib" / "nets" / "core.py"
    assert str(project.root / "tools" / "_init_paths.py") in project.asked.contents


def test_its_own_folder_and_the_root_come_first(tree: Tree) -> None:
    files = {"tools/nets.py": "", "tools/train.py": 'import sys\nsys.path.append("../lib")'}
    project = Project(tree({**LAYOUT, **files}))
    roots = project.search_path(project.root / "tools" / "train.py")
    assert project.find(roots, "nets") == project.root / "tools" / "nets.py"
