"""Modules: where parameters, buffers and submodules live, and how a module moves."""

import pytest
from given import given, host_reads, meetings, met, moves, plain_attributes, revealed

NET = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.w


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 3)
        self.same = self.proj
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("mask", torch.ones(3))
        self.register_parameter("shift", nn.Parameter(torch.zeros(3)))
        self.add_module("late", nn.Linear(3, 3))
        self.plain = torch.ones(3)
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.table = nn.ModuleDict({"a": nn.Linear(3, 3)})
        self.seq = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.inner = Inner()
        self.relu = nn.ReLU()
"""


def in_forward(*lines):
    return NET + "    def forward(self, x):\n" + "".join(f"        {line}\n" for line in lines)


@pytest.mark.parametrize(
    "value",
    [
        "self.proj(x)",
        "self.proj.weight",
        "self.same.weight",
        "self.scale",
        "self.mask",
        "self.shift",
        'self.get_parameter("shift")',
        'self.get_buffer("mask")',
        "self.late.weight",
        "self.seq(x)",
        "self.seq[0].weight",
        "self.layers[0](x)",
        'self.table["a"](x)',
        "self.inner(x)",
        "self.inner.w",
        "self.relu(self.proj(x))",
        "next(self.parameters())",
        "torch.zeros(3, device=next(self.parameters()).device)",
        "torch.zeros(3, device=self.proj.weight.device)",
        "self.scale.new_zeros(3)",
        "torch.zeros_like(self.mask)",
    ],
)
def test_what_a_module_registers_lives_where_the_module_does(value):
    assert revealed(in_forward(f"reveal({value})")) == ["δ(self)"]


def test_a_loop_over_a_module_list_ends_where_the_module_is():
    lines = ("for layer in self.layers:", "    x = layer(x)", "reveal(x)")
    assert revealed(in_forward(*lines)) == ["δ(self)"]


def test_a_plain_attribute_stays_where_it_was_made():
    code = in_forward("h = self.proj(x)", "return h + self.plain")
    assert met(code) == ["self.plain@cpu + h@δ(self) certain"]
    assert plain_attributes(given(code)) == ["Net.plain@cpu"]


def test_a_tensor_made_on_the_cpu_meets_the_modules_device():
    assert met(in_forward("m = torch.zeros(3)", "return self.proj(x) * m")) == [
        "m@cpu * self.proj(x)@δ(self) certain"
    ]


@pytest.mark.parametrize(
    "mask",
    [
        "torch.zeros(3, device=x.device)",
        "torch.zeros(3).to(x.device)",
        "torch.zeros(3, device=self.scale.device)",
        "torch.zeros(3).to(self.proj.weight)",
        "torch.zeros(3).type_as(self.mask)",
        "torch.zeros_like(self.scale)",
        "self.scale.new_ones(3)",
        "torch.tensor(2.0)",
        "self.mask",
    ],
)
def test_what_follows_the_modules_device_meets_it(mask):
    assert met(in_forward(f"m = {mask}", "return self.proj(x) * m")) == []


def test_two_branches_of_one_module_meet():
    assert met(in_forward("return self.proj(x) + self.inner(x) + self.mask")) == []


def test_a_list_of_modules_is_not_registered():
    facts = given(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = [nn.Linear(1, 1), nn.Linear(1, 1)]

            def forward(self, x):
                return [head(x) for head in self.heads]
        """
    )
    assert plain_attributes(facts) == ["Net.heads@cpu (modules)"]


@pytest.mark.parametrize(
    ("one", "found"), [("first", []), ("[first]", ["Net.heads@cpu (modules)"])]
)
def test_what_may_be_one_module_or_several_may_be_the_one(one, found):
    facts = given(
        f"""
        class Net(nn.Module):
            def __init__(self, both=False):
                super().__init__()
                self.both = both
                self.heads = self.make()

            def make(self):
                first = nn.Linear(1, 1)
                if not self.both:
                    return {one}
                return first, nn.Linear(1, 1)
        """
    )
    assert plain_attributes(facts) == found


def test_a_method_that_rebinds_a_buffer_overwrites_it():
    code = NET + "    def reset(self):\n        self.mask = torch.zeros(3)\n"
    assert "Net.mask@cpu overwrites buffer" in plain_attributes(given(code))


LINEAR = "net = nn.Linear(3, 3)\n"


@pytest.mark.parametrize("move", ["net.cuda()", 'net.to("cuda")', "other = net\nother.cuda()"])
def test_a_module_moves_in_place(move):
    assert revealed(f"{LINEAR}{move}\nreveal(net.weight)") == ["cuda"]


def test_the_move_of_a_module_returns_it():
    assert revealed(f"{LINEAR}moved = net.cuda()\nreveal(moved.weight)\nnet.cpu()\n") == ["cuda"]


def test_a_change_of_dtype_does_not_move_a_module():
    code = f"{LINEAR}net.half()\nnet.to(torch.float16)\n"
    assert moves(given(code)) == []
    assert revealed(f"{code}reveal(net.weight)") == ["cpu"]


def test_a_submodule_can_be_moved_alone():
    code = f"{NET}\nnet = Net().cuda()\nreveal(net.inner.w)\nnet.inner.cpu()\nreveal(net.inner.w)"
    assert revealed(code) == ["cuda", "cpu"]


def test_a_module_is_made_on_the_cpu_unless_told_otherwise():
    assert revealed(f"{LINEAR}reveal(net.weight)") == ["cpu"]
    assert revealed('net = nn.Linear(3, 3, device="cuda")\nreveal(net.weight)') == ["cuda"]


def test_a_modules_input_must_be_where_it_is():
    assert met(f"{LINEAR}net.cuda()\nnet(torch.zeros(3))") == [
        "input: torch.zeros(3)@cpu net net@cuda certain"
    ]


def test_the_hidden_state_is_an_input_too():
    assert met(
        """
        lstm = nn.LSTM(3, 3).cuda()
        h = torch.zeros(1, 3)
        out, hidden = lstm(torch.zeros(3, 3).cuda(), (h, h))
        """
    ) == ["input: (h, h)@cpu lstm lstm@cuda certain"]


def test_a_projects_module_is_checked_through_its_forward():
    code = in_forward("return self.proj(x)") + "\nnet = Net().cuda()\nnet(torch.zeros(3))"
    [meeting] = met(code)
    assert meeting.startswith("input: torch.zeros(3)@cpu net ")
    assert meeting.endswith("@cuda certain inside self.proj(x)")


