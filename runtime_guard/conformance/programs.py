"""Small programs of the kinds that users write, whose answers a card gave once.

Each is a name, what comes before (not counted), and what is asked: lines that may bind ``result``.

    item
        x = torch.ones(3, device="cuda")
        ---
        result = x.sum().item()

``answer`` runs one and says what came out: the devices, dtypes and values of ``result``, or the
error with its text; how many copies went to and from the host; how often the host waited.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runtime_guard.guard import DeviceGuard

TEXT = Path(__file__).with_name("programs.txt")


@dataclass(frozen=True)
class Program:
    """``before`` sets the scene; ``code`` is asked about."""

    name: str
    before: str
    code: str


@dataclass(frozen=True)
class Answer:
    """What a program did."""

    result: str
    """``cuda:0 float32 [3]`` for a tensor; the ``repr`` of another value."""
    error: str = ""
    """``RuntimeError: the first line of its text``, the result is empty then."""
    h2d: int = 0
    d2h: int = 0
    d2d: int = 0
    """Copies by direction; ``d2d`` between cards."""
    syncs: int = 0
    """How often the host waited, but for the wait of a blocking copy to the device."""

    def data(self) -> dict[str, Any]:
        """As JSON; what is empty is left out."""
        return {name: value for name, value in asdict(self).items() if value}


def programs() -> Iterator[Program]:
    """Every program of ``programs.txt``."""
    for block in re.split(r"\n(?=\S)", "\n" + TEXT.read_text(encoding="utf-8")):
        name, _, body = block.strip("\n").partition("\n")
        if not body or name.startswith("#"):
            continue
        before, dashes, code = textwrap.dedent(body).partition("---\n")
        yield Program(name, before, code) if dashes else Program(name, "", before)


def described(value: Any) -> str:
    """A value in words that are the same on every machine."""

    def of_leaf(leaf: Any) -> str:
        if isinstance(leaf, torch.Tensor):
            dtype = str(leaf.dtype).removeprefix("torch.")
            return f"{leaf.device} {dtype} {list(leaf.shape)}"
        return re.sub(r" at 0x[0-9a-f]+", "", repr(leaf))

    leaves = pytree.tree_leaves(value)
    return ", ".join(map(of_leaf, leaves))


def first_line(error: BaseException) -> str:
    """``RuntimeError: Expected all tensors …``: what PyTorch says, without what the guard adds."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def namespace() -> dict[str, Any]:
    """What every program starts with."""
    import numpy as np  # the programs' own: no part of the guard needs it

    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "result": None}


def run(program: Program) -> tuple[str, str]:
    """Run ``code`` after ``before``: the result and the error, described."""
    names = namespace()
    exec(program.before, names)
    return ask(program, names)


def ask(program: Program, names: dict[str, Any]) -> tuple[str, str]:
    """Run ``code`` with ``names``: the result and the error, described."""
    try:
        exec(program.code, names)
    except Exception as error:
        return "", first_line(error)
    return described(names["result"]), ""


def answer(program: Program) -> Answer:
    """What a ``DeviceGuard`` sees of a program, on whatever devices there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        with DeviceGuard() as guard:
            names = namespace()
            exec(program.before, names)
            before = _counts(guard)
            result, error = ask(program, names)
            after = _counts(guard)
    return Answer(result, error, *(b - a for a, b in zip(before, after, strict=True)))


def _counts(guard: DeviceGuard) -> tuple[int, int, int, int]:
    directions = {"H2D": 0, "D2H": 0, "D2D": 0}
    for event in guard.transfers:
        directions[event.direction] += event.count
    return directions["H2D"], directions["D2H"], directions["D2D"], guard.count("sync")
