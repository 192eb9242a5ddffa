"""NumPy is refused what autograd records: which values those are, and where gradients are on."""

import pytest
from given import given, undetached

LEAF = "import numpy as np\nw = torch.ones(3, requires_grad=True)\n"
READ = ".numpy() of {}@cpu certain"


@pytest.mark.parametrize(
    "value",
    [
        "w",
        "w.cpu()",
        "(w * 2)",
        "w[0]",
        "torch.exp(w)",
        "w.to('cpu')",
        "w.to(torch.float64)",
        "torch.stack([w, w])",
        "w.view(1, 3).t()",
        "w.max(dim=0)[0]",
        "(-w)",
    ],
)
def test_what_is_computed_of_a_leaf_is_recorded(value):
    assert undetached(given(f"{LEAF}{value}.numpy()")) == [READ.format(value)]


@pytest.mark.parametrize(
    "value",
    [
        "w.detach()",
        "w.data",
        "w.grad",
        "w.argmax()",
        "(w > 0)",
        "w.long()",
        "w.to(torch.int64)",
        "w.max(dim=0)[1]",
        "torch.zeros_like(w)",
        "w.new_zeros(3)",
        "torch.argsort(w)",
        "w.bool()",
        "w.to(kind)",
        "some_function(w)",
    ],
)
def test_what_cuts_the_graph_is_not(value):
    assert undetached(given(f"{LEAF}{value}.numpy()")) == []


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("np.asarray(w)", ["np.asarray of w@cpu certain"]),
        ("np.exp(w)", ["np.exp of w@cpu certain"]),
        ("np.mean(w)", []),  # calls w.mean
        ("w.numpy(force=True)", []),
        ("w.tolist()", []),
    ],
)
def test_what_numpy_does_with_it(code, read):
    assert undetached(given(LEAF + code)) == read


@pytest.mark.parametrize(
    "code",
    ["w.requires_grad_(False)", "w.requires_grad = False", "w.detach_()", "w = w.detach()"],
)
def test_a_leaf_may_let_go(code):
    assert undetached(given(f"{LEAF}{code}\nw.numpy()")) == []


def test_a_leaf_asks_for_it_later():
    code = "x = torch.ones(3)\nx.numpy()\nx.requires_grad_()\nx.numpy()"
    assert undetached(given(code)) == [READ.format("x")]


@pytest.mark.parametrize("context", ["torch.no_grad()", "torch.inference_mode()"])
def test_gradients_are_off_where_it_is_computed_or_read(context):
    code = f"""
        w = torch.ones(3, requires_grad=True)
        with {context}:
            w.numpy()
            y = w[0] * 2
        y.numpy()
    """
    assert undetached(given(code)) == []


FUNCTION = """
    {decorator}
    def show():
        w = torch.ones(3, requires_grad=True)
        w.numpy()

    {call}
"""


@pytest.mark.parametrize(
    ("decorator", "call", "confidence"),
    [
        ("", "show()", ["likely"]),
        ("", "", ["possible"]),
        ("", "with torch.no_grad():\n        show()", []),
        ("@torch.no_grad()", "show()", []),
        ("@anything", "show()", ["possible"]),
        ("@functools.cache", "show()", ["likely"]),
    ],
)
def test_callers_and_decorators_may_turn_gradients_off(decorator, call, confidence):
    found = undetached(given(FUNCTION.format(decorator=decorator, call=call)))
    assert [read.rpartition(" ")[2] for read in found] == confidence


STEP = """
    def step(model, x, target):
        y = model(x){cut}
        loss = F.mse_loss(y, target)
        {backward}
        return y.cpu().numpy()
"""


@pytest.mark.parametrize(
    ("backward", "cut", "found"),
    [
        ("loss.backward()", "", [".numpy() of y.cpu()@cpu likely"]),
        ("accelerator.backward(loss)", "", [".numpy() of y.cpu()@cpu likely"]),
        ("pass", "", []),
        ("loss.backward()", ".detach()", []),
    ],
)
def test_a_backward_pass_shows_that_an_unknown_model_is_recorded(backward, cut, found):
    assert undetached(given(STEP.format(backward=backward, cut=cut))) == found


@pytest.mark.parametrize(
    ("layer", "is_recorded"),
    [
        ("nn.Linear(3, 3)", True),
        ("nn.Sequential(nn.ReLU(), nn.Linear(3, 3))", True),
        ("nn.ReLU()", False),
        ("nn.LayerNorm(3)", False),  # perhaps without parameters
        ("SomeNet(3)", False),
    ],
)
def test_a_layer_with_parameters_gives_what_is_recorded(layer, is_recorded):
    found = undetached(given(f"net = {layer}\nnet(torch.ones(3)).numpy()"))
    assert bool(found) == is_recorded


@pytest.mark.parametrize(
    "freezing",
    [
        "net.requires_grad_(False)",
        "net.freeze()",
        "torch.set_grad_enabled(False)",
        "for p in net.parameters():\n    p.requires_grad = False",
    ],
)
def test_nothing_is_said_of_layers_where_something_is_frozen(freezing):
    code = f"net = nn.Linear(3, 3)\n{freezing}\nnet(torch.ones(3)).numpy()"
    assert undetached(given(code)) == []


def test_one_branch_is_not_enough():
    code = """
        w = torch.ones(3, requires_grad=True)
        y = w if flag else torch.zeros(3, device="cuda")
        y.numpy()
    """
    assert undetached(given(code)) == [".numpy() of y@cpu possible"]


def test_a_project_module_answers_for_its_forward():
    code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                return torch.tanh(self.fc(x))

        net = Net()
        net(torch.ones(3)).numpy()
        with torch.no_grad():
            quiet = net(torch.ones(3))
        quiet.numpy()
    """
    assert undetached(given(code)) == [".numpy() of net(torch.ones(3))@cpu certain"]
