"""What a branch moved is there where the branch was taken, and not where the same test came out
otherwise: in the rest of the function, and in the other methods of the object."""

import pytest
from rule_check import said

FUNCTION = """
def predict({moved}, x, fast, kind):
    {made}
    if {test}:
        {move}
    if {asked}:
        return {here}.cpu().numpy()
    return {there}.numpy()
"""

NET = "net = nn.Linear(3, 3)"
MOVES = {
    "a tensor": ("rows: torch.Tensor", "pass", "rows = rows.to('cuda')", "rows"),
    "a tensor made here": ("n", "rows = torch.zeros(3)", "rows = rows.cuda()", "rows"),
    "a module": ("n", NET, "net.to('cuda')", "net(x).detach()"),
    "a module by its name": ("n", NET, "net = net.to('cuda')", "net(x).detach()"),
    "an object": ("net", "pass", "net.to('cuda')", "net(x).detach()"),
    "an object by its name": ("net", "pass", "net = net.to('cuda')", "net(x).detach()"),
}


@pytest.mark.parametrize("moved", MOVES)
@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("fast", "fast"),
        ("kind == 'torch'", "kind == 'torch'"),
        ("kind == 'torch'", "kind != 'jax'"),
    ],
)
def test_behind_the_same_test_a_value_is_where_that_branch_put_it(moved, test, asked):
    given, made, move, read = MOVES[moved]
    code = FUNCTION.format(
        moved=given, made=made, test=test, move=move, asked=asked, here=read, there=read
    )
    assert said(code, "DEV401") == []


@pytest.mark.parametrize("moved", ["a tensor", "a tensor made here", "a module", "an object"])
@pytest.mark.parametrize("asked", ["not fast", "kind == 'torch'"])
def test_behind_another_test_it_may_be_there(moved, asked):
    given, made, move, read = MOVES[moved]
    code = FUNCTION.format(
        moved=given, made=made, test="fast", move=move, asked=asked, here=read, there=read
    )
    assert len(said(code, "DEV401")) == 1


OBJECT = """
class Pipeline:
    def __init__(self, net: nn.Module, kind, fast):
        self.net = net
        self.kind = kind
        self.fast = fast
        if {test}:
            {move}


class Answers(Pipeline):
    def __call__(self, x):
        if {asked}:
            return self.net(x).numpy()
        return self.net(x).cpu().numpy()
"""


@pytest.mark.parametrize(
    "move",
    [
        "self.net = self.net.to('cuda')",
        "self.net = net.to('cuda')",
        "net.cuda()",
        "self.net.cuda()",
        "self.net = nn.Linear(3, 3).cuda()",
    ],
)
@pytest.mark.parametrize(
    ("test", "asked", "count"),
    [
        ("self.kind == 'torch'", "self.kind == 'jax'", 0),
        ("kind == 'torch'", "self.kind == 'jax'", 0),
        ("kind == 'torch'", "self.kind != 'torch'", 0),
        ("self.fast", "not self.fast", 0),
        ("fast", "not self.fast", 0),
        ("self.kind == 'torch'", "self.kind == 'torch'", 1),
        ("self.fast", "self.fast", 1),
        ("self.fast", "self.kind == 'torch'", 1),
    ],
)
def test_what_a_constructor_moves_under_a_test_the_methods_find_there_behind_it(
    move, test, asked, count
):
    found = said(OBJECT.format(move=move, test=test, asked=asked), "DEV401")
    assert sum("is on cuda" in each for each in found) == count


CHOSEN = """
class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        table = torch.zeros(3).cuda() if kind == "card" else torch.zeros(3)
        self.table = table

    def rows(self):
        if self.kind == "{kind}":
            return self.table.numpy()
        return None
"""


@pytest.mark.parametrize(("kind", "count"), [("card", 1), ("host", 0)])
def test_the_alternatives_of_what_is_kept_go_by_their_own_tests(kind, count):
    assert len(said(CHOSEN.format(kind=kind), "DEV401")) == count


ALIKE = """
class Attention(nn.Module):
    def __init__(self, size, relative):
        super().__init__()
        self.relative = relative
        if self.relative:
            self.rows = torch.arange(size)
            self.bias = nn.Parameter(torch.randn(2 * size))
        else:
            self.bias = nn.Parameter(torch.randn(size))

    def forward(self, x):
        return x + self.bias[self.rows] if self.relative else x + self.bias
"""


def test_what_both_branches_put_at_one_place_is_there_behind_either():
    assert len(said(ALIKE, "DEV308")) == 1


LEARNED = """
class Positions(nn.Module):
    def __init__(self, size, learned):
        super().__init__()
        self.learned = learned
        if self.learned:
            self.rows = nn.Parameter(torch.randn(size))
        else:
            self.rows = torch.linspace(0, 1, size)

    def forward(self, x):
        return x + self.rows if {asked} else x
"""


@pytest.mark.parametrize(("asked", "count"), [("self.learned", 0), ("not self.learned", 1)])
def test_a_parameter_and_a_plain_tensor_are_told_apart(asked, count):
    assert len(said(LEARNED.format(asked=asked), "DEV102")) == count


REBOUND = """
def predict(x: torch.Tensor, fast):
    if fast:
        x = x.to("cuda")
    fast = ready()
    if fast:
        return None
    return x.numpy()
"""


def test_a_name_that_was_bound_anew_tells_nothing():
    assert len(said(REBOUND, "DEV401")) == 1
