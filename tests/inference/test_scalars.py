"""0-dim CPU tensors and Python numbers meet every device, as in PyTorch; nothing else does."""

import pytest
from given import met, revealed

X = 'x = torch.zeros(3, device="cuda")\nm = x > 0\n'


@pytest.mark.parametrize(
    "operation",
    [
        "x + 1.5",
        "x * torch.tensor(2.0)",
        "torch.tensor(2.0) * x",
        "x + torch.zeros(())",
        "x + torch.ones(3).sum()",
        "x.sum().cpu() * x",
        "x.add(torch.tensor(1))",
        "torch.maximum(x, torch.tensor(0.0))",
        "torch.where(m, x, torch.tensor(0.0))",
        "x.masked_fill(m, torch.tensor(0.0))",
        "x * x.shape[0] + len(x)",
        "torch.ones(3) * x.sum().item()",
        "x * float(torch.tensor(2.0))",
        "torch.maximum(x, torch.zeros_like(torch.tensor(0.0)))",
        "x + torch.ones(3).new_full((), 2.0)",
        "x * torch.ones(3).new_tensor(2.0)",
    ],
)
def test_a_scalar_meets_every_device(operation):
    assert met(X + operation) == []


@pytest.mark.parametrize(
    ("operation", "meeting"),
    [
        ("x + torch.tensor([1.0])", "torch.tensor([1.0])@cpu + x@cuda certain"),
        ("torch.ones(3) * x", "torch.ones(3)@cpu * x@cuda certain"),
        ("x @ torch.ones(3)", "torch.ones(3)@cpu @ x@cuda certain"),
        ("torch.cat([x, torch.tensor([1.0])])", None),
        ("torch.stack([x[0], torch.tensor(1.0)])", None),
        ("torch.where(m, x, torch.ones(3))", "torch.ones(3)@cpu torch.where m@cuda certain"),
        ("F.linear(x, torch.ones(3, 3))", "torch.ones(3, 3)@cpu F.linear x@cuda certain"),
        ("x.add_(torch.ones(3))", "torch.ones(3)@cpu .add_ x@cuda certain"),
        ("x + torch.zeros_like(torch.ones(3))", None),
        ("x + torch.tensor(1.0).new_zeros(3)", None),
    ],
)
def test_what_is_no_scalar_or_no_pointwise_operation_is_refused(operation, meeting):
    found = met(X + operation)
    assert len(found) == 1
    assert meeting is None or found == [meeting]


def test_an_accelerators_scalar_does_not_meet_the_cpu():
    assert met('x = torch.zeros(3)\nx + torch.tensor([1.0], device="cuda").sum()') != []


def test_the_result_is_where_the_tensor_with_dimensions_is():
    assert revealed(f"{X}reveal(torch.tensor(2.0) * x)") == ["cuda"]


def test_a_copy_crosses_devices():
    assert met(f"{X}x.copy_(torch.ones(3))") == []


def test_an_unknown_value_meets_anything_in_silence():
    assert (
        met(
            """
            import somewhere
            x = somewhere.load()
            x + torch.zeros(3).cuda()
            x + torch.zeros(3)
            """
        )
        == []
    )


NUMBER_OR_TENSOR = """
    def shift(x: torch.Tensor, by{annotation}):
        if isinstance(by, {kind}):
            by = torch.as_tensor(by)
        return x.cumsum(0) + by
"""


@pytest.mark.parametrize(
    ("annotation", "kind", "contradicts"),
    [
        (": float | torch.Tensor", "float", False),
        ("", "(int, float)", False),
        (": list | torch.Tensor", "list", True),
    ],
)
def test_a_number_becomes_a_0_dim_tensor_and_a_list_does_not(annotation, kind, contradicts):
    found = met(NUMBER_OR_TENSOR.format(annotation=annotation, kind=kind))
    assert [m for m in found if not m.endswith("possible")] == (
        ["by@cpu + x.cumsum(0)@δ(x) likely"] if contradicts else []
    )


@pytest.mark.parametrize(
    ("taken", "contradicts"), [("span[1] - span[0]", False), ("list(span)", True)]
)
def test_the_numbers_of_an_annotated_pair_are_0_dim(taken, contradicts):
    found = met(f"""
        def scaled(x: torch.Tensor, span: float | tuple[float, float]):
            if isinstance(span, tuple):
                width = torch.tensor({taken})
            else:
                width = torch.tensor(float(span))
            return torch.log(width) * x.sum(-1)
    """)
    assert bool(found) is contradicts


def test_what_is_perhaps_0_dim_in_each_branch_is_so_behind_them():
    found = met("""
        def add(total: torch.Tensor, words):
            best = torch.tensor(1e9)
            for word in words:
                rate = torch.tensor(distance(word))
                if rate < best:
                    best = rate
            return total + best
    """)
    assert found == ["best@cpu + total@δ(total) possible"]


