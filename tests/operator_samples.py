"""PyTorch's own samples of operators (OpInfo), made where no `unittest.TestCase` runs.

For each operator its samplers look for the test case that asks, through the whole stack, frame by
frame and file by file. Here none is to be found, and the search takes longer than all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def without_a_test_case() -> Iterator[None]:
    """Samplers find no test case, and do not look for one."""
    from torch.testing._internal import common_utils
    from torch.testing._internal.opinfo import core

    with pytest.MonkeyPatch.context() as patch:
        for module in (common_utils, core):
            patch.setattr(module, "extract_test_fn", lambda: None, raising=False)
        yield
