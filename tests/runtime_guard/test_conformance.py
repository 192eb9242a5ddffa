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
filelock = pytest.importorskip("filelock")  # torch needs it

from runtime_guard import conformance  # noqa: E402
from runtime_guard.agreement import device_checks  # noqa: E402
from runtime_guard.agreement.device_checks import STRUCTURED, UNSTRUCTURED  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

CUDA_FILE = Path(conformance.__file__).with_name("conformance_cuda.json")
DIFFERENCES = json.loads(Path(__file__).with_name("fake_tensor_differences.json").read_text())
"""Every case in which we differ from FakeTensor, by reason, as ``ours | FakeTensor's``."""
LENIENT = ("generated-check", "convolution", "iterator", "python-kernel")
"""The reasons that are leniencies of FakeTensor: CUDA refuses these by its sources."""
TORCH = torch.__version__.partition("+")[0]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, worker_id):
    """What every case does in each world, measured once however many processes run the tests."""
    folder = tmp_path_factory.getbasetemp()
    kept = (folder if worker_id == "master" else folder.parent) / "conformance.json"
    with filelock.FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            cases = conformance.all_cases()
            worlds = {name: conformance.run_world(name, cases) for name in ("virtual", "fake")}
            kept.write_text(json.dumps(worlds))
    return json.loads(kept.read_text())


@pytest.fixture(scope="module")
def ours(outcomes):
    return outcomes["virtual"]


@pytest.fixture(scope="module")
def fake(outcomes):
    return outcomes["fake"]


def test_no_operator_fails_for_another_reason_than_its_devices(ours):
    assert len(ours) > 1000
    assert {key: outcome for key, outcome in ours.items() if outcome.startswith("other")} == {}


def test_agrees_with_fake_tensors(ours, fake, capsys):
    """Agreement as measured, and without the cases in which FakeTensor is laxer than CUDA.

    The bounds hold for every release; of the pinned one ``TestDifferences`` knows each case.
    """
    compared, differing = conformance.agreement(ours, fake)
    lenient = {key for reason in LENIENT for key in DIFFERENCES["cases"][reason]}
    strict = [key for key in differing if key not in lenient]
    comparable = compared - (len(differing) - len(strict))
    with capsys.disabled():
        print(
            f"\nFakeTensor: {compared} cases, {1 - len(differing) / compared:.1%} agree; "
            f"without its leniencies {comparable}, {1 - len(strict) / comparable:.1%}"
        )
    assert compared >= 1300
    assert len(strict) / comparable <= 0.03


@pytest.mark.skipif(DIFFERENCES["torch"] != TORCH, reason="written down for another torch")
class TestDifferences:
    def test_each_is_written_down_with_its_reason(self, ours, fake):
        _, differing = conformance.agreement(ours, fake)
        written = {
            key: pair for cases in DIFFERENCES["cases"].values() for key, pair in cases.items()
        }
        assert {key: f"{ours[key]} | {fake[key]}" for key in differing} == written
        assert DIFFERENCES["cases"].keys() == DIFFERENCES["reasons"].keys()

    def test_a_generated_check_is_one(self):
        checked = {name.partition(".")[0] for name in STRUCTURED | UNSTRUCTURED}
        asked = {key.partition("#")[0] for key in DIFFERENCES["cases"]["generated-check"]}
        chosen = {name: op for name, op in conformance.operators().items() if name in asked}
        cases = conformance.all_cases(chosen)
        known = {case.key: (case, op, sample) for case, op, sample in cases}
        refusing = {}
        for key in DIFFERENCES["cases"]["generated-check"]:
            case, op, sample = known[key]
            refusing[key] = conformance.refusing_operation(op, sample, case.left)
        assert {key: name for key, name in refusing.items() if name not in checked} == {}


@pytest.mark.skipif(device_checks.TORCH != TORCH, reason="generated for another torch")
def test_the_generated_checks_are_those_of_pytorch():
    pytest.importorskip("yaml")
    from generate_device_checks import checked_functions

    structured, unstructured = checked_functions()
    assert frozenset(structured) == STRUCTURED
    assert frozenset(unstructured) == UNSTRUCTURED


@pytest.mark.skipif(not CUDA_FILE.exists(), reason="no CUDA device has been asked yet")
def test_agrees_with_cuda(ours):
    recorded = json.loads(CUDA_FILE.read_text())
    compared, differing = conformance.agreement(ours, recorded["outcomes"])
    assert compared > 1000
    assert len(differing) / compared <= 0.01, differing
