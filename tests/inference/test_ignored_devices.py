"""A function is asked for a device, and does not keep to it."""

import pytest
from given import given, met

from devlint.inference.facts import Neglect


def neglected(code):
    return [fact.neglect for fact in given(code).dropped_arguments]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return net", [Neglect.MAPPED]),
        ("return net, saved['epoch']", [Neglect.MAPPED]),
        ("return net.to(device)", []),
        ("net.cuda() if device != 'cpu' else None; return net", []),
        ("return Wrapped(net, device)", []),
        ("return saved", []),
        (
            "optimizer = torch.optim.Adam([x]); optimizer.load_state_dict(saved); return optimizer",
            [],
        ),
        ("scheduler = Cosine(9); scheduler.load_state_dict(saved); return scheduler", []),
    ],
)
def test_a_device_to_load_to_is_one_to_work_on(line, found):
    code = f"""
    def load(path, device="cpu"):
        '''Load it on the device.'''
        saved = torch.load(path, map_location=torch.device(device))
        net = Net()
        net.load_state_dict(saved["weights"])
        {line}
    """
    assert neglected(code) == found


@pytest.mark.parametrize(
    ("wrapped", "found"),
    [
        ("nn.DataParallel(net)", [Neglect.MAPPED]),
        ("nn.DataParallel(net).to(device)", []),
        ("nn.DataParallel(net, device_ids=[device])", []),
        ("net.half()", [Neglect.MAPPED]),
    ],
)
def test_who_asks_whether_the_device_is_the_host_puts_nothing_there(wrapped, found):
    code = f"""
    def load(path, device="cpu"):
        net = Net()
        net.load_state_dict(torch.load(path, map_location=device))
        if device != "cpu":
            net = {wrapped}
        return net
    """
    assert neglected(code) == found


@pytest.mark.parametrize(
    "code",
    [
        """
        def load(net, path, device):
            net.load_state_dict(torch.load(path, map_location=device))
            return net
        """,
        """
        def load(path, map_location):
            net = Net()
            net.load_state_dict(torch.load(path, map_location=map_location))
            return net
        """,
        """
        def load(path, device):
            net = Net(device=device)
            net.load_state_dict(torch.load(path, map_location=device))
            return net
        """,
        """
        def load(path, device):
            net = Net()
            net.load_state_dict(torch.load(path, map_location=device))
            return net

        def main(path, device):
            net = load(path, device)
            net.to(device)
        """,
    ],
)
def test_the_model_is_the_callers_or_gets_there(code):
    assert neglected(code) == []


@pytest.mark.parametrize(
    ("resolution", "found"),
    [
        ("self.device = device or default_device()", 1),
        ("self.device: torch.device = device or default_device()", 1),
        ("self.device = device if device is not None else 'cuda'", 1),
        ("self.device = 'cuda' if device is None else torch.device(device)", 1),
        ("self.device = torch.device(device or 'cuda')", 1),
        ("self.device = device or 'cuda' if torch.cuda.is_available() else 'cpu'", 1),
        ("self.device = device or 'cpu'", 0),
        ("self.device = device", 0),
        ("self.name = device or 'cuda'", 0),
        ("device = self.device = device or 'cuda'", 0),
    ],
)
def test_what_may_be_none_was_resolved(resolution, found):
    code = f"""
    class Head(nn.Module):
        def __init__(self, device=None):
            super().__init__()
            self.proj = nn.Linear(2, 2)
            {resolution}
            self.to(device)
    """
    assert neglected(code) == [Neglect.UNRESOLVED] * found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("self.scale = torch.ones(1, device=device)", 1),
        ("self.proj = nn.Linear(2, 2).to(device=device)", 1),
        ("self.proj = nn.Linear(2, 2).to(self.device)", 0),
        ("self.proj = build(device=device)", 0),  # which may resolve it too
        ("self.proj = nn.Linear(2, 2).to(torch.float16)", 0),
        ("self.proj = nn.Linear(2, 2) if device is None else nn.Linear(2, 2).to(device)", 0),
    ],
)
def test_and_is_used_as_it_was_given(use, found):
    code = f"""
    class Head:
        def __init__(self, device=None):
            self.device = device or default_device()
            {use}
    """
    assert neglected(code) == [Neglect.UNRESOLVED] * found


