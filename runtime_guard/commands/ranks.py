"""Several processes: every rank keeps its own ledger, rank 0 puts them together.

Under ``torchrun`` through ``torch.distributed`` (gloo or nccl) while the group lives, or from the
evidence files that the ranks wrote.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from runtime_guard.recording.evidence import (
    Evidence,
    evidence_from_json,
    evidence_to_json,
    merge_evidence,
)


def rank() -> int | None:
    """The rank of this process as ``torchrun`` says it (``RANK``); None outside of it."""
    text = os.environ.get("RANK")
    return int(text) if text is not None and text.isdigit() else None


def rank_file(path: str, number: int) -> str:
    """``out.html`` -> ``out.rank1.json``: where rank 1 leaves its evidence."""
    return f"{os.path.splitext(path)[0]}.rank{number}.json"


def write_evidence(path: str, evidence: Evidence) -> None:
    """Write ``evidence`` as JSON, replacing the file as a whole."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(evidence_to_json(evidence), file)
    os.replace(temporary, path)


def read_evidence(path: str) -> Evidence:
    """The inverse of ``write_evidence``.  Raises ``OSError`` and ``ValueError``."""
    with open(path, encoding="utf-8") as file:
        return evidence_from_json(json.load(file))


def merge_files(paths: Iterable[str]) -> Evidence:
    """The evidence of all ranks from their files, in the order given; each is one rank."""
    return merge_evidence(
        read_evidence(path).told_by(f"rank {number}") for number, path in enumerate(paths)
    )


def gather(evidence: Evidence) -> Evidence | None:
    """All ranks' evidence on rank 0, None on the others; every rank has to call it.

    Goes through the default process group.  Raises ``RuntimeError`` when there is none.
    """
    import torch.distributed as dist  # start-up: torch

    if not (dist.is_available() and dist.is_initialized()):
        raise RuntimeError("gather: torch.distributed is not initialised in this process")
    mine = json.dumps(evidence_to_json(evidence))
    everyone: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, mine)
    if dist.get_rank() != 0:
        return None
    return merge_evidence(
        evidence_from_json(json.loads(text)).told_by(f"rank {number}")
        for number, text in enumerate(everyone)
    )