@pytest.mark.parametrize(
    ("forward", "confidences"),
    [
        ("return self.proj(torch.relu(x))", ["certain"]),
        ("return self.proj(x) if self.deep else x", ["likely"]),
        ("return self.proj(self.unseen(x))", ["likely"]),
        ("return self.proj(x.to(self.proj.weight.device))", []),
    ],
)
def test_a_part_of_the_project_is_given_what_is_elsewhere(forward, confidences):
    code = f"""
    class Inner(nn.Module):
        def __init__(self, deep, unseen):
            super().__init__()
            self.deep = deep
            self.unseen = unseen
            self.proj = nn.Linear(3, 3)

        def forward(self, x):
            {forward}

    class Outer(nn.Module):
        def __init__(self, deep, unseen):
            super().__init__()
            self.inner = Inner(deep, unseen)

        def forward(self, n: int):
            return self.inner(torch.zeros(n, 3))
    """
    found = [meeting.split(" inside ")[0].rpartition(" ")[2] for meeting in met(code)]
    assert found == confidences


@pytest.mark.parametrize(
    ("taken", "left_out", "certain"),
    [
        ("x=None", "x is None", True),
        ("x", "x is None", False),
        ("x", "not isinstance(x, torch.Tensor)", False),
    ],
)
def test_a_part_of_the_project_may_be_given_one_of_several(taken, left_out, certain):
    code = f"""
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)

        def forward(self, x):
            return self.proj(x)

    class Outer(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n
            self.inner = Inner()

        def forward(self, {taken}):
            if {left_out}:
                x = torch.ones(self.n, 3)
            return self.inner(x)
    """
    (meeting,) = met(code)
    assert ("certain" in meeting) is certain


@pytest.mark.parametrize(
    ("taken", "confidence"),
    [("positions=None", "certain"), ("positions", "likely")],
)
def test_what_stands_in_for_an_input_that_is_left_out(taken, confidence):
    code = f"""
    class Table(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n
            self.rows = nn.Embedding(n, 3)

        def forward(self, x, {taken}):
            if positions is None:
                positions = torch.arange(self.n)
            return self.rows(positions)
    """
    assert [meeting.rpartition(" ")[2] for meeting in met(code)] == [confidence]
    there = code.replace("arange(self.n)", "arange(self.n, device=x.device)")
    assert met(there) == []


def test_a_module_without_parameters_takes_inputs_from_anywhere():
    assert met("relu = nn.ReLU().cuda()\nrelu(torch.zeros(3))") == []


def test_a_loss_holds_its_weight():
    code = """
    loss = nn.CrossEntropyLoss({})
    loss(torch.zeros(3, 3).cuda(), torch.zeros(3).cuda())
    """
    assert met(code.format("")) == []
    assert len(met(code.format("weight=torch.ones(3)"))) == 1


@pytest.mark.parametrize(
    "wrapped",
    [
        "nn.DataParallel(net).module",
        "torch.compile(net)",
        "nn.parallel.DistributedDataParallel(net).module",
        "net.eval()",
        "net.requires_grad_(False)",
        "create_feature_extractor(net)",
    ],
)
def test_a_wrapper_shows_the_module_in_it(wrapped):
    extractor = "from torchvision.models.feature_extraction import create_feature_extractor\n"
    assert revealed(f"{extractor}{LINEAR}net.cuda()\nreveal({wrapped}.weight)") == ["cuda"]


def test_an_optimizer_keeps_the_parameters_that_it_was_given():
    facts = given(f"{LINEAR}optimizer = torch.optim.SGD(net.parameters(), lr=1)\nnet.cuda()\n")
    assert [late.module for late in facts.late_moves] == ["net"]


BRANCHES = """
    net = nn.Linear(3, 3)
    if resume:
        optimizer = torch.optim.SGD(net.parameters(), lr=1)
    {other}:
        net.cuda()
"""


@pytest.mark.parametrize(("other", "late"), [("else", []), ("if fast", ["net"])])
def test_a_move_of_another_branch_comes_after_no_optimizer_of_this_one(other, late):
    assert [each.module for each in given(BRANCHES.format(other=other)).late_moves] == late


@pytest.mark.parametrize("loop", ["for step in range(3)", "while step()"])
def test_each_turn_of_a_loop_may_take_another_branch(loop):
    code = f"""
    net = nn.Linear(3, 3)
    {loop}:
        if resume:
            optimizer = torch.optim.SGD(net.parameters(), lr=1)
        else:
            net.cuda()
    """
    assert [each.module for each in given(code).late_moves] == ["net"]


@pytest.mark.parametrize(
    ("fill", "names"),
    [
        ("groups += [{'params': [value], 'lr': rate}]", ["net"]),
        ("groups.append({'params': [value]})", ["net"]),
        ("print(name)", []),
    ],
)
def test_so_it_does_where_a_loop_put_them_into_groups(fill, names):
    code = f"""
    net = nn.Linear(3, 3)
    groups = []
    for name, value in dict(net.named_parameters()).items():
        if value.requires_grad:
            {fill}
    optimizer = torch.optim.SGD(groups, momentum=0.9)
    optimizer.load_state_dict(torch.load("state"))
    net.cuda()
    """
    found = [(late.module, late.loaded) for late in given(code).late_moves]
    assert found == [(name, True) for name in names]


def test_an_attribute_is_known_through_the_method_that_makes_it():
    assert met(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
                self.reset()

            def reset(self):
                self.state = torch.zeros(3)

            def forward(self, x):
                return self.proj(x) + self.state
        """
    ) == ["self.state@cpu + self.proj(x)@δ(self) certain"]


def test_an_attribute_made_at_its_first_use():
    assert met(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
                self.mask = None

            def forward(self, x):
                if self.mask is None:
                    self.mask = torch.ones(3)
                return self.proj(x) * self.mask
        """
    ) == ["self.mask@cpu * self.proj(x)@δ(self) certain"]