def test_a_question_before_the_move_is_enough():
    code = """
    class Head:
        def __init__(self, device=None):
            self.device = device or default_device()
            self.proj = nn.Linear(2, 2)
            if device is not None:
                self.proj.to(device)
    """
    assert neglected(code) == []


@pytest.mark.parametrize(
    ("body", "option", "found"),
    [
        ("torch.cuda.synchronize()", "", 1),
        ("torch.cuda.synchronize(device)", "", 0),
        ("torch.cuda.set_device(device); torch.cuda.synchronize()", "", 0),
        ("torch.cuda.synchronize()", ", choices=['cpu', 'cuda']", 0),  # there is but one
    ],
)
def test_the_card_to_wait_for(body, option, found):
    code = f"""
    def wait(device):
        if "cuda" in device:
            {body}
        else:
            print("no need to wait for", device)

    parser.add_argument("--device", default="cuda"{option})
    """
    assert neglected(code) == [Neglect.CURRENT] * found


@pytest.mark.parametrize(
    ("before", "to", "found"),
    [
        ("", "self.device", [Neglect.BESIDE]),
        ("if device is None: device = self.cards[0]", "self.device", [Neglect.BESIDE]),
        ("if device is None: device = self.device", "self.device", [Neglect.BESIDE]),
        ("device = device or self.device", "self.device", [Neglect.BESIDE]),
        ("assert device == self.device", "self.device", []),
        ("self.device = device", "self.device", []),
        ("", "device", []),
    ],
)
def test_a_module_and_what_goes_in(before, to, found):
    code = f"""
    class Encoder:
        def encode(self, rows, device=None):
            {before}
            self.net.to(device)
            return self.net(torch.tensor(rows).to({to}))
    """
    assert neglected(code) == found


OWN = """
    class Encoder(Pipeline):
        def encode(self, rows, device):
            {lines}

        def run(self, rows, other):
            device = self.device
            {call}
"""
APART = "there = rows.to(device)\nhere = torch.tensor(3).to(self.device)"


@pytest.mark.parametrize(
    ("lines", "call", "found"),
    [
        # all calls pass the very device of the object
        (APART, "pass", 1),
        (APART, "self.encode(rows, device)", 0),
        (APART, "self.encode(rows, device=self.device)", 0),
        (APART, "self.encode(rows, device); self.encode(rows, other)", 1),
        # it is for a module of the object, which is where the object says that it is
        ("x = self.net(torch.tensor(rows).to(self.device))\nreturn x.to(device)", "pass", 0),
        ("x = rows.to(self.device)\ny = self.net(ids=x)\nreturn y.to(device)", "pass", 0),
        ("x = rows.to(self.device)\ny = self.net(x)\nreturn y.to(device), x", "pass", 1),
        ("y = rows[1].to(device)\nreturn self.net(rows[0].to(self.device), y)", "pass", 1),
        ("self.net.to(device)\nreturn self.net(rows.to(self.device))", "pass", 1),
    ],
)
def test_the_device_of_the_object_is_the_one_that_was_given(lines, call, found):
    code = OWN.format(lines=lines.replace("\n", "\n" + " " * 12), call=call)
    assert neglected(code) == [Neglect.BESIDE] * found


@pytest.mark.parametrize(
    ("replaced", "found"),
    [
        ("device = rows[0].device", 0),  # whatever it is called with
        ('device = device or torch.device("cuda")', 1),
        ("print(device)", 1),
    ],
)
def test_a_recursion_without_a_device_that_the_function_replaces(replaced, found):
    code = f"""
    def stack(rows, dim=0, *, device=None):
        {replaced}
        if isinstance(rows, dict):
            return {{k: stack(v, dim) for k, v in rows.items()}}
        return torch.zeros(len(rows), device=device)
    """
    assert len(neglected(code)) == found


