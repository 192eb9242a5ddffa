"""What only the check of a module runs, by its author, is told as possible; a program stays one."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Confidence

MODULE = """\
import torch
from torch import nn


class Pad(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
        self.mix = nn.Linear(3, 3)

    def forward(self, x):
        return nn.functional.pad(x, (self.size, self.size))


{check}

if __name__ == "__main__":
    {main}
"""
CHECK = """\
def tell(layer, x):
    print(layer(x).shape)


def _show():
    layer = Pad(3).cuda()
    layer.load_state_dict(torch.load("pad.pt"))
    for _ in range(9):
        x = torch.zeros(2, 8).cuda()
        tell(layer, x)

"""
DISTANCE = """\
class Distance:
    def __call__(self, x, y):
        return x.cuda() - y

"""
NET = """\
import torch
from layers import Pad

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(Pad(3).to(device))
"""


def told(
    root: Path, check: str = CHECK, main: str = "_show()", **others: str
) -> set[tuple[str, str]]:
    """By rule how sure it is, of what is found in the check."""
    others = others or {"net": NET}
    for name, text in others.items():
        file = root / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    file = root / "layers.py"
    file.write_text(MODULE.format(check=check, main=main))
    config = Config(root, min_confidence=Confidence.POSSIBLE)
    report = engine.check([file], config, tuple(RULES.values()))
    assert not report.errors
    return {
        (finding.rule, finding.confidence.value)
        for finding in report.findings
        if finding.location.line > 12
    }


def test_the_check_of_a_module_that_others_import(tmp_path: Path):
    found = told(tmp_path)
    assert {rule for rule, _ in found} >= {"DEV304", "DEV501", "DEV502"}
    assert {sure for _, sure in found} == {"possible"}


@pytest.mark.parametrize(
    "others",
    [
        {"other": "import torch\n"},  # nobody imports it
        {"tests__try_layers": "from layers import Pad\n"},  # a test only
    ],
)
def test_a_file_that_nobody_imports_is_a_program(tmp_path: Path, others: dict[str, str]):
    assert ("DEV304", "likely") in told(tmp_path, **others)


@pytest.mark.parametrize(
    ("main", "check"),
    [
        ("_show(sys.argv[1])", CHECK.replace("_show()", "_show(path)")),
        ("_show()", CHECK.replace("layer = Pad(3)", "layer = Pad(int(sys.argv[1]))")),
        ("main()", CHECK.replace("_show", "main")),
        ("_show()", CHECK.replace("def _show", "@app.command()\ndef _show")),
        ("print(_show())", CHECK + "    return layer\n"),
    ],
)
def test_what_reads_options_or_gives_something_back_is_for_others(
    tmp_path: Path, main: str, check: str
):
    assert ("DEV304", "likely") in told(tmp_path, check, main)


def test_what_others_name_as_well_is_for_them(tmp_path: Path):
    net = NET.replace("Pad", "_show") + "_show()\n"
    assert ("DEV304", "likely") in told(tmp_path, net=net)
    own = "from layers import Pad\n\n\ndef _show():\n    print(Pad)\n\n\n_show()\n"  # its own
    assert ("DEV304", "possible") in told(tmp_path, net=own)


def test_what_the_module_needs_itself_is_no_check(tmp_path: Path):
    check = CHECK + "\ndef warm():\n    _show()\n"
    net = "from layers import warm\n\nwarm()\n"
    assert ("DEV304", "likely") in told(tmp_path, check, net=net)


MIXED = "DEV101"


def test_what_the_check_alone_hands_in(tmp_path: Path):
    main = "print(Distance()(torch.ones(3), torch.ones(3)))"
    assert (MIXED, "possible") in told(tmp_path, DISTANCE, main)
    (tmp_path / "net.py").unlink()
    assert (MIXED, "likely") in told(tmp_path, DISTANCE, main, other="import torch\n")


def test_devices_that_the_check_mixes_itself_stay_an_error(tmp_path: Path):
    main = "print(torch.ones(3).cuda() + torch.ones(3))"
    assert any(rule == MIXED and sure != "possible" for rule, sure in told(tmp_path, "", main))
