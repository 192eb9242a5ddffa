"""Findings that are known before a check: in the baseline, or at an earlier revision."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from devlint.baseline import USUAL_NAME, BaselineError, Entry, read_baseline, stale_entries
from devlint.commands.options import Refusal
from devlint.config import Config, Policy
from devlint.project.repository import repository_of
from devlint.report import Report
from devlint.rule import Rule

if TYPE_CHECKING:
    from devlint.check.shards import Terms

LISTED = 10  # stale entries by name


def baseline_of(config: Config, given: Path | None, none: bool) -> frozenset[Entry]:
    """The entries of the baseline: that of the command line, the configured one, or the usual
    file if it is there."""
    if none:
        return frozenset()
    file = Path(os.path.abspath(given)) if given else config.baseline_file()
    if not given and config.baseline == USUAL_NAME and not file.exists():
        return frozenset()
    try:
        return read_baseline(file)
    except BaselineError as error:
        raise Refusal(str(error)) from None


def with_known(
    config: Config,
    rules: tuple[Rule, ...],
    paths: Sequence[Path],
    entries: frozenset[Entry],
    revision: str | None,
) -> Config:
    """The configuration under which what is known is not reported."""
    if not entries and revision is None:
        return config
    known = frozenset(entry.fingerprint for entry in entries)
    if revision is not None:
        from devlint.comparison import known_at  # not for every check
        from devlint.project.revisions import RevisionError  # nor this

        try:
            known |= known_at(revision, paths, config, rules)
        except RevisionError as error:
            raise Refusal(f"--diff-base: {error}") from None
    return replace(config, known=known)


def stale(
    report: Report, entries: frozenset[Entry], config: Config, rules: tuple[Rule, ...]
) -> list[Entry]:
    """The entries of the baseline that the report says are of no use."""
    return stale_entries(report, entries, _running(config, rules))


def terms_of(
    config: Config, rules: tuple[Rule, ...], entries: frozenset[Entry], error_on_stale: bool
) -> Terms:
    """What a check in shards is held to, as a whole."""
    from devlint.check.shards import Terms  # not for every check

    terms = Terms.of(config, Path.cwd(), repository_of(config.root))
    runs = _running(config, rules)
    expected = [entry for entry in sorted(entries) if runs(entry.rule, entry.path)]
    return replace(
        terms,
        expected=tuple((entry, (config.root / entry.path).exists()) for entry in expected),
        error_on_stale=error_on_stale,
    )


def _running(config: Config, rules: tuple[Rule, ...]) -> Callable[[str, str], bool]:
    """Whether the rule of a code runs on a file."""
    policy = Policy(config, rules)
    every = {each.code for each in rules}

    def runs(rule: str, path: str) -> bool:
        return rule not in every or rule in {each.code for each in policy.rules_for(path)}

    return runs


def stale_note(entries: Sequence[Entry]) -> str:
    """What is said of stale entries, on standard error."""
    if not entries:
        return ""
    lines = [f"stale in the baseline, found no more: {entry}" for entry in entries[:LISTED]]
    if len(entries) > LISTED:
        lines.append(f"and {len(entries) - LISTED} more stale entries")
    lines.append("`devlint baseline prune` removes them")
    return "".join(f"devlint: {line}\n" for line in lines)
