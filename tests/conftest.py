"""Fixtures for all tests, and their order: those that take long come first."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakes import Tree
from hypothesis import settings

# the tensors of tests are small; where several processes run them, torch's threads stand in line
os.environ.setdefault("OMP_NUM_THREADS", "1")
# what tests install, they run a few modules of: those are compiled then
os.environ.setdefault("PIP_NO_COMPILE", "1")

# no test fails because the machine was busy
settings.register_profile("devlint", deadline=None)
settings.load_profile("devlint")


# Files of more than ten seconds of CPU, the longest first: environments, hooks, runs of all
# fixtures, processes with torch. A worker takes a file at a time; with these first none of them is
# left for the end, when others have nothing to do.
LONG = (
    "test_package.py",
    "test_torch_table.py",
    "test_conformance.py",
    "test_drive.py",
    "test_suite.py",
    "test_pre_commit.py",
    "test_fixture_truth.py",
    "test_everyday_truth.py",
    "test_children.py",
    "test_growth.py",
    "test_test_command.py",
    "test_docs_site.py",
    "test_confirm_command.py",
    "test_fixes.py",
    "test_untrusted_code.py",
    "test_cache.py",
    "test_assumptions.py",
    "test_actions.py",
    "test_diagnostics.py",
    "test_lattice.py",
    "test_collectives.py",
    "test_run_command.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.path.name, len(LONG)))


def pytest_collection_finish() -> None:
    """What thirteen thousand tests are made of stays to the end: the garbage collector, which a
    tenth of the time went to, need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _only_new_objects_are_collected() -> None:
    """Nor at what other modules have left: a guard collects garbage at its end, and so do tests of
    what is thrown away."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _not_under_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The format of reports depends on it, and our own tests run there too."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes files, given by relative path and content, and returns their root."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            file.write_bytes(data)
        return tmp_path

    return write
