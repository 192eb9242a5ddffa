"""Which files are found: named ones always, Python files below folders, nothing twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes import Tree

from devlint.project.discovery import DEFAULT_EXCLUDE, Discovery, discover


def found(root: Path, discovery: Discovery) -> list[str]:
    return [file.relative_to(root).as_posix() for file in discovery.files]


def test_python_files_below_a_folder_in_order(tree: Tree) -> None:
    root = tree({"b.py": "", "a/z.py": "", "a/b/c.py": "", "a.txt": "", "a.pyi": "", "A.py": ""})
    assert found(root, discover([root], root)) == ["A.py", "a/b/c.py", "a/z.py", "b.py"]


def test_a_named_file_is_taken_whatever_its_name_and_excluded_or_not(tree: Tree) -> None:
    root = tree({"script": "", "build/x.py": ""})
    paths = [root / "script", root / "build" / "x.py"]
    assert found(root, discover(paths, root)) == ["build/x.py", "script"]
    assert found(root, discover(paths, root, force_exclude=True)) == ["script"]


def test_a_file_named_twice_is_found_once(tree: Tree) -> None:
    root = tree({"a/x.py": ""})
    assert found(root, discover([root / "a" / "x.py", root, root / "a"], root)) == ["a/x.py"]


def test_folders_that_hold_no_code_of_the_project(tree: Tree) -> None:
    root = tree({f"{name}/x.py": "" for name in DEFAULT_EXCLUDE} | {"sub/.venv/lib/x.py": ""})
    assert discover([root], root).files == []
    assert found(root, discover([root / ".venv"], root)) == [".venv/x.py"], "named itself"


def test_patterns_exclude(tree: Tree) -> None:
    root = tree({"gen/x.py": "", "a_gen.py": "", "sub/gen/x.py": "", "keep.py": ""})
    assert found(root, discover([root], root, ["/gen", "*_gen.py"])) == ["keep.py", "sub/gen/x.py"]


def test_what_git_ignores_is_not_checked(tree: Tree) -> None:
    files = {
        ".gitignore": "out/\n*_pb2.py\n!keep_pb2.py\n",
        "sub/.gitignore": "/local.py\n",
        "out/x.py": "", "x_pb2.py": "", "keep_pb2.py": "", "sub/local.py": "",
        "sub/deep/local.py": "", "local.py": "",
    }  # fmt: skip
    root = tree(files)
    expected = ["keep_pb2.py", "local.py", "sub/deep/local.py"]
    assert found(root, discover([root], root)) == expected
    assert len(discover([root], root, gitignore=False).files) == 6
    below = discover([root / "sub"], root)
    assert found(root, below) == ["sub/deep/local.py"], "files above a folder count too"


def test_links_to_files_are_followed_and_links_to_folders_are_not(tree: Tree) -> None:
    top = tree({"out/x.py": "", "root/b.py": ""})
    root = top / "root"
    (root / "link.py").symlink_to("../out/x.py")
    (root / "loop").symlink_to(root)
    (root / "folder.py").symlink_to("../out")
    assert found(root, discover([root], root)) == ["b.py", "link.py"]


def test_a_file_is_found_once_whatever_links_stand_for_it(tree: Tree) -> None:
    top = tree({"out/y.py": "", "root/z/x.py": ""})
    root = top / "root"
    (root / "link.py").symlink_to("z/x.py")
    (root / "one.py").symlink_to("../out/y.py")
    (root / "two.py").symlink_to("../out/y.py")
    assert found(root, discover([root], root)) == ["one.py", "z/x.py"]
    assert found(root, discover([root / "link.py"], root)) == ["link.py"], "named itself"


def test_broken_links_are_found_so_that_reading_them_says_why(tree: Tree) -> None:
    root = tree({})
    (root / "loop.py").symlink_to("loop.py")
    (root / "nowhere.py").symlink_to("missing.py")
    (root / ".#lock.py").symlink_to("user@host.123")
    assert found(root, discover([root], root)) == ["loop.py", "nowhere.py"]


def test_a_folder_named_like_a_file_is_a_folder(tree: Tree) -> None:
    root = tree({"x.py/y.py": ""})
    assert found(root, discover([root], root)) == ["x.py/y.py"]
    assert found(root, discover([root / "x.py"], root)) == ["x.py/y.py"]


def test_a_pipe_is_an_error_and_is_not_read(tree: Tree) -> None:
    root = tree({"x.py": ""})
    os.mkfifo(root / "pipe.py")
    discovery = discover([root], root)
    assert found(root, discovery) == ["x.py"]
    assert [(e.path, e.message) for e in discovery.errors] == [("pipe.py", "is not a regular file")]


def test_a_folder_that_cannot_be_listed_is_an_error(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a/x.py": "", "y.py": ""})
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    discovery = discover([root], root)
    assert found(root, discovery) == ["y.py"]
    assert [(e.path, e.message) for e in discovery.errors] == [
        ("a", "cannot be listed: Permission denied")
    ]