@pytest.mark.parametrize(
    ("made", "used", "contradicts"),
    [
        ("torch.tensor(2.0)", "2 * torch.log(spread) + 1", False),
        ("torch.tensor([2.0, 1.0])", "2 * torch.log(spread) + 1", True),
        ("torch.tensor(2.0)", "torch.cat([spread.view(1), errors])", True),
    ],
)
def test_what_is_computed_of_a_0_dim_argument_element_by_element_is_0_dim(made, used, contradicts):
    found = met(f"""
        def ratio(errors: torch.Tensor, spread: torch.Tensor):
            return {used} - torch.log(errors)

        def quality(x: torch.Tensor):
            return ratio(x.cumsum(0), {made})
    """)
    assert bool(found) is contradicts


@pytest.mark.parametrize(
    ("given_size", "count"),
    [("torch.prod(torch.tensor(x.shape))", 0), ("torch.tensor(x.shape)", 1)],
)
def test_a_scalar_stays_exempt_through_a_callee(given_size, count):
    code = f"""
def stretch(t, size):
    ratio = (size / 512) ** 0.5
    return ratio * t / (1 + ratio * t)

def f(x: torch.Tensor):
    return stretch(x.exp(), {given_size})
"""
    assert len(met(code)) == count


def test_beside_an_unknown_value_a_scalar_does_not_decide():
    code = """
def f(x: torch.Tensor, schedule):
    last = torch.tensor(1.0)
    rest = last - schedule.step(3).numerator.unsqueeze(0)
    return rest * x
"""
    assert met(code) == []


@pytest.mark.parametrize(("index", "confidence"), [("t", "possible"), ("t.long()", "certain")])
def test_an_element_by_an_index_that_may_be_a_number(index, confidence):
    code = f"""
class Schedule(nn.Module):
    def __init__(self):
        super().__init__()
        self.alphas = torch.linspace(0, 1, 10)

    def forward(self, x: torch.Tensor, t):
        return self.alphas[{index}] * x
"""
    (product,) = [m for m in met(code) if " * " in m]
    assert product.endswith(confidence)


@pytest.mark.parametrize(
    ("constant", "found"), [("torch.tensor(3.14)", []), ("torch.ones(3)", ["scaled@cpu"])]
)
def test_a_scalar_times_what_may_be_a_tensor_is_where_that_is(constant, found):
    code = f"""
    def loss(output, target: torch.Tensor):
        error = target - output.mean
        scaled = {constant} * output.variance
        return scaled + error
    """
    assert [m.partition(" ")[0] for m in met(code)] == found


@pytest.mark.parametrize(
    ("made", "pick", "confidence"),
    [
        ("torch.from_numpy(load())", "[i]", "possible"),
        ("torch.from_numpy(load())", "[0]", "possible"),
        ("torch.from_numpy(load())", "[:2]", "certain"),
        ("torch.from_numpy(load())", "[None, :]", "certain"),
        ("torch.from_numpy(load())", ".unsqueeze(0)[i]", "possible"),
        ("torch.zeros(3)", "[None]", "certain"),
        ("torch.zeros(3, 4)", "[i]", "certain"),
        ("torch.zeros((3, 4))", "[i]", "certain"),
        ("torch.zeros(3, 4)", "[i][0]", "possible"),
        ("torch.zeros(3, 4)", ".flatten()[i]", "possible"),
        ("torch.eye(3)", "[i]", "certain"),
    ],
)
def test_one_index_may_leave_a_number(made, pick, confidence):
    code = f"""
from data import load

class Net(nn.Module):
    def forward(self, x):
        y = x.unsqueeze(0)
        table = {made}
        for i in range(3):
            y = y * table{pick}
        return y
"""
    (meeting,) = met(code)
    assert meeting.endswith(confidence), meeting


@pytest.mark.parametrize(
    ("rows", "confidence"), [("torch.from_numpy(load())", "possible"), ("torch.eye(3)", "certain")]
)
def test_an_element_of_what_has_perhaps_one_dimension(rows, confidence):
    code = f"""
from data import load

class Net(nn.Module):
    def forward(self, x):
        return [x.unsqueeze(0) * row for row in {rows}]
"""
    (meeting,) = met(code)
    assert meeting.endswith(confidence), meeting


def test_a_number_from_the_device_joins_what_is_on_the_host_no_more_than_any_tensor():
    code = """
class Net(nn.Module):
    def forward(self, x):
        return torch.ones(4) * x.unsqueeze(0)[0]
"""
    (meeting,) = met(code)
    assert meeting.endswith("certain"), meeting


