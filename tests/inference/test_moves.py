"""Moves: `.to` in all its overloads, `.cuda`, `.cpu`, `.type`, `type_as`."""

import pytest
from given import given, met, moves, revealed, syncs

TENSORS = 'x = torch.zeros(3)\ng = torch.zeros(1, device="cuda:1")\n'


@pytest.mark.parametrize(
    ("move", "place"),
    [
        ('x.to("cuda")', "cuda"),
        ('x.to(torch.device("cuda:1"))', "cuda:1"),
        ("x.to(1)", "cuda:1"),
        ('x.to(device="cuda")', "cuda"),
        ("x.to(device=0, dtype=torch.float)", "cuda:0"),
        ('x.to("cuda", torch.float16)', "cuda"),
        ('x.to("cuda", non_blocking=True)', "cuda"),
        ("x.to(g)", "cuda:1"),
        ("x.to(other=g)", "cuda:1"),
        ("x.to(g.device)", "cuda:1"),
        ("x.cuda()", "cuda"),
        ("x.cuda(None)", "cuda"),
        ("x.cuda(1)", "cuda:1"),
        ("x.cuda(device=2)", "cuda:2"),
        ('x.cuda("cuda:3")', "cuda:3"),
        ("x.xpu()", "xpu"),
        ("x.type_as(g)", "cuda:1"),
        ("x.type(torch.cuda.LongTensor)", "cuda"),
        ("g.cpu()", "cpu"),
        ("g.type(torch.FloatTensor)", "cpu"),
        ('g.type("torch.LongTensor")', "cpu"),
    ],
)
def test_a_move_brings_the_tensor_where_it_says(move, place):
    assert revealed(f"{TENSORS}reveal({move})") == [place]


@pytest.mark.parametrize(
    "change",
    ["g.to(torch.float16)", "g.to(dtype=torch.int)", "g.to(x.dtype)", "g.type(torch.half)"],
)
def test_a_change_of_dtype_moves_nothing(change):
    facts = given(f"{TENSORS}reveal({change})")
    assert moves(facts) == []
    assert revealed(f"{TENSORS}reveal({change})") == ["cuda:1"]


def test_a_move_tells_from_where_to_where():
    assert moves(given("x = torch.zeros(3)\ny = x.cuda(1)")) == ["x: cpu -> cuda:1"]


def test_a_move_whose_result_is_thrown_away_moves_nothing():
    code = "x = torch.zeros(3)\nx.cuda()\nreveal(x)"
    assert moves(given(code)) == ["x: cpu -> cuda discarded"]
    assert revealed(code) == ["cpu"]


def test_a_move_of_the_same_tensor_in_each_turn_of_a_loop_is_invariant():
    assert moves(
        given(
            """
            mask = torch.zeros(3)
            for x in train_loader:
                y = mask.cuda() + x.cuda()
            """
        )
    ) == ["mask: cpu -> cuda invariant", "x: cpu -> cuda"]


def test_a_copy_to_the_host_is_a_sync():
    assert syncs(given('x = torch.zeros(3, device="cuda")\ny = x.cpu()')) == [".cpu() of x@cuda"]


def test_a_copy_to_the_device_is_no_sync():
    assert syncs(given("x = torch.zeros(3)\ny = x.cuda()")) == []


def test_away_and_back_is_a_round_trip():
    facts = given('x = torch.zeros(3, device="cuda")\ny = x.cpu().cuda()')
    assert [(str(r.start), str(r.middle)) for r in facts.round_trips] == [("cuda", "cpu")]


def test_a_leaf_that_requires_grad_is_none_any_more_after_its_move():
    facts = given(
        """
        w = torch.rand(3, requires_grad=True).cuda()
        torch.optim.SGD([w], lr=1)
        """
    )
    assert [n.use for n in facts.non_leaves] == ["optimizer"]


def test_requires_grad_after_the_move_makes_a_leaf():
    facts = given(
        """
        w = torch.rand(3).cuda().requires_grad_()
        torch.optim.SGD([w], lr=1)
        """
    )
    assert facts.non_leaves == []


READ_BACK = 'x = torch.zeros(3, device="cuda")\ny = x.to("cpu", non_blocking=True)\n'


def test_a_non_blocking_copy_to_the_host_is_read_too_early():
    facts = given(READ_BACK + "print(y.sum().item())")
    assert [late.operand.name for late in facts.late_reads] == ["y"]


def test_a_synchronisation_makes_the_copy_land():
    assert given(READ_BACK + "torch.cuda.synchronize()\nprint(y.sum().item())").late_reads == []


