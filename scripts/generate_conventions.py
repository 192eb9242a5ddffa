"""Generate devlint/knowledge/conventions.json: how each convention is searched for.

    python scripts/generate_conventions.py
    python scripts/generate_conventions.py --check     exit 1 if the file is not what is written

Whoever changes a row of `conventions.toml` runs it: nothing else reads that file.
"""

from __future__ import annotations

import json
import re
import sys

from convention_literals import asks_for_no_place, is_of_a_line, literals_of
from convention_rows import Convention, conventions
from generated_pages import update

from devlint.inference.conventions.searches import FILE, Search


def search_for(row: Convention) -> Search:
    """The search for the convention of a row."""
    texts = literals_of(row.regex, re.IGNORECASE if row.ignore_case else 0)
    return Search(
        row.regex,
        row.ignore_case,
        None if texts is None else tuple(sorted(texts)),
        bool(texts) and not row.ignore_case and is_of_a_line(row.regex),
        asks_for_no_place(row.regex),
    )


def generate() -> str:
    """A line for each row."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(search_for(row))}" for name, row in conventions().items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    sys.exit(update({FILE: generate()}, "generate_conventions.py", sys.argv[1:]))


if __name__ == "__main__":
    main()
