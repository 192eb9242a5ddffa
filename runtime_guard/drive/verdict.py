"""One finding after the other: a call is looked for, written down, run again by itself, and judged.

*Confirmed* and *refuted* are what `devlint confirm` says of the witness as a program; what it does
not decide *could not be driven*, with the reason.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from runtime_guard.commands.attribution import span_of
from runtime_guard.commands.expectations import EXPECTATIONS, Finding
from runtime_guard.drive.plan import Entry, NoPlan, Plan, plan
from runtime_guard.drive.process import Answer, ask
from runtime_guard.drive.scenario import Scenario, launched, scenarios_of, untested
from runtime_guard.drive.witness import file_name, script

NOT_DRIVEN = "could not be driven"
_NOT_INSTALLED = ("ModuleNotFoundError", "ImportError")


@dataclass(frozen=True)
class Limits:
    """For one finding."""

    seconds: float = 60.0
    calls: int = 400
    start: float = 60.0
    """Seconds for the start of a process and the import, beside those of the calls."""

    @property
    def longest(self) -> float:
        """Seconds after which a process is ended; the calls are counted in processor time."""
        return 2 * self.seconds + self.start


def drive(finding: Finding, root: str, witnesses: Path, limits: Limits = Limits()) -> Finding:
    """A copy of ``finding`` with ``verdict``, ``reason``, ``evidence`` and ``witness``.

    The witness is a file below ``witnesses``, or None.  This runs the project's code, in processes
    of their own.
    """
    return _drive_one(finding, os.path.abspath(root), witnesses, limits)


def _drive_one(finding: Finding, root: str, witnesses: Path, limits: Limits) -> Finding:
    expectation = EXPECTATIONS.get(finding["rule"])
    if expectation is None:
        return _not_driven(finding, f"{finding['rule']} claims nothing that a run could show")
    if unseen := expectation.unseen(finding):
        return _not_driven(finding, unseen)
    if finding.get("cell"):
        return _not_driven(finding, "it is in a notebook")
    file, line, _ = span_of(finding, root)
    try:
        wanted = plan(file, line, root)
    except NoPlan as error:
        return _not_driven(finding, str(error))
    except OSError as error:
        return _not_driven(finding, f"{finding['path']} cannot be read: {error.strerror}")
    judged: list[Finding] = []
    scenarios = list(scenarios_of(finding))
    for scenario in scenarios:
        judged.append(_in_scenario(finding, wanted, scenario, root, witnesses, limits))
        if judged[-1]["verdict"] == "confirmed":
            return judged[-1]
        again = launched(scenario, judged[-1]["reason"])
        if again is not None:
            scenarios.append(again)
    return next((one for one in judged if one["verdict"] == "refuted"), judged[0])


def _in_scenario(
    finding: Finding, wanted: Plan, scenario: Scenario, root: str, witnesses: Path, limits: Limits
) -> Finding:
    def judged(found: Mapping[str, Any]) -> Finding:
        keep_going = bool(found.get("keep_going"))
        text = script(finding, found["program"], scenario, wanted.paths, keep_going)
        return _judge(finding, found, text, scenario, root, witnesses, limits)

    the_import = {"program": f"import {wanted.module}\n", "reason": "", "failure": None}
    if wanted.entries == (Entry(),):
        return judged(the_import)
    searched = _look(finding, wanted, scenario, root, limits)
    if "program" in searched.data:
        return judged(searched.data)
    failure = searched.data.get("import_error", "")
    if failure and not failure.startswith(_NOT_INSTALLED):
        by_import = judged(the_import)  # a script may have come by the line before it failed
        if by_import["verdict"] == "confirmed":
            return by_import
    return _not_driven(finding, _why_nothing(searched, wanted, limits))


def _look(finding: Finding, wanted: Plan, scenario: Scenario, root: str, limits: Limits) -> Answer:
    job = {
        "finding": finding,
        "root": root,
        "module": wanted.module,
        "paths": wanted.paths,
        "entries": [tuple(asdict(entry).values()) for entry in wanted.entries],
        "machine": scenario.machine,
        "card": scenario.card,
        "repeat": scenario.calls,
        "data": scenario.data,
        "start": limits.start,
        "seconds": limits.seconds,
        "calls": limits.calls,
    }
    return ask("runtime_guard.drive.child", job, limits.longest, scenario.environment)


def _why_nothing(searched: Answer, wanted: Plan, limits: Limits) -> str:
    data = searched.data
    if "import_error" in data:
        return f"`import {wanted.module}` fails: {data['import_error']}"
    if "refused" in data:
        return str(data["refused"])
    if searched.timed_out:
        late = f"did not end within {limits.longest:g} s"
        return f"`import {wanted.module}`, or a call of {wanted.entries[0]}, {late}"
    last = searched.tail.rpartition("\n")[2]
    return f"the process ended with exit code {searched.exit_code}" + (f": {last}" if last else "")


def _judge(
    finding: Finding,
    found: Mapping[str, Any],
    text: str,
    scenario: Scenario,
    root: str,
    witnesses: Path,
    limits: Limits,
) -> Finding:
    """What `devlint confirm` says of the witness, which is kept where it decides."""
    with tempfile.TemporaryDirectory(prefix="devlint-") as folder:
        path = Path(folder, file_name(finding))
        path.write_text(text, encoding="utf-8")
        job = {
            "finding": finding,
            "root": root,
            "witness": str(path),
            "machine": scenario.machine,
            "keep_going": bool(found.get("keep_going")),
            "seconds": limits.seconds,
        }
        replayed = ask("runtime_guard.drive.replay", job, limits.longest, scenario.environment)
    if "finding" not in replayed.data:
        late = f" within {limits.longest:g} s" if replayed.timed_out else ""
        return _not_driven(finding, f"the witness did not end{late}")
    judged: Finding = replayed.data["finding"]
    sooner = replayed.data["sooner"]
    if judged["verdict"] != "confirmed" and sooner is not None:
        shown = f"what it traces got into a mixed-device error before its line, at {sooner}"
        judged = {**judged, "verdict": "confirmed", "reason": shown}
    reason = _open_question(judged, found, replayed.data["failure"], finding)
    if reason:
        return _not_driven(finding, reason)
    witnesses.mkdir(parents=True, exist_ok=True)
    kept = witnesses / path.name
    kept.write_text(text, encoding="utf-8")
    return {**judged, "witness": str(kept)}


def _open_question(
    judged: Finding, found: Mapping[str, Any], failure: str | None, finding: Finding
) -> str:
    """Why the witness decides nothing; empty where it does."""
    verdict = judged["verdict"]
    called = found.get("entry", "the import")
    if verdict == "confirmed":
        if found.get("keep_going") and not found["confirmed"]:
            return f"{called}: devices mix before its line, and what is there comes of that"
        return ""
    if verdict != "refuted":
        ended = failure or found["failure"]
        furthest = f"; the call that got furthest ends with {ended}" if ended else ""
        why = (
            "no call was found that gets to its line"
            if verdict == "not executed"
            else judged["reason"]
        )
        return f"{called}: {why}{furthest}"
    if found.get("mixed"):
        return f"{called}: its line ran, but a mixed-device operation elsewhere stands before it"
    if failure or found["failure"]:
        return f"{called}: its line ran, and the call ends with {failure or found['failure']}"
    if found["reason"]:
        return f"{called}: its line ran, and {found['reason']}"
    if assumption := untested(finding):
        return f"{called}: its line ran, but a witness does not show whether `{assumption}` holds"
    return ""


def _not_driven(finding: Finding, reason: str) -> Finding:
    return {**finding, "verdict": NOT_DRIVEN, "reason": reason, "evidence": [], "witness": None}