@pytest.mark.parametrize(
    ("between", "late"),
    [
        ('rest.to("cpu", non_blocking=False)', []),
        ('rest.sum(0).to(torch.device("cpu"))', []),
        ("rest.cpu()", []),
        ("rest.tolist()", []),
        ("rest.sum().item()", []),
        ('rest.to("cpu", non_blocking=True)', ["here"]),
        ("torch.zeros(3).tolist()", ["here"]),
        ("torch.zeros(3).cpu()", ["here"]),
        ("rest.cuda()", ["here"]),
    ],
)
def test_a_blocking_copy_waits_for_those_before_it(between, late):
    code = f"""
    import exchange

    def counts(own: torch.Tensor):
        rest = exchange.gather(own.shape)
        here = own.cuda().to("cpu", non_blocking=True)
        there = {between}
        return here.tolist(), there
    """
    assert [late.operand.name for late in given(code).late_reads] == late


@pytest.mark.parametrize(
    ("value", "places"), [("v.to(device)", ["δ(device)"]), ("v.clone()", ["δ(data)"])]
)
def test_a_loop_that_moves_every_entry_moves_the_mapping(value, places):
    code = f"""
    def send(data, device: torch.device):
        for k, v in data.items():
            data[k] = {value}
        reveal(data["x"].view(-1))
    """
    assert revealed(code) == places


def test_the_index_of_a_tensors_device_names_that_device():
    assert revealed(
        """
        def ones(x: torch.Tensor):
            reveal(torch.ones(3).to(x.get_device()))
        """
    ) == ["δ(x)"]


def test_a_number_is_a_device_and_no_dtype():
    code = """
    def move(x: torch.Tensor, ctx=0):
        reveal(x.to(ctx))
        reveal(x.to(x.dtype))
    """
    assert revealed(code) == ["?", "δ(x)"]


def test_a_dict_whose_tensors_are_moved_one_by_one_is_moved():
    code = """
    def move(batch, device):
        for key in batch:
            if torch.is_tensor(batch[key]):
                batch[key] = batch[key].to(device)
        return batch

    def run(batch):
        x = move(batch, "cuda")["x"]
        reveal(x)
        x.view(-1)  # a tensor, by its use
    """
    assert revealed(code) == ["cuda"]


@pytest.mark.parametrize(
    ("annotation", "use", "count"),
    [
        ("", "prior.sample((3,)).device", 0),
        ("", "prior.device", 0),
        (": torch.distributions.Normal", "prior", 0),
        ("", "prior.view(-1)", 1),
        (": torch.Tensor", "prior", 1),
    ],
)
def test_an_object_that_is_no_tensor_may_move_in_place(annotation, use, count):
    code = f"""
    def run(prior{annotation}):
        prior.to("cuda")
        return {use}
    """
    assert len(moves(given(code))) == count


def test_what_a_helper_moves_as_a_module_is_no_tensor_to_its_caller():
    code = """
    def moved(prior, device):
        if hasattr(prior, "to"):
            prior.to(device)
        return prior

    class Potential:
        def __init__(self, prior, device):
            self.prior = moved(prior, device)

        def to(self, device):
            self.prior.to(device)
    """
    assert moves(given(code)) == []


@pytest.mark.parametrize(("callee", "count"), [("cuda", 0), ("cpu", 0), ("scaled", 1)])
def test_a_callee_named_like_a_move_may_move(callee, count):
    code = f"""
    import helpers

    helpers.{callee}(torch.ones(3)) + torch.zeros(3, device="cuda")
    """
    assert len(met(code)) == count


def test_a_recursive_move_of_containers_is_no_identity():
    code = """
    def put(obj):
        if hasattr(obj, "cuda"):
            return obj.cuda()
        elif isinstance(obj, str):
            return obj
        elif isinstance(obj, dict):
            return type(obj)({k: put(v) for k, v in obj.items()})
        raise TypeError

    data = {"a": torch.rand(3)}
    put(data)["a"] == torch.zeros(3, device="cuda")
    """
    assert met(code) == []


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("kind.from_pretrained(path)", []),
        ("kind.load_from(path)", []),
        ("kind.parse(path)", ["part: an unknown device -> δ(device) discarded"]),
    ],
)
def test_what_a_class_loads_may_be_a_model(call, found):
    code = f"""
    def start(kind, path, device):
        part = {call}
        {"part.sigmoid()" if found else "part.requires_grad_(False)"}
        part.to(device)
    """
    assert [m for m in moves(given(code)) if "discarded" in m] == found


def test_what_an_unknown_object_returns_is_a_value_of_its_own():
    code = """
    def transcribe(path, parser, device):
        signal = parser.parse(path)
        signal.view(1, 1, -1)
        signal.to(device)
    """
    assert moves(given(code)) == ["signal: an unknown device -> δ(device) discarded"]