def test_an_attribute_that_is_moved_before_its_use_is_in_place():
    assert (
        met(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.proj = nn.Linear(3, 3)
                    self.table = torch.arange(3)

                def forward(self, x):
                    h = self.proj(x)
                    self.table = self.table.to(h.device)
                    return h + self.table
            """
        )
        == []
    )


def test_a_class_that_moves_its_attributes_itself():
    assert (
        met(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.proj = nn.Linear(3, 3)
                    self.table = torch.arange(3)

                def to(self, device):
                    self.table = self.table.to(device)
                    return super().to(device)

                def forward(self, x):
                    return self.proj(x) + self.table
            """
        )
        == []
    )


def test_a_subclass_inherits_what_its_base_registers():
    assert met(
        """
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
                self.register_buffer("mask", torch.ones(3))

        class Net(Base):
            def forward(self, x):
                return self.proj(x) * self.mask + torch.zeros(3)
        """
    ) == ["torch.zeros(3)@cpu + self.proj(x) * self.mask@δ(self) certain"]


def test_a_parameter_of_another_module_is_registered_where_it_is_assigned():
    code = """
    class Head(nn.Module):
        def __init__(self, weight=None):
            super().__init__()
            if weight is None:
                weight = nn.Linear(3, 3).weight
            self.weight = weight
            self.mean = nn.BatchNorm1d(3).running_mean
            self.proj = nn.Linear(3, 3)

        def forward(self, x):
            return F.linear(self.proj(x), self.weight)
    """
    facts = given(code)
    assert plain_attributes(facts) == ["Head.mean@cpu"]  # a buffer is registered by name only
    assert met(code) == []


def test_a_method_that_the_constructor_calls_knows_what_was_registered_before():
    code = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.scale = None
            self.fc = nn.Linear(n, n)
            self.scale = nn.Parameter(torch.ones(n, 1))
            self.reset()

        def reset(self):
            self.noise = self.spread()

        def spread(self):
            return torch.ones(3, 4) * self.scale

    def restart(net):
        net.reset()
    """
    assert met(code) == ["torch.ones(3, 4)@cpu * self.scale@δ(self) certain"]
    assert met(code.replace("ones(3, 4)", "ones_like(self.scale)")) == []


def test_a_constructor_that_runs_the_module_once_hides_nothing_of_it():
    code = """
    class Net(nn.Module):
        def __init__(self, shape):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.head = nn.Linear(self.features(torch.zeros(1, *shape)).shape[1], 2)

        def features(self, x):
            x = self.conv(x)
            return x + torch.arange(x.shape[-1])

        def forward(self, x):
            return self.head(self.features(x))
    """
    assert met(code) == ["torch.arange(x.shape[-1])@cpu + x@δ(self) certain"]


def test_parameters_that_the_first_input_shapes_and_buffers_move_with_the_module():
    code = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.parameter.UninitializedParameter()
            self.mask = nn.Buffer(torch.ones(3))
            self.table = torch.ones(3)

        def forward(self, x):
            reveal(self.weight)
            reveal(self.mask)
            return x @ self.weight * self.mask + self.table
    """
    assert revealed(code) == ["δ(self)", "δ(self)"]
    assert plain_attributes(given(code)) == ["Net.table@cpu"]


def test_a_helper_that_passes_a_name_on_to_register_buffer_registers_it():
    code = """
    class Reserving(nn.Module):
        def reserve(self, name, dtype=None):
            self.register_buffer(name, nn.UninitializedBuffer(dtype=dtype))

        def announce(self, name):
            print(name)

    class Net(Reserving):
        def __init__(self, count: int):
            super().__init__()
            self.reserve("index")
            self.announce("offset")
            self.index = torch.zeros(count)
            self.offset = torch.zeros(count)

        def forward(self, x: torch.Tensor):
            return x * self.index + self.offset
    """
    assert met(code) == ["self.offset@cpu + x * self.index@δ(self) certain"]


def test_a_base_that_an_optional_import_chooses_is_still_a_module():
    code = """
    try:
        import extra

        class Base(nn.Module):
            def explain(self):
                return extra.explain(self)
    except ImportError:

        class Base(nn.Module):
            pass

    class Net(Base):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        @property
        def scale(self):
            return self.weight.exp()

        def forward(self, x: torch.Tensor):
            return x * self.scale + torch.ones(3)
    """
    assert met(code) == ["torch.ones(3)@cpu + x * self.scale@δ(self) certain"]


HOLDS = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 1)

    def forward(self, x):
        return self.conv(x)

class Holder{base}:
    def __init__(self):
        self.block = Block()

    def infer(self, x):
        return self.block(x) + x.new_zeros(3)
"""


def test_a_plain_object_feeds_the_module_that_it_keeps_from_where_it_is():
    assert met(HOLDS.format(base="")) == [
        "input: self.block@cpu self.block x@δ(x) possible inside self.conv(x)"
    ]


def test_a_base_out_of_sight_may_move_the_modules_of_its_object():
    outside = "from trainer import TrainerModel\n" + HOLDS.format(base="(TrainerModel)")
    assert met(outside) == []


LAYERS = """
from gone import Base

class Table(Base):
    def __init__(self, config):
        {above}
        self.table = {layer}

    def predict(self, rows):
        return self.table(torch.from_numpy(rows)).sum(1)

