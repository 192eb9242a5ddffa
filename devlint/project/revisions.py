"""Revisions of a project in git: its files at a commit or as staged, written to a folder.

Only git's plumbing is used, which runs no hook, no external diff and no text conversion.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from devlint.records import dataclass

WANTED = (".py", ".ipynb")  # and what decides which of them are looked at
IGNORE_FILE = ".gitignore"
REGULAR = ("100644", "100755")
STAGED = ""  # the revision that is about to be committed


class RevisionError(Exception):
    """No repository, no such revision, or no git; one line."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a revision, its path relative to the folder that was asked for."""

    path: str
    name: str  # git's


def git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    """The output of a git command in the folder. Raises RevisionError."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(command, input=data, capture_output=True, env=_environment())
    except OSError as error:
        raise RevisionError(f"git cannot be run: {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RevisionError(said[0] if said else f"git {arguments[0]} failed")
    return done.stdout


def _environment() -> dict[str, str]:
    """Ours, but that git finds the repository from the folder, also when a hook calls us; its
    index may be another one then."""
    ours = {k: v for k, v in os.environ.items() if k not in ("GIT_DIR", "GIT_WORK_TREE")}
    if "GIT_INDEX_FILE" in ours:
        ours["GIT_INDEX_FILE"] = os.path.abspath(ours["GIT_INDEX_FILE"])
    return {**ours, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def tree_of(folder: Path, revision: str) -> str:
    """The name of the tree of a revision. Raises RevisionError."""
    git(folder, "rev-parse", "--git-dir")  # says it well where there is no repository
    try:
        wanted = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
        return git(folder, "rev-parse", *wanted).decode().strip()
    except RevisionError:
        raise RevisionError(f"there is no revision {revision!r}") from None


def head_tree(folder: Path) -> str:
    """The tree of the last commit; the empty one before the first. Raises RevisionError."""
    try:
        return tree_of(folder, "HEAD")
    except RevisionError:
        return git(folder, "hash-object", "-t", "tree", "--stdin").decode().strip()


def blobs(folder: Path, tree: str) -> Iterator[Blob]:
    """The files of a tree, or of the index, that a check reads and that lie in the folder."""
    if tree == STAGED:
        listed = git(folder, "ls-files", "--stage", "-z")
    else:
        listed = git(folder, "ls-tree", "-r", "-z", tree)
    for line in filter(None, listed.split(b"\0")):
        head, _, name = line.partition(b"\t")
        fields = head.decode().split()
        mode, blob = fields[0], fields[1] if tree == STAGED else fields[2]
        path = PurePosixPath(os.fsdecode(name))
        if mode not in REGULAR or path.is_absolute() or ".." in path.parts:
            continue
        if path.suffix in WANTED or path.name == IGNORE_FILE:
            yield Blob(str(path), blob)


def export(folder: Path, tree: str, into: Path) -> None:
    """Write the files of a tree, or of the index, as they are stored. Raises RevisionError."""
    wanted = list(blobs(folder, tree))
    names = "".join(f"{blob.name}\n" for blob in wanted).encode()
    output = git(folder, "cat-file", "--batch", data=names)
    start = 0
    for blob in wanted:
        end = output.index(b"\n", start)
        size = int(output[start:end].split()[2])
        file = into / blob.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(output[end + 1 : end + 1 + size])
        start = end + 1 + size + 1


def renames(folder: Path, tree: str, *, staged: bool = False) -> dict[str, str]:
    """Where the files of a tree are now, by where they were, for those that were moved."""
    options = ["--name-status", "--find-renames", "--relative", "--no-ext-diff", "--no-textconv"]
    if staged:
        options.append("--cached")
    fields = git(folder, "diff-index", "-z", "-r", *options, tree, "--").split(b"\0")
    found = {}
    rest = iter(fields)
    for status in rest:
        if status.startswith((b"R", b"C")):
            old, new = os.fsdecode(next(rest)), os.fsdecode(next(rest))
            if status.startswith(b"R"):
                found[old] = new
        elif status:
            next(rest)
    return found
