"""The process that judges a witness: ``python -m runtime_guard.drive.replay JOB ANSWER``.

It is `devlint confirm` of one finding with the witness as the program.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from runtime_guard.drive.process import answer, limit


def main(job_file: str, answer_file: str) -> None:
    """Leave the judged finding, and how the witness ended."""
    with open(job_file, encoding="utf-8") as file:
        job: dict[str, Any] = json.load(file)
    limit(job["seconds"])

    from runtime_guard.commands.confirm import confirm  # start-up: torch, like the next
    from runtime_guard.drive.sooner import met_sooner  # start-up

    report = {"version": 1, "findings": [job["finding"]]}
    result = confirm(
        report,
        [job["witness"]],
        virtual=job["machine"],
        root=job["root"],
        keep_going=job["keep_going"],
        harm=True,
    )
    error = result.outcome.error
    sooner = met_sooner(job["finding"], result.missed, job["root"])
    first = str(error).strip().partition("\n")[0]
    answer(
        answer_file,
        {
            "finding": result.findings[0],
            "sooner": None if sooner is None else str(sooner.site),
            "failure": None if error is None else f"{type(error).__name__}: {first}",
        },
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
