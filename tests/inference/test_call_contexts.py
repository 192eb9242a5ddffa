"""What calls hand to a plain function says whether it works for a device or for the host."""

import pytest
from given import host_reads, meetings, settled

from devlint.inference.call_contexts import Feeds

SHIFT = """
import numpy as np
from torchvision import transforms
from torch.utils.data import Dataset

def shift(rows: torch.Tensor):
    return rows + torch.arange(4)

{callers}
"""

RAISES = "torch.arange(4)@cpu + rows@δ(rows) likely"
OPEN = "torch.arange(4)@cpu + rows@δ(rows) possible"


@pytest.mark.parametrize(
    ("callers", "expected"),
    [
        # nobody in sight: it is there for others, and takes tensors
        ("", RAISES),
        ("def read(path):\n    return shift(torch.from_numpy(np.load(path)))", OPEN),
        ("def read(path):\n    return shift(np.asarray(path))", OPEN),
        ("def read(net, x):\n    return shift(net(x).cpu())", OPEN),
        ("def read(x):\n    return shift(x.cuda())", RAISES),
        # one call from a device is enough
        (
            "def read(path):\n    return shift(torch.from_numpy(np.load(path)))\n\n"
            "def use(x, device):\n    return shift(x.to(device))",
            RAISES,
        ),
        # through a caller that was handed it
        (
            "def read(path):\n    return twice(torch.from_numpy(np.load(path)))\n\n"
            "def twice(rows: torch.Tensor):\n    return shift(shift(rows))",
            OPEN,
        ),
        (
            "def use(x):\n    return twice(x.cuda())\n\n"
            "def twice(rows: torch.Tensor):\n    return shift(shift(rows))",
            RAISES,
        ),
        (
            "class Net(nn.Module):\n    def forward(self, x):\n        return shift(x.exp())",
            RAISES,
        ),
        # by the name of a parameter for which it stands in
        ("def read(path, move=shift):\n    return move(torch.from_numpy(np.load(path)))", OPEN),
        ("def read(path, *, move=shift):\n    return move(torch.from_numpy(np.load(path)))", OPEN),
        ("def read(path, move=None):\n    return move(torch.from_numpy(np.load(path)))", RAISES),
        ("def read(path, move=len):\n    return move(torch.from_numpy(np.load(path)))", RAISES),
        ("def use(x, move=shift):\n    return move(x.cuda())", RAISES),
        (
            "def read(path, move=shift):\n    return move(torch.from_numpy(np.load(path)))\n\n"
            "def use(x):\n    return shift(x.cuda())",
            RAISES,
        ),
        # handed to who calls it on the host
        ("pipeline = transforms.Compose([transforms.Lambda(shift), len])", OPEN),
        ("def load(data):\n    return Dataset(data, transform=shift)", OPEN),
        ("def load(data):\n    return Dataset(data, activation=shift)", RAISES),
        ("def all_of(pool, xs):\n    return pool.map(shift, xs)", OPEN),
    ],
)
def test_a_function_is_for_those_who_call_it(callers, expected):
    assert meetings(settled(SHIFT.format(callers=callers)))[0] == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("def read(path):\n    return shift(torch.load(path, map_location='cpu'))", OPEN),
        ("def use(x):\n    return shift(x.cuda())", RAISES),
    ],
)
def test_calls_in_other_files_count(other, expected):
    files = {"use.py": f"from main import shift\n\n{other}"}
    assert meetings(settled(SHIFT.format(callers=""), files))[0] == expected


def test_tests_hand_in_what_is_at_hand():
    files = {
        "tests/test_shift.py": "from main import shift\n\ndef test_shift():\n"
        "    assert shift(torch.zeros(4).cpu()).sum() == 6\n"
    }
    assert meetings(settled(SHIFT.format(callers=""), files))[0] == RAISES


