"""The executor that a cluster of the user's is: each group a task of Dask's.

    with dask_client("tcp://head:8786") as client:
        report = engine.check(paths, config, rules, executor=lambda s: Cluster(s, client))

The workers see the project at the same path, and have the same devlint installed. A task that a
worker dies of is given to others; one that several die of is done here, in a process of its own, so
that it costs the file that it is at.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from devlint.check.executors import Checker, Reached
from devlint.check.groups import Group
from devlint.check.outcome import Outcome
from devlint.check.plain_data import from_plain, to_plain
from devlint.check.processes import Processes, Recipe
from devlint.check.resources import with_deep_stack, without_garbage_collection
from devlint.check.setting import Setting
from devlint.version import __version__

PATIENCE = 30  # seconds for the scheduler to answer


class ClusterError(Exception):
    """A cluster that is not there, or cannot check."""


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address; None: the one that Dask's configuration names.

    Raises ClusterError.
    """
    try:
        dask, distributed = map(importlib.import_module, ("dask", "distributed"))
    except ImportError:
        raise ClusterError(
            "--executor dask needs distributed: pip install 'devlint[distributed]'"
        ) from None
    address = address or dask.config.get("scheduler-address", None)
    if address is None:
        raise ClusterError(
            "--executor dask needs a scheduler: name it by --scheduler tcp://HOST:8786 or by "
            "DASK_SCHEDULER_ADDRESS"
        )
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"no scheduler at {address}: {error}") from None
    with client:
        yield client


class Cluster:
    """The executor that a Dask cluster is, given its client."""

    def __init__(self, setting: Setting, client: Any) -> None:
        self.setting = setting
        self.client = client

    def __call__(self, groups: Sequence[Group], reached: Reached) -> list[Outcome]:
        """Raises ClusterError if a worker cannot check."""
        distributed = importlib.import_module("distributed")
        rules = tuple(rule.code for rule in self.setting.rules)
        recipe = Recipe(self.setting.config, rules, self.setting.contents)
        futures = self.client.map(
            check_on_worker, groups, recipe=recipe, version=__version__, pure=False
        )
        numbers = {future.key: number for number, future in enumerate(futures)}
        outcomes: dict[int, Outcome] = {}
        deadly = []
        try:
            for future in distributed.as_completed(futures, loop=self.client.loop):
                number = numbers[future.key]
                try:
                    outcomes[number] = from_plain(Outcome, future.result())
                except distributed.KilledWorker:
                    deadly.append(number)
                except Exception as error:
                    raise ClusterError(f"a worker cannot check: {_told(error)}") from None
                for file in groups[number].files:
                    reached(file)
        finally:
            self.client.cancel(futures)
        left = Processes(self.setting, 1)([groups[n] for n in deadly], reached) if deadly else []
        outcomes.update(zip(deadly, left, strict=True))
        return [outcomes[number] for number in range(len(groups))]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


# --- at the other end --------------------------------------------------------------------------

_ONE_AT_A_TIME = Lock()  # a check sets limits of the whole process


def check_on_worker(group: Group, recipe: Recipe, version: str) -> Any:
    """The outcome of a group as plain data. Dask runs it on a worker."""
    if version != __version__:
        raise RuntimeError(f"it has devlint {__version__}, the check is one of {version}")
    if not recipe.config.root.is_dir():
        raise RuntimeError(f"it has no folder {recipe.config.root}")
    with _ONE_AT_A_TIME, without_garbage_collection():
        checker = _checker(_Key(recipe))
        return to_plain(with_deep_stack(lambda: checker.check_group(group, lambda file: None)))


class _Key:
    """A recipe as a key: Dask hands over a new one, equal to the last, with each task."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.recipe == other.recipe

    def __hash__(self) -> int:
        return hash(self.recipe.config.root)


@lru_cache(maxsize=1)
def _checker(key: _Key) -> Checker:
    """What one has parsed, the next task need not, while it is of the same check."""
    return Checker(key.recipe.setting())