@pytest.mark.parametrize(
    ("places", "found"),
    [
        ("[torch.device('cpu'), torch.device('cuda')]", 0),
        ("['cpu', 'cuda']", 0),
        ("{'host': torch.device('cpu'), 'card': torch.device('cuda')}.values()", 0),
        ("[torch.device('cpu'), torch.device('cuda:1')]", 1),
        ("['cuda:1']", 1),
        ("[torch.device(args.device)]", 1),
    ],
)
@pytest.mark.parametrize("name", ["_clock", "clock"])
def test_callers_in_sight_name_no_card(places, found, name):
    code = f"""
    def {name}(run, device: torch.device):
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()

    def compare(args, run):
        for place in {places}:
            {name}(run, place)

    parser.add_argument("--device", default="cuda")
    """
    found = found if name.startswith("_") else 1  # others may call it
    assert neglected(code) == [Neglect.CURRENT] * found


@pytest.mark.parametrize(
    ("made", "chosen", "moved"),
    [
        ("make(3).to(device)", "device", True),  # a copy too many, and no more
        ("make(3).to(torch.device(device))", "device", True),
        ("make(3)", "device", False),
        ("make(3).to(device)", 'device or "cuda"', False),  # it was on that card first
    ],
)
def test_a_module_that_is_moved_where_it_comes_back(made, chosen, moved):
    code = f"""
    def make(width, device=None):
        model = nn.Linear(width, width)
        model.to(device={chosen})
        return model

    def main(device: str):
        model = {made}
        print(model)
    """
    (fact,) = given(code).dropped_arguments
    assert fact.moved is moved


@pytest.mark.parametrize(
    ("default", "call", "confidence"),
    [
        ("'cpu'", "eye(3)", ["certain"]),
        ("torch.device('cpu')", "eye(3)", ["certain"]),
        ("None", "eye(3)", ["certain"]),
        ("'cpu'", "eye(3, 'cpu')", ["possible"]),  # somebody wanted it there
        ("'cpu'", "eye(3, x.device)", []),
    ],
)
def test_a_device_that_a_call_leaves_out_is_nobody_s_choice(default, call, confidence):
    code = f"""
    def eye(n, device={default}):
        return torch.eye(n, device=device)

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x):
            return self.linear(x) @ {call}
    """
    assert [each.rpartition(" ")[2] for each in met(code)] == confidence


PREFETCH = """
    class Prefetcher:
        def __init__(self, loader, device):
            self.loader, self.device = loader, device

        def __iter__(self):
            side = torch.cuda.Stream({made})
            {chosen}
            for x in self.loader:
                with torch.cuda.stream(side):
                    x = x.to({goal}, non_blocking=True)
                torch.cuda.current_stream({made}).wait_stream(side)
                yield x
"""


@pytest.mark.parametrize(
    ("made", "chosen", "goal", "found"),
    [
        ("", "pass", "self.device", 1),  # one for both streams
        ("", "pass", "device=self.device", 1),
        ("self.device", "pass", "self.device", 0),
        ("", "torch.cuda.set_device(self.device)", "self.device", 0),
        ("", "pass", '"cuda"', 0),  # the current card here as there
        ("", "y = torch.ones(3).to(self.other)", "self.device", 0),  # which is meant is open
    ],
)
def test_a_stream_belongs_to_the_card_that_is_copied_to(made, chosen, goal, found):
    code = PREFETCH.format(made=made, chosen=chosen, goal=goal)
    assert neglected(code) == [Neglect.STREAM] * found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return encoder(width)", [Neglect.FLAG]),
        ("return encoder(width, use_cuda)", []),
        ("return encoder(width, use_cuda=True)", []),
        ("net = encoder(width); return net.cuda() if use_cuda else net", []),  # it moves itself
        ("return plain(width)", []),  # which never looks at its flag
    ],
)
def test_a_flag_for_accelerators_is_passed_on(body, found):
    code = f"""
    def encoder(width, use_cuda=False):
        net = nn.Linear(width, 2)
        return net.cuda() if use_cuda else net

    def plain(width, use_cuda=False):
        return nn.Linear(width, 2)

    def start(width, use_cuda=True):
        {body}
    """
    assert neglected(code) == found