@pytest.mark.parametrize(
    ("name", "annotation", "beside", "expected"),
    [
        ("shift", "", "", RAISES),
        ("_shift", ": torch.Tensor", "", OPEN),
        ("shift_loss", "", "", RAISES),
        ("shift", "", "class Net(nn.Module):\n    pass", RAISES),
        ("_shift", "", "class Net(nn.Module):\n    pass", OPEN),
        ("shift", "", "def other(rows):\n    return rows.new_zeros(3, device=rows.device)", RAISES),
    ],
)
def test_where_no_call_tells_the_code_has_to(name, annotation, beside, expected):
    code = f"""
def {name}(rows{annotation}):
    return rows.unsqueeze(0) + torch.arange(4)

{beside}
"""
    [found] = meetings(settled(code))
    assert found == expected.replace("rows@", "rows.unsqueeze(0)@")


PART = """
class _Score:
    def __call__(self, guesses):
        return guesses.unsqueeze(0) * torch.arange(3)

class {owner}:
    def __init__(self):
        super().__init__()
        self.score = _Score()
"""


@pytest.mark.parametrize(
    ("owner", "confidence"), [("Net(nn.Module)", "likely"), ("Report", "possible")]
)
def test_the_part_of_a_module_works_where_the_module_does(owner, confidence):
    [found] = meetings(settled(PART.format(owner=owner)))
    assert found.endswith(confidence)


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ("agent.values(rows)", []),
        ("rows * 2", [".numpy() of (rows * 2)@cuda certain"]),
    ],
)
def test_what_an_object_returns_need_not_be_where_the_object_is(result, found):
    code = f"""
    def report(agent, rows):
        rows = rows.cuda()
        agent.start(4)
        return agent.values().numpy(), ({result}).numpy()
    """
    assert [r for r in host_reads(settled(code)) if not r.endswith("possible")] == found


RANKING = """
class Ranking(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.sizes = torch.tensor(sizes)

    def {name}(self, rows, pairs: torch.Tensor):
        pairs = pairs + torch.arange(2)
        return rows, pairs[:, 1].numpy()

    def forward(self, rows, pairs):
        return {call}
"""
MET = "torch.arange(2)@cpu + pairs@δ(pairs)"


@pytest.mark.parametrize(
    ("name", "call", "sure"),
    [
        ("_mine", "self._mine(rows, pairs.detach().cpu())", "possible"),
        ("mine", "self.mine(rows, pairs.detach().cpu())", "possible"),
        ("mine", "self.mine(rows, self.sizes)", "possible"),
        ("_mine", "self._mine(rows, pairs)", "certain"),
        ("_mine", "self._mine(rows, self.layer(pairs))", "certain"),
        ("_mine", "(self._mine(rows, pairs.cpu()), self._mine(rows, pairs))", "certain"),
        ("_mine", "(self._mine(rows, pairs.cpu()), self._mine(rows, load(pairs)))", "likely"),
        ("mine", "self.layer(rows)", "likely"),
        ("forward_pairs", "self.forward_pairs(rows, pairs.cpu())", "certain"),
    ],
)
def test_a_method_of_a_module_works_where_the_others_call_it(name, call, sure):
    facts = settled(RANKING.format(name=name, call=call))
    assert meetings(facts)[:1] == [f"{MET} {sure}"]


INNER = """
class Mixer:
    def __init__(self, device):
        self.device = device

    def mix(self, {parameter}):
        {body}

    def _tail(self, rows):
        return torch.cat([rows, torch.zeros(3)])

{outside}
"""


