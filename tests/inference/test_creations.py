"""Tensors that are made only to be moved: all that is moved has to be made there and then."""

import pytest
from given import given

from devlint.inference.syntax.text import code


def made(line: str) -> list[str]:
    """The factories whose tensors `line` moves."""
    facts = given(f"""
import math
def f(n, scale, x: torch.Tensor, device, rows, generator):
    {line}
""")
    return [code(m.creation.node) for m in facts.moves if m.creation is not None]


@pytest.mark.parametrize(
    ("line", "factory"),
    [
        ("return torch.triu(torch.ones(n, n), 1).to(device)", "torch.ones(n, n)"),
        ("return torch.triu(torch.ones(n, n), diagonal=1 + n).cuda()", "torch.ones(n, n)"),
        ("return (1 - torch.eye(n)).bool().to(device)", "torch.eye(n)"),
        ("return (torch.ones(n) * x.size(-1)).to(device)", "torch.ones(n)"),
        ("return (torch.arange(n)[None] < x.shape[1]).to(device)", "torch.arange(n)"),
        ("return (-torch.arange(n) * (math.log(2.0) / 8)).to(device)", "torch.arange(n)"),
        ("return torch.randperm(n)[:4].to(device)", "torch.randperm(n)"),
        ("return torch.cat([torch.zeros(1), torch.ones(n)]).to(device)", "torch.zeros(1)"),
        ("return F.pad(torch.ones(n), (1, 1)).to(device)", "torch.ones(n)"),
        (
            "return torch.stack(torch.meshgrid(torch.arange(n), torch.arange(4)), 2).to(device)",
            "torch.arange(n)",
        ),
        (
            "return torch.where(torch.rand(n) > 0.5, torch.ones(n), torch.zeros(n)).to(device)",
            "torch.rand(n)",
        ),
    ],
)
def test_what_is_computed_of_nothing_else_is_made_to_be_moved(line, factory):
    assert made(line) == [factory]


@pytest.mark.parametrize(
    ("lines", "is_made"),
    [
        ("t = torch.arange(n) / rate", True),
        ("t = torch.arange(n) * hop_length / rate", True),
        ("t = torch.arange(n) / scale", False),  # perhaps one for each channel
        ("t = torch.arange(n) / table", False),
        ("t = torch.arange(n) / rate.exp()", False),
        ("r = rate.unsqueeze(0)\n    t = torch.arange(n) / rate", False),  # shown to be a tensor
        ("rate = torch.tensor(rate)\n    t = torch.arange(n) / rate", False),
    ],
)
def test_what_it_meets_on_the_host_is_a_number_by_its_name(lines, is_made):
    facts = given(f"""
def f(x: torch.Tensor, n, rate, hop_length, scale, table):
    {lines}
    t = t.to(x.device)
    return t + x
""")
    found = [code(m.creation.node) for m in facts.moves if m.creation is not None]
    assert found == (["torch.arange(n)"] if is_made else [])


