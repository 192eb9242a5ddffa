"""What an attribute holds: the last value of a constructor, what a function around it left there,
and the parameters and modules that are registered under another name, too."""

import pytest
from given import given, met, revealed

SOLVER = """
import numpy as np

class Solver:
    def __init__(self, steps):
        self.times = np.arange(steps) * 20
        {between}
        self.times = torch.from_numpy(self.times).long()

    def start(self):
        return reveal(self.times)
"""


@pytest.mark.parametrize("between", ["pass", "self.first = self.times[:-1]"])
def test_an_array_that_becomes_a_tensor_is_one(between: str) -> None:
    assert revealed(SOLVER.format(between=between)) == ["cpu"]


LOSS = """
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.bins = torch.linspace(0.0, 1.0, 10)

    def forward(self, x: torch.Tensor):
        def histogram(size):
            return (x - self.bins).sum() / size
        {before}
        return histogram(3)
"""


def test_a_function_inside_finds_what_the_one_around_left_in_an_attribute() -> None:
    assert met(LOSS.format(before="self.bins = self.bins.to(x.device)")) == []
    (found,) = met(LOSS.format(before="pass"))
    assert "self.bins@cpu" in found


ROWS = """
class Reflections(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.rows = [nn.Parameter(row) for row in torch.unbind(torch.randn(4, 3))]
        for i, row in enumerate(self.rows):
            {each}

    def forward(self, x: torch.Tensor):
        return x - self.rows[0]
"""


def test_a_parameter_in_a_list_moves_if_it_is_registered_as_well() -> None:
    def confidences(each: str) -> list[str]:
        return [m.confidence.value for m in given(ROWS.format(each=each)).meetings]

    assert confidences('self.register_parameter(f"row_{i}", row)') == ["possible"]
    assert confidences("print(row)") == ["certain"]


LAYERS = """
class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = [nn.Linear(width, width), nn.Linear(width, width)]
        acts = [nn.ELU() for _ in range(len(self.layers))]
        {line}

    def forward(self, x):
        return self.layers[0](x)
"""


def said(code: str) -> list[str]:
    """The attributes that keep modules which do not move."""
    return [each.attribute for each in given(code).plain_attributes if not each.excused]


@pytest.mark.parametrize(
    "line",
    [
        "both = sum(zip(self.layers, acts), ()); self.body = nn.Sequential(*both)",
        "both = list(reversed(self.layers)); self.body = nn.Sequential(*both)",
        "both = self.layers + acts; self.body = nn.ModuleList(both)",
        "both = [*self.layers, nn.ELU()][:-1]; self.body = nn.Sequential(*both)",
    ],
)
def test_modules_that_are_registered_in_another_order_move(line: str) -> None:
    assert said(LAYERS.format(line=line)) == []


@pytest.mark.parametrize(
    "line",
    ["pass", "count = len(self.layers); self.head = nn.Linear(count, 3)"],
)
def test_a_list_that_is_only_counted_moves_nothing(line: str) -> None:
    assert said(LAYERS.format(line=line)) == ["layers"]


HIDING = """
class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.teacher = {kept}
        {line}

    def forward(self, x):
        return self.teacher[0](x)
"""


@pytest.mark.parametrize(
    ("kept", "line", "found"),
    [
        ("[nn.Linear(3, 3)]", "pass", []),  # nobody needs a list of one: it is hidden there
        ("(nn.Linear(3, 3),)", "pass", []),
        ("[nn.Linear(3, 3)]", "self.teacher.append(nn.Linear(3, 3))", ["teacher"]),
        ("[nn.Linear(3, 3)]", "self.teacher += [nn.Linear(3, 3)]", ["teacher"]),
        ("[nn.Linear(3, 3), nn.Linear(3, 3)]", "pass", ["teacher"]),
        ("[nn.Linear(3, 3) for _ in range(2)]", "pass", ["teacher"]),
    ],
)
def test_a_list_of_one_module_hides_it(kept: str, line: str, found: list[str]) -> None:
    assert said(HIDING.format(kept=kept, line=line)) == found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("torch.max(x, y)", "cuda"),
        ("torch.max(x, other=y)", "cuda"),
        ("torch.min(x, y)", "cuda"),
    ],
)
def test_the_larger_of_two_tensors_is_one_tensor(call: str, found: str) -> None:
    both = "x = torch.ones(3).cuda()\ny = torch.zeros(3).cuda()\n"
    assert revealed(f"{both}reveal({call})") == [found]
    assert met(f"{both}{call} + torch.ones(3)") != []
    assert met(f"{both}torch.max(x, 0)[0] + torch.ones(3)") != []


def test_an_array_is_filled_with_a_list_and_not_with_what_a_call_gives_two_of() -> None:
    code = "def fill(self, x: torch.Tensor):\n    self.table.values[1, :] = {value}\n"
    assert len(given(code.format(value="[1, x.cuda()]")).host_reads) == 1
    assert given(code.format(value="torch.max(x.cuda(), 1)")).host_reads == []