@pytest.mark.parametrize(
    ("parameter", "body", "outside", "expected"),
    [
        # its callers are all that a private method is for
        ("n", "return self._tail(torch.rand(n)).to(self.device)", "", "possible"),
        ("n", "return self._tail(read(n))", "", "possible"),
        ("rows: torch.Tensor", "return self._tail(rows)", "", "likely"),
        ("n", "return self._tail(torch.rand(n, device=self.device))", "", "likely"),
        # a module makes the object, and knows nothing of what it does inside
        (
            "n",
            "return self._tail(torch.rand(n)).to(self.device)",
            "class Net(nn.Module):\n    def __init__(self, device):\n        super().__init__()\n"
            "        self.mixer = Mixer(device)",
            "possible",
        ),
    ],
)
def test_a_private_method_is_for_those_who_call_it(parameter, body, outside, expected):
    code = INNER.format(parameter=parameter, body=body, outside=outside)
    (found,) = meetings(settled(code))
    assert found.endswith(f"@δ(rows) {expected}")


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ("torch.tensor(top).to(rows.device)", "likely"),
        ("torch.tensor(top).type_as(rows)", "likely"),
        ("rows.amax()", "possible"),
        ("torch.tensor(top, device=self.device)", "possible"),
    ],
)
def test_a_private_method_that_asks_where_its_input_is(bound, expected):
    code = f"""
class Clip:
    def __init__(self, device):
        self.device = device

    def _within(self, rows: torch.Tensor, top):
        most = {bound}
        return torch.minimum(rows, torch.linspace(0, 1, 3)), most
"""
    (found,) = meetings(settled(code))
    assert found.endswith(f"@δ(rows) {expected}")


PICKED = """
import random

class World:
    def __init__(self, size):
        self.size = size
        self.means = torch.randn(size, 3)

    def features(self, index: torch.Tensor) -> torch.Tensor:
        return self.means[index]

    def draw(self, x):
        index = {index}
        return self.features(index=index)
"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("random.randint(0, self.size - 1)", "possible"),
        ("x.shape[0] - 1", "possible"),
        ("draw(0, self.size - 1)", "likely"),
        ("x.cuda()", "likely"),
    ],
)
def test_a_tensor_by_annotation_that_is_a_number_in_the_calls(index, expected):
    (found, *_) = meetings(settled(PICKED.format(index=index)))
    assert found.endswith(f"@δ(index) {expected}")


OBJECT = """
class {name}:
    def {method}(self, scores):
        return scores.unsqueeze(0) + torch.arange(3)
"""


@pytest.mark.parametrize(
    ("name", "method", "confidence"),
    [
        ("Spread", "__call__", "likely"),  # an object that is called is called as a function is
        ("Spread", "spread", "likely"),
        ("_Spread", "__call__", "possible"),
        ("Spread", "__add__", "possible"),
    ],
)
def test_an_object_that_is_called_serves_as_a_function_does(name, method, confidence):
    [found] = meetings(settled(OBJECT.format(name=name, method=method)))
    assert found.endswith(confidence)


HELPER = """
def _lower(rows, steps={default}):
    steps = torch.zeros(3)
    return torch.where(rows > 0, rows, steps)

{caller}
"""


@pytest.mark.parametrize(
    ("caller", "expected"),
    [
        ("def lower(rows: torch.Tensor):\n    return _lower(rows)", "likely"),  # as its caller does
        ("def lower():\n    return _lower(torch.load(PATH, map_location='cpu'))", "possible"),
        ("", "possible"),
    ],
)
def test_a_private_function_works_for_who_its_callers_work_for(caller, expected):
    found = meetings(settled(HELPER.format(default=None, caller=caller)))
    assert [each.rpartition(" ")[2] for each in found] == [expected]


READING = """
import numpy as np

