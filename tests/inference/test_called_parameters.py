"""A parameter that is called: whoever hands in a module hands in what is where its inputs are."""

import pytest
from given import met

NET = """
    from torch.utils.data import DataLoader

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(3, 3)

        def forward(self, x):
            {forward}
            return self.last(x)

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
PLAIN = NET.format(forward="x = x * 2")


def shown(code: str) -> list[str]:
    return [m for m in met(code) if "possible" not in m]


CALLED = """
    def scores(net, rows):
        return net(rows).sigmoid()

    def run(n):
        return scores({net}, {rows})
"""


@pytest.mark.parametrize(
    ("net", "rows", "contradicts"),
    [
        ("Net().to(device)", "torch.rand(n, 3)", True),
        ("Net().to(device)", "torch.rand(n, 3).to(device)", False),
        ("Net()", "torch.rand(n, 3).to(device)", True),
        ("Net()", "torch.rand(n, 3)", False),
        ("nn.ReLU()", "torch.rand(n, 3).to(device)", False),  # nothing in it is anywhere
        ("torch.sigmoid", "torch.rand(n, 3)", False),
        ("nn.DataParallel(Net()).to(device)", "torch.rand(n, 3)", False),  # it scatters
    ],
)
def test_a_module_handed_in_wants_what_is_handed_in_beside_it(net, rows, contradicts):
    assert bool(shown(PLAIN + CALLED.format(net=net, rows=rows))) is contradicts


@pytest.mark.parametrize(
    ("net", "contradicts"), [("Net().cuda()", True), ("nn.DataParallel(Net().cuda())", False)]
)
def test_a_loader_and_a_wrapped_module_meet_nowhere(net, contradicts):
    found = met(f"""{PLAIN}
    def validate(loader, net):
        net.eval()
        for rows, marks, kinds in loader:
            rows = rows.cuda()
            net(rows, marks)

    def run():
        validate(DataLoader(data), {net})
    """)
    assert any("inside net(rows, marks)" in each for each in found) is contradicts


@pytest.mark.parametrize(
    ("forward", "contradicts"), [("x = x.to(self.last.weight.device)", False), ("x = -x", True)]
)
def test_a_module_that_fetches_its_inputs_wants_them_nowhere(forward, contradicts):
    calls = CALLED.format(net="Net().to(device)", rows="torch.rand(n, 3)")
    assert bool(shown(NET.format(forward=forward) + calls)) is contradicts


@pytest.mark.parametrize(
    ("moves", "contradicts"),
    [
        ("net.to(device)", False),
        ("net = net.to(device)", False),
        ("net = prepared(net)", False),
        ("net.eval()", True),
    ],
)
def test_the_function_may_move_what_it_is_handed(moves, contradicts):
    found = shown(f"""{PLAIN}
    def scores(net, rows):
        {moves}
        return net(rows.to(device))

    def run(n):
        return scores(Net(), torch.rand(n, 3))
    """)
    assert bool(found) is contradicts


EPOCH = """
    def epoch(net, criterion, loader):
        for rows, labels in loader:
            {moves}
            loss = criterion(net(rows), labels)
            loss.backward()

    def run(rows):
        net = Net().to(device)
        criterion = nn.CrossEntropyLoss({weight})
        epoch(net, criterion, {loader})
"""


@pytest.mark.parametrize(
    ("moves", "weight", "contradicts"),
    [
        ("rows, labels = rows.to(device), labels.to(device)", "", False),
        # through a criterion handed in and the output of a model handed in
        ("rows, labels = rows.to(device), labels.to(device)", "weight=torch.ones(3)", True),
        ("labels = labels.to(device)", "", True),
    ],
)
def test_a_training_loop_gets_its_model_and_criterion(moves, weight, contradicts):
    code = EPOCH.format(moves=moves, weight=weight, loader="DataLoader(rows)")
    assert bool(shown(PLAIN + code)) is contradicts


@pytest.mark.parametrize("net", ["Net()", "nn.Linear(3, 3)"])
def test_a_module_that_is_handed_in_shows_what_it_does_with_its_input(net):
    found = met(f"""{PLAIN}
    def judge(net, loader):
        right = torch.zeros((), device=device)
        for rows, labels in loader:
            right += (net(rows) == labels.to(device)).sum()
        return right

    def run(rows):
        net = {net}.to(device)
        print(judge(net, DataLoader(rows)))
    """)
    assert found[-1] == "input: DataLoader(rows)@cpu net net@cuda likely inside net(rows)"


@pytest.mark.parametrize(
    ("loader", "contradicts"),
    [("DataLoader(rows)", True), ("DataLoader(rows, collate_fn=there)", False), ("rows", False)],
)
def test_a_loader_handed_in_may_yield_what_is_there_already(loader, contradicts):
    there = """
    def there(rows):
        return torch.stack([r for r, _ in rows]).to(device), torch.ones(3).to(device)
    """
    code = EPOCH.format(moves="labels = labels.to(device)", weight="", loader=loader)
    assert bool(shown(PLAIN + there + code)) is contradicts


@pytest.mark.parametrize(("net", "contradicts"), [("f", False), ("Net().to(device)", True)])
def test_what_is_handed_on_is_for_the_first_caller_to_know(net, contradicts):
    found = shown(f"""{PLAIN}
    def scores(net, rows):
        return net(rows)

    def noise(f, n):
        return scores({net}, torch.rand(n, 3))
    """)
    assert bool(found) is contradicts


TRAINER = """
    class Trainer:
        def __init__(self, net, criterion, device):
            self.net = net
            self.criterion = criterion
            self.device = device
            {moves}

        def fit(self, loader):
            for rows, labels in loader:
                rows, labels = rows.to(self.device), labels.to(self.device)
                self.criterion(self.net(rows), labels).backward()

    def run(rows):
        trainer = Trainer({net}, nn.CrossEntropyLoss(), device)
        trainer.fit(DataLoader(rows))
