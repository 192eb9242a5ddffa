"""Plain tensors of a module, and where its methods compute with them."""

from textwrap import dedent

import pytest
from given import given, settled

HELD = """
from layers import decode

class Head(nn.Module):
    def __init__(self, size, device="cpu"):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.priors = {made}

    def forward(self, x, other):
        {line}
        return {result}
"""


def head(result: str, made: str = "torch.ones(size, 4)", line: str = "pass") -> str:
    return HELD.format(result=result, made=made, line=line)


@pytest.mark.parametrize(
    "result",
    ["decode(x, self.priors)", "decode(other, x, priors=self.priors)", "decode(x) * self.priors"],
)
def test_one_is_used_beside_what_may_be_anywhere(result):
    (attribute,) = settled(head(result)).plain_attributes
    assert attribute.read_at is not None


@pytest.mark.parametrize(
    ("result", "made"),
    [
        ("decode(x, self.priors.to(x.device))", "torch.ones(size, 4)"),
        ("decode(self.priors)", "torch.ones(size, 4)"),
        ("decode(3, self.priors)", "torch.ones(size, 4)"),
        ("decode(self.size, self.priors)", "torch.ones(size, 4)"),
        ("decode(x, self.priors)", "torch.tensor(3.0)"),  # meets every device
        ("decode(x, self.priors)", "torch.empty(0)"),
    ],
)
def test_one_that_follows_or_is_alone_or_has_no_dimensions_is_not(result, made):
    assert [a.read_at for a in settled(head(result, made)).plain_attributes] in ([], [None])


@pytest.mark.parametrize(
    ("made", "result", "is_read"),
    [
        ("torch.ones(4, device=device)", "self.layer(x) * self.priors", True),
        ("torch.ones(4).to(device) / 2", "self.layer(x) * self.priors", True),
        ("torch.ones(4, device=device)", "torch.ones(4, device=dev) * self.priors", False),
    ],
)
def test_one_on_the_constructors_device_does_not_follow_the_module(made, result, is_read):
    (attribute,) = settled(head(result, made)).plain_attributes
    assert (attribute.read_at is not None) == is_read
    assert not attribute.excused


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("nn.init.normal_(nn.Parameter(torch.empty(size, 4)))", 0),
        ("nn.init.xavier_uniform_(nn.Parameter(torch.empty(size, 4)), gain=2.0)", 0),
        ("nn.init.normal_(torch.empty(size, 4))", 1),
        ("nn.Parameter(torch.empty(size, 4)).abs()", 1),
    ],
)
def test_what_writes_in_place_gives_back_the_parameter_itself(made, count):
    """`nn.init.normal_` returns what it was given, which the module registers."""
    assert len(settled(head("decode(x, self.priors)", made)).plain_attributes) == count


@pytest.mark.parametrize(
    ("place", "moved_in", "is_excused"),
    [
        ("class Other(nn.Module):", "forward(self, x)", False),
        ("class Deep(Head):", "forward(self, x)", True),
    ],
)
def test_a_move_of_a_class_of_its_own_is_no_excuse_for_another(place, moved_in, is_excused):
    code = f"""
    {place}
        def {moved_in}:
            return x * self.priors.to(x.device)
    """
    held = dedent(head("decode(x, self.priors)")) + dedent(code)
    (attribute,) = settled(held).plain_attributes
    assert attribute.excused is is_excused


@pytest.mark.parametrize(
    ("line", "is_excused"), [("pass", False), ("self.priors = self.priors.to(x.device)", True)]
)
def test_what_the_constructor_moves_does_not_follow_the_module_either(line, is_excused):
    """Where the condition is not met it stays where it was made."""
    code = f"""
    from layers import decode

    class Head(nn.Module):
        def __init__(self, like, size):
            super().__init__()
            self.priors = torch.ones(size, 4)
            if hasattr(like, "rows"):
                self.priors = self.priors.to(like.rows)

        def forward(self, x):
            {line}
            return decode(x, self.priors)
    """
    assert [a.excused for a in settled(code).plain_attributes][:1] == [is_excused]


HELPED = """
class Tasks(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.heads = {empty}
        for name in names:
            self.put(name)
        {after}

    def put(self, name):
        head = nn.Linear(3, 3)
        {put}

    def forward(self, x):
        return x
"""


@pytest.mark.parametrize(
    ("empty", "put"), [("[]", "self.heads.append(head)"), ("{}", "self.heads[name] = head")]
)
@pytest.mark.parametrize(
    ("more", "after", "count"),
    [
        ("pass", "pass", 1),
        ("self.add_module(name, head)", "pass", 0),
        ("self.last = head", "pass", 0),
        ("pass", "self.held = nn.ModuleList(self.heads)", 0),
    ],
)
def test_a_helper_of_the_constructor_fills_what_that_holds(empty, put, more, after, count):
    code = HELPED.format(empty=empty, put=f"{put}; {more}", after=after)
    found = [fact for fact in given(code).plain_attributes if fact.of_modules]
    assert len(found) == count


WEIGHED = """
class Weighed(nn.Module):
    def __init__(self, model, size):
        super().__init__()
        self.weight = torch.ones(size)
        {test}
            self.weight = self.weight.to({there})

    def forward(self, x: torch.Tensor):
        return x * self.weight
"""


@pytest.mark.parametrize(
    ("test", "there", "found"),
    [
        ("if hasattr(model, 'points'):", "model.points[0]", [["branch-taken"]]),
        ("if size:", "model.points[0]", [["branch-taken"]]),
        ("if True:", "model.points[0]", []),
        ("with torch.no_grad():", "model.points[0]", []),  # it is there in any case
    ],
)
def test_what_the_constructor_moves_under_a_condition_stays_on_the_other_way(test, there, found):
    facts = given(WEIGHED.format(test=test, there=there))
    assert [[a.kind.value for a in fact.assumptions] for fact in facts.meetings] == found


def test_what_is_kept_under_two_names_stays_as_surely_as_under_one():
    facts = given("""
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.ones(3)
                self.second = self.first
            def forward(self, x: torch.Tensor):
                return x * self.second
    """)
    assert [fact.assumptions for fact in facts.meetings] == [()]


@pytest.mark.parametrize(("name", "plain"), [("_modules", 0), ("_layers", 1)])
def test_what_torch_registers_in_is_no_plain_container(name, plain):
    facts = given(f"""
        class Stack(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.{name} = {{}}
                for n, size in enumerate(sizes):
                    self.{name}[str(n)] = nn.Linear(size, size)
            def forward(self, x: torch.Tensor):
                for layer in self.{name}.values():
                    x = layer(x)
                return x
    """)
    assert len([fact for fact in facts.plain_attributes if fact.of_modules]) == plain
