"""Findings without a command: each is driven in processes of its own, and judged by its witness."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import warm_python
from fakes import Tree

from runtime_guard.drive import process
from runtime_guard.drive.verdict import NOT_DRIVEN, Limits, drive

LIMITS = Limits(seconds=90, calls=120)
FEW = Limits(seconds=10, calls=20)
"""Where nothing is to be found."""

NETS = """\
import zipfile

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % 12 == 0, "dim must be divisible by 12"
        self.conv = nn.Conv2d(dim, 5, 3)

    def forward(self, image):
        mask = torch.ones(5, 1, 1)
        return self.conv(image) * mask


def weighted(logits, labels, reduction="none", weight=None):
    if weight is not None and reduction == "mean":
        return (logits * torch.arange(logits.shape[2])).mean()
    return logits


class Sampler:
    def __init__(self, decoder: Decoder):
        self.decoder = decoder

    def sample(self, steps: int):
        noise = torch.randn(2, 12, 16, 16)
        return self.decoder(noise)


def unpacked(archive: zipfile.ZipFile, x):
    if not isinstance(archive, zipfile.ZipFile):
        raise TypeError("not an archive")
    return x + torch.ones(3)


def right(x):
    return x + torch.ones(3, device=x.device)


def times(x, factor=None):
    return x if factor is None else 2 * x


def spoilt(x):
    y = x + torch.ones(8)
    return y + torch.ones_like(y)
"""


MOVES = """\
import functools

import torch
from torch import nn


def bring(batch, device):
    batch.to(device)
    return batch


class Cached(nn.Module):
    def __init__(self, network: nn.Module):
        super().__init__()
        self.network = functools.lru_cache(network)


