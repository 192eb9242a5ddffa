"""A module of any class that a statement moves is moved in place, and stays where it is."""

import pytest
from given import met, revealed

MOVES = [
    "{0}.to(device)",
    "{0}.to(device).eval()",
    "{0}.eval().to(device)",
    "{0} = {0}.to(device)",
    "{0} = {0}.to(device).train(False)",
]


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("made", ["net", "build(net)", "Outside(net)"])
def test_in_a_function(made, move):
    (found,) = met(f"""
    def run(net, n, device):
        model = {made}
        {move.format("model")}
        return model(torch.randn(n, 3))
    """)
    assert found.startswith("input: ") and "torch.randn(n, 3)@cpu" in found


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("made", ["net", "build(net)", "Outside(net)"])
def test_in_a_constructor_for_all_methods(made, move):
    code = f"""
    class Runner:
        def __init__(self, net, device):
            self.model = {made}
            {move.format("self.model")}
            self.device = device

        def run(self, n):
            return self.model(torch.randn(n, 3, device={{}}))
    """
    (found,) = met(code.format("None"))
    assert found.startswith("input: ") and "@cpu" in found
    assert met(code.format("self.device")) == []


@pytest.mark.parametrize(
    "move", ["self.model.to(device).weight", "show(self.model.to(device))", "self.model.half()"]
)
def test_what_else_becomes_of_it_is_open(move):
    assert (
        met(f"""
    class Runner:
        def __init__(self, net, device):
            self.model = Outside(net)
            {move}

        def run(self, n):
            return self.model(torch.randn(n, 3))
    """)
        == []
    )


@pytest.mark.parametrize(
    "move",
    ["if lazy: return\n            self.model.to(device)", "if n > 3: self.model.to(device)"],
)
def test_a_move_in_some_cases_is_none_for_all(move):
    assert (
        met(f"""
    class Runner:
        def __init__(self, net, lazy, n, device):
            self.model = Outside(net)
            {move}

        def run(self, n):
            return self.model(torch.randn(n, 3))
    """)
        == []
    )


@pytest.mark.parametrize("move", [".cuda()", '.to("cuda")', '.to(torch.device("cuda"))'])
@pytest.mark.parametrize("given", ["torch.randn(n, 3)", "next(iter(DataLoader(rows)))"])
def test_what_an_object_keeps_of_a_moved_module_is_that_module(move, given):
    code = f"""
    from torch.utils.data import DataLoader

    class Runner:
        def __init__(self, net):
            self.model = net{move}

        def run(self, n, rows):
            return self.model({given}{{}})
    """
    (found,) = met(code.format(""))
    assert found.startswith("input: self.model@cuda") or "@cpu self.model" in found
    assert met(code.format(move)) == []


SUPPORT = """
    class Net(nn.Module):
        def __init__(self, support):
            super().__init__()
            self.support = support

    class Agent:
        def __init__(self, device):
            self.support = {made}
            self.own = nn.Parameter(torch.ones(3))
            self.net = Net({handed}).to(device)
            self.device = device

        def step(self):
            return {read} * torch.ones(3, device=self.device)
"""


@pytest.mark.parametrize(
    ("made", "handed", "read", "sure"),
    [
        ("nn.Parameter(torch.ones(3))", "self.support", "self.support", False),
        ("nn.Parameter(torch.ones(3))", "support=self.support", "self.support.exp()", False),
        ("nn.Parameter(torch.ones(3))", "[self.support]", "self.support", False),
        ("nn.Parameter(torch.ones(3))", "self.support", "self.own", True),
        ("nn.Parameter(torch.ones(3))", "self.support.clone()", "self.support", True),
        ("torch.ones(3)", "self.support", "self.support", True),  # no move changes it in place
    ],
)
def test_a_parameter_may_move_with_what_it_was_handed_to(made, handed, read, sure):
    (found,) = met(SUPPORT.format(made=made, handed=handed, read=read))
    assert found.endswith("certain" if sure else "possible")


@pytest.mark.parametrize(("callee", "sure"), [("Outside", False), ("torch.optim.Adam", True)])
def test_a_class_out_of_sight_may_register_a_parameter_and_an_optimizer_moves_none(callee, sure):
    code = f"""
    from elsewhere import Outside

    class Agent:
        def __init__(self, device):
            self.support = nn.Parameter(torch.ones(3))
            self.other = {callee}([self.support])
            self.device = device

        def step(self):
            return self.support * torch.ones(3, device=self.device)
    """
    (found,) = met(code)
    assert found.endswith("certain" if sure else "possible")


@pytest.mark.parametrize(("otherwise", "found"), [("self.data.to(device)", 0), ("pass", 1)])
def test_what_an_object_keeps_is_moved_in_place_on_each_of_its_ways(otherwise, found):
    code = f"""
    from torch_geometric.datasets import Planetoid

    class Trainer:
        def __init__(self, args, model, device):
            self.model = model.to(device)
            if args.large:
                self.data, self.split = Planetoid("x", args.name)[0], args.split
                self.data.to(device)
            else:
                self.data = Planetoid("x", args.name)[0]
                {otherwise}

        def run(self):
            return F.nll_loss(self.model(self.data.x.cuda()), self.data.y)
    """
    assert len(met(code)) == found


NETS = """
    def there(device, {parameter}):
        for net in nets:
            {line}

    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    there(torch.device("cuda"), {given})
    second(torch.rand(3, 3).cuda())
"""


@pytest.mark.parametrize(
    ("line", "left"), [("net.to(device)", False), ("net = net.to(device)", False), ("use(3)", True)]
)
@pytest.mark.parametrize(
    ("parameter", "given"), [("*nets", "first, second"), ("nets", "[first, second]")]
)
def test_by_a_function_that_goes_through_all_that_it_is_given(parameter, given, line, left):
    code = NETS.format(parameter=parameter, line=line, given=given)
    assert bool(met(code)) is left


LEFT_IN_A_LIST = """
    def build(n):
        nets = []
        for _ in range(n):
            net = nn.Linear(3, 3)
            {move}
            nets.append(net)
        return nets

    reveal(build(3)[0])
"""


@pytest.mark.parametrize(
    ("move", "device"),
    [
        ("net.cuda()", "cuda"),
        ("net = net.cuda()", "cuda"),
        ("net = nn.DataParallel(net).cuda()", "cuda"),
        ("net.eval()", "cpu"),
    ],
)
def test_what_a_function_returns_in_a_list_is_where_it_was_moved(move, device):
    assert revealed(LEFT_IN_A_LIST.format(move=move)) == [device]


SET_UP = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 3)

        def set_up(self):
            {line}

    model = Model()
    model.set_up()
    reveal(model.net)
"""


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("self.net.cuda()", "?"),
        ("self.net = nn.Linear(3, 3).cuda()", "?"),
        ("self.net = nn.Linear(3, 3)", "cpu"),
    ],
)
def test_a_method_that_moves_a_part_leaves_the_module_in_two_places(line, device):
    assert revealed(SET_UP.format(line=line)) == [device]