@pytest.mark.parametrize(("pick", "confidence"), [("seen[i]", "possible"), ("seen[:i]", "likely")])
def test_a_number_that_is_an_index_is_read(pick, confidence):
    code = f"""
class Counts:
    def __init__(self, n, net):
        self.net = net.cuda()
        self.table = torch.zeros(n, n)

    def update(self, seen: torch.Tensor):
        for i in range(len(seen)):
            self.table[{pick}] += 1
"""
    assert [m.rpartition(" ")[2] for m in met(code)] == [confidence]


def test_broadcasting_scalars_with_one_another_leaves_scalars():
    code = """
    from torch.distributions.utils import broadcast_all

    class Tail(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor):
            low, high = broadcast_all(torch.tensor(0.1), torch.tensor(0.5))
            return self.proj(x) * high
    """
    assert met(code) == []


@pytest.mark.parametrize("term", ["unseen(edges[i])", "torch.relu(edges[i])"])
def test_where_a_sum_starts_says_nothing_of_where_it_ends(term):
    code = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, 3))

        def forward(self, edges, n):
            total = {{}}
            for i in range(n):
                total = total + {term}
            return torch.matmul(self.weight, total.view(3, 3))
    """
    assert met(code.format("torch.tensor(0)")) == []
    found = met(code.format("torch.zeros(3, 3)"))
    assert any("total" in m and "@cpu" in m for m in found)


def test_the_elements_of_what_a_callee_returns_may_be_numbers():
    code = """
def best(loss_func, found, targets):
    net = nn.Linear(3, 3).cuda()
    orders = torch.tensor([[0, 1], [1, 0]])
    losses = torch.stack([loss_func(found[:, order], targets) for order in orders], dim=1)
    least, index = torch.min(losses, dim=1)
    return torch.stack([orders[i] for i in index], dim=0)

class Best:
    def run(self, found: torch.Tensor, targets: torch.Tensor):
        return torch.index_select(found, 0, best(nn.MSELoss(), found, targets))
"""
    found = [m for m in met(code) if "possible" not in m]
    assert len(found) == 1 and "index_select" in found[0], found


@pytest.mark.parametrize(
    ("view", "meets"),
    [("torch.int32", False), ("dtype=torch.int32", False), ("rows.dtype", False), ("1", True)],
)
def test_another_view_of_the_bits_keeps_the_dimensions(view, meets):
    code = f"""
    def shifted(rows: torch.Tensor):
        return rows + torch.tensor(1.0).view({view})
    """
    assert bool(met(code)) is meets


@pytest.mark.parametrize(
    ("name", "confidence"),
    [("out_channels", "possible"), ("width", "possible"), ("channels", "certain")],
)
def test_a_tensor_of_a_layers_width_is_a_number(name, confidence):
    [meeting] = met(
        f"""
        class Attention(nn.Module):
            def __init__(self, {name}):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))
                self.scale = torch.sqrt(torch.tensor({name}))

            def forward(self, x):
                return (x * self.weight) / self.scale
        """
    )
    assert meeting.endswith(confidence)


@pytest.mark.parametrize(("of", "confidence"), [("log", "possible"), ("cumsum", "likely")])
def test_a_function_of_numpy_may_turn_a_number_into_a_number(of, confidence):
    found = met(f"""
        import numpy as np

        class Trainer:
            def __init__(self, options):
                store(self, options)
                self.gain = torch.tensor(np.{of}(self.first))

            def loss(self, rows: torch.Tensor):
                return rows.exp() * self.gain
    """)
    assert [m.rpartition(" ")[2] for m in found] == [confidence]


TABLE = """
    class Schedule:
        def __init__(self, given):
            self.shares = torch.rand(*given)

        def step(self, rows: torch.Tensor, turn{annotation}):
            share = {share}
            return rows.sigmoid() * share
"""


@pytest.mark.parametrize(
    ("annotation", "share", "confidence"),
    [
        ("", "self.shares[turn]", "possible"),
        ("", "self.shares[self.turns]", "possible"),
        ("", "1 - self.shares[turn]", "possible"),
        ("", "self.shares[:turn]", "likely"),
        ("", "self.shares", "likely"),
    ],
)
def test_what_is_picked_from_a_table_may_be_a_number(annotation, share, confidence):
    found = met(TABLE.format(annotation=annotation, share=share))
    assert [m.rpartition(" ")[2] for m in found] == [confidence]


def test_a_factory_that_is_told_no_size_makes_one_number():
    assert met("def turn(x: torch.Tensor):\n    return x.cuda() + (torch.rand() - 0.5)\n") == []


@pytest.mark.parametrize(
    ("sum_up", "count"),
    [
        ("total += x.mean()", 1),
        ("total.add_(x.mean())", 1),
        ("total -= F.relu(x)", 1),
        ("total = total + x.mean()", 0),
        ("total += x.mean().cpu()", 0),
        ("total += x.mean().item()", 0),
        ("x += total", 0),
    ],
)
def test_what_is_written_in_place_is_no_number(sum_up, count):
    code = f"""
