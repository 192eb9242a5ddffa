"""A check compared with an earlier revision: only what the changes since then brought is new.

The earlier tree is written to a folder and checked in the same way; findings with equal
fingerprints are known. So a finding counts as new on a line that was changed, and on one that was
not when a change elsewhere causes it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from devlint import engine
from devlint.check.fingerprints import with_fingerprints
from devlint.config import Config
from devlint.findings import Finding
from devlint.project.revisions import STAGED, RevisionError, export, head_tree, renames, tree_of
from devlint.project.source import decode, read
from devlint.report import Report
from devlint.rule import Rule


def known_at(
    revision: str, paths: Sequence[Path], config: Config, rules: tuple[Rule, ...]
) -> frozenset[str]:
    """The fingerprints of what a check of the revision finds. Raises RevisionError."""
    tree = tree_of(config.root, revision)
    return _known(tree, renames(config.root, tree), paths, config, rules)


def check_staged(
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
    progress: engine.Progress | None = None,
) -> Report:
    """The report on what is about to be committed, as far as it is not so in the last commit.

    Raises RevisionError.
    """
    tree = head_tree(config.root)
    known = _known(tree, renames(config.root, tree, staged=True), paths, config, rules)
    known |= config.known or frozenset()
    with _exported(STAGED, replace(config, known=known)) as there:
        report = engine.check(_inside(paths, config, there), there, rules, progress=progress)
    report.root = config.root
    return report


def _known(
    tree: str,
    moved: Mapping[str, str],
    paths: Sequence[Path],
    config: Config,
    rules: tuple[Rule, ...],
) -> frozenset[str]:
    with _exported(tree, replace(config, known=None)) as there:
        report = engine.check(_inside(paths, config, there, moved), there, rules)
        findings = [each for each in report.findings if each.location.path not in moved]
        for old, new in moved.items():
            findings += _moved([f for f in report.findings if f.location.path == old], there, new)
    return frozenset(finding.fingerprint for finding in findings)


@contextmanager
def _exported(tree: str, config: Config) -> Iterator[Config]:
    """The configuration for a folder with the files of a tree."""
    with tempfile.TemporaryDirectory(prefix="devlint-") as folder:
        root = Path(os.path.realpath(folder))
        export(config.root, tree, root)
        yield replace(config, root=root)


def _inside(
    paths: Sequence[Path], config: Config, there: Config, moved: Mapping[str, str] | None = None
) -> list[Path]:
    """The paths as they lie in the other folder, where they are there; and those of moved files."""
    before = {new: old for old, new in (moved or {}).items()}
    found = []
    for path in paths:
        if not path.is_relative_to(config.root):
            raise RevisionError(f"{path} lies outside of the project, {config.root}")
        name = path.relative_to(config.root).as_posix()
        file = there.root / before.get(name, name)
        if file.exists():
            found.append(file)
    return found


def _moved(findings: Sequence[Finding], there: Config, path: str) -> list[Finding]:
    """The findings of a file as they would be under another path; not of a notebook, whose lines
    are those of its cells."""
    if not findings or findings[0].location.cell:
        return []
    text = decode(read(there.root / findings[0].location.path)).text
    renamed = (replace(f, location=replace(f.location, path=path)) for f in findings)
    return with_fingerprints(renamed, text)
