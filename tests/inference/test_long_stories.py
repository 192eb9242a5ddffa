"""What is no more than likely, and took a long story to tell, says so: it stays likely."""

import pytest
from given import met

TABLE = """
    class Schedule:
        def __init__(self, size):
            self.shares = {made}

        def step(self, rows: torch.Tensor):
            return rows.sigmoid() * {used}
"""


@pytest.mark.parametrize(
    ("made", "used", "confidence"),
    [
        ("torch.rand(size)", "self.shares", "likely"),
        ("torch.rand(size)", "(1 - self.shares)", "likely"),
    ],
)
def test_what_was_made_and_kept_and_computed_with(made, used, confidence):
    (found,) = met(TABLE.format(made=made, used=used))
    assert found.endswith(confidence)


BRANCHES = """
    def run(x: torch.Tensor, y: torch.Tensor, slim):
        held = {held}
        if slim:
            held = held.cpu()
        return {odd} + y.cuda()
"""


@pytest.mark.parametrize(
    ("held", "odd", "confidence"),
    [
        ("x.cuda()", "held", "likely"),  # moved there and back is one kind of step
        ("x.cuda()", "held.exp()", "likely"),
    ],
)
def test_one_branch_brings_it_to_the_host(held, odd, confidence):
    assert met(BRANCHES.format(held=held, odd=odd))[-1].endswith(confidence)


def test_what_is_certain_stays_so():
    (found,) = met("""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)
            self.kept = torch.rand(3)

        def forward(self, x):
            return self.proj(x) + (1 - self.kept)
    """)
    assert found.endswith("certain")


PADDED = """
    def pad(rows: torch.Tensor, count):
        found = []
        for at in range(count):
            {step}
        {last}
"""
JOINED = "torch.cat([rows, torch.zeros(count, rows.shape[1])])"


@pytest.mark.parametrize(
    ("step", "last", "confidence"),
    [
        ("rows = rows - rows.mean(0)", f"return {JOINED}", "likely"),
        ("found.append(rows[at].mean())", f"return {JOINED}", "likely"),  # what is joined is not
        (f"found.append({JOINED})", "return found", "possible"),  # what is filled on the host
        (f"more = {JOINED}; found.append(more)", "return found", "possible"),
    ],
)
def test_what_a_function_joins_to_fill_a_list_is_mostly_on_the_host(step, last, confidence):
    assert met(PADDED.format(step=step, last=last))[-1].endswith(confidence)
