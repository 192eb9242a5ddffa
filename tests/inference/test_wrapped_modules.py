"""Modules that functions make, wrap and hand back, and modules that hold nothing."""

import pytest
from given import met, revealed

WRAP = """
import functools
from patching import patch_norms

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return self.lin(x)

def patched(module: nn.Module) -> nn.Module:
    patch_norms(module)
    module.forward = functools.partial(run, type(module).forward)
    return module

def tagged(module):
    module.tag = True
    return module

def built():
    net = nn.Linear(2, 2)
    return net

def on_gpu():
    net = nn.Sequential({made}, nn.Linear(2, 2)).cuda()
    net(torch.rand(4, 2).cuda())

def alone_on_gpu():
    net = {made}.cuda()
    net(torch.rand(4, 2).cuda())

"""
MADE = ["patched(Small())", "tagged(nn.Linear(2, 2))", "built()"]


@pytest.mark.parametrize("made", MADE)
def test_a_move_of_what_one_call_gives_is_no_move_of_what_another_gives(made):
    code = WRAP + "def on_host():\n    net = {made}\n    net(torch.rand(4, 2))\n"
    assert met(code.replace("{made}", made)) == []


@pytest.mark.parametrize("made", ["tagged(nn.Linear(2, 2))", "built()"])
def test_what_was_moved_itself_is_there(made):
    code = WRAP + "def mixed():\n    net = {made}.cuda()\n    net(torch.rand(4, 2))\n"
    assert met(code.replace("{made}", made)) == ["input: torch.rand(4, 2)@cpu net net@cuda certain"]


def test_a_module_that_a_global_holds_is_one_for_all_calls():
    code = """
        shared = nn.Linear(2, 2)

        def get():
            return shared

        def run():
            get().cuda()
            shared(torch.rand(4, 2))
        """
    assert met(code) == ["input: torch.rand(4, 2)@cpu shared shared@cuda certain"]


WITHOUT_STATE = """
class Twice(nn.Module):
    def __init__(self, factor=2):
        super().__init__()
        self.factor = factor
        self.act = nn.ReLU()
        {state}

    def forward(self, x):
        return self.act(x) * self.factor

"""


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ("pass", 0),
        ("self.shift = nn.Parameter(torch.zeros(1))", 1),
        ('self.register_buffer("shift", torch.zeros(1))', 1),
        ("self.lin = nn.Linear(2, 2)", 1),
        ("self.parts = make_parts()", 1),
    ],
)
def test_a_module_without_parameters_and_buffers_has_no_device(state, found):
    code = WITHOUT_STATE + "net = nn.Sequential(Twice(), Twice()).cuda()\nnet(torch.rand(4))\n"
    assert len(met(code.replace("{state}", state))) == found


def test_what_it_gives_is_where_its_input_is():
    code = (
        WITHOUT_STATE
        + """
def test():
    net = nn.DataParallel(nn.Sequential(Twice(), Twice()), device_ids=[0, 0])
    x = torch.rand(4, device="cuda")
    return net(x) - {other}
"""
    ).replace("{state}", "pass")
    assert met(code.replace("{other}", "4 * x")) == []
    assert len(met(code.replace("{other}", "torch.rand(4)"))) == 1


PRODUCT = """
class Product(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter({kept}, requires_grad=False)

    def forward(self, x):
        return torch.bmm(x, self.w)

def check():
    x = torch.randn(2, 3, 4, device="cuda")
    w = torch.randn(2, 4, 5, device="cuda")
    net = Product(w).eval()
    return net(x)
"""


def test_a_parameter_is_where_the_tensor_is_that_the_constructor_was_given():
    assert met(PRODUCT.replace("{kept}", "w")) == []


def test_one_of_the_constructors_own_making_is_on_the_default_device():
    assert len(met(PRODUCT.replace("{kept}", "torch.randn(2, 4, 5)"))) == 1


BUILT = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(3, 3)

        def forward(self, x):
            return self.last(x)

    class Trainer:
        def build(self, device):
            self.net = Net()
            {moved}
            self.net = nn.DataParallel(self.net)

        def step(self, x: torch.Tensor, y: torch.Tensor):
            return F.cross_entropy(self.net(x), y.cuda())
