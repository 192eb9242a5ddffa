"""Containers of tensors: lists, dicts, what iterates over them, and objects with fields."""

import pytest
from given import given, met, revealed


def test_a_list_filled_in_a_loop():
    code = """
    xs = []
    for i in range(3):
        xs.append(torch.zeros(3))
    y = torch.stack(xs)
    """
    assert revealed(code + "reveal(y)") == ["cpu"]
    assert met(code + 'y + torch.zeros(3, device="cuda")') == [
        'y@cpu + torch.zeros(3, device="cuda")@cuda certain'
    ]


def test_the_elements_of_one_list_meet_when_they_are_joined():
    assert met("xs = [torch.zeros(3).cuda()]\nxs.append(torch.ones(3))\ntorch.cat(xs)") == [
        "xs@cpu torch.cat xs@cuda certain"
    ]


def test_elements_of_one_list_may_be_apart_as_long_as_nothing_joins_them():
    assert met("xs = [torch.zeros(3).cuda(), torch.ones(3)]\nfor x in xs:\n    x + 1") == []


@pytest.mark.parametrize(
    "element",
    [
        "[*cpu, *gpu][1]",
        "(cpu + gpu)[1]",
        "sorted(gpu)[0]",
        "next(iter(gpu))",
        "gpu[-1]",
        "gpu[:1][0]",
        "tuple(t.cuda() for t in cpu)[0]",
        "list(map(torch.zeros_like, gpu))[0]",
        "list(map(lambda t: t.cuda(), cpu))[0]",
        "[t for t in reversed(gpu)][0]",
        "gpu.copy()[0]",
        "gpu.pop()",
    ],
)
def test_an_element_keeps_its_placement(element):
    code = f"cpu = [torch.zeros(3)]\ngpu = [torch.ones(3).cuda()]\nreveal({element})"
    assert revealed(code) == ["cuda"]


def test_zip_pairs_the_elements():
    assert met(
        """
        cpu = [torch.zeros(3)]
        gpu = [torch.zeros(3).cuda()]
        for x, y in zip(cpu, gpu):
            x + y
        """
    ) == ["x@cpu + y@cuda certain"]


def test_enumerate_counts_the_elements():
    assert revealed(
        "for i, x in enumerate([torch.zeros(3).cuda()]):\n    reveal(x)",
    ) == ["cuda"]


def test_a_dict_keeps_a_placement_for_each_key():
    assert met(
        """
        d = {"a": torch.zeros(3), "b": torch.zeros(3).cuda()}
        d["c"] = torch.zeros(3).cuda()
        d["b"] + d["c"]
        d["a"] + d["b"]
        """
    ) == ['d["a"]@cpu + d["b"]@cuda certain']


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ('d.get("a")', "cpu"),
        ('d.pop("b")', "cuda"),
        ('dict(a=torch.zeros(1).cuda())["a"]', "cuda"),
        ('{**d, "z": torch.zeros(3)}["z"]', "cpu"),
        ('{k: v.cuda() for k, v in d.items()}["a"]', "cuda"),
        ("list(d.values())[0]", "cpu | cuda"),
    ],
)
def test_values_of_a_dict(value, place):
    code = 'd = {"a": torch.zeros(3), "b": torch.zeros(3).cuda()}\n'
    assert revealed(f"{code}reveal({value})") == [place]


def test_a_dataclass_holds_what_it_was_made_of_and_what_is_put_in():
    assert revealed(
        """
        from dataclasses import dataclass

        @dataclass
        class Batch:
            x: torch.Tensor
            y: torch.Tensor

        batch = Batch(torch.zeros(3).cuda(), y=torch.zeros(3))
        reveal(batch.x)
        reveal(batch.y)
        batch.y = batch.y.cuda()
        reveal(batch.y)
        """
    ) == ["cuda", "cpu", "cuda"]


def test_a_record_may_hold_tensors_of_several_devices():
    assert (
        met(
            """
            from collections import namedtuple
            Step = namedtuple("Step", "state reward")
            step = Step(torch.zeros(3).cuda(), torch.zeros(3))
            """
        )
        == []
    )


def test_an_object_keeps_its_constructors_arguments():
    assert revealed(
        """
        class Bag:
            def __init__(self, x):
                self.x = x
                self.y = torch.zeros(3)

        bag = Bag(torch.zeros(3).cuda())
        reveal(bag.x)
        reveal(bag.y)
        """
    ) == ["cuda", "cpu"]


