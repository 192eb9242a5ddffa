"""A parameter that a method makes anew is where it is made, and not where its module was moved."""

import pytest
from given import meetings, met, plain_attributes, revealed, settled

GROWING = """
class Growing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, width))
        {built}

    def grow(self, width):
        made = {made}
        self.weight = nn.Parameter(made)
"""


@pytest.mark.parametrize(
    ("built", "made", "found"),
    [
        ("pass", "torch.zeros(4, width)", 1),
        ("pass", "torch.zeros(4, width, device=self.weight.device)", 0),
        ("pass", "torch.zeros(4, width).to(self.weight)", 0),
        ("pass", "self.weight.new_zeros(4, width)", 0),
        ("self.grow(width)", "torch.zeros(4, width)", 0),  # nobody has moved the module then
    ],
)
def test_a_parameter_of_another_place(built, made, found):
    kept = plain_attributes(settled(GROWING.format(built=built, made=made)))
    assert [each for each in kept if each.endswith("overwrites parameter")] == [
        "Growing.weight@cpu overwrites parameter"
    ] * found


SET_UP = """
class Search(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.edges, self.method = edges, None
        self.weight = nn.Parameter(torch.zeros(edges, 3))

    def choose(self, method: {kind}):
        {check}
        self.method = method
        self.weight = nn.Parameter(torch.zeros(self.edges, 4))

    def restart(self):
        {behind}
"""
ONCE = "assert self.method is None"


@pytest.mark.parametrize(
    ("kind", "check", "behind", "found"),
    [
        ("str", ONCE, "pass", 0),
        ("str", 'assert self.method is None, "once"', "pass", 0),
        ("str", 'if self.method is not None: raise ValueError("once")', "pass", 0),
        ("str", "pass", "pass", 1),
        ("str", "assert self.edges is not None", "pass", 1),
        ("str", "assert self.edges is None", "pass", 1),  # which no second call is asked for
        ("str", "assert self.method is not None", "pass", 1),  # only once it was chosen
        ("str", 'if self.method is not None: print("again")', "pass", 1),
        ("str", ONCE, 'self.method = None; self.choose("new")', 1),
        ("torch.Tensor", ONCE, "pass", 1),  # there is data: the module has been moved
    ],
)
def test_what_refuses_to_run_twice_sets_a_module_up(kind, check, behind, found):
    code = SET_UP.format(kind=kind, check=check, behind=behind)
    kept = plain_attributes(settled(code))
    assert [each for each in kept if each.endswith("overwrites parameter")] == [
        "Search.weight@cpu overwrites parameter"
    ] * found


ROUND_ABOUT = """
from elsewhere import spread

class Codebook(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.weight = nn.Parameter(torch.zeros(3))

    def labelled(self, value):
        return ["new"], value

    def forward(self, x):
        new = nn.Parameter({data})
        self.labels, self.weight = self.labelled(new)
        return x + self.weight
"""


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("spread(x)", 0),  # of which nothing is known
        ("spread()[:, 0].detach()", 0),
        ("self.layer(x)[:, 0].detach()", 0),
        ("torch.rand(3)", 1),
        ("torch.rand(3, device=x.device)", 0),
    ],
)
def test_a_parameter_made_of_data_is_where_that_is(data, found):
    kept = plain_attributes(settled(ROUND_ABOUT.format(data=data)))
    assert [each for each in kept if each.endswith("overwrites parameter")] == [
        "Codebook.weight@cpu overwrites parameter"
    ] * found


def test_a_first_parameter_of_a_method_is_registered_there():
    code = GROWING.format(built="pass", made="torch.zeros(4, width)")
    lazily = code.replace("self.weight = nn.Parameter(torch.zeros(3, width))", "self.weight = None")
    assert plain_attributes(settled(lazily)) == []