@pytest.mark.parametrize(
    "line",
    [
        "return (torch.ones(n) * scale).to(device)",  # perhaps a tensor, on the host
        "return (torch.ones(3) + x.cpu()).to(device)",
        "return torch.cat([torch.zeros(1), x.cpu()]).to(device)",
        "return torch.stack([torch.tensor(row) for row in rows]).to(device)",  # copied anyway
        "return torch.cat([torch.zeros(1), torch.from_numpy(rows)]).to(device)",
        "return torch.cat([torch.zeros(1), torch.ones(n, device='cpu')]).to(device)",
        "return torch.exp(torch.rand(n, generator=generator)).to(device)",
        "return torch.bernoulli(torch.ones(n), generator=generator).to(device)",
        "return torch.arange(n)[x.cpu() > 3].to(device)",
        "return torch.stack([*rows, torch.ones(n)]).to(device)",
    ],
)
def test_what_others_have_made_is_moved_for_their_sake(line):
    assert made(line) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("m = torch.tril(torch.ones(n, n)); return m.to(device)", ["torch.ones(n, n)"]),
        ("m = torch.tril(torch.ones(n, n)); m = m.to(device); return m", ["torch.ones(n, n)"]),
        (
            "m = torch.ones(n) == 1; m = m.float().masked_fill(m == 0, -1.0); return m.to(device)",
            ["torch.ones(n)"],
        ),
        ("m = torch.ones(n); m = m * scale; return m.to(device)", []),
        # the tensor on the host is of use, too
        ("m = torch.tril(torch.ones(n, n)); return m.to(device), m.sum()", []),
        ("m = torch.tril(torch.ones(n, n)); d = m.to(device); return m, d", []),
        ("m = torch.ones(n); d = (m * 2).to(device); return m, d", []),
        ("m = torch.tril(torch.ones(n, n)); m[rows] = 0; return m.to(device)", []),
    ],
)
def test_a_name_that_goes_with_the_move_hides_nothing(lines, expected):
    assert made(lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            """
    r = torch.arange(n).long()
    wide = r.unsqueeze(0).expand(4, 8)
    if x.is_cuda:
        wide = wide.to(x.device)
    return wide
""",
            ["torch.arange(n)"],
        ),
        # another one reads what is in between
        (
            """
    r = torch.arange(n)
    wide = r.unsqueeze(0) * 2
    wide = wide.to(x.device)
    return wide, r
""",
            [],
        ),
        # what comes in between does not read it
        (
            """
    r = torch.arange(n)
    print(n)
    wide = r.unsqueeze(0) * 2
    return wide.to(x.device)
""",
            ["torch.arange(n)"],
        ),
        (
            """
    r = torch.arange(n)
    print(r)
    wide = r.unsqueeze(0) * 2
    return wide.to(x.device)
""",
            [],
        ),
    ],
)
def test_a_chain_may_change_its_name_where_nobody_else_reads_it(lines, expected):
    assert made(lines.strip()) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # every read of what was made leads to a move to one device
        (
            """
    step = torch.arange(n).float()
    rate = 1.0 / 100 ** (torch.arange(0, n, 2) / n)
    table = torch.outer(step, rate)
    return table.cos().to(device), table.sin().to(device)
""",
            ["torch.arange(n)", "torch.arange(n)"],
        ),
        (
            """
    step = torch.arange(n)
    print(step.shape)
    return x + step.to(x.device)
""",
            ["torch.arange(n)"],
        ),
        # what a size is given as is a number, where it divides as well
        (
            """
    rate = torch.arange(0, self.width, 2) / self.width
    print(n)
    return rate.to(device)
""",
            ["torch.arange(0, self.width, 2)"],
        ),
        (
            """
    rate = torch.arange(0, n, 2) / self.width
    print(n)
    return rate.to(device)
""",
            [],
        ),
        # to two devices: it can't be made on both
        (
            """
    step = torch.arange(n)
    print(n)
    return step.to(device), step.to(x.device)
""",
            [],
        ),
        # the host counts with it, one branch leaves it there, the loop moves it again and again
        (
            """
    step = torch.arange(n)
    rows = [rows[i] for i in step]
    return step.to(device)
""",
            [],
        ),
        (
            """
    step = torch.arange(n)
    if n > 3:
        step = torch.ones(n)
    return (step * 2).to(device)
""",
            [],
        ),
        (
            """
    step = torch.arange(n)
    for row in rows:
        x = x + step.to(device)
    return x
""",
            [],
        ),
        # the function inside reads it when it is called
        (
            """
    step = torch.arange(n)
    later = lambda: step.sum()
    return step.to(device), later
""",
            [],
        ),
    ],
)
def test_names_hold_what_is_made_to_be_moved_if_all_that_reads_them_leads_to_a_move(
    lines, expected
):
    assert made(lines.strip()) == expected


GRID = """
def grid(width, height, x):
    ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    {lines}
class Head(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + grid(x.size(0), x.size(1), x).to(x.device)
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("return torch.stack((xs, ys), 2).float()", ["torch.arange(height)"]),
        ("return torch.stack((xs, ys), 2) * x", []),
        ("return torch.stack((xs, ys), 2) if width else x", []),
    ],
)
def test_what_a_function_returns_may_be_made_where_its_caller_moves_it_to(lines, expected):
    facts = given(GRID.format(lines=lines))
    found = [code(move.creation.node) for move in facts.moves if move.creation is not None]
    assert found == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            """
    mask = torch.zeros(n, n)
    mask[0, :] = 1
    mask.fill_diagonal_(2)
    print(n)
    return mask.to(device)
""",
            ["torch.zeros(n, n)"],
        ),
        (
            """
    mask = torch.zeros(n, n)
    count = 0
    for part in (slice(0, 2), slice(2, None)):
        mask[part, 1] = count
        count += 1
    return mask.view(-1).to(device)
""",
            ["torch.zeros(n, n)"],
        ),
        # a kernel for each of many elements takes longer than the host does
        (
            """
    mask = torch.zeros(n, n)
    for i in range(n):
        mask[i, :i] = 1
    return mask.to(device)
""",
            [],
        ),
        # what is written, or where, is the host's
        (
            """
    mask = torch.zeros(n, n)
    mask[rows] = 1
    print(n)
    return mask.to(device)
""",
            [],
        ),
        (
            """
    mask = torch.zeros(n, n)
    mask[0] = x.cpu()
    print(n)
    return mask.to(device)
""",
            [],
        ),
    ],
)
def test_a_few_numbers_may_be_written_into_it(lines, expected):
    assert made(lines.strip()) == expected


BUCKETS = """
class Bias(nn.Module):
    def __init__(self, far):
        super().__init__()
        self.far = far
        self.edges = torch.ones(3)

    def bucket(self, distance):
        return {bucket}

    def forward(self, n, x: torch.Tensor):
        distance = torch.arange(n)[None] - torch.arange(n)[:, None]
        return x + self.bucket({given}).to(x.device)
"""


@pytest.mark.parametrize(
    ("bucket", "given_to", "expected"),
    [
        ("distance.abs().clamp(max=8)", "distance", ["torch.arange(n)"]),
        ("distance * self.edges", "distance", []),  # which is on the host, too
        ("distance.abs()", "distance * x.cpu()", []),
    ],
)
def test_what_a_method_computes_of_it_alone_is_made_here_as_well(bucket, given_to, expected):
    facts = given(BUCKETS.format(bucket=bucket, given=given_to))
    found = [code(m.creation.node) for m in facts.moves if m.creation is not None]
    assert found == expected