@pytest.mark.parametrize(
    "test, place",
    [
        ("i != 3", "cpu | cuda"),
        ("len(t) > 3", "cuda"),  # of the element itself: it is for those that can be moved
        ("use_gpu", "cuda"),
    ],
)
def test_elements_that_are_moved_by_their_number_may_be_unmoved(test, place):
    code = f"""
    def train(loader, use_gpu):
        for batch in loader:
            moved = [t.cuda() if {test} else t for i, t in enumerate(batch)]
            first, last = moved
            reveal(last)
    """
    assert revealed(code) == [place]


def test_the_number_may_be_of_an_inner_clause():
    code = """
    def train(loader):
        moved = [t.cuda() if i else t for batch in loader for i, t in enumerate(batch)]
        reveal(moved[0])
    """
    assert revealed(code) == ["cpu | cuda"]


def test_rebinding_the_variable_of_a_loop_leaves_the_container_as_it_is():
    assert revealed(
        """
        xs = [torch.zeros(3)]
        for x in xs:
            x = x.cuda()
        reveal(torch.stack(xs))
        """
    ) == ["cpu"]


def test_a_loader_keeps_nothing_that_its_loop_could_rebind():
    code = """
    class Evaluation:
        def __init__(self, {kept}, device):
            self.{kept} = {kept}
            self.device = device

        def show(self, model):
            for number, (image, angle) in enumerate(self.{kept}):
                image = image.to(self.device)
                angle = angle.to(self.device)
                print(number, model(image))

        def count(self):
            return len(self.{kept})
    """
    assert given(code.format(kept="valid_loader")).rebindings == []
    (kept,) = given(code.format(kept="images")).rebindings
    assert kept.variable == "angle" and kept.container == "enumerate(self.images)"


@pytest.mark.parametrize(
    "kind",
    [
        'namedtuple("Pair", "mask values")',
        'namedtuple("Pair", "mask, values")',
        'namedtuple("Pair", ["mask", "values"])',
        'NamedTuple("Pair", [("mask", torch.Tensor), ("values", torch.Tensor)])',
    ],
)
def test_the_fields_of_a_named_tuple(kind):
    code = f"""
        from collections import namedtuple
        from typing import NamedTuple
        Pair = {kind}
        pair = Pair(torch.zeros(3), values=torch.zeros(3).cuda())
        mask, values = pair
        reveal(pair.mask)
        reveal(pair.values)
        reveal(pair[1])
        reveal(mask)
        """
    assert revealed(code) == ["cpu", "cuda", "cuda", "cpu"]


def test_a_named_tuple_comes_back_from_a_function_with_its_fields():
    code = """
        from typing import NamedTuple
        class Pair(NamedTuple):
            mask: torch.Tensor
            values: torch.Tensor
        def split(x):
            return Pair(values=x, mask=torch.ones(3))
        pair = split(torch.zeros(3).cuda())
        reveal(pair.mask)
        reveal(pair.values)
        """
    assert revealed(code) == ["cpu", "cuda"]


@pytest.mark.parametrize(
    "element",
    [
        "self.weights[0]",
        "[w for w in self.weights][0]",
        "self.named['a']",
        "next(iter(self.named.values()))",
    ],
)
def test_the_elements_of_a_parameter_list_live_where_the_module_lives(element):
    code = f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weights = nn.ParameterList([nn.Parameter(torch.zeros(3))])
                self.named = nn.ParameterDict({{"a": nn.Parameter(torch.zeros(3))}})
            def forward(self):
                reveal({element})
        """
    assert revealed(code) == ["δ(self)"]


FILLED = """
def pad(rows: dict[str, torch.Tensor], device):
    xs = [x.cuda() for x in rows.values()]
    {}
    reveal(xs[0])
"""


@pytest.mark.parametrize(
    ("loop", "place"),
    [
        ("for i, x in enumerate(xs): xs[i] = torch.zeros(len(x))", "cpu"),
        (
            """for i in range(len(xs)):
        padded = torch.zeros(len(xs[i]))
        padded[:3] = xs[i].cpu()
        xs[i] = padded""",
            "cpu",
        ),
        ("for i, x in enumerate(rows): xs[i] = torch.zeros(len(x))", "cpu | cuda"),
        ("for i in range(3): xs[i] = torch.zeros(3)", "cpu | cuda"),
        (
            """for i, x in enumerate(xs):
        if len(x) > 3:
            xs[i] = torch.zeros(len(x))""",
            "cpu | cuda",
        ),
        (
            """for i, x in enumerate(xs):
        if len(x) > 3:
            continue
        xs[i] = torch.zeros(len(x))""",
            "cpu | cuda",
        ),
    ],
)
def test_a_list_of_which_a_loop_replaces_every_element_forgets_the_old_ones(loop, place):
    assert revealed(FILLED.format(loop)) == [place]


COLUMNS = """
    def run(images, net: nn.Module, device):
        rows = []
        for image in images:
            rows.append((net(image), {made}))
        {columns}
        return torch.cat(first) + torch.cat(second)
