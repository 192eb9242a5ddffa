"""The process that looks for a call: ``python -m runtime_guard.drive.child JOB ANSWER``."""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
import warnings
from typing import Any

from runtime_guard.drive.process import answer, limit


def main(job_file: str, answer_file: str) -> None:
    """Import the module, and search; the best so far is always in the answer."""
    with open(job_file, encoding="utf-8") as file:
        job: dict[str, Any] = json.load(file)
    limit(job["start"] + job["seconds"])
    sys.path[:0] = job["paths"]
    sys.argv = [job["module"]]
    warnings.simplefilter("ignore")

    from runtime_guard.virtual.context import virtual_devices  # start-up: torch

    with virtual_devices(job["machine"]):
        try:
            module = importlib.import_module(job["module"])
        except BaseException as error:
            first = str(error).strip().partition("\n")[0]
            answer(answer_file, {"import_error": f"{type(error).__name__}: {first}"})
            return
        gc.freeze()  # the collection behind each call looks at what the call has made alone
        _search(job, module, answer_file)


_UNFINISHED = "the time was up before it was settled"


def _search(job: dict[str, Any], module: Any, answer_file: str) -> None:
    from runtime_guard.drive.plan import Entry  # start-up: torch, like the two below
    from runtime_guard.drive.program import NotMade  # start-up
    from runtime_guard.drive.search import Budget, Driver, Try, settled  # start-up

    driver = Driver(
        job["finding"],
        job["root"],
        job["card"],
        f"virtual {job['machine']}",
        job["repeat"],
        job["data"],
    )
    entries = [Entry(owner, function) for owner, function in job["entries"]]
    found: dict[str, Any] = {}

    def note(done: Try, reason: str) -> None:
        noted = _as_data(done, reason)
        if not found or tuple(found["rank"]) < noted["rank"]:
            found.update(noted)
            answer(answer_file, found)

    for entry in entries:  # what the project calls already, before what is made up
        try:
            done = driver.search(
                module,
                entry,
                Budget(job["seconds"] / 8),
                lambda best: note(best, _UNFINISHED),
                True,
            )
        except NotMade:
            continue
        if done.confirmed:
            return
    refusals = []
    left: float = job["seconds"]
    for at, entry in enumerate(entries):
        # half of the time for the nearest way in, half of the rest for the next one
        budget = Budget(left / 2, job["calls"])
        began = time.process_time()
        driver.to_be_filled_in = any(e.function == entry.function for e in entries[at + 1 :])
        try:
            done = driver.search(module, entry, budget, lambda best: note(best, _UNFINISHED))
        except NotMade as error:
            refusals.append(str(error))
            continue
        finally:
            left -= time.process_time() - began
        if done.confirmed:
            break
        if done.reached and done.failure is None:
            done = _again(driver, module, done)
            open_question = settled(done, job["finding"], job["root"])
            if found.get("reason") == _UNFINISHED or not open_question:
                found.clear()
            note(done, open_question)
            if not open_question:
                break
    if not found:
        answer(answer_file, {"refused": refusals[0] if refusals else "nothing could be tried"})


def _as_data(done: Any, reason: str) -> dict[str, Any]:
    """A call and what came of it, with its rank among all."""
    return {
        "rank": (done.confirmed, done.reached and done.failure is None, done.reached),
        "entry": str(done.entry),
        "program": done.program.text,
        "failure": None if done.failure is None else str(done.failure),
        "reason": reason,
        "confirmed": done.confirmed,
        "keep_going": done.keep_going,
        "mixed": done.mixed,
    }


def _again(driver: Any, module: Any, done: Any) -> Any:
    """The same call, watched for what gets to the finding's lines."""
    choices = {address: value for address, (_, value) in done.program.slots.items()}
    choices.update(done.program.around)
    return driver.attempt(module, done.entry, choices, done.keep_going, watched=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