"""


@pytest.mark.parametrize(
    ("moves", "net", "contradicts"),
    [
        ("pass", "Net()", True),
        ("pass", "Net().to(device)", False),
        ("self.net.to(device)", "Net()", False),
    ],
)
def test_an_object_keeps_what_its_constructor_was_handed(moves, net, contradicts):
    assert bool(shown(PLAIN + TRAINER.format(moves=moves, net=net))) is contradicts


KEPT = """
    class Trainer:
        def __init__(self, weights, device):
            self.device = device
            self.net = Net().to(device)
            self.criterion = nn.CrossEntropyLoss(weight=torch.tensor(weights))
            {moves}

        def loss(self, rows, labels):
            {fetched}
            return self.criterion({outputs}, labels)
"""


@pytest.mark.parametrize(
    ("moves", "fetched", "outputs", "contradicts"),
    [
        ("pass", "labels = labels.to(self.device)", "self.net(rows.to(self.device))", True),
        ("self.criterion.to(device)", "pass", "self.net(rows.to(self.device))", False),
        ("pass", "pass", "rows", False),  # it may be fed from the host
    ],
)
def test_an_object_that_chose_a_device_is_not_fed_from_the_host(
    moves, fetched, outputs, contradicts
):
    code = KEPT.format(moves=moves, fetched=fetched, outputs=outputs)
    assert bool(shown(PLAIN + code)) is contradicts


MOVED_AND_CALLED = """
    from nets import Backbone, build

    def run({given}):
        {made}
        {moved}
        return {name}(torch.zeros(1, 3))
"""


@pytest.mark.parametrize(
    ("given", "made", "moved", "name"),
    [
        ("device", "pass", "vgg = Backbone().to(device)", "vgg"),
        ("device", "pass", "encode = build('x').to(device)", "encode"),
        ("", "pass", "vgg = Backbone().cuda()", "vgg"),
        ("vgg, device", "pass", "vgg = vgg.to(device)", "vgg"),
    ],
)
def test_what_is_moved_and_called_is_a_module_whatever_its_name(given, made, moved, name):
    code = MOVED_AND_CALLED.format(given=given, made=made, moved=moved, name=name)
    assert len(met(code)) == 1


def test_what_is_called_and_not_moved_may_be_anything():
    code = MOVED_AND_CALLED.format(given="vgg, device", made="pass", moved="pass", name="vgg")
    assert met(code) == []


@pytest.mark.parametrize("made", ["Backbone()", "build('x')"])
def test_what_is_moved_by_itself_and_called_is_a_module(made):
    """`net.to(device)` alone is of use to what moves in place."""
    code = f"""
    from nets import Backbone, build

    def run(device):
        net = {made}
        net.to(device)
        return net(torch.zeros(1, 3))
    """
    assert len(met(code)) == 1


@pytest.mark.parametrize(
    ("given", "contradicts"),
    [
        ("*rows", True),
        ("*(*rows, *others) if others is not None else rows", True),
        ("*(rows, torch.ones(3))", False),  # handed in from two places: it may be in either
    ],
)
def test_what_is_called_with_the_parts_of_an_input_gives_what_is_there(given, contradicts):
    code = f"""
    def difference(score, rows: torch.Tensor, others: torch.Tensor | None = None):
        return score({given}) - torch.tensor([1.0, 2.0])
    """
    assert bool(shown(code)) is contradicts