"""


@pytest.mark.parametrize(("moved", "contradicts"), [('self.net.to("cuda")', False), ("pass", True)])
def test_a_wrapper_that_is_kept_is_where_its_module_was_moved(moved, contradicts):
    assert bool(met(BUILT.format(moved=moved))) is contradicts


TRACED = """
    import torch.fx

    class Traced({base}):
        def __init__(self, root, graph):
            super().__init__()
            self.last = nn.Linear(3, 3)

    def check(x: torch.Tensor):
        net = nn.Linear(3, 3).cuda()
        traced = Traced({root}, torch.fx.Tracer().trace(net))
        return torch.allclose(traced(x.cuda()), net(x.cuda()))
"""


@pytest.mark.parametrize(
    ("base", "root", "contradicts"),
    [
        ("torch.fx.GraphModule", "net", False),
        ("nn.Module", "net", False),  # by now that may be anywhere
        ("nn.Module", "3", True),
    ],
)
def test_what_takes_over_a_module_may_be_where_that_is(base, root, contradicts):
    assert bool(met(TRACED.format(base=base, root=root))) is contradicts


SCORE = """
from zoo import Process, fit

class Regression(Process):
    def __init__(self, x):
        super().__init__(x)
        self.mean = nn.Linear(3, 3)

class Score(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.register_buffer("best", torch.zeros(1))

    def forward(self, x):
        return self.model(x) - self.best

def check(self, rows):
    rows = rows.cuda()
    score = Score({model})
    return score(rows)
"""


@pytest.mark.parametrize(
    ("model", "contradicts"),
    [("nn.Linear(3, 3)", True), ("Regression(rows).to(rows)", False), ("self.model", False)],
)
def test_what_is_made_of_a_module_is_where_that_is(model, contradicts):
    assert bool(met(SCORE.format(model=model))) is contradicts


SCATTERED = """
from torch.nn.parallel import DistributedDataParallel as DDP
from zoo import Net

def train(rank, data, model):
    {made}
    for x, y in torch.utils.data.DataLoader(data):
        loss = F.mse_loss(net(x), y{target})
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("net = nn.DataParallel(Net()).cuda()", 0),
        ("net = DDP(Net().to(rank), device_ids=[rank])", 0),
        ("net = nn.DataParallel(model.to(rank))", 0),
        ("net = Net().cuda()", 1),
        ("net = torch.compile(Net().cuda())", 1),
    ],
)
def test_a_wrapper_scatters_its_inputs_whatever_module_it_wraps(made, count):
    """Its class may be out of sight."""
    assert len(met(SCATTERED.format(made=made, target=".cuda()"))) == count


def test_the_output_of_a_wrapper_is_where_its_module_is():
    code = SCATTERED.format(made="net = nn.DataParallel(Net().cuda())", target="")
    (meeting,) = met(code)
    assert meeting.startswith("y@cpu F.mse_loss net(x)@cuda")


LEARNER = """
class Base(nn.Module):
    def __init__(self):
        super().__init__()

def copied(net: nn.Module, deep):
    return net if deep else duplicate(net)

class Learner(Base):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, *inputs):
        return self.net(*inputs)

    def again(self, deep):
        return Learner({made})

def main(deep):
    learner = Learner(nn.Linear(3, 3).cuda()).again(deep)
    reveal(learner)
"""


@pytest.mark.parametrize(
    ("made", "place"),
    [
        # no constructor of the copy runs: it is where the module is that it is made of
        ("copied(self.net, deep)", "?"),
        ("self.net if deep else nn.Linear(3, 3)", "?"),
        ("nn.Linear(3, 3)", "cpu"),
        ("nn.Linear(3, 3) if deep else nn.Linear(3, 3, False)", "cpu"),
    ],
)
def test_a_wrapper_is_where_one_of_the_modules_is_that_it_may_be_given(made, place):
    assert revealed(LEARNER.format(made=made)) == [place]


FOR_CARDS = """
from torch.nn.parallel import DistributedDataParallel as DDP
from models import built_elsewhere

def built():
    return nn.Linear(2, 2)

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

class Holder:
    def __init__(self, net):
        self.net = net

    def wrap(self, rank):
        self.net = DDP(self.net, device_ids=[rank])

def wrapped(rank, device, given, many):
    net = {made}
    {then}
"""


