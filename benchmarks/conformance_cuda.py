"""Ask a real CUDA device which operands may meet, and write what it did as a data file.

    python benchmarks/conformance_cuda.py

writes ``runtime_guard/conformance_cuda.json``, with which ``test_conformance.py`` in the tests
compares the virtual devices from then on.  Needs a CUDA device; exits with 2 where there is none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from runtime_guard import conformance

TARGET = Path(conformance.__file__).with_name("conformance_cuda.json")


def main() -> int:
    """Run every case on ``cuda:0`` and write the outcomes."""
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing to ask", file=sys.stderr)
        return 2
    outcomes = conformance.run_world("cuda", conformance.all_cases())
    data = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(0),
        "outcomes": dict(sorted(outcomes.items())),
    }
    TARGET.write_text(json.dumps(data, indent=1) + "\n")
    print(f"{len(outcomes)} cases written to {TARGET}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
