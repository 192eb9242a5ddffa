"""What fixtures claim is what PyTorch does: they run here under the guard, on virtual devices.

A run of a bad fixture shows what its rule claims, at the finding's lines; a good one shows no bug.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import FIXTURES, check_files, expected_codes

torch = pytest.importorskip("torch")

from guarded_run import CHECKPOINT, MACHINES, arguments_of, confirmed, named, save_checkpoint  # noqa: E402

from runtime_guard.commands.expectations import EXPECTATIONS  # noqa: E402
from runtime_guard.recording.events import PROBLEMS, Kind  # noqa: E402

RULE_FIXTURES = FIXTURES / "rules"
BAD = sorted(RULE_FIXTURES.glob("*/bad_*.py"))
GOOD = [*sorted(RULE_FIXTURES.glob("*/good_*.py")), *sorted(FIXTURES.glob("teaching/good_*.py"))]

UNSHOWN = {
    # findings that are right although no run of the fixture on a virtual machine can show it
    "DEV103/bad_parallel.py": "the wrapper refuses the module, with an error of its own",
    "DEV103/bad_wrapped.py": "the wrapper refuses the module, with an error of its own",
    "DEV107/bad_asked.py": "needs two cards, of which the code is given the second, and weights",
    "DEV107/bad_first_card.py": "needs two cards, of which the code is given the second",
    "DEV107/bad_flag.py": "nothing meets what it returns",
    "DEV107/bad_unread.py": "needs two cards, of which the code is given the second",
    "DEV107/bad_unused.py": "nothing meets what they return",
    "DEV108/bad_2.py": "the guard checks what is handed in and back, no variables",
    "DEV108/bad_5.py": "the guard checks what is handed in and back, no variables",
    "DEV109": "says that a contract cannot be read: nothing happens",
    "DEV110/bad_3.py": "an older PyTorch takes the current device instead",
    "DEV110/bad_4.py": "a comparison: nothing is raised",
    "DEV110/bad_5.py": "comparisons: nothing is raised",
    "DEV110/bad_7.py": "a comparison and a choice: nothing is raised",
    "DEV110/bad_8.py": "a choice: nothing is raised",
    "DEV110/bad_read_only.py": "an attribute error without tensors",
    "DEV110/bad_9.py": "a choice, at which nothing is raised, and a type error without tensors",
    "DEV110/bad_cards.py": "type errors of a list and of a call, without tensors",
    "DEV110/bad_visible.py": "virtual cards are seen whatever is in the environment",
    "DEV110/bad_bare.py": "comparisons: nothing is raised",
    "DEV111": "a name that is missing on every machine",
    "DEV112": "an argument that is refused on every machine",
    "DEV113": "virtual devices compile no kernels",
    "DEV114": "Python raises an AttributeError, which is no event of a device",
    "DEV208": "the guard knows no hooks of accelerate's",
    "DEV209": "raises or warns by itself, on every machine",
    "DEV311": "the guard does not look at graphs",
    "DEV312": "the guard does not watch the allocator",
    "DEV405": "a virtual device has done its work when the call returns",
    "DEV406": "the guard watches for races only where it is asked to (`on_race`)",
    "DEV407": "a virtual device captures no graphs, and `vmap` runs on the host as well",
    "DEV501/bad_7.py": "needs two cards, of which the code is given the second",
    "DEV502/bad_4.py": "needs a process group with NCCL",
    "DEV502/bad_jit.py": "needs an archive of TorchScript, which virtual devices do not compile",
    "DEV503/bad_3.py": "says what is deprecated: the type is asked for where it is there",
    "DEV503/bad_4.py": "says what is deprecated: the type is asked for where it is there",
    "DEV503/bad_5.py": "says what is deprecated: a host tensor comes of it on every machine",
    "DEV504/bad_pinned.py": "a virtual machine has an accelerator, which pins",
    "DEV505/bad_process_index.py": "needs accelerate, which counts the processes",
    "DEV505/bad_rank_or_host.py": "needs accelerate, which counts the processes",
    "DEV506": "nothing happens where CUDA is; where it is not, DEV504 says so",
    "DEV507": "autocasting that does nothing is no event",
    "DEV509": "an error of Python's, in which no device takes part",
    "DEV510": "a choice: nothing is raised, and the host does the work",
}
MEANT = {
    # what the guard sees in good fixtures, and why it is right there
    "DEV201/good_3.py": (Kind.DISCARDED_MOVE, "wakes the device up before time is taken"),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tensors that were saved on `cuda:0`."""
    return save_checkpoint(tmp_path_factory.mktemp("saved") / CHECKPOINT)


def is_shown(path: Path) -> bool:
    return named(path) not in UNSHOWN and path.parent.name not in UNSHOWN


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", BAD, ids=named)
def test_a_run_shows_what_a_bad_fixture_has(path: Path, checkpoint: Path):
    code = path.parent.name
    verdicts = []
    for machine in MACHINES.get(code, ("cuda:2",)):
        run = confirmed(path, {code}, machine, arguments_of(path, checkpoint))
        verdicts.append({finding["verdict"] for finding in run.findings})
    # where none is to be seen, a reason that no longer holds has to go
    assert ({"confirmed"} in verdicts) == is_shown(path)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("teaching/bad_*.py")), ids=named)
def test_a_run_shows_what_a_teaching_example_has(path: Path):
    run = confirmed(path, expected_codes(path.read_text()), "cuda:2", ())
    verdicts = {finding["verdict"] for finding in run.findings}
    assert "confirmed" in verdicts and "refuted" not in verdicts  # the first may end the run


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", GOOD, ids=named)
def test_no_run_of_a_good_fixture_shows_a_bug(path: Path, checkpoint: Path):
    if "torch.accelerator" in path.read_text() and not hasattr(torch, "accelerator"):
        pytest.skip("torch.accelerator came with torch 2.6")
    for machine in {"cuda:2", *MACHINES.get(path.parent.name, ())}:
        run = confirmed(path, set(), machine, arguments_of(path, checkpoint))
        assert run.outcome.exit_code == 0
        seen = {event.kind for event in run.evidence.events} & {*PROBLEMS, Kind.FOREIGN_CARD}
        assert seen <= {MEANT[named(path)][0]} if named(path) in MEANT else not seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("fixes/*/*.py")), ids=named)
def test_no_run_of_a_fixed_file_shows_a_bug(path: Path, checkpoint: Path):
    for machine in MACHINES.get(path.parent.name, ("cuda:2",)):
        run = confirmed(path, set(), machine, arguments_of(path, checkpoint))
        assert run.outcome.exit_code == 0
        assert not {event.kind for event in run.evidence.events} & PROBLEMS


def test_every_rule_has_its_evidence_or_a_reason():
    rules = {path.parent.name for path in BAD}
    assert rules == set(EXPECTATIONS) | (rules & set(UNSHOWN))


def test_reasons_are_of_fixtures_that_exist_and_have_findings():
    for name in (*UNSHOWN, *MEANT):
        path = RULE_FIXTURES / name
        assert path.exists()
        if path.is_file() and name in UNSHOWN:
            assert check_files(path.parent, path)