CARD_1 = "cpu DDP [torch.device('cuda:1').index]@cuda:1 certain"


@pytest.mark.parametrize(
    ("made", "cards", "found"),
    [
        ("nn.Linear(2, 2)", "[rank]", "cpu DDP [rank]@cuda certain"),
        ("nn.Linear(2, 2)", "[0]", "cpu DDP [0]@cuda:0 certain"),
        ("Small()", "[rank]", "cpu DDP [rank]@cuda certain"),
        ("given.cpu()", "[rank]", "cpu DDP [rank]@cuda certain"),
        ("nn.Linear(2, 2).cuda().cpu()", "[rank]", "cpu DDP [rank]@cuda certain"),
        ("nn.Linear(2, 2)", "None", ""),
        ("nn.Linear(2, 2)", "[]", ""),
        ("nn.Linear(2, 2)", "[torch.device('cpu').index]", ""),  # of what a host stands for
        ("nn.Linear(2, 2)", "[torch.device('cuda:1').index]", CARD_1),
        ("nn.Linear(2, 2)", "many", ""),
        ("nn.Linear(2, 2).to(rank)", "[rank]", ""),
        ("nn.Linear(2, 2).to(device)", "[rank]", ""),
        ("nn.Linear(2, 2, device=rank)", "[rank]", ""),
        ("nn.ReLU()", "[rank]", ""),  # another error
        ("given", "[rank]", ""),
        ("built_elsewhere()", "[rank]", ""),
        ("built()", "[rank]", ""),
    ],
)
def test_who_wraps_a_module_for_a_card_has_moved_it_there(made, cards, found):
    code = FOR_CARDS.format(made=made, then=f"return DDP(net, device_ids={cards})")
    assert met(code) == ([f"cards: net@{found}"] if found else [])


@pytest.mark.parametrize(
    "then",
    [
        "net = DDP(net)",
        "net.cuda()\n    net = DDP(net, device_ids=[rank])",
        "if torch.cuda.is_available(): net.cuda()\n    net = DDP(net, device_ids=[rank])",
        "prepare(net, rank)\n    net = DDP(net, device_ids=[rank])",
        "net = nn.DataParallel(net, device_ids=[0, 1]).cuda()\n    net(torch.rand(2))",
        "net = nn.DataParallel(net, device_ids=[0, 1])\n    net.to(device)\n    net(torch.rand(2))",
        "net = nn.DataParallel(net, device_ids=[0])\n    net(torch.rand(2))",
        "net = nn.DataParallel(net)\n    net(torch.rand(2))",
        "net = nn.DataParallel(net, device_ids=many)\n    net(torch.rand(2))",
        "net = nn.DataParallel(net, device_ids=[0, 1])",
    ],
)
def test_a_module_that_is_moved_may_be_wrapped(then):
    assert met(FOR_CARDS.format(made="nn.Linear(2, 2)", then=then)) == []


def test_a_call_of_a_module_for_several_cards_needs_it_on_the_first():
    then = "net = nn.DataParallel(net, device_ids=[1, 0])\n    net(torch.rand(2))"
    found = met(FOR_CARDS.format(made="nn.Linear(2, 2)", then=then))
    assert found == ["cards: net@cpu net [1, 0]@cuda:1 certain"]


def test_a_wrapper_for_one_card_moves_the_module_there():
    code = """
        net = nn.Linear(2, 2)
        para = nn.DataParallel(net, device_ids=[1])
        reveal(para(torch.rand(2)))
        net(torch.rand(2))
    """
    assert revealed(code) == ["cuda:1"]
    assert met(code) == ["input: torch.rand(2)@cpu net net@cuda:1 certain"]


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("net.inner", []),  # nobody in sight says where that is
        ("nn.Linear(2, 2)", ["cards: net@cpu DDP [rank]@cuda certain"]),
    ],
)
def test_a_wrapper_of_ones_own_is_where_its_parts_are(kept, found):
    code = f"""
        from torch.nn.parallel import DistributedDataParallel as DDP

        class Own(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net = {kept}

        def prepare(holder, rank, device):
            holder.inner.to(device)
            net = Own(holder)
            return DDP(net, device_ids=[rank])
    """
    assert met(code) == found
