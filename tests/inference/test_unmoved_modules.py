"""A module that is built and never moved, called with what lives elsewhere."""

import pytest
from given import given, met

from devlint.findings import Confidence

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.tail = nn.Sequential()
        self.tail.add_module("last", nn.Linear(3, 1))

    def forward(self, x):
        return self.tail(self.act(self.fc(x)))

"""


def test_parts_without_state_do_not_hide_where_a_module_is():
    code = NET + 'net = Net()\nnet(torch.ones(1, 3, device="cuda"))'
    assert met(code) == [
        'input: net@cpu net torch.ones(1, 3, device="cuda")@cuda certain inside self.fc(x)'
    ]
    assert met(code.replace("Net()\n", "Net().cuda()\n")) == []


def test_a_call_of_a_module_gets_to_its_first_layer_whichever_of_both_is_out_of_place():
    assert met(f"""{NET}
def distill(student_rows, rows: torch.Tensor):
    student, teacher = Net().cuda(), Net()
    rows = rows.cuda()
    wanted = teacher(rows)
    return student(rows) - wanted
""") == ["input: teacher@cpu teacher rows@cuda certain inside self.fc(x)"]


@pytest.mark.parametrize("call", ["net(image)", "score(image, net)"])
def test_a_module_built_in_a_function_is_applied_to_its_input(call):
    code = f"""{NET}
def score(image: torch.Tensor, net: nn.Module):
    return net(image).mean()

def quality(image: torch.Tensor):
    net = Net()
    {{}}
    return {call}
"""
    (found,) = met(code.format("net.eval()"))
    assert found.startswith("input: net@cpu") and " image@δ(image) likely inside " in found
    assert met(code.format("net.to(image.device)")) == []


def test_what_a_constructor_computes_from_a_parameter_stays_where_it_was_built():
    code = """
    class Base(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(n, 2))

    class Phase(Base):
        def __init__(self, n):
            super().__init__(n)
            {}

        def forward(self, x):
            return x + self.start
    """
    assert met(code.format("self.start = self.weight.detach().clone()")) == [
        "self.start@cpu + x@δ(x) certain"
    ]
    assert met(code.format("self.start = self.weight")) == []
    assert met(code.format('self.register_buffer("start", self.weight.detach().clone())')) == []


def test_a_buffer_that_is_resized_is_no_placeholder_any_more():
    code = """
    class Search(nn.Module):
        def __init__(self):
            super().__init__()
            self.buffer = torch.empty(0)

        def forward(self, scores: torch.Tensor):
            {}
            return scores + self.buffer
    """
    assert met(code.format("self.buffer.resize_(scores.size())")) == [
        "self.buffer@cpu + scores@δ(scores) certain"
    ]
    assert met(code.format("pass")) == []


def test_what_a_model_makes_of_moved_inputs_is_read_on_the_accelerator():
    code = """
    def detect(model, image):
        image = image.cuda()
        return [level.data{}.numpy() for level in model(image)]
    """
    (read,) = given(code.format("")).host_reads
    assert read.confidence is Confidence.LIKELY
    assert given(code.format(".cpu()")).host_reads == []


PARTS = """
    def run(n, image: torch.Tensor):
        parts = {{"enc": nn.Linear(n, n), "dec": nn.Linear(n, 3)}}
        {}
        return parts["dec"](image)
"""


@pytest.mark.parametrize(
    "moves",
    [
        "parts = {k: v.to(image.device) for k, v in parts.items()}",
        "[v.to(image.device) for v in parts.values()]",
        "for k in parts: parts[k] = parts[k].to(image.device)",
        "for part in parts.values(): part.to(image.device)",
    ],
)
def test_what_a_loop_or_comprehension_moves_stays_moved(moves):
    assert met(PARTS.format(moves)) == []
    found = met(PARTS.format(moves.replace(".to(image.device)", ".eval()")))
    assert found and all(each.startswith('input: parts["dec"]@cpu') for each in found)


@pytest.mark.parametrize("made", ["Net()", "nn.Linear(3, 3)"])
def test_a_loop_moves_every_module_that_it_goes_through(made):
    code = f"""{NET}
def run(image: torch.Tensor):
    nets = a, b, c, d, e = {", ".join([made] * 5)}
    for net in {{}}:
        net.cuda()
    image = image.cuda()
    return a(image), e(image)
"""
    assert met(code.format("nets")) == []
    assert met(code.format("(a, b)")) == [met(code.format("()"))[-1]] != []


KEPT = """
    class Base:
        def __init__(self, parts, device):
            self.parts = parts
            {}

    class Model(Base):
        def __init__(self, n, device):
            self.parts = {{"enc": nn.Linear(n, n)}}
            super().__init__(self.parts, device)

        def loss(self, image: torch.Tensor):
            return self.parts["enc"](image)
"""


@pytest.mark.parametrize(
    "moves",
    [
        "self.parts = {k: v.to(device) for k, v in parts.items()}",
        "self.parts = {k: v.to(device) if hasattr(v, 'to') else v for k, v in parts.items()}",
    ],
)
def test_a_constructor_of_a_base_moves_what_the_class_built(moves):
    assert met(KEPT.format(moves)) == []
    assert len(met(KEPT.format("self.n = len(parts)"))) == 1


@pytest.mark.parametrize("kept", ["net", '{"net": net}', "[net]"])
def test_an_object_that_keeps_its_modules_on_the_cpu_is_fed_from_there(kept):
    part = {"net": "self.kept", "[net]": "self.kept[0]"}.get(kept, 'self.kept["net"]')
    code = f"""{NET}
class Model:
    def __init__(self):
        net = Net()
        self.kept = {kept}

    def loss(self, image: torch.Tensor):
        return {part}(image)
"""
    assert [m for m in met(code) if "possible" not in m] == []
    unseen = code.replace("Model:", "Model(Trainer):")
    assert met("from trainers import Trainer\n" + unseen) == []  # the base may move it


@pytest.mark.parametrize(
    ("handed", "found"),
    [
        ('{"rows": torch.from_numpy(rows), "rate": 3}', []),
        ("torch.from_numpy(rows)", ["likely"]),
    ],
)
def test_a_pipeline_of_a_library_moves_what_is_in_the_records_that_it_takes(handed, found):
    code = f"""
        from speech import Pipeline

        class Run:
            def __init__(self, device):
                self.model = Pipeline.from_pretrained("name").to(device)

            def __call__(self, rows):
                return self.model({handed})
    """
    assert [meeting.rpartition(" ")[2] for meeting in met(code)] == found


SPLIT = """
    def split(net, stages):
        net.{given} = stages.step
        return net

    net = nn.Linear(3, 3)
    net = split(net, stages)
    net(torch.zeros(3, device="cuda"))
"""


@pytest.mark.parametrize(("given", "clashes"), [("forward", 0), ("stage", 1)])
def test_a_module_whose_forward_is_replaced_takes_what_that_takes(given, clashes):
    assert len(met(SPLIT.format(given=given))) == clashes


ENGINE = f"""{NET}
class Engine:
    def __init__(self, device):
        self.device = device
        {{moves}}

class Trainer(Engine):
    def __init__(self, device):
        self.model = Net()
        super().__init__(device)

    def step(self, rows: torch.Tensor):
        return self.model(rows.to(self.device))
"""


@pytest.mark.parametrize(("moves", "count"), [("self.model.to(device)", 0), ("self.lr = 0.1", 1)])
def test_what_a_base_class_moves_is_not_where_the_subclass_made_it(moves, count):
    assert len(met(ENGINE.replace("{moves}", moves))) == count