{rest}
"""
ABOVE = "super().__init__(config)"
EMBEDDING = "nn.Embedding(3, 3)"


def test_a_class_with_a_base_out_of_sight_that_keeps_layers_is_a_module():
    assert met(LAYERS.format(above=ABOVE, layer=EMBEDDING, rest="")) == [
        "input: torch.from_numpy(rows)@cpu self.table self.table@δ(self) certain"
    ]


@pytest.mark.parametrize(
    ("above", "layer", "rest"),
    [
        ("self.config = config", EMBEDDING, ""),  # no constructor above is called
        (ABOVE, "nn.CrossEntropyLoss()", ""),  # without a state
        (ABOVE, "make(3, 3)", ""),
        (ABOVE, EMBEDDING, "    def fit(self):\n        torch.optim.SGD(self.table.parameters())"),
        (ABOVE, EMBEDDING, "    def save(self):\n        return self.table.state_dict()"),
        (ABOVE, f"{EMBEDDING}.cpu()", ""),
    ],
)
def test_a_class_that_owns_layers_is_no_module(above, layer, rest):
    assert met(LAYERS.format(above=above, layer=layer, rest=rest)) == []


@pytest.mark.parametrize("target", ["t", "t.cuda()"])
def test_the_targets_of_ctc_loss_may_be_anywhere(target):
    assert (
        met(
            f"""
        class Align(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
                self.ctc = nn.CTCLoss()

            def forward(self, x, n):
                t = torch.arange(1, 9)
                return self.ctc(self.proj(x), {target}, n, n)
        """
        )
        == []
    )


@pytest.mark.parametrize(("base", "count"), [("(Extractor)", 0), ("", 1)])
def test_a_parameter_of_an_object_with_a_base_out_of_sight_may_move_with_it(base, count):
    code = f"""
    from extractors import Extractor

    class Spans{base}:
        def __init__(self):
            self.start = nn.Parameter(torch.randn(3))

        def spans(self, x: torch.Tensor):
            return x.cuda() * self.start
    """
    assert len(met(code)) == count


OBJECT = """
class Scorer:
    def __init__(self, name):
        self.prepare(name)
        {move}

    def prepare(self, name):
        self.model = nn.Linear(3, 3)

    def score(self, x: torch.Tensor):
        return self.model(x.to("cuda"))
"""


@pytest.mark.parametrize(("move", "count"), [("self.model.cuda()", 0), ("self.model.eval()", 1)])
def test_a_module_that_one_method_of_an_object_makes_and_another_moves(move, count):
    assert len(met(OBJECT.format(move=move))) == count


REGISTERED = """
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.conv = nn.Conv2d(n, n, 3)

    def forward(self, x):
        return self.conv(x)

class Tower(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = []
        for i in range(n):
            layer = Block(3)
            {register}
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_modules_in_a_plain_list_that_are_registered_besides_move():
    registered = given(REGISTERED.format(register='self.add_module(f"layer{i}", layer)'))
    assert registered.meetings == [] and registered.plain_attributes == []
    weights = 'self.register_parameter(f"weight{i}", layer.conv.weight)'  # all that moves of it
    assert given(REGISTERED.format(register=weights)).plain_attributes == []
    own = 'self.register_parameter("bias", None)'
    assert given(REGISTERED.format(register=own)).plain_attributes != []
    hidden = given(REGISTERED.format(register="print(layer)"))
    assert [a.attribute for a in hidden.plain_attributes] == ["layers"]


def test_one_registered_module_does_not_excuse_the_others_of_its_list():
    code = """
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.layers = [self.first, {second}]
    """
    hidden = given(code.format(second="nn.Linear(3, 3)")).plain_attributes
    assert [a.attribute for a in hidden] == ["layers"]
    assert given(code.format(second="self.first")).plain_attributes == []


def test_modules_that_one_of_several_branches_registers_besides_move():
    code = """
    class Tower(nn.Module):
        def __init__(self, lent=None):
            super().__init__()
            self.lends = {{}}
            self.heads = nn.ModuleDict()
            if lent is not None:
                self.stem = lent["stem"]
                self.heads["out"] = lent["out"]
            else:
                self.stem = nn.Linear(3, 3)
                self.heads["out"] = nn.Linear(3, 1)
                self.lends["stem"] = self.stem
                self.lends["out"] = {out}
    """
    assert given(code.format(out='self.heads["out"]')).plain_attributes == []
    hidden = given(code.format(out="nn.Linear(3, 1)")).plain_attributes
    assert [a.attribute for a in hidden] == ["lends"]


def test_an_heir_of_a_layer_has_the_state_of_the_layer():
    code = """
    class Scaled(nn.{base}):
        def forward(self, x):
            return super().forward(x) * 2

    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Scaled(3, 3), Scaled(3, 3)]
    """
    kept = given(code.format(base="Linear")).plain_attributes
    assert [a.attribute for a in kept] == ["layers"]
    assert given(code.format(base="Module")).plain_attributes == []


STACK = """
class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.parts = [nn.Linear(3, 3)]
        for _ in range(depth):
            self.parts.append(nn.Linear(3, 3))
        {kept}

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x
"""


@pytest.mark.parametrize(
    ("kept", "attributes"),
    [
        ("self.layers = nn.ModuleList(self.parts)", []),
        ("self.body = nn.Sequential(*self.parts)", []),
        ("self.inner = Inner(self.parts)", []),
        ("self.inner = _Inner(parts=self.parts)", []),
        ("self.count = len(self.parts)", ["Stack.parts@cpu (modules)"]),
    ],
)
def test_a_list_that_a_constructor_gets_may_be_registered_by_it(kept, attributes):
    facts = given(STACK.format(kept=kept))
    assert plain_attributes(facts) == attributes
    assert meetings(facts) == []


TWO_LISTS = """
class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        layers = {first}
        row = []
        {filled}
        self.row = nn.Sequential(*row)
        self.layers = layers

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
PAIR = ["layers.append(layer)", "row.append(layer)", "row.append(nn.ReLU())"]


@pytest.mark.parametrize(
    ("first", "filled", "is_plain"),
    [
        ("[nn.Linear(3, 3)]", ["for layer in layers:", *PAIR[1:]], False),
        ("[nn.Linear(3, 3)]", ["for i, layer in enumerate(layers):", *PAIR[1:]], False),
        ("[]", ["for _ in range(depth):", "layer = nn.Linear(3, 3)", *PAIR], False),
        ("[nn.Linear(3, 3)]", ["for layer in layers:", PAIR[2]], True),
        ("[nn.Linear(3, 3)]", ["for layer in []:", *PAIR[1:]], True),
        (
            "[]",
            ["for _ in range(depth):", "layers.append(nn.Linear(3, 3))", "row.append(nn.ReLU())"],
            True,
        ),
    ],
)
def test_a_list_whose_modules_are_registered_through_another_list_is_a_second_view(
    first, filled, is_plain
):
    found = given(TWO_LISTS.format(first=first, filled="\n            ".join(filled)))
    assert bool(plain_attributes(found)) is is_plain


@pytest.mark.parametrize(
    ("place", "excused"), [('"cuda"', [True]), ('"cpu"', [False]), ('"cuda:1"', [False])]
)
def test_a_tensor_is_kept_where_the_module_puts_itself(place, excused):
    code = f"""
    class Bench(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.x = torch.ones(3, device={place})
            self.to("cuda")
    """
    assert [p.excused for p in given(code).plain_attributes] == excused


def test_a_module_without_state_demands_no_accelerator():
    code = "loss = {}.cuda()\nact = nn.Softmax(dim=1).cuda()"
    assert given(code.format("nn.CrossEntropyLoss()")).mentions == []
    (mention,) = given(code.format("nn.Linear(3, 3)")).mentions
    assert mention.text == "nn.Linear(3, 3).cuda()"


def test_a_module_may_register_what_is_not_in_sight():
    code = """
    class Stages(nn.Module):
        def __init__(self, layers):
            super().__init__()
            for i, layer in enumerate(layers):
                self.add_module(str(i), layer)
            self.to("cuda")
    """
    (mention,) = given(code).mentions
    assert mention.text == 'self.to("cuda")'


MIXED = """
class Mix(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Conv2d(width, width, 1)

    def forward(self, x):
        return x + self.query(x)

def make_mix(width, kind):
    if kind == "full":
        return Mix(width)
    return nn.Identity()

class Net(nn.Module):
    def __init__(self, width, kind):
        super().__init__()
        self.core = {core}
        self.first = Mix(width)
        self.core.mix = make_mix(width, kind)

    def forward(self, x):
        return self.core.mix(self.first(x))
"""


def test_a_bare_module_registers_what_is_put_into_it_whichever_of_several_that_is():
    assert met(MIXED.format(core="nn.Module()")) == []
    (found,) = met(MIXED.format(core="Bag()") + "\nclass Bag:\n    pass")
    assert found.startswith("input: ")


OWN_TO = """
class Frame(nn.Module):
    def to(self, device):
        self.where = device
        {first}
        return super().to(device)

    {other}

class Queue(Frame):
    def __init__(self, n):
        super().__init__()
        self.proj = nn.Linear(3, 3)
        self.waits = torch.ones(n, dtype=torch.bool)

    def step(self, x, done):
        h = self.proj(x)
        {read}
        return h
"""


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("self.proj.to(device)  # but not what waits", ""),
        ("self.refresh()", "def refresh(self): self.where = 0"),
    ],
)
@pytest.mark.parametrize(
    ("read", "count"),
    [
        ("self.waits |= ~done.cpu()", 0),
        ("self.waits[~done[:, 0].cpu()] = torch.zeros(1, dtype=torch.bool)", 0),
        ("self.waits.numpy()", 0),
        ("h = h * self.waits", 1),
    ],
)
def test_a_plain_attribute_that_its_class_leaves_alone_stays_where_it_was_made(
    first, other, read, count
):
    facts = given(OWN_TO.format(first=first, other=other, read=read))
    assert (len(facts.meetings), facts.host_reads) == (count, [])
    assert [p.excused for p in facts.plain_attributes] == [False]


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("self.waits = self.waits.to(device)", ""),
        ("self._move(device)", "def _move(self, d): self.waits = self.waits.to(d)"),
        ("for k, v in vars(self).items(): self.__dict__[k] = v.to(device)", ""),
        ("move_all(self, device)", ""),
        ("self.move_out_of_sight(device)", ""),
    ],
)
def test_a_plain_attribute_that_its_class_moves_is_where_the_module_is(first, other):
    assert met(OWN_TO.format(first=first, other=other, read="h = h * self.waits")) == []


BONUS = """
class Step(nn.Module):
    def __init__(self, decoder, vocabulary):
        super().__init__()
        self.decoder = decoder
        self.bonus = torch.zeros(vocabulary)

    def forward(self, tokens: torch.Tensor, scores: torch.Tensor):
        found = {found}
        return found * scores.exp()
"""


def test_what_is_computed_with_a_plain_attribute_is_said_of_the_first_operation_only():
    assert met(BONUS.format(found="self.decoder(tokens, 3).best + self.bonus")) == []
    assert len(met(BONUS.format(found="tokens.exp() + self.bonus"))) == 1
    assert len(met(BONUS.format(found="2 * self.bonus"))) == 1


STEPS = """
from torchvision.transforms import Normalize, Resize, ToTensor

class Prepare(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.read = ToTensor()
        self.steps = {made}

    def forward(self, picture):
        return self.steps(self.read(picture))
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("nn.Sequential(Resize(size), Normalize([0.5], [0.5]))", 0),
        ("torch.jit.script(nn.Sequential(Resize(size), Normalize([0.5], [0.5])))", 0),
        ("nn.Sequential(Resize(size), nn.Conv2d(3, 3, 1))", 1),
        ("torch.jit.script(nn.Sequential(Resize(size), nn.BatchNorm2d(3)))", 1),
    ],
)
def test_transforms_in_turn_take_pictures_from_anywhere(made, count):
    assert len(met(STEPS.format(made=made))) == count


ABSTRACT = """
import abc

class Loss(abc.ABC, nn.Module):
    {decorator}
    def each(self, scores, target):
        {body}

    def forward(self, scores: torch.Tensor, target: torch.Tensor):
        return self.each(scores, target)[target.ne(0)].sum()

class Gathered(Loss):
    def each(self, scores, target):
        return -scores.gather(-1, target)
"""


@pytest.mark.parametrize(
    ("decorator", "body", "count"),
    [
        ("@abc.abstractmethod", "return torch.tensor([3.0, 1.0])", 0),
        ("# of the subclasses", 'raise NotImplementedError("each")', 0),
        ("# of the subclasses", "pass", 0),
        ("# of all", "return torch.tensor([3.0, 1.0])", 1),
    ],
)
def test_a_method_that_only_stands_for_others_says_nothing_of_their_result(decorator, body, count):
    assert len(met(ABSTRACT.format(decorator=decorator, body=body))) == count


@pytest.mark.parametrize(
    "body", ["raise NotImplementedError", '"""The width."""', "...", '"""."""; pass']
)
def test_what_an_abstract_method_returns_is_unknown_to_its_own_class(body):
    code = f"""
    class Base:
        def width(self, x):
            {body}

        def run(self, x: torch.Tensor):
            return torch.zeros(3) + self.width(x)
    """
    assert met(code) == []


@pytest.mark.parametrize(
    ("shared", "contradicts"),
    [("nn.Parameter(torch.zeros(size))", False), ("torch.zeros(size)", True)],
)
def test_a_parameter_assigned_to_a_part_moves_with_it(shared, contradicts):
    found = met(f"""
    class Head(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.decoder = nn.Linear(size, size, bias=False)
            self.decoder.bias = {shared}

        def forward(self, x):
            return x.matmul(self.decoder.weight) + self.decoder.bias
    """)
    assert bool(found) is contradicts


CONVERTED = """
class Mixer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.skip = nn.Parameter(torch.ones(width, dtype=torch.float32)).to({dtype})

    def forward(self, x):
        return self.proj(x) * self.skip
"""


@pytest.mark.parametrize(
    ("dtype", "meets"), [("torch.float32", False), ("torch.float16", True), ("device='cpu'", True)]
)
def test_a_conversion_to_the_dtype_that_a_parameter_has_gives_the_parameter(dtype, meets):
    assert bool(met(CONVERTED.format(dtype=dtype))) == meets


SET_UP = """
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("at", torch.zeros(1))
            self.register_buffer("order", torch.arange(3))

        def reset(self):
            self.at = torch.zeros(1)

        def tables(self):
            kept = torch.ones(3, 3)[self.order.sort().indices > 1]
            {registers}

        @classmethod
        def from_config(cls):
            rows = cls(){moved}
            rows.reset()
            return rows
{caller}
"""


@pytest.mark.parametrize(
    ("registers", "caller", "count"),
    [
        ('self.register_buffer("kept", kept)', "", 0),
        ("return kept", "", 1),
        (
            'self.register_buffer("kept", kept)',
            "        def forward(self, x):\n            self.tables()\n            return x",
            1,
        ),
    ],
)
def test_what_registers_buffers_runs_before_a_module_moves(registers, caller, count):
    assert len(met(SET_UP.format(registers=registers, caller=caller, moved=""))) == count


@pytest.mark.parametrize(
    ("moved", "caller", "overwrites"),
    [
        ("", "", []),
        (".cuda()", "", ["buffer"]),
        (
            "",
            "        def forward(self, x):\n            self.reset()\n            return x",
            ["buffer"],
        ),
    ],
)
def test_a_class_method_that_builds_a_module_works_on_the_host(moved, caller, overwrites):
    facts = given(SET_UP.format(registers="return kept", caller=caller, moved=moved))
    assert [fact.overwrites for fact in facts.plain_attributes] == overwrites


@pytest.mark.parametrize("assigned", ["nn.Parameter(torch.ones(3))", "torch.ones(3)"])
def test_a_parameter_given_to_a_part_from_outside_moves_with_the_whole(assigned):
    found = met(f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(3, 3, 1)

    def check(x: torch.Tensor):
        net = Net()
        net.conv.weight = {assigned}
        net.to("cuda")
        return net.conv.weight * x.cuda()
    """)
    assert bool(found) is ("Parameter" not in assigned)


@pytest.mark.parametrize(
    "given_as",
    ["Optional[Tuple[torch.Tensor, torch.Tensor]]", "Optional[List[torch.Tensor]]"],
)
@pytest.mark.parametrize(
    ("made", "confidences"), [("torch.zeros(1, 4)", ["certain"]), ("x.new_zeros(1, 4)", [])]
)
def test_several_tensors_that_a_caller_may_leave_out(given_as, made, confidences):
    code = f"""
    from typing import List, Optional, Tuple

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTM(3, 4)

        def forward(self, x: torch.Tensor, state: {given_as} = None):
            if state is None:
                state = ({made}, {made})
            return self.cell(x, state)
    """
    found = [meeting.rpartition(" ")[2] for meeting in met(code)]
    assert found == confidences


def test_the_parameters_in_one_vector_are_where_the_module_is():
    code = """
    from torch.nn.utils import parameters_to_vector

    class Net(nn.Module):
        def flat(self):
            return parameters_to_vector(self.parameters()).detach(){there}.numpy()
    """
    (read,) = host_reads(given(code.format(there="")))
    assert read.endswith("@δ(self) possible")  # the module may be on the host by then
    assert host_reads(given(code.format(there=".cpu()"))) == []


@pytest.mark.parametrize(
    ("gradient", "count"), [("torch.ones(3)", 1), ("torch.ones_like(y)", 0), ("None", 0)]
)
def test_a_gradient_is_where_its_tensor_is(gradient, count):
    code = f"""
    net = nn.Linear(3, 3).cuda()
    y = net(torch.ones(3, device="cuda"))
    torch.autograd.backward(y, {gradient})
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("hook", "contradicts"),
    [("__init__", False), ("configure_model", False), ("on_train_start", True)],
)
def test_what_runs_before_a_module_is_moved_has_its_parameters_on_the_host(hook, contradicts):
    found = met(f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

    class Loaded(Net):
        def {hook}(self):
            super().{hook}()
            self.spread()

        def spread(self):
            with torch.no_grad():
                self.weight /= torch.arange(1, 4)
    """)
    assert bool(found) is contradicts


@pytest.mark.parametrize(
    "kept", ["net.to(self.device)", "net\n            self.net.to(self.device)"]
)
@pytest.mark.parametrize(
    "asked",
    ["self.net.parameters()", "self.net.eval()", "self.net"],  # moved and called
)
def test_a_constructor_keeps_what_shows_to_be_a_module(kept, asked):
    code = f"""
    class Judge:
        def __init__(self, net):
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            self.net = {kept}

        def made_of(self):
            return {asked}

        def judge(self, rows):
            rows = torch.from_numpy(rows){{there}}
            return self.net(rows).detach().numpy()
    """
    moved = given(code.format(there=".to(self.device)"))
    (read,) = host_reads(moved)
    assert read == ".numpy() of self.net(rows).detach()@cuda certain"
    assert met(code.format(there=""))


@pytest.mark.parametrize(
    ("otherwise", "confidence"),
    [("torch.zeros(1, 2, 3)", "certain"), ("x.new_zeros(1, 2, 3)", "likely"), ("None", "likely")],
)
def test_an_input_whose_branches_are_all_elsewhere(otherwise, confidence):
    code = f"""
    class Reader(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind
            self.rnn = nn.LSTM(3, 3) if kind == "long" else nn.GRU(3, 3)

        def forward(self, x: torch.Tensor):
            if self.kind == "long":
                state = (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))
            else:
                state = {otherwise}
            return self.rnn(x, state)
    """
    assert {meeting.rpartition(" ")[2] for meeting in met(code)} == {confidence}


TAKEN_IN = """
from torch.utils.data import DataLoader

class Blocks(nn.Module):
    def __init__(self, width, parts):
        super().__init__()
        self.body = nn.Sequential()
        for i in range(3):
            self.body.add_module({member})
        self.tail = {tail}

    def forward(self, x):
        return {output}

def score(dataset):
    net = Blocks(3, []).cuda()
    for x, y in DataLoader(dataset):
        print(net({given}))
"""


@pytest.mark.parametrize(
    ("member", "tail", "output", "count"),
    [
        # what only a layer takes is a tensor all the same
        ("str(i), nn.Linear(3, 3)", "nn.Linear(3, 3)", "self.tail(x)", 1),
        ("str(i), nn.Linear(3, 3)", "nn.Linear(3, 3)", "self.body(x)", 1),
        ('f"layer{i}", nn.Conv2d(3, 3, 1)', "nn.Linear(3, 3)", "self.body(x)", 1),
        # without weights they compute wherever the input is
        ("str(i), nn.ReLU()", "nn.Linear(3, 3)", "self.body(x)", 0),
        # a part that is out of sight may take what it moves itself
        ("str(i), parts[i]", "nn.Linear(3, 3)", "self.body(x)", 0),
        ("str(i), nn.ReLU()", "parts", "self.tail(x)", 0),
    ],
)
def test_what_a_layer_takes_is_a_tensor(member, tail, output, count):
    code = TAKEN_IN.format(member=member, tail=tail, output=output, given="x")
    assert len(met(code)) == count
    assert not met(TAKEN_IN.format(member=member, tail=tail, output=output, given="x.cuda()"))


def test_a_container_that_is_given_members_of_several_places_is_nowhere():
    row = "row = nn.Sequential()\nrow.add_module('a', nn.Linear(3, 3).cuda())\n"
    assert not met(f"{row}row(torch.zeros(3).cuda())")
    assert met(f"{row}row.cuda()\nrow(torch.zeros(3))")


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for layer in self.layers:", "δ(self)"),
        ("for i, layer in enumerate(self.layers):", "δ(self)"),
        ("for layer, n in zip(self.layers, sizes):", "δ(self)"),
        # of what else it goes over there may be nothing
        ("for layer in range(sizes):", "δ(self) | δ(x)"),
    ],
)
def test_a_loop_over_modules_has_a_turn(loop, expected):
    code = in_forward("x = x.relu()", loop, "    x = x.relu() * self.proj.weight", "reveal(x)")
    assert revealed(code) == [expected]


@pytest.mark.parametrize(
    ("norm", "count"),
    [
        ("nn.LayerNorm(3, elementwise_affine=False)", 0),
        ("nn.LayerNorm(3, 1e-6, False)", 0),
        ("nn.LayerNorm(3)", 1),
        ("nn.GroupNorm(1, 3, affine=False)", 0),
        ("nn.BatchNorm1d(3, affine=False, track_running_stats=False)", 0),
        ("nn.BatchNorm1d(3, affine=False)", 1),  # its running statistics are buffers
    ],
)
def test_a_norm_without_weights_has_no_device(norm, count):
    code = f"""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(3, 3)

        def forward(self, x):
            norm = {norm}
            return self.out(norm(x))
    """
    assert len(met(code)) == count


@pytest.mark.parametrize("called", ["self.reset()", "pass"])
def test_what_only_a_method_of_the_constructor_calls_runs_before_any_move(called):
    code = f"""
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.keys = nn.Linear(width, width)
            {called}

        def _begin(self, layer):
            for weight in layer.parameters():
                if weight.ndim > 1:
                    weight.data += torch.eye(weight.size(-1))

        def reset(self):
            self._begin(self.keys)
    """
    assert len(met(code)) == (1 if called == "pass" else 0)


@pytest.mark.parametrize(
    ("made", "used", "attributes"),
    [
        ("Kernel(size)", "kernel(x)", ["kernels"]),
        ("Kernel(size, device=device)", "kernel(x)", []),
        ("Kernel(size)", "self.kernels[0].to(x.device)(x)", []),
        ("Kernel(size)", "self.kernels[0].inner.to(x.device)(x)", []),
    ],
)
def test_modules_in_a_plain_list_that_are_told_where_to_be(made, used, attributes):
    code = f"""
    class Kernel(nn.Module):
        def __init__(self, size, device=None):
            super().__init__()
            self.inner = nn.Linear(size, size, device=device)

        def forward(self, x):
            return self.inner(x)

    class Fused(nn.Module):
        def __init__(self, sizes, device=None):
            super().__init__()
            self.kernels = []
            for size in sizes:
                self.kernels.append({made})

        def forward(self, x):
            for kernel in self.kernels:
                x = {used}
            return x
    """
    facts = given(code).plain_attributes
    assert [fact.attribute for fact in facts if not fact.excused] == attributes


@pytest.mark.parametrize(
    ("critic", "count"),
    [("critic.cuda()", 0), ("cards(critic).cuda()", 0), ("moved", 0), ("critic", 1)],
)
def test_a_whole_is_where_the_parts_that_it_is_made_of_were_put(critic, count):
    code = f"""
    from helpers import cards

    class Pair(nn.Module):
        def __init__(self, main, critic):
            super().__init__()
            self.main, self.critic = main, critic

        def forward(self, *args, **options):
            return self.critic(*args) if "judge" in options else self.main(*args)

    class Trainer(object):
        def set_up(self):
            critic = nn.Linear(4, 1)
            moved = nn.Linear(4, 1).cuda()
            self.model = Pair(nn.Linear(4, 4), {critic})

        def loss(self, x):
            return F.mse_loss(self.model(x, judge=True), torch.ones(3, 1).cuda())
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(("told", "attributes"), [("self.kernels", []), ("[]", ["kernels"])])
def test_modules_that_a_class_tells_of_in_its_own_way(told, attributes):
    code = f"""
    class Telling:
        def named_parameters(self, prefix="", recurse=True):
            for kernel in {told}:
                yield from kernel.named_parameters(prefix, recurse)

    class Fused(Telling, nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.kernels = []
            for size in sizes:
                self.kernels.append(nn.Linear(size, size))
    """
    facts = given(code).plain_attributes
    assert [fact.attribute for fact in facts if not fact.excused] == attributes


def test_the_example_of_a_docstring_calls_nothing():
    code = '''
    class Encoder(nn.Module):
        def __init__(self, shape):
            super().__init__()
            self.main = nn.Sequential(nn.Linear(shape, 4))
            self.head = nn.Linear(self._size(shape), 2)

        def _size(self, shape):
            """Examples:
                >>> Encoder(4)._size(4)
            """
            return self.main(torch.randn(1, shape)).shape[1]
    '''
    assert met(code) == []
    assert len(met(code.replace(">>> Encoder(4)", "Encoder(4)"))) == 1


HEADS = """
class Heads(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.all = nn.ModuleList()
        self.table = {{}}
        for kind in kinds:
            self.table[kind] = {{}}
            for name in kinds[kind]:
                head = nn.Linear(3, 3)
                self.table[kind][name] = head
                {kept}
        self.bias = nn.Parameter(torch.zeros(3))

    def forward(self, x, kind, name):
        return self.table[kind][name](x + self.bias)
"""


@pytest.mark.parametrize(("kept", "said"), [("self.all.append(head)", 0), ("pass", 1)])
def test_modules_in_a_dict_of_dicts_move_if_a_list_of_modules_has_them_too(kept, said):
    facts = given(HEADS.format(kept=kept))
    assert not facts.meetings
    assert [each.of_modules for each in facts.plain_attributes] == [True] * said


@pytest.mark.parametrize(
    "call", ["self.proj(x)", "self.proj.forward(x)", "self.inner(x)", "self.inner.forward(x)"]
)
def test_forward_is_what_a_call_of_a_module_does(call):
    assert revealed(in_forward(f"reveal({call})")) == ["δ(self)"]


@pytest.mark.parametrize(("call", "name"), [("net(x)", "net"), ("net.forward(x)", "net")])
def test_forward_of_what_is_called_a_model_is_a_call_of_it(call, name):
    code = f"""
    def score(net, x: torch.Tensor):
        x = x.cuda()
        return torch.zeros(1) + {call}
    """
    [found] = met(code)
    assert found.endswith("likely")


def test_a_method_of_a_module_out_of_sight_gives_anything():
    """A number, or a tensor where the module is: its use says which."""
    code = """
    import numpy as np

    def report(net: nn.Module, x):
        net.cuda()
        print(np.mean(net.evaluate(x)))
        return torch.zeros(3) + net.{method}(x){use}
    """
    facts = given(code.format(method="encode", use=".view(-1)"))
    assert [read for read in host_reads(facts) if "possible" not in read] == []
    (meeting,) = meetings(facts)
    assert meeting.endswith("likely"), meeting
    assert met(code.format(method="score", use="")) == []


@pytest.mark.parametrize(
    ("reader", "count"),
    [
        ("self.size", 0),
        ("self.sizes", 1),  # nobody in sight reads it: whoever does may have moved the module
    ],
)
def test_a_property_that_only_the_constructor_reads_is_read_before_the_module_moves(reader, count):
    code = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(3, 4, 3)
            self.head = nn.Linear({reader}, 2)

        @property
        def size(self):
            probe = torch.zeros(1, 3, 9)
            return self.conv(probe).flatten(1).shape[1]
    """
    assert len(met(code)) == count


FILLED_LIST = """
device = "cuda"

def build(sizes):
    layers = []
    for size in sizes:
        layers.append(nn.Linear(3, size))
        layers.append(nn.ReLU())
    return {container}

net = build([3, 3])
net(torch.ones(3).to(device))
"""


@pytest.mark.parametrize(
    ("container", "count"),
    [
        ("nn.Sequential(*layers)", 1),
        ("nn.Sequential(*layers).to(device)", 0),
        ("nn.Sequential(*layers, *others)", 0),
    ],
)
def test_a_container_is_where_the_parts_are_that_a_loop_has_made(container, count):
    assert len(met(FILLED_LIST.format(container=container))) == count


def test_a_container_of_parts_in_several_places_is_nowhere():
    assert not met(
        FILLED_LIST.format(container="nn.Sequential(*layers)").replace(
            "nn.ReLU()", "nn.Linear(3, 3).cuda()"
        )
    )


def test_a_part_of_a_module_list_is_one_and_is_registered():
    code = """
    class Net(nn.Module):
        def __init__(self, count):
            super().__init__()
            layers = nn.ModuleList()
            for _ in range(count):
                layers.append(nn.Linear(3, 3))
            self.layers = layers[::-1]

        def forward(self, x):
            return reveal(self.layers[0](x))
    """
    assert revealed(code) == ["δ(self)"]
    assert met(code) == []


@pytest.mark.parametrize(
    ("table", "device"),
    [("torch.rand(4, 3)", "cpu"), ("torch.rand(4, 3).cuda()", "cuda"), ("x", "?")],
)
def test_a_class_method_that_makes_a_module_of_a_tensor_puts_it_where_that_is(table, device):
    code = f"""
    class Net(nn.Module):
        def __init__(self, x: torch.Tensor):
            super().__init__()
            self.table = nn.Embedding.from_pretrained({table})
            reveal(self.table)
    """
    assert revealed(code) == [device]
    assert not plain_attributes(given(code))


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ('self.register_parameter(f"w{i}", nn.Parameter(torch.ones(3, device=device)))', 0),
        ('self.register_buffer(f"w{i}", torch.ones(3, device=device))', 0),
        ('self.add_module(f"w{i}", nn.Linear(3, 3, device="cuda"))', 0),
        ('self.register_parameter(f"w{i}", nn.Parameter(torch.ones(3)))', 1),
        ('self.add_module(f"w{i}", nn.Linear(3, 3))', 1),
    ],
)
def test_parts_say_where_a_new_module_is_whatever_their_names(part, found):
    code = f"""
    class Grouped(nn.Module):
        def __init__(self, device="cuda"):
            super().__init__()
            for i in range(3):
                {part}

        def forward(self, x):
            return x

    nn.Sequential(Grouped(), nn.ReLU())(torch.ones(3, device="cuda"))
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ("[self.scale]", 0),
        ('{"scale": self.scale}["scale"], 3', 0),
        ("[self.proj.weight]", 0),
        ("[torch.ones(3)]", 1),
    ],
)
def test_parameters_that_a_list_has_besides_move_in_place(held, found):
    code = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)
            self.scale = nn.Parameter(torch.ones(3))
            self.register_buffer("mask", torch.ones(3))
            self.rows = {held}

        def forward(self, x):
            return self.proj(x) * self.rows[0]
    """
    assert len(met(code)) == found
