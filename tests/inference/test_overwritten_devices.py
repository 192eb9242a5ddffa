"""Devices that a function takes and replaces before it reads them."""

import pytest
from given import given

from devlint.inference.facts import Neglect


def overwritten(code):
    facts = given(code).dropped_arguments
    return [fact.callee for fact in facts if fact.neglect is Neglect.OVERWRITTEN]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            'device = "cuda" if torch.cuda.is_available() else "cpu"',
            ['"cuda" if torch.cuda.is_available() else "cpu"'],
        ),
        ('device = torch.device("cuda")', ['torch.device("cuda")']),
        ('"""Restore."""\n        path = str(path)\n        device = "cpu"', ['"cpu"']),
        ('device = device or "cuda"', []),
        ('device = torch.device("cuda" if device is None else device)', []),
        ("device = next(self.net.parameters()).device", []),  # where the work is, whatever is asked
        ("device = choose()", []),
        ('old, device = device, "cuda"', []),
        ('print(device)\n        device = "cuda"', []),
    ],
)
def test_a_choice_in_place_of_what_was_asked_for(lines, found):
    code = f"""
    class Reader:
        def restore(self, path, device="cpu"):
            {lines.replace(chr(10), chr(10) + "    ")}
            return torch.load(path, map_location=device)
    """
    assert overwritten(code) == found


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        (
            'if torch.cuda.is_available():\n    device = "cuda"\nelse:\n    device = "cpu"',
            ['"cuda"'],
        ),
        (
            'if torch.cuda.is_available():\n    device = "cuda"\n'
            'elif torch.backends.mps.is_available():\n    device = "mps"\n'
            'else:\n    device = "cpu"',
            ['"cuda"'],
        ),
        ('if torch.cuda.is_available():\n    device = "cuda"', []),  # or what was asked for
        ('if not torch.cuda.is_available():\n    device = "cpu"', []),
        ('if device is None:\n    device = "cuda"\nelse:\n    device = "cpu"', []),
        ('if path:\n    device = "cuda"\nelse:\n    device = torch.device(device)', []),
    ],
)
def test_a_choice_on_every_branch(choice, found):
    body = "\n".join(f"    {line}" for line in choice.splitlines())
    code = f"def restore(path, device=None):\n{body}\n    return torch.load(path, device)\n"
    assert overwritten(code) == found


def test_a_signature_that_others_ask_for():
    code = """
    class Base:
        def load(self, path, device):
            return torch.load(path, map_location=device)

    class OnHost(Base):
        def load(self, path, device):
            device = "cpu"
            return torch.load(path, map_location=device)
    """
    assert overwritten(code) == []
