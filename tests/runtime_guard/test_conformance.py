"""Virtual accelerators let operands meet as PyTorch does, operator by operator.

Measured against ``FakeTensorMode``, which needs no GPU, and against what a CUDA device did, once
``benchmarks/conformance_cuda.py`` has written ``conformance_cuda.json`` on a machine that has one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from runtime_guard import conformance  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

CUDA_FILE = Path(conformance.__file__).with_name("conformance_cuda.json")

LENIENT_SCALARS = (
    "FakeTensor lets a 0-dim CPU tensor meet anything; on CUDA only operations on a TensorIterator "
    "that allows CPU scalars do"
)
LENIENT_CONVOLUTION = (
    "FakeTensor does not compare the devices of a convolution's operands; PyTorch says 'Input type "
    "(torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same'"
)
OTHERS = {
    "as_strided_scatter": "a clone and a copy_, which copies across devices",
    "select_scatter": "a clone and a copy_, which copies across devices",
    "native_dropout_backward": "FakeTensor runs a meta function that multiplies without comparing "
    "devices; on CUDA it is one kernel behind the generated check",
    "linalg.pinv": "an empty matrix returns before rtol is looked at; rtol.unsqueeze(-1) is no "
    "0-dim tensor any more",
    "nn.functional.bilinear": "an empty operand returns before any kernel runs",
    "nn.functional.cosine_similarity": "the operands are broadcast first, then they are no scalars",
}


def reason(case: conformance.Case, ours: str, fake: str) -> str | None:
    """Why we differ from FakeTensor in ``case``; None when there is no reason for it."""
    if ours == "raises" and "conv" in case.operator:
        return LENIENT_CONVOLUTION
    if case.operator in OTHERS:
        return OTHERS[case.operator]
    if ours == "raises" and case.dims[case.left] == 0:
        return LENIENT_SCALARS
    return None


@pytest.fixture(scope="module")
def cases():
    return conformance.all_cases()


@pytest.fixture(scope="module")
def ours(cases):
    return conformance.run_world("virtual", cases)


def test_no_operator_fails_for_another_reason_than_its_devices(ours):
    assert len(ours) > 1000
    assert {key: outcome for key, outcome in ours.items() if outcome.startswith("other")} == {}


def test_agrees_with_fake_tensors(cases, ours):
    fake = conformance.run_world("fake", cases)
    known = {case.key: case for case, _, _ in cases}
    compared, differing = conformance.agreement(ours, fake)
    reasons = {key: reason(known[key], ours[key], fake[key]) for key in differing}
    print(f"{compared} cases, {len(differing)} differ")
    assert {key: (ours[key], fake[key]) for key, why in reasons.items() if why is None} == {}
    # FakeTensor's two leniencies aside, which CUDA does not share
    strict = [why for why in reasons.values() if why in (LENIENT_SCALARS, LENIENT_CONVOLUTION)]
    others = len(differing) - len(strict)
    assert others / (compared - len(strict)) <= 0.02
    assert len(differing) / compared <= 0.10


@pytest.mark.skipif(not CUDA_FILE.exists(), reason="no CUDA device has been asked yet")
def test_agrees_with_cuda(ours):
    recorded = json.loads(CUDA_FILE.read_text())
    compared, differing = conformance.agreement(ours, recorded["outcomes"])
    assert compared > 1000
    assert len(differing) / compared <= 0.01, differing
