"""Every common way to choose a device leaves a right program without a finding, and others with
those that they have."""

from __future__ import annotations

import re
from textwrap import indent

import pytest
from everyday_code import EVERYDAY, FOUND, SILENT
from rule_check import shown

CHOICES = {
    "conditional": 'device = "cuda" if torch.cuda.is_available() else "cpu"',
    "conditional device": 'device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")',
    "branches": """
if torch.cuda.is_available():
    device = "cuda"
else:
    device = "cpu"
""",
    "branches of devices": """
if torch.cuda.is_available():
    device = torch.device("cuda:0")
else:
    device = torch.device("cpu")
""",
    "three branches": """
if torch.cuda.is_available():
    device = "cuda:0"
elif torch.backends.mps.is_available():
    device = "mps"
else:
    device = "cpu"
""",
    "the host first": """
device = "cpu"
if torch.cuda.is_available():
    device = "cuda"
""",
    "negation": """
if not torch.cuda.is_available():
    device = "cpu"
else:
    device = "cuda"
""",
    "count": 'device = "cuda" if torch.cuda.device_count() > 0 else "cpu"',
    "flag": """
use_cuda = torch.cuda.is_available()
device = torch.device("cuda" if use_cuda else "cpu")
""",
    "and": """
use_cuda = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (7, 0)
device = "cuda" if use_cuda else "cpu"
""",
    "option": """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
device = parser.parse_args().device
""",
    "option that is overruled": """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
if args.device == "cuda" and not torch.cuda.is_available():
    args.device = "cpu"
device = torch.device(args.device)
""",
    "environment": """
import os

device = os.environ.get("DEVICE", "cpu")
""",
    "function": """
def chosen():
    if torch.cuda.is_available():
        return "cuda"
    return "cpu"


device = chosen()
""",
    "accelerator": """
if torch.accelerator.is_available():
    device = torch.accelerator.current_accelerator()
else:
    device = torch.device("cpu")
""",
    "attempt": """
try:
    torch.zeros(1).cuda()
    device = "cuda"
except (AssertionError, RuntimeError):
    device = "cpu"
""",
}
PROGRAM = """
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
for x, y in torch.utils.data.DataLoader(data, batch_size=8):
    x, y = x.to(device), y.to(device)
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
model.load_state_dict(torch.load("model.pt", map_location=device))
noise = torch.randn(3, 8, device=device)
print(model(noise).argmax(dim=1).tolist())
"""
FRAMES = {
    "script": "{choice}\n{program}",
    "function": "def main():\n{inside}\n\n\nmain()\n",
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("choice", CHOICES)
def test_a_right_program_is_silent_however_it_chooses_its_device(choice, frame):
    chosen = CHOICES[choice].strip()
    text = FRAMES[frame].format(
        choice=chosen, program=PROGRAM, inside=indent(f"{chosen}\n{PROGRAM}", "    ")
    )
    found = shown(f"import torch\nfrom torch import nn\n\n{text}")
    assert [(each.rule, each.message) for each in found] == []


METHODS = """
class Trainer:
    def __init__(self, asked=None):
{inside}
        self.device = device
        self.model = nn.Linear(8, 2).to(self.device)

    def step(self, x: torch.Tensor):
        return self.model(x.to(self.device))
"""


@pytest.mark.parametrize("choice", CHOICES)
def test_so_is_a_class_whose_constructor_chooses(choice):
    text = METHODS.format(inside=indent(CHOICES[choice].strip(), "        "))
    found = shown(f"import torch\nfrom torch import nn\n\n{text}")
    assert [(each.rule, each.message) for each in found] == []


CHOICE = re.compile(
    r"^([ \t]*)([\w.]+) = "
    r'torch\.device\("(cuda[:0]*)" if torch\.cuda\.is_available\(\) else "cpu"\)$',
    re.M,
)
OTHERWISE = (
    """
if torch.cuda.is_available():
    {name} = torch.device("{device}")
else:
    {name} = torch.device("cpu")
""",
    """
{name} = torch.device("cpu")
if torch.cuda.is_available():
    {name} = torch.device("{device}")
""",
    """
use_cuda = torch.cuda.is_available()
{name} = torch.device("{device}" if use_cuda else "cpu")
""",
    """
{name} = torch.device("cpu" if not torch.cuda.is_available() else "{device}")
""",
)
CHOOSING = [path for path in (*FOUND, *SILENT) if CHOICE.search(path.read_text("utf-8"))]


def said(text: str) -> list[tuple[str, str]]:
    """What a user sees, each by its rule and its line. An `if` on availability shows that the code
    around it knows of machines without a card, where DEV504 has nothing to say any more."""
    lines = text.splitlines()
    return sorted(
        (each.rule, lines[each.location.line - 1].strip())
        for each in shown(text)
        if each.rule != "DEV504"
    )


@pytest.mark.parametrize(
    ("path", "otherwise"),
    [(path, OTHERWISE[index % len(OTHERWISE)]) for index, path in enumerate(CHOOSING)],
    ids=[path.relative_to(EVERYDAY).as_posix() for path in CHOOSING],
)
def test_everyday_code_that_chooses_otherwise_has_the_same_findings(path, otherwise):
    text = path.read_text("utf-8")
    other = CHOICE.sub(
        lambda found: indent(otherwise.strip().format(name=found[2], device=found[3]), found[1]),
        text,
    )
    assert other != text
    assert said(other) == said(text)
