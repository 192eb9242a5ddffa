"""Generate devlint/knowledge/conventions.json: how each convention is searched for.

    python scripts/generate_conventions.py
    python scripts/generate_conventions.py --check     exit 1 if the file is not what is written

Whoever changes a row of `conventions.toml` runs it: until then that row is read where it is asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from generated_pages import ROOT, update

sys.path.insert(0, str(ROOT))

from devlint.inference.conventions import conventions
from devlint.inference.conventions.reading import text_of
from devlint.inference.conventions.searches import FILE, checksum_of, worked_out


def generate() -> str:
    """A line for each row."""
    lines = (
        f"{json.dumps(name)}: {json.dumps([checksum_of(text_of(name)), *worked_out(row)])}"
        for name, row in conventions().items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> None:
    sys.exit(update({Path(FILE): generate()}, Path(__file__).name, sys.argv[1:]))


if __name__ == "__main__":
    main()