class Loss(nn.Module):
    def forward(self, x: torch.Tensor):
        total = torch.tensor(0.0)
        {sum_up}
        return total
"""
    found = met(code)
    assert len(found) == count
    assert all(m.endswith("certain") for m in found)


def test_a_sum_of_python_numbers_is_none_of_a_tensor():
    code = """
class Loss(nn.Module):
    def forward(self, x: torch.Tensor):
        total = 0.0
        total += x.mean()
        return total + x
"""
    assert met(code) == []


@pytest.mark.parametrize("most", ["lengths.max()", "int(lengths.max())", "most"])
def test_a_bound_taken_from_a_tensor_does_not_make_it_a_number(most):
    code = f"""
class Mask(nn.Module):
    def forward(self, lengths, most=None):
        if most is None:
            most = {most}
        return torch.arange(0, most) < lengths.unsqueeze(-1)
"""
    (meeting,) = met(code)
    assert meeting.endswith("certain"), meeting
    assert met(code.replace("(0, most)", "(0, most, device=lengths.device)")) == []


def test_what_sizes_are_computed_of_is_a_number():
    code = """
class Mask(nn.Module):
    def of(self, n):
        return torch.zeros(n + 1) * torch.sqrt(n)
"""
    assert met(code) == []


@pytest.mark.parametrize("made", ["torch.linspace(0, 1, n)", "torch.from_numpy(rows)"])
def test_an_index_that_begins_as_none_picks_one_element(made):
    code = """
        class Scheduler:
            def __init__(self, n, rows):
                self.sigmas = {made}
                self.step = None

            def scaled(self, sample: torch.Tensor):
                return self.pick(self.sigmas[{index}]) * sample

            def pick(self, sigma):
                return 1 - sigma
    """
    code = code.replace("{made}", made)
    (written,) = met(code.replace("{index}", "None"))
    (held,) = met(code.replace("{index}", "self.step"))
    assert (written.split()[-1], held.split()[-1]) == ("likely", "possible")


@pytest.mark.parametrize("read", ["int", "float", "round"])
@pytest.mark.parametrize("of", ["np.prod(shape)", "np.sum(rows)", "np.sqrt(n)"])
def test_what_python_makes_a_number_of_is_one(read, of):
    code = """
    import numpy as np

    class Agent:
        def __init__(self, shape, rows, n):
            self.count = {}
            self.entropy = torch.log(1 / torch.tensor(self.count))

        def learn(self, scores):
            return scores.cuda() + self.entropy
    """
    assert met(code.format(f"{read}({of})")) == []
    assert met(code.format(f"np.cumsum(rows) * {read}({of})")) != []


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("torch.from_numpy(np.asarray(np.cos(margin)))", False),
        ("torch.tensor(np.sqrt(margin))", False),
        ("torch.from_numpy(np.array([np.cos(margin)]))", True),
        ("torch.from_numpy(np.cos(np.arange(3)))", True),
    ],
)
def test_an_array_of_a_number_has_no_dimensions(made, found):
    code = f"""
    import numpy as np

    def loss(scores, margin: float):
        return scores.cuda() * {made}
    """
    assert bool(met(code)) is found


@pytest.mark.parametrize(
    ("rate", "found"), [("torch.tensor(rate)", []), ("torch.ones(3)", ["scaled@cpu"])]
)
def test_what_may_be_a_number_does_not_decide_beside_what_may_be_a_tensor(rate, found):
    """Written in place, the product has to be where the target is: as its other factor may be."""
    code = f"""
    def loss(output, target: torch.Tensor, rate):
        scaled = {rate} * output.variance
        scaled += target
        return scaled
    """
    assert [m.partition(" ")[0] for m in met(code)] == found


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ("0, limit", 0),  # beside a number it is read as one
        ("min=0, max=limit", 0),
        ("limit, limit", 1),
        ("max=limit", 1),
        ("0, torch.ones(3)", 1),
    ],
)
@pytest.mark.parametrize("call", ["x.clamp({})", "torch.clamp(x, {})", "x.clamp_({})"])
def test_a_bound_beside_a_number_is_a_number(bounds, found, call):
    code = f"""
    def bounded(x):
        x, limit = x.cuda(), torch.tensor(3)
        return {call.format(bounds)}
    """
    assert len(met(code)) == found