class Fetched(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = torch.ones(8)

    def forward(self, x):
        return x + self.shift.to(x.device)


class Left(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(8)

    def forward(self, x):
        return x * self.scale


def rates(count, positions):
    rate = torch.linspace(1, 2, count)
    return positions[:count, :count] * rate


def features(x, count: int):
    parts = []
    parts.append(rates(count, x))
    return torch.cat(parts)
"""


def finding(path: str, code: str, of: str, text: str = NETS, **more: Any) -> dict[str, Any]:
    """A finding at the line of ``text`` that has ``of``."""
    (line,) = (n for n, found in enumerate(text.splitlines(), 1) if of in found)
    place = {"path": path, "line": line, "column": 1, "end_line": line, "end_column": 2}
    common = {"rule": code, "name": "a-rule", "severity": "error", "confidence": "likely"}
    return {**common, **place, "message": "devices mix", "related": [], "assumptions": [], **more}


def driven(
    root: Path, one: Mapping[str, Any], limits: Limits = LIMITS
) -> tuple[str, str, Path | None]:
    judged = drive(dict(one), str(root), root / "witnesses", limits)
    kept = judged["witness"]
    return judged["verdict"], judged["reason"], kept and Path(kept)


@pytest.fixture(autouse=True)
def _processes_have_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """That new interpreters are started is seen by `tests/cli/test_confirm_command.py`."""
    monkeypatch.setattr(process, "subprocess", warm_python)


@pytest.fixture
def nets(tree: Tree) -> Path:
    return tree({"pkg/__init__.py": "", "pkg/nets.py": NETS})


def run(witness: Path) -> CompletedProcess[str]:
    return warm_python.run([sys.executable, str(witness)], capture_output=True, text=True)


def test_a_module_is_confirmed_by_a_witness_that_runs_by_itself(nets: Path) -> None:
    one = finding("pkg/nets.py", "DEV102", "self.conv(image)")
    verdict, reason, witness = driven(nets, one)
    assert (verdict, reason) == ("confirmed", "a mixed-device error was raised")
    assert witness == nets / "witnesses" / "dev102_pkg_nets_15.py"
    alone = run(witness)
    assert alone.returncode == 1
    assert "Expected all tensors to be on the same device" in alone.stderr
    assert "return self.conv(image) * mask" in alone.stderr


def test_a_function_is_given_what_the_conditions_before_the_line_ask_for(nets: Path) -> None:
    one = finding("pkg/nets.py", "DEV102", "torch.arange")
    verdict, _, witness = driven(nets, one)
    assert verdict == "confirmed"
    assert witness is not None
    assert "reduction='mean'" in witness.read_text()


def test_a_method_gets_the_object_that_it_needs(nets: Path) -> None:
    verdict, _, witness = driven(nets, finding("pkg/nets.py", "DEV103", "self.decoder(noise)"))
    assert verdict == "confirmed"
    assert witness is not None
    assert "pkg.nets.Sampler(decoder=pkg.nets.Decoder(" in witness.read_text().replace("\n", "")


def test_an_argument_that_cannot_be_made(nets: Path) -> None:
    verdict, reason, witness = driven(nets, finding("pkg/nets.py", "DEV102", "torch.ones(3)"))
    assert (verdict, witness) == (NOT_DRIVEN, None)
    assert reason.startswith("unpacked: no call was found that gets to its line")
    assert reason.endswith("the call that got furthest ends with TypeError: not an archive")


def test_a_line_that_runs_and_where_nothing_is_wrong_is_refuted(nets: Path) -> None:
    one = finding("pkg/nets.py", "DEV102", "device=x.device")
    verdict, reason, witness = driven(nets, one)
    assert verdict == "refuted"
    assert reason == "it ran on virtual cuda:2, and nothing of the kind happened"
    assert witness is not None
    assert run(witness).returncode == 0


def test_nothing_is_refuted_while_an_argument_of_its_line_is_left_out(nets: Path) -> None:
    one = finding("pkg/nets.py", "DEV401", "if factor is None")
    verdict, reason, _ = driven(nets, one)
    assert verdict == NOT_DRIVEN
    assert reason == "times: its line ran, and `factor`, which that line speaks of, is left out"


def test_nothing_is_refuted_whose_assumptions_a_witness_does_not_test(nets: Path) -> None:
    assumption = {"kind": "branch-taken", "path": "pkg/nets.py", "line": 1, "column": 1}
    one = finding("pkg/nets.py", "DEV102", "device=x.device", assumptions=[assumption])
    verdict, reason, _ = driven(nets, one)
    assert verdict == NOT_DRIVEN
    assert "`branch-taken`" in reason


def test_nothing_is_said_of_a_line_behind_another_bug(nets: Path) -> None:
    verdict, reason, _ = driven(nets, finding("pkg/nets.py", "DEV102", "torch.ones_like(y)"))
    assert verdict == NOT_DRIVEN
    assert "stands before it" in reason


def test_an_import_that_fails(tree: Tree) -> None:
    text = "import no_such_module\n\n\ndef f(x):\n    return x + 1\n"
    root = tree({"broken.py": text})
    verdict, reason, _ = driven(root, finding("broken.py", "DEV102", "return", text))
    assert verdict == NOT_DRIVEN
    assert reason == (
        "`import broken` fails: ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_a_script_that_dies_of_the_finding_when_it_is_imported(tree: Tree) -> None:
    text = (
        "import torch\n\n\ndef shift(x):\n    return x + torch.ones(3)\n\n\n"
        "def scale(x):\n    return x * 2\n\n\nshift(scale(torch.ones(3, device='cuda')))\n"
    )
    root = tree({"script.py": text})
    verdict, reason, witness = driven(root, finding("script.py", "DEV102", "torch.ones(3)", text))
    assert (verdict, reason) == ("confirmed", "a mixed-device error was raised")
    assert witness is not None
    assert "import script" in witness.read_text()
    verdict, reason, _ = driven(root, finding("script.py", "DEV102", "x * 2", text))
    assert verdict == NOT_DRIVEN
    assert reason.startswith("`import script` fails: RuntimeError: Expected all tensors to be on")


def test_an_import_that_does_not_end(tree: Tree) -> None:
    text = "while True:\n    pass\n\n\ndef f(x):\n    return x + 1\n"
    root = tree({"endless.py": text})
    one = finding("endless.py", "DEV102", "return", text)
    verdict, reason, _ = driven(root, one, Limits(seconds=1, start=1))
    assert verdict == NOT_DRIVEN
    assert reason == "`import endless`, or a call of f, did not end within 3 s"


def test_a_rule_that_claims_nothing_a_run_could_show(nets: Path) -> None:
    verdict, reason, _ = driven(nets, finding("pkg/nets.py", "DEV109", "torch.arange"))
    assert (verdict, reason) == (NOT_DRIVEN, "DEV109 claims nothing that a run could show")


@pytest.fixture
def moves(tree: Tree) -> Path:
    return tree({"moves.py": MOVES})


def test_what_is_moved_in_vain_was_on_the_host(moves: Path) -> None:
    one = finding("moves.py", "DEV201", "batch.to(device)", MOVES)
    verdict, _, witness = driven(moves, one)
    assert verdict == "confirmed"
    assert witness is not None
    assert "batch=torch.rand(2, 8)" in witness.read_text()


def test_a_move_that_does_not_happen_refutes_nothing(tree: Tree) -> None:
    text = "def stay(batch, device):\n    batch.to(batch.device)\n    return batch\n"
    root = tree({"stay.py": text})
    one = finding("stay.py", "DEV201", "batch.to", text)
    verdict, reason, _ = driven(root, one, FEW)
    assert (verdict, reason) == (NOT_DRIVEN, "stay: its line ran, and nothing was moved there")


def test_what_a_module_is_given_is_on_the_host_until_it_moves(moves: Path) -> None:
    verdict, reason, _ = driven(moves, finding("moves.py", "DEV206", "lru_cache(", MOVES))
    assert (verdict, reason) == ("confirmed", "the submodule stayed where it was")


LEAF = """\
import torch
from torch import nn


class Token(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 8)).to(device)

    def forward(self, x):
        return x.to(self.token.device) + self.token
"""


def test_a_constructor_that_does_no_harm_yet_is_followed_by_a_call(tree: Tree) -> None:
    one = finding("leaf.py", "DEV203", "nn.Parameter(torch.randn(1, 8)).to(device)", LEAF)
    verdict, reason, witness = driven(tree({"leaf.py": LEAF}), one, Limits(seconds=30, calls=60))
    assert verdict == "confirmed", reason
    assert witness is not None and "result = receiver(" in witness.read_text()


def test_a_plain_attribute_is_a_bug_where_it_meets_what_was_moved(moves: Path) -> None:
    verdict, _, witness = driven(moves, finding("moves.py", "DEV205", "self.scale =", MOVES))
    assert verdict == "confirmed"
    assert witness is not None and "receiver(x=" in witness.read_text()
    verdict, reason, _ = driven(moves, finding("moves.py", "DEV205", "self.shift =", MOVES), FEW)
    assert verdict == NOT_DRIVEN
    assert reason.endswith("the attribute stayed where it was, and did no harm there")


def test_the_traced_tensor_may_meet_a_card_before_the_line(moves: Path) -> None:
    cause = finding("moves.py", "DEV102", "torch.linspace", MOVES)
    related = [{**cause, "message": "made here on the default device"}]
    one = finding("moves.py", "DEV102", "torch.cat", MOVES, related=related)
    verdict, reason, _ = driven(moves, one)
    assert verdict == "confirmed"
    assert reason.startswith("what it traces got into a mixed-device error before its line, at ")
    assert driven(moves, {**one, "related": []}, FEW)[0] == NOT_DRIVEN


LOADS = """\
import torch


def resume(folder, step=0):
    return torch.load(f"{folder}/step{step}.pt")


def resume_on_host(folder):
    return torch.load(f"{folder}/last.pt", map_location="cpu")
"""


@pytest.mark.parametrize(
    ("of", "verdict"),
    [
        ("step{step}", "confirmed"),
        ("last", NOT_DRIVEN),  # nothing goes to a card there
    ],
)
def test_a_file_that_is_missing_is_a_checkpoint_saved_on_a_card(
    tree: Tree, of: str, verdict: str
) -> None:
    root = tree({"loads.py": LOADS})
    found, reason, _ = driven(root, finding("loads.py", "DEV502", of, LOADS), FEW)
    assert found == verdict, reason


MIXINS = """\
import torch
from torch import nn


class Layer:
    def __init__(self, width: int, depth: int = 2, bias: bool = True, scale: float = 1.0):
        self.width = width

    def noisy(self, x):
        if self.training:
            return x + torch.ones(8)
        return x


class Linear(nn.Module, Layer):
    def __init__(self, width: int):
        super().__init__()
"""


def test_what_a_base_lacks_is_looked_for_in_its_heirs(tree: Tree) -> None:
    one = finding("mixins.py", "DEV102", "torch.ones(8)", MIXINS)
    verdict, _, witness = driven(tree({"mixins.py": MIXINS}), one, Limits(seconds=90, calls=400))
    assert verdict == "confirmed"
    assert witness is not None and "mixins.Linear(" in witness.read_text()


GROUPS = """\
import torch
import torch.distributed as dist


def averaged(values):
    total = torch.tensor([1.0, 2.0])
    dist.all_reduce(total)
    return total


def gathered(values):
    total = torch.tensor([1.0, 2.0], device=values.device)
    dist.all_reduce(total)
    return values.sum() + total
"""


@pytest.mark.parametrize(
    ("after", "verdict"),
    [("[1.0, 2.0])", "confirmed"), ("[1.0, 2.0], device", "refuted")],
)
def test_what_a_group_of_cards_is_sent_has_to_be_on_one(
    tree: Tree, after: str, verdict: str
) -> None:
    one = finding("groups.py", "DEV101", after, GROUPS)
    below = {"line": one["line"] + 1, "end_line": one["line"] + 1}
    found, reason, _ = driven(tree({"groups.py": GROUPS}), {**one, **below})
    assert found == verdict, reason