class Statistics(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.table = table

    def spread(self, rows):
        return np.linalg.svd(rows[0].reshape(4, 4))

    def forward(self, x: torch.Tensor, graph):
        self.layer(x)
        return self.spread({rows})
"""


@pytest.mark.parametrize(
    ("rows", "is_met"),
    [
        # that a module's own method is called with something does not show that it is elsewhere
        ("self.table[3]", False),
        ("graph.rows()", False),
        ("graph", False),
        # a call that hands in what lives where the module or its input does
        ("self.layer(x)", True),
        ("torch.eye(4).cuda()", True),
    ],
)
def test_a_call_shows_what_it_hands_in_and_nothing_of_what_is_open(rows, is_met):
    found = host_reads(settled(READING.format(rows=rows)))
    assert [each.rpartition(" ")[2] for each in found] == ["likely" if is_met else "possible"]


TRACK = """
def track(rows, device):
    with {default}:
        return through(rows.to(device))

def through(rows: torch.Tensor):
    return shift(rows)
"""


@pytest.mark.parametrize(
    ("callers", "expected"),
    [
        (TRACK.format(default="torch.device(device)"), OPEN),
        (TRACK.format(default="torch.no_grad()"), RAISES),
    ],
)
def test_what_a_function_makes_under_its_callers_default_device_is_there(callers, expected):
    """The default device of a block is that of all that runs in it, however far down."""
    assert meetings(settled(SHIFT.format(callers=callers)))[0] == expected


SIBLINGS = """
class Attack:
    def perturb(self, x: torch.Tensor):
        return x

class {name}({base}):
    def perturb(self, x: torch.Tensor):
        return x + torch.arange(4)

class Other:
    def perturb(self, x: torch.Tensor):
        return x

    def run(self, x):
        return self.perturb(x.cuda())

def attack(method: Attack, x):
    return method.perturb(x{moved})
"""


@pytest.mark.parametrize(
    ("base", "moved", "is_met"),
    [
        ("Attack", ".cuda()", True),  # it stands where the call names its base
        ("Attack", "", False),
        ("", ".cuda()", False),  # a class with a method of the same name is another class
    ],
)
def test_a_call_hands_to_the_method_it_names_and_to_its_overrides(base, moved, is_met):
    facts = settled(SIBLINGS.format(name="Shift", base=base, moved=moved))
    (meeting,) = facts.meetings
    assert meeting.given is not None
    assert Feeds(facts.feeds).verdict(meeting.given).is_met is is_met


def verdicts(facts):
    """Of each contradiction and host read that rests on callers: whether they show that they hand
    in what it takes, and what has to be assumed against them."""
    feeds = Feeds(facts.feeds)
    facts_of = [*facts.meetings, *facts.host_reads]
    found = [feeds.verdict(each.given) for each in facts_of if each.given is not None]
    return [(each.is_met, [kind.value for kind, _ in each.against]) for each in found]


HOST_ONLY = (False, ["callers-are-not-all-on-host"])
NAMED = """
class Reader:
    def finish(self, rows: torch.Tensor):
        return rows.to(rows.device) + torch.arange(4)

{calls}
"""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        # a method of an object out of sight may be any of this name
        ("def run(view, x):\n    return view.finish(x.cuda())", (False, [])),
        ("def run(view, x):\n    return view.finish(x.cpu())", HOST_ONLY),
        # nor does it tell of a function that is called in sight
        (
            "def run(view, x):\n    view.finish(x.cuda())\n    return Reader().finish(x.cpu())",
            HOST_ONLY,
        ),
        ("def run(x):\n    return Reader().finish(x.cuda())", (True, [])),
    ],
)
def test_a_call_by_name_alone_never_shows_what_a_function_gets(calls, expected):
    assert verdicts(settled(NAMED.format(calls=calls))) == [expected]


FITTED = """
class Head:
    def fit(self, rows: torch.Tensor):
        return rows.to(rows.device) + torch.arange(4)

    {inside}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
"""


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("pass", (True, [])),
        ("def all(self, x):\n        return self.fit(x.cpu())", HOST_ONLY),
        ("def all(self, x):\n        return self.fit(x.cuda())", (True, [])),
    ],
)
def test_what_a_call_of_a_part_hands_in_says_more_than_where_its_module_is(inside, expected):
    assert verdicts(settled(FITTED.format(inside=inside))) == [expected]


PACKED = """
def pack(rows, lengths: torch.Tensor):
    return rows.to(rows.device), lengths + torch.arange(4)

class Inner(nn.Module):
    def forward(self, x, lengths: torch.Tensor):
        return pack(x, lengths)

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x, lengths: torch.Tensor):
        return self.inner(x, lengths)