def test_the_data_of_another_modules_parameter_is_none_of_its_holders():
    code = GROWING.format(built="pass", made="torch.zeros(4, width, device=self.weight.device)")
    used = """
    def table(self, rows):
        table = nn.Embedding(4, 4)
        table.weight.data = torch.eye(4)
        return table(rows)
    """
    assert plain_attributes(settled(code + used)) == []


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("self.layer.weight.data", []),  # its other parameters may follow
        ("torch.eye(4)", ["input: cell@cpu cell x@δ(x) certain"]),
    ],
)
def test_a_module_is_where_its_parameters_are_put(data, found):
    code = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            cell = nn.Linear(4, 4)
            cell.weight.data = {data}
            return cell(x)
    """
    assert met(code) == found


def test_an_attribute_whose_weight_is_replaced_is_where_the_new_one_is():
    code = """
        class Filter:
            def __init__(self, kernel):
                self.blur = nn.Conv3d(1, 1, 3, bias=False)
                self.blur.weight.data = kernel{move}
                self.rows = torch.ones(3).cuda()

            def step(self):
                return self.blur(self.rows)
    """
    assert met(code.replace("{move}", ".cuda()")) == []


REPEATED = """
class Prompt(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.prompt = nn.Parameter(torch.zeros(3))
        if shared:
            self.prompt = {value}

    def forward(self, x: torch.Tensor):
        return x + self.prompt
"""


@pytest.mark.parametrize("value", ["torch.zeros(6)", "self.prompt.repeat(2)"])
def test_the_name_of_a_parameter_takes_no_plain_tensor(value):
    """`Module.__setattr__` raises a TypeError: the name keeps the parameter."""
    facts = settled(REPEATED.format(value=value))
    assert plain_attributes(facts) == []
    assert meetings(facts) == []


def test_a_plain_tensor_in_place_of_a_parameter_that_was_not_made():
    code = """
    class Prompt(nn.Module):
        def __init__(self, learned):
            super().__init__()
            if learned:
                self.key = nn.Parameter(torch.zeros(3))
            else:
                self.key = torch.ones(3) / 3
    """
    assert len(plain_attributes(settled(code))) == 1


RELOADS = """
class Reloads:
    def reload(self, size):
        self.weight = {kept}


class Quantized(Reloads, nn.Linear):
    def forward(self, x):
        return reveal(self.weight)


class Table(Reloads):
    def rows(self):
        return reveal(self.weight)
"""


def test_a_module_registers_what_a_mixin_makes_a_parameter_of():
    assert revealed(RELOADS.format(kept="nn.Parameter(torch.zeros(size))")) == ["δ(self)", "cpu"]
    assert revealed(RELOADS.format(kept="torch.zeros(size)")) == ["cpu", "cpu"]


NAMED = """
class Repulsion(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3)
        self.power = torch.ones(3)
        for name in ["scale", "power"]:
            setattr(self, name, {value})

    def forward(self, r):
        return reveal(self.scale) * r
"""


def test_a_parameter_put_under_a_name_that_is_written_down_is_registered():
    code = NAMED.format(value="nn.Parameter(getattr(self, name))")
    assert revealed(code) == ["δ(self)"]
    assert plain_attributes(settled(code)) == []


def test_whatever_is_put_under_such_a_name_replaces_what_was_there():
    code = NAMED.format(value="make(name)")
    assert revealed(code) == ["no tensor"]
    assert plain_attributes(settled(code)) == []


MIXED_IN = """
class WithEmbeddings({base}):
    def build(self, count):
        self.embeddings = nn.Embedding(count, 8)

    def forward(self, rows):
        return self.embeddings(rows.to(self.device))


class Net({bases}):
    def __init__(self, count, device):
        super().__init__()
        self.device = device
        self.build(count)
"""


@pytest.mark.parametrize(
    ("bases", "count"),
    [("nn.Module, WithEmbeddings", 0), ("WithEmbeddings, Plain", 1), ("WithEmbeddings", 1)],
)
def test_a_class_that_a_module_mixes_in_is_a_part_of_a_module(bases, count):
    assert len(met(MIXED_IN.format(base="object", bases=bases))) == count


def test_what_a_constructor_defines_runs_once_the_module_was_moved():
    code = """
    class Metric(nn.Module):
        def __init__(self, weight):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([weight]))
            self.table = torch.ones(3)

            def measure(z):
                return reveal(self.weight) * z + reveal(self.table)

            self.measure = measure
    """
    assert revealed(code) == ["δ(self)", "cpu"]
