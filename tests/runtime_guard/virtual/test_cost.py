"""What virtual devices do for each operation does not grow unseen.

Counted are calls of the guard's Python in a training step of a small network: they are the same in
every run, where a clock is not. `python benchmarks/guard_overhead.py` prints them.
"""

from __future__ import annotations

import guard_overhead
import torch

MOST = 4.2  # 4.01 with torch 2.13; who makes an operation dearer on purpose says why, and raises it


def test_a_training_step_takes_about_four_calls_of_the_guard_for_each_operation() -> None:
    assert 2 < guard_overhead.calls_an_operation() <= MOST


def test_operations_are_counted_where_they_happen_and_in_backward() -> None:
    x = torch.ones(3, requires_grad=True)

    def run() -> None:
        (x * 2).sum().backward()

    assert guard_overhead.operations_of(run) > 3  # mul, sum, and those of backward