"""


@pytest.mark.parametrize(
    "columns",
    ["first, second = zip(*rows)", "columns = list(zip(*rows))\n        first, second = columns"],
)
@pytest.mark.parametrize(
    ("made", "contradicts"), [("torch.zeros(3, 3)", True), ("torch.zeros_like(net(image))", False)]
)
def test_the_columns_of_rows_are_apart(columns, made, contradicts):
    assert bool(met(COLUMNS.format(columns=columns, made=made))) is contradicts


def test_columns_in_turn_are_no_alternatives():
    """One column is on the host throughout, the other nowhere there."""
    code = COLUMNS.format(made="torch.zeros(3, 3)", columns="pass")
    turn = "return [torch.cat(column) for column in zip(*rows)]"
    assert met(code.replace("return torch.cat(first) + torch.cat(second)", turn)) == []


HELPER = """
device = "cuda" if torch.cuda.is_available() else "cpu"

def compare(layer, norm):
    both = {wrapped}
    {moved}
    return layer(torch.rand(4, 8, device=device))

def run():
    layer = nn.Linear(8, 5)
    compare(layer, nn.BatchNorm1d(5))
"""


@pytest.mark.parametrize(
    ("wrapped", "moved", "count"),
    [
        ("nn.Sequential(layer, norm)", "both.to(device)", 0),
        ("nn.Sequential(layer, norm)", "both, n = both.to(device), 0", 0),
        ("nn.Sequential(layer, norm).to(device)", "pass", 0),
        ("nn.ModuleList([layer, norm])", "both.to(device)", 0),
        ("nn.Sequential(nn.Sequential(layer, norm), norm)", "both.to(device)", 0),
        ("nn.Sequential(layer, norm)", "pass", 1),
        ("nn.Sequential(layer, norm)", "both.eval()", 1),
        ("nn.Sequential(norm)", "both.to(device)", 1),
    ],
)
def test_a_container_moves_the_modules_that_it_was_made_of(wrapped, moved, count):
    assert len(met(HELPER.format(wrapped=wrapped, moved=moved))) == count


@pytest.mark.parametrize(
    ("key", "place"), [("x.device", "δ(x)"), ("'rows'", "cpu"), ("x.shape", "cpu")]
)
@pytest.mark.parametrize("read", ["tables[{}]", "tables.get({})"])
def test_what_a_table_holds_under_a_device_lives_there(read, key, place):
    code = f"""
    def rows(x: torch.Tensor):
        made = torch.arange(4)
        tables = {{made.device: made, "rows": made}}
        reveal({read.format(key)})
    """
    assert revealed(code) == [place]


@pytest.mark.parametrize(("index", "place"), [("[0]", "no tensor"), ("[number]", "cpu | cuda")])
def test_at_a_fixed_place_of_a_joined_tuple_stands_one_of_its_elements_always(index, place):
    code = f"""
    def outputs(rows, number):
        hidden = torch.zeros(3, device="cuda")
        found = (hidden,) + tuple(f(r) for f, r in rows) + (torch.tensor(1000),)
        reveal(found{index})
    """
    assert revealed(code) == [place]


MIXED = """
def run(n, keep_loss=False):
    kept = []
    if keep_loss:
        kept.append({first})
    kept.append(torch.ones(n, device="cuda"))
    return kept
"""


@pytest.mark.parametrize(
    ("first", "read", "places"),
    [
        ("[0.5, 0.25]", "loss, output = run(3, True)\nreveal(loss)", ["no tensor"]),
        ("3", "output = run(3, True)[1]\nreveal(output)", ["no tensor"]),
        ("torch.ones(2, device='cuda')", "loss, output = run(3, True)\nreveal(loss)", ["cuda"]),
    ],
)
def test_a_position_in_a_list_of_several_kinds_says_nothing(first, read, places):
    """Which element stands there is open, though it is the same one always."""
    assert revealed(MIXED.format(first=first) + read) == places


@pytest.mark.parametrize(
    ("drawn", "confidence"),
    [("zip(*random.sample(memory, n))", "likely"), ("memory.draw(n)", "possible")],
)
def test_a_column_of_rows_out_of_sight_is_a_tuple(drawn, confidence):
    """Of a tuple `torch.tensor` makes what has a dimension; of what is open perhaps a number."""
    code = f"""
    import random

    def target(net, memory, n, device):
        states, reward = {drawn}
        return net.to(device)(torch.stack(states).to(device)) + torch.tensor(reward)
    """
    (found,) = met(code)
    assert (confidence == "possible") == found.endswith("possible")