VOTES = """
class Votes:
    def __init__(self, raw):
        self.raw = raw

    def begin(self, model, n):
        self.area = {made}
        {first}
        self.area.to(model.device)
"""


@pytest.mark.parametrize(
    ("made", "first", "lost"),
    [
        # what is given attributes of its own is a graph or a batch, which may move in place
        ("self.raw.clone()", "self.area.votes = torch.zeros(n)", False),
        ("self.raw.clone()", "self.area.grad = None", True),
        ("self.raw.clone()", "pass", True),
        ("torch.zeros(n)", "self.area.votes = torch.zeros(n)", True),
    ],
)
def test_what_is_given_attributes_is_no_tensor(made, first, lost):
    found = moves(given(VOTES.format(made=made, first=first)))
    assert any("discarded" in move for move in found) is lost


BUILT = """
def build(kind, device):
    net = None
    if kind == "wide":
        net = {made}
    return {wrapped}.to(device)

def prepare(args, extend):
    net = build(args.kind, args.device)
    net.to(args.device)
    return net
"""


@pytest.mark.parametrize(
    ("made", "wrapped", "is_module"),
    [
        ("nn.Linear(4, 4)", "nn.DataParallel(net)", True),
        ("torch.zeros(4)", "torch.stack([net, net])", False),
    ],
)
def test_what_a_wrapper_wraps_is_a_module_where_it_was_none_before(made, wrapped, is_module):
    found = [m for m in given(BUILT.format(made=made, wrapped=wrapped)).moves if m.discarded]
    assert [m.of_module for m in found] == [is_module]


@pytest.mark.parametrize(
    ("used", "discarded"), [("batch.edge_label.exp()", False), ("batch.exp()", True)]
)
def test_a_batch_with_attributes_of_its_own_is_no_tensor(used, discarded):
    found = moves(
        given(f"""
    from torch.utils.data import DataLoader

    def run(model, rows, device, graphs):
        for batch in DataLoader(rows, collate_fn=graphs.collate(3)):
            batch.to(device)
            out = model(batch).sigmoid()
            print(out + {used})
    """)
    )
    assert any("discarded" in move for move in found) is discarded


@pytest.mark.parametrize("owner", ["nn.Linear(4, 1)", "torch.ones(3)"])
@pytest.mark.parametrize("method", ["to", "cuda", "cpu", "type_as"])
def test_a_move_may_be_called_by_another_name(owner: str, method: str):
    assert met(f"move = {owner}.{method}\nmove(torch.ones(3))\n") == []


@pytest.mark.parametrize(
    ("move", "found"),
    [
        ('net.to("cuda")', []),
        ('net.eval().to("cuda")', []),
        ('frozen = net.train(False).to("cuda")', []),  # `frozen` is the module itself
        ('other = net.copy().to("cuda")', ["net"]),
    ],
)
def test_a_module_that_gives_itself_back_is_moved_itself(move, found):
    code = f"""
    from zoo import build

    def export(sample):
        net, loss = build()
        net.to("cpu")
        {move}
        return net(sample.to("cuda"))
    """
    assert [meeting.split("@")[0].rpartition(" ")[2] for meeting in met(code)] == found


@pytest.mark.parametrize(
    ("back", "trips"),
    [
        ("x = torch.nn.functional.relu(x.to(device))", 1),
        ("y = torch.nn.functional.relu(x.to(device))", 1),
        ("y = x.to(device) + x", 0),  # the host has a use for it
        ("other = device; y = x.to(device)", 0),  # it makes room on the device
    ],
)
def test_what_the_statement_behind_brings_back_has_made_no_room(back, trips):
    facts = given(f"""
def f(x: torch.Tensor, device):
    x = x.to(device)
    x = x.sin().cpu()
    {back}
    return x
""")
    assert len(facts.round_trips) == trips


@pytest.mark.parametrize(("where", "trips"), [("Sorter(nn.Module)", 1), ("Sorter", 0)])
def test_the_inputs_of_a_module_are_all_in_one_place(where, trips):
    facts = given(f"""
class {where}:
    def forward(self, x: torch.Tensor, scores: torch.Tensor):
        order = scores.cpu().argsort().to(x.device)
        return x[order]
""")
    assert len(facts.round_trips) == trips


@pytest.mark.parametrize(
    ("call", "moves"), [("model(x, edges.to(device))", 1), ("save(x, edges.to(device))", 0)]
)
def test_what_is_moved_straight_into_a_model_is_a_tensor(call, moves):
    facts = given(f"""
def f(model, save, x: torch.Tensor, edges, device):
    return {call}
""")
    assert len(facts.moves) == moves
