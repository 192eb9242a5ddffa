"""Attributes that are made on the host and moved by a method, before others read them."""

import pytest
from given import met

MEMORY = """
def to_device(x, other):
    return x.to(other.device)

class Memory:
    def __init__(self, n):
        self.rows = torch.zeros(n)
        self.kinds = torch.zeros(n)

    def {mover}(self, task):
        {move}

    def after(self, task: torch.Tensor):
        return {read} * task.exp()
"""


@pytest.mark.parametrize(
    "move",
    [
        "self.rows = self.rows.to(task.device)",
        "self.rows = self.rows.detach().to(task.device).float()",
        "self.rows = self.rows.cuda()",
        "self.rows = to_device(self.rows, task)",
        "self.rows = self.rows.to(task.device) if task.ready else self.rows",
        "self.rows = nn.Parameter(self.rows.to(task.device))",
    ],
)
def test_what_a_method_moves_is_read_where_it_was_moved_to(move):
    found = met(MEMORY.format(mover="before", move=move, read="self.rows"))
    assert [m for m in found if "self.rows" in m] == []


@pytest.mark.parametrize(
    ("move", "count"),
    [
        ("for i in range(2):\n            self.rows[i] = self.rows[i].to(task.device)", 0),
        ("for i in range(2):\n            self.kinds[i] = self.rows[i].to(task.device)", 1),
    ],
)
def test_a_list_is_where_a_method_puts_its_elements(move, count):
    code = MEMORY.format(mover="before", move=move, read="self.rows[0]")
    code = code.replace("self.rows = torch.zeros(n)", "self.rows = [torch.zeros(n), torch.ones(n)]")
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("move", "read"),
    [
        ("self.rows = self.rows.to(task.device)", "self.kinds"),
        ("self.rows = self.rows.to(torch.half)", "self.rows"),
        ('self.rows = self.rows.to("cpu")', "self.rows"),
        ("self.rows = self.rows * 2", "self.rows"),
        ("self.rows = self.rows.to(task.device)\n        self.rows = torch.zeros(3)", "self.rows"),
    ],
)
def test_what_nobody_moves_is_where_it_was_made(move, read):
    assert len(met(MEMORY.format(mover="before", move=move, read=read))) == 1


def test_a_method_that_reads_before_it_moves_finds_what_was_made():
    code = """
    class Memory:
        def __init__(self, n):
            self.rows = torch.zeros(n)

        def step(self, task: torch.Tensor):
            found = self.rows * task.exp()
            self.rows = self.rows.to(task.device)
            return found
    """
    assert len(met(code)) == 1


def test_what_is_computed_of_what_was_moved_is_not_made_anew():
    code = """
    class Memory:
        def __init__(self, n):
            self.rows = torch.zeros(n)

        def step(self, task: torch.Tensor):
            self.rows = self.rows.to(task.device)
            self.decay(task)
            return self.after(task)

        def decay(self, task: torch.Tensor):
            self.rows = 0.5 * self.rows + task.exp()
            self.rows /= self.rows.sum()

        def after(self, task: torch.Tensor):
            return self.rows.cumsum(0) * task.exp()
    """
    assert met(code) == []


BASE = """
class Bench:
    def __init__(self, n):
        self.inputs = torch.randn(n, n)
        {first}

    {method}

class Recurrent(Bench):
    def __init__(self, n, layer: nn.Module):
        self.inputs = torch.randn(n, n, n)
        self.layer = layer
        self.parts = {{"head": nn.Linear(n, n)}}
        super().__init__(n)

    def run(self, state: torch.Tensor):
        return self.parts["head"](state.cuda()), self.inputs * state.cuda()
"""


@pytest.mark.parametrize(
    ("first", "method", "count"),
    [
        ("pass", "pass", 2),
        ("pass", "def to(self, device): self.inputs = self.inputs.to(device)", 1),
        ("self.parts = {k: v.cuda() for k, v in self.parts.items()}", "pass", 1),
    ],
)
def test_a_base_class_may_move_them(first, method, count):
    found = [m for m in met(BASE.format(first=first, method=method)) if "possible" not in m]
    assert len(found) == count, found