def train(loader, sizes):
    outer = Outer().cuda()
    for x in loader:
        outer(x.cuda(), {lengths})
"""


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ("torch.IntTensor([4, 3])", HOST_ONLY),
        ("torch.IntTensor([4, 3]).cuda()", (True, [])),
        ("sizes", (True, [])),  # nothing shows that it is not where the module is
    ],
)
def test_an_input_of_a_module_is_where_its_calls_hand_it_in(lengths, expected):
    assert verdicts(settled(PACKED.format(lengths=lengths))) == [expected]


WINDOWS = """
from torch.utils.data import Dataset

def windows(wave):
    return torch.cat([torch.zeros(3), wave.to(wave.device)])

class Waves({base}):
    def __init__(self, files):
        self.files = files{held}

    def __getitem__(self, index):
        return windows(read_wave(self.files[index]){moved})
"""


@pytest.mark.parametrize(
    ("base", "moved", "expected"),
    [
        ("Dataset", "", HOST_ONLY),
        ("object", "", (False, [])),
        ("Dataset", ".cuda()", (True, [])),
    ],
)
def test_a_data_set_works_on_the_host(base, moved, expected):
    assert verdicts(settled(WINDOWS.format(base=base, held="", moved=moved))) == [expected]


BATCHES = """
from torch.utils.data import DataLoader

def unroll(rows, mask):
    return torch.cat([rows.to(rows.device), torch.zeros(3)]), mask

def run(data):
    for batch in DataLoader(data):
        {moved}
        unroll(**batch)
"""


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ("pass", HOST_ONLY),
        ("batch = {key: value.cuda() for key, value in batch.items()}", (True, [])),
    ],
)
def test_a_batch_that_is_spread_gives_what_it_holds(moved, expected):
    assert verdicts(settled(BATCHES.format(moved=moved))) == [expected]


LAYERS = """
class Cell(nn.Module):
    def forward(self, x, state, memory):
        return x * state * memory

class Layer(nn.Module):
    def forward(self, x, lengths{default}):
        return x * lengths

class Stack(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.proj = nn.Linear(3, 3)
        self.first = Cell() if steps else Layer()

    def forward(self, x):
        state = self.proj(x)
        return self.first({arguments})
"""


@pytest.mark.parametrize(
    ("arguments", "default", "called"),
    [
        ("x, state, state", "", {"Cell"}),
        ("x, state", "", {"Layer"}),
        ("x, lengths=state", "", {"Layer"}),
        ("x, *state", "", {"Cell", "Layer"}),
        ("x, state, state", ", *more", {"Cell", "Layer"}),
        ("x", "", {"Cell", "Layer"}),  # neither can be called so: which one is meant is open
    ],
)
def test_which_of_several_is_called_goes_by_the_arguments_that_it_takes(arguments, default, called):
    facts = settled(LAYERS.format(arguments=arguments, default=default))
    classes = {each: f"main.py::{each}.forward" for each in ("Cell", "Layer")}
    fed = {feed.function for feed in facts.feeds}
    assert {name for name, key in classes.items() if key in fed} == called


EXPORT = """
def export(model: nn.Module, device):
    model.to(device)
    return model(torch.zeros(3))


def main():
    model = nn.Linear(3, 3)
    device = {device}
    export(model, device)
{more}

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("device", "more", "expected"),
    [
        ('"cpu"', "", "possible"),
        ('torch.device("cpu")', "", "possible"),
        ('"cuda"', "", "likely"),
        ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', "", "likely"),
        ('"cpu"', '    export(model, "cuda")\n', "likely"),
        ("args.device", "", "likely"),
    ],
)
def test_the_device_that_a_script_hands_to_its_functions_is_that_of_its_calls(
    device, more, expected
):
    found = meetings(settled(EXPORT.format(device=device, more=more)))
    assert [each.rpartition(" ")[2] for each in found] == [expected]
