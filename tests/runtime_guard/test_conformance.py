"""Virtual accelerators do what PyTorch does, operator by operator and program by program.

Measured against ``FakeTensorMode``, which needs no GPU, and against what a CUDA device did, once
``benchmarks/conformance_cuda.py`` has written its answers into ``card/`` on a machine that has one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from short_stack import on_a_short_stack

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")
filelock = pytest.importorskip("filelock")  # torch needs it

from runtime_guard import virtual_devices  # noqa: E402
from runtime_guard.agreement import device_checks  # noqa: E402
from runtime_guard.agreement.device_checks import STRUCTURED, UNSTRUCTURED  # noqa: E402
from runtime_guard.conformance import operators as conformance  # noqa: E402
from runtime_guard.conformance import programs  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

CARD = Path(__file__).with_name("card")
MEETINGS, PROGRAMS = CARD / "meetings.json", CARD / "programs.json"
DIFFERENCES = json.loads(Path(__file__).with_name("fake_tensor_differences.json").read_text())
"""Every case in which we differ from FakeTensor, by reason, as ``ours | FakeTensor's``."""
LENIENT = ("generated-check", "convolution", "iterator", "python-kernel")
"""The reasons that are leniencies of FakeTensor: CUDA refuses these by its sources."""
TORCH = torch.__version__.partition("+")[0]


def measured() -> dict[str, dict[str, str]]:
    """What every case does in each world."""
    cases = conformance.all_cases()
    return {name: conformance.run_world(name, cases) for name in ("virtual", "fake")}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory, worker_id):
    """As measured once, however many processes run the tests."""
    folder = tmp_path_factory.getbasetemp()
    kept = (folder if worker_id == "master" else folder.parent) / "conformance.json"
    with filelock.FileLock(kept.with_suffix(".lock")):
        if not kept.exists():
            kept.write_text(json.dumps(on_a_short_stack(measured)))
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
        cases = on_a_short_stack(lambda: conformance.all_cases(chosen))
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


@pytest.mark.skipif(not MEETINGS.exists(), reason="no CUDA device has been asked yet")
def test_operands_meet_as_on_a_card(ours):
    recorded = json.loads(MEETINGS.read_text())["answers"]
    theirs = {key: answer[0] for key, answer in recorded.items() if answer != "lost"}
    compared, differing = conformance.agreement(ours, theirs)
    assert compared > 1000
    assert len(differing) / compared <= 0.01, differing


@pytest.fixture(scope="module")
def answers():
    """What every small program does on virtual devices."""
    with virtual_devices("cuda:1"):
        return {program.name: programs.answer(program) for program in programs.programs()}


class TestPrograms:
    def test_all_can_be_asked(self, answers):
        """Virtual devices lack one thing that a program here asks for."""
        assert len(answers) > 500
        missing = {name for name, a in answers.items() if "UnsupportedVirtually" in a.error}
        assert missing == {"to_dlpack and back", "utilization"}

    @pytest.mark.parametrize(
        "name, copies, syncs",
        [
            # counted by hand in ATen's sources
            ("item", (0, 0), 1),
            ("chained comparison", (0, 0), 1),
            ("python sum", (0, 0), 0),
            ("python max", (0, 0), 2),
            ("mask read", (0, 0), 1),
            ("mask write of a number", (0, 0), 0),
            ("index by a list", (1, 0), 0),
            ("element write", (0, 0), 0),
            ("cpu", (0, 1), 1),
            ("cpu non_blocking", (0, 1), 0),
            ("one_hot", (0, 0), 1),
            ("one_hot with classes", (0, 0), 0),
            ("multinomial", (0, 0), 0),  # its checks are asserts of the device
            ("Adam", (0, 0), 0),
            ("grad scaler", (0, 0), 1),
            ("clip_grad_norm", (0, 0), 0),
            ("module to", (4, 0), 0),
            ("module cpu", (0, 4), 4),
        ],
    )
    def test_copies_and_syncs(self, answers, name, copies, syncs):
        answer = answers[name]
        assert (answer.error, (answer.h2d, answer.d2h), answer.syncs) == ("", copies, syncs)

    @pytest.mark.parametrize(
        "name, error",
        [
            ("add", "RuntimeError: Expected all tensors to be on the same device, but found"),
            ("conv2d host input", "RuntimeError: Input type (torch.FloatTensor) and weight type"),
            ("host mask by the card", "RuntimeError: indices should be either on cpu or on the"),
            ("numpy", "TypeError: can't convert cuda:0 device type tensor to numpy."),
            ("randn of a host generator", "RuntimeError: Expected a 'cuda' device type for gen"),
            ("rng state set of the card", "TypeError: RNG state must be a torch.ByteTensor"),
            ("event without timing", "ValueError: Both events must be created with argument"),
            ("meta to the card", "NotImplementedError: Cannot copy out of meta tensor; no data!"),
            ("autocast bce", "RuntimeError: torch.nn.functional.binary_cross_entropy and"),
        ],
    )
    def test_errors(self, answers, name, error):
        assert answers[name].error.startswith(error)

    @pytest.mark.skipif(not PROGRAMS.exists(), reason="no CUDA device has been asked yet")
    def test_as_on_a_card(self, answers):
        recorded = json.loads(PROGRAMS.read_text())["answers"]
        differing = {
            name: (answer.result, answer.error, recorded[name]["plain"])
            for name, answer in answers.items()
            if name in recorded and [answer.result, answer.error] != recorded[name]["plain"]
        }
        assert len(differing) / len(recorded) <= 0.02, differing
