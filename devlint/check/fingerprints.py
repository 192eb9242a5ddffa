"""Fingerprints: the name of a finding that stays when lines move."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

from devlint.findings import Finding
from devlint.project.source import lines_of
from devlint.report import in_order

LENGTH = 16  # hexadecimal digits


def with_fingerprints(findings: Iterable[Finding], text: str) -> list[Finding]:
    """The findings of one file, sorted, each with its fingerprint.

    It is of the rule, the path, the line without white space, and how many findings before it in
    the file have the same.
    """
    lines = lines_of(text)
    seen: dict[str, int] = {}
    marked = []
    for finding in in_order(findings):
        line = " ".join(lines[finding.location.line - 1].split())
        key = "\0".join((finding.rule, finding.location.path, line))
        ordinal = seen[key] = seen.get(key, -1) + 1
        digest = hashlib.sha256(f"{key}\0{ordinal}".encode(errors="replace")).hexdigest()
        marked.append(replace(finding, fingerprint=digest[:LENGTH]))
    return marked
