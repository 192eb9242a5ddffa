"""Code for any accelerator: what DEV111, DEV112 and DEV506 to DEV508 leave alone, and fixes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rule_check import RULES, check_text, config_for

from devlint import engine
from devlint.findings import Applicability, Finding
from devlint.fixes import fix


def rules_of(text: str) -> set[str]:
    return {finding.rule for finding in check_text("import torch\n" + text)}


def for_torch(target: str, code: str, text: str, folder: Path) -> list[Finding]:
    """The findings of one rule in a project that supports a release of torch."""
    file = folder / "code.py"
    file.write_text("import torch\n" + text)
    config = replace(config_for(folder), target_torch=target)
    return engine.check([file], config, (RULES[code],)).findings


def fixed(target: str, code: str, text: str, folder: Path) -> str:
    """What the safe fixes of one rule make of a text."""
    file = folder / "code.py"
    file.write_text("import torch\n" + text)
    config = replace(config_for(folder), target_torch=target)
    changes = fix([file], config, (RULES[code],)).changes
    return (changes[0].after.decode() if changes else file.read_text()).removeprefix(
        "import torch\n"
    )


def test_a_name_is_missing_where_the_target_does_not_have_it_yet(tmp_path: Path):
    text = "torch.accelerator.empty_cache()\n"
    assert for_torch("2.9", "DEV111", text, tmp_path) == []
    (found,) = for_torch("2.8", "DEV111", text, tmp_path)
    assert "came with 2.9" in found.message and found.fix is None


@pytest.mark.parametrize(
    "text",
    [
        'if hasattr(torch.accelerator, "Stream"):\n    torch.accelerator.Stream()\n',
        "torch.accelerator.manual_seed = torch.manual_seed\ntorch.accelerator.manual_seed(1)\n",
        "from accelerate import Accelerator\n\nAccelerator().get_device_name()\n",
        "print(torch.accelerator.memory.empty_cache, torch.accelerator._utils)\n",
    ],
)
def test_a_name_that_is_asked_for_made_or_of_something_else_is_no_finding(text: str):
    assert "DEV111" not in rules_of(text)


def test_a_condition_on_cuda_is_rewritten_with_the_calls_behind_it(tmp_path: Path):
    text = "if torch.cuda.is_available():\n    torch.cuda.empty_cache()\n"
    assert fixed("2.13", "DEV506", text, tmp_path) == text.replace("cuda", "accelerator")


def test_a_condition_stays_where_something_else_is_behind_it(tmp_path: Path):
    text = "if torch.cuda.is_available():\n    torch.cuda.empty_cache()\n    print('cuda')\n"
    assert fixed("2.13", "DEV506", text, tmp_path) == text


def test_memory_is_no_safe_fix_before_mps_has_it(tmp_path: Path):
    text = "if torch.cuda.is_available():\n    torch.cuda.empty_cache()\n"
    (found,) = for_torch("2.9", "DEV506", text, tmp_path)
    assert found.fix is not None and found.fix.applicability is Applicability.UNSAFE


def test_what_raises_where_there_is_no_accelerator_is_not_put_in_the_place_of_what_does_not(
    tmp_path: Path,
):
    text = "torch.cuda.empty_cache()\n"
    (found,) = for_torch("2.13", "DEV506", text, tmp_path)
    assert found.fix is None


def test_arguments_fit_what_takes_no_keywords_and_no_devices(tmp_path: Path):
    text = """\
def wait(x: torch.Tensor):
    torch.cuda.synchronize(device=x.device)
    with torch.cuda.device(x.device):
        return x + 1
"""
    assert fixed("2.13", "DEV506", text, tmp_path) == (
        text.replace("cuda.synchronize(device=", "accelerator.synchronize(").replace(
            "cuda.device(x.device)", "accelerator.device_index(x.device.index)"
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "def context(**options):\n    return torch.autocast(**options)\n",
        "try:\n    torch.autocast(True)\nexcept Exception:\n    pass\n",
        "def context(device):\n    return torch.autocast(device)\n",
        "scaler = torch.amp.GradScaler('cpu')\n",
    ],
)
def test_autocasting_that_may_be_right_is_no_finding(text: str):
    assert "DEV112" not in rules_of(text)


def test_a_callee_out_of_sight_may_work_anywhere():
    text = """\
from models import build

net = build()
with torch.autocast("cuda"):
    net(torch.ones(2, 2))
"""
    assert "DEV507" not in rules_of(text)


def test_a_flag_around_the_block_may_have_asked_for_cuda():
    text = """\
def step(model: torch.nn.Module, x: torch.Tensor, device: torch.device, fp16: bool):
    x = x.to(device)
    {around}
        with torch.autocast("cuda"):
            return model(x)
"""
    assert "DEV507" not in rules_of(text.format(around="if fp16:"))
    assert "DEV507" in rules_of(text.format(around="while True:"))


@pytest.mark.parametrize(
    "loader",
    [
        "DataLoader(rows, shuffle=shuffle)",
        "DataLoader(rows, shuffle=False, num_workers=2)",
        "DataLoader(rows, shuffle=True, generator=torch.Generator(device='cuda'))",
        "DataLoader(rows, **options)",
    ],
)
def test_a_loader_that_draws_nothing_or_where_it_should_is_no_finding(loader: str):
    text = f"""\
from torch.utils.data import DataLoader

torch.set_default_device("cuda")


def load(rows, shuffle, options):
    return {loader}
"""
    assert "DEV508" not in rules_of(text)


def test_a_generator_of_the_host_is_as_wrong_as_none():
    text = """\
from torch.utils.data import DataLoader

torch.set_default_device("cuda")
loader = DataLoader(range(8), shuffle=True, generator=torch.Generator())
"""
    assert "DEV508" in rules_of(text)


WAITING = "import torch\n\n\ndef wait(device):\n"


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("    if device.type == 'cuda':\n        torch.cuda.synchronize()\n", "likely"),
        ("    print(torch.cuda.device_count())\n    return device.type\n", "possible"),
        ("    print(device)\n    torch.cuda.synchronize()\n", "possible"),
    ],
    ids=["on a chosen device", "cards are counted", "no device is chosen"],
)
def test_how_sure_it_is_that_one_call_binds_the_code(body: str, confidence: str):
    found = [each for each in check_text(WAITING + body) if each.rule == "DEV506"]
    assert [each.confidence.value for each in found] == [confidence]


@pytest.mark.parametrize(
    "behind",
    ["    elif device.type == 'mps':\n        pass\n", "    else:\n        device.synchronize()\n"],
    ids=["another accelerator", "all others"],
)
def test_code_that_tells_accelerators_apart_is_left_alone(behind: str):
    body = "    if device.type == 'cuda':\n        torch.cuda.synchronize()\n"
    assert "DEV506" not in rules_of(WAITING + body + behind)