@pytest.mark.parametrize(
    ("call", "default", "found"),
    [
        ("marked(classes, 10)", '"cuda"', [Neglect.DEFAULTED]),
        ("marked(classes, 10, classes.device)", '"cuda"', []),
        ("marked(classes, 10)", '"cpu"', []),  # said where the two meet
        ("marked(count, 10)", '"cuda"', []),  # no input of the caller's
    ],
)
def test_an_accelerator_by_default_is_not_where_the_input_is(call, default, found):
    code = f"""
    count = torch.arange(3)

    def marked(classes, n, device={default}):
        rows = torch.zeros(len(classes), n, device=device)
        return rows.scatter_(1, classes.view(-1, 1), 1.0)

    def mixed(images, classes: torch.Tensor):
        return images, {call}
    """
    assert neglected(code) == found


TAGGER = """
class Tagger:
    def __init__(self, name, device):
        self.net = load(name)
        self.device = device

    def fit(self, loader):
        self.net.to(self.device)
        return [self.net(rows.to(self.device)) for rows in loader]

    def score(self, loader):
        {second}
        return [self.net(rows.to(self.device)) for rows in loader]

    def tag(self, rows):
        net, device = self.net, self.device
        {first}
        return {result}
"""


@pytest.mark.parametrize(
    ("first", "result", "second", "found"),
    [
        ("net = self.net; device = self.device", "net(rows.to(device))", "MOVE", 1),
        ("pass", "self.net(rows.to(self.device))", "MOVE", 1),
        ("pass", "self.net(rows.to(self.device))", "pass", 0),  # one move makes no habit
        ("pass", "self.net(rows)", "MOVE", 0),  # wherever both are
        ("self.score([])", "self.net(rows.to(self.device))", "MOVE", 0),
        ("ready(self.net)", "self.net(rows.to(self.device))", "MOVE", 0),
        ("self.net = load('b')", "self.net(rows.to(self.device))", "MOVE", 0),
        ("self.net.cuda()", "self.net(rows.to(self.device))", "MOVE", 0),
        ("self.load_state_dict(rows)", "self.net(rows.to(self.device))", "MOVE", 1),
    ],
)
def test_a_module_that_two_methods_move_before_they_call_it_is_not_there_in_a_third(
    first, result, second, found
):
    second = second.replace("MOVE", "self.net.to(self.device)")
    code = TAGGER.format(first=first, result=result, second=second)
    assert neglected(code) == [Neglect.UNMOVED] * found
    assert neglected(code.replace("class Tagger:", "class Tagger(nn.Module):")) == []
    assert neglected(code.replace("class Tagger:", "class Tagger(Base):")) == []
    assert neglected(code + "\n    def all(self, rows):\n        return self.tag(rows)\n") == []


def test_a_hook_that_only_moves_a_module_makes_no_habit_of_it():
    code = """
    class Runner:
        def begin(self):
            self.net.to(self.device)

        def end(self):
            self.net.to(self.device)

        def observe(self, rows):
            return self.net(rows.to(self.device))
    """
    assert neglected(code) == []


@pytest.mark.parametrize(
    ("base", "last", "moved"),
    [
        ("nn.Module", "self.to(device)", True),
        ("object", "self.to(device)", True),  # `to` is its own: it moves what it holds
        ("nn.Module", "self.rows.to(device)", False),
        ("nn.Module", "pass", False),
    ],
)
def test_what_a_constructor_makes_is_moved_with_its_object(base, last, moved):
    code = f"""
    def table(rows, device="cpu"):
        return torch.as_tensor(rows, device=device)

    class Body({base}):
        def __init__(self, rows, device):
            super().__init__()
            self.rows = [table(rows)]
            {last}

        def to(self, device):
            self.rows = [each.to(device) for each in self.rows]
    """
    (fact,) = given(code).dropped_arguments
    assert fact.moved is moved