SCALER = """
import numpy as np

class Scaler:
    def fit(self, rows: np.ndarray):
        self.scale = torch.from_numpy(rows.max(0))
        self.shift = torch.from_numpy(rows.mean(0))

    def to_gpu(self):
        self.scale = self.scale.cuda()

    def start(self):
        {start}

    def apply(self, rows: torch.Tensor):
        return {applied}

def check(rows: np.ndarray):
    scaler = Scaler()
    scaler.fit(rows)
    {moved}
    return torch.ones(3) * scaler.scale
"""


@pytest.mark.parametrize(
    ("start", "applied", "moved", "count"),
    [
        ("pass", "rows.exp() * self.scale", "pass", 0),
        ("pass", "torch.ones(3) * self.scale", "pass", 0),
        ("pass", "rows.exp() - self.shift", "pass", 1),  # which it does not move
        ("pass", "rows.exp() * self.scale", "scaler.to_gpu()", 1),
        ("self.to_gpu()", "torch.ones(3) * self.scale", "pass", 2),
    ],
)
def test_what_is_moved_on_demand_may_be_in_either_place(start, applied, moved, count):
    found = met(SCALER.format(start=start, applied=applied, moved=moved))
    assert len(found) == count, found


TALLY = """
class Tally:
    def __init__(self):
        self.reset()

    def reset(self):
        self.total = torch.zeros(3)
        self.recent = torch.zeros(3)

    def restore(self, state: torch.Tensor):
        self.reset()
        {restore}

    def count(self, seen: torch.Tensor):
        self.recent += len(seen)

    def sync(self, seen: torch.Tensor):
        self.total += {added}
"""


@pytest.mark.parametrize(
    ("restore", "added", "is_apart"),
    [
        ("self.total, self.recent = state[0].cuda(), state[1].cuda()", "self.recent", False),
        (
            "self.total = state[0].cuda()\n        self.recent = state[1].cuda()",
            "self.recent",
            False,
        ),
        ("self.total = state[0].cuda()", "self.recent", True),
        ("self.total = state.cuda(); self.recent = self.recent.abs()", "self.recent", True),
        (
            "self.recent = state.cuda()\n        if state.any(): self.total = state.cuda()",
            "self.recent",
            True,
        ),
        ("self.total, self.recent = state[0].cuda(), state[1].cuda()", "seen.exp()", True),
    ],
)
def test_what_is_always_assigned_together_is_in_one_place(restore, added, is_apart):
    found = met(TALLY.format(restore=restore, added=added))
    assert bool(found) is is_apart, found


TABLES = """
class Tables(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.rows = nn.Embedding(n, 8)
        self.columns = nn.Embedding(n, 8)
        self.device = torch.device("cpu")

    def {mover}(self, device):
        self.device = device
        self.rows = self.rows.to(device)

    def learn(self, nodes: torch.Tensor):
        step = torch.ones(3, 8)
        self.{read}.weight.data.add_(step)
"""


@pytest.mark.parametrize(
    ("mover", "read", "count"),
    [("put_rows_to_device", "rows", 0), ("put_rows_to_device", "columns", 1), ("to", "rows", 1)],
)
def test_a_part_that_a_module_moves_on_demand_does_not_follow_it(mover, read, count):
    assert len(met(TABLES.format(mover=mover, read=read))) == count


@pytest.mark.parametrize(
    ("test", "where"),
    [
        ("x.is_cuda and not self.rows.is_cuda", "cuda"),
        ("not self.rows.is_cuda", "cuda"),
        ("self.rows.is_cuda", "cpu"),
    ],
)
def test_an_attribute_that_is_asked_for_its_device_answers_itself(test, where):
    code = f"""
    class Weighted(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.rows = torch.ones(n, 1)

        def forward(self, x: torch.Tensor):
            if {test}:
                self.rows = self.rows.cuda()
            return x.exp() * self.rows
    """
    assert [f"@{where}" in m for m in met(code)] == [True]
