"""An object over its methods: what one of them leaves in an attribute is there for the next."""

import pytest
from given import given, met, revealed, settled

from devlint.inference.domain.assumptions import AssumptionKind

ROWS = """
class Rows:
    def __init__(self, table):
        self.table = table
        self.width = table.std(0)

    def relocate(self, device):
        {body}
        return self

    def scaled(self, x):
        return x / self.width
"""
BOTH = "self.table, self.width = self.table.to(device), self.width.to(device)"
ON_CARD = "torch.rand(3, device='cuda')"


def rows(use: str, body: str = "self.table = self.table.to(device)") -> str:
    return ROWS.format(body=body) + use


@pytest.mark.parametrize(
    "use",
    [
        "rows = Rows(torch.rand(3, 3))\nrows.relocate('cuda')\nreveal(rows.table)",
        "rows = Rows(torch.rand(3, 3)).relocate('cuda')\nreveal(rows.table)",
    ],
)
def test_a_method_leaves_an_attribute_where_it_moves_it(use):
    assert revealed(rows(use)) == ["cuda"]


def test_a_method_that_leaves_it_in_one_branch_only_leaves_either():
    body = "if ready():\n            return\n        self.table = self.table.to('cuda')"
    use = "rows = Rows(torch.rand(3, 3))\nrows.relocate(3)\nreveal(rows.table)"
    assert revealed(rows(use, body)) != ["cuda"]


def test_a_method_that_calls_another_leaves_what_that_leaves():
    body = "self.by_name(device)\n\n    def by_name(self, device):\n        self.table = 1"
    body = body.replace("= 1", "= self.table.to(device)")
    use = "rows = Rows(torch.rand(3, 3))\nrows.relocate('cuda')\nreveal(rows.table)"
    assert revealed(rows(use, body).replace("return self", "pass")) == ["cuda"]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("self.table = self.table.to(device)", 1),
        (BOTH, 0),
        ("for k, v in vars(self).items(): setattr(self, k, v.to(device))", 0),
    ],
)
def test_what_the_move_of_an_object_forgets_stays(body, count):
    code = rows(f"rows = Rows(torch.rand(3, 3)).to('cuda')\nrows.scaled({ON_CARD})", body)
    assert len(met(code.replace("relocate", "to"))) == count


DECLARED = """
from dataclasses import dataclass

{decorator}
class Batch:
    images: torch.Tensor
    names: list

    def doubled(self):
        return self.images + torch.ones(3, device="cuda")

"""
SENT = """
    def sent(self, device):
        self.images = self.images.to(device)
        return self

"""


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("Batch(torch.rand(3), []).doubled()", 1),
        ("Batch(images=torch.rand(3), names=[]).doubled()", 1),
        ("Batch(torch.rand(3).cuda(), []).doubled()", 0),
        ("Batch(unknown, []).doubled()", 0),
        ("Batch(torch.rand(3), []).sent('cuda').images + torch.ones(3, device='cuda')", 0),
        ("Batch(torch.rand(3), []).sent('cuda').images + torch.ones(3)", 1),
    ],
)
def test_a_declared_field_is_where_the_object_is_given_it(use, count):
    sent = SENT if "sent" in use else ""
    assert len(met(DECLARED.format(decorator="@dataclass") + sent + use)) == count


@pytest.mark.parametrize(("made", "found"), [("", 1), (" = field(init=False)", 0)])
def test_a_field_that_no_constructor_takes_is_not_handed_in(made, found):
    code = f"""
    from dataclasses import dataclass, field

    @dataclass
    class Camera:
        angle: torch.Tensor
        pose: torch.Tensor{made}

        def project(self):
            return self.pose @ torch.zeros(4, 4)
    """
    assert len(met(code)) == found


def test_a_declaration_without_a_generated_constructor_says_nothing():
    assert met(DECLARED.format(decorator="") + "Batch(torch.rand(3), []).doubled()") == []


def test_a_replaced_field_is_another_objects():
    code = DECLARED.format(decorator="@dataclass") + (
        "from dataclasses import replace\n"
        "host = Batch(torch.rand(3), [])\n"
        "moved = replace(host, images=host.images.cuda())\n"
        "reveal(host.images)\n"
        "reveal(moved.images)\n"
    )
    assert revealed(code) == ["cpu", "cuda"]


@pytest.mark.parametrize(
    ("drawn", "count"),
    [
        ("random.sample(self.memory, 2)[0]", 1),
        ("random.choice(self.memory)", 1),
        ("list(zip(*random.sample(self.memory, 2)))", 0),  # of what is no tuple
    ],
)
def test_what_is_drawn_from_a_list_is_one_of_its_elements(drawn, count):
    code = f"""
    import random

    class Buffer:
        def __init__(self):
            self.memory = []

        def push(self, state):
            self.memory.append(torch.tensor([state, 1.0]))

        def get(self):
            return {drawn} + torch.ones(2, device="cuda")
    """
    assert len(met(code)) == count


def test_a_move_to_the_host_says_that_its_source_is_elsewhere():
    code = """
    def pairs(distances):
        return torch.cat([distances.argmax(1), distances.argmin(1).cpu()])
    """
    (meeting,) = settled(code).meetings
    kinds = {each.kind for each in meeting.assumptions}
    assert AssumptionKind.SOURCE_OF_MOVE_IS_ELSEWHERE in kinds
    assert AssumptionKind.EXPLICIT_HOST_MEETS_INPUT not in kinds


def test_the_device_of_a_value_that_may_be_left_out_is_one_of_two():
    code = """
    def rows(x, y=None):
        if y is None:
            y = torch.cdist(x.cuda(), x.cuda())
        return torch.arange(3, device=y.device) + torch.ones(3)
    """
    assert len(met(code)) == 2


METRIC = """
from torchmetrics import Metric

class Curve(Metric):
    def __init__(self, size):
        super().__init__()
        self.add_state("scores", default={default})

    def update(self, scores: torch.Tensor):
        {update}

    def compute(self):
        return {read} > torch.linspace(0, 1, 10)
"""


@pytest.mark.parametrize(
    ("default", "update", "read", "count"),
    [
        ("[]", "self.scores.append(scores)", "torch.cat(self.scores)", 1),
        ("[]", "self.scores.append(scores.cpu())", "torch.cat(self.scores)", 0),
        ("torch.zeros(size)", "self.scores += scores", "self.scores", 1),
        ("[]", "self.scores.append(scores)", "torch.cat(self.scores).cpu()", 0),
    ],
)
def test_the_state_of_a_metric_is_where_it_was_updated(default, update, read, count):
    assert len(met(METRIC.format(default=default, update=update, read=read))) == count


@pytest.mark.parametrize(
    ("kept", "is_detached"),
    [
        ("loss.detach()", True),
        ("loss", False),
        ("loss.detach().cpu()", None),
        ("loss.item()", None),
    ],
)
def test_a_list_of_what_was_detached_is_no_array(kept, is_detached):
    code = f"""
    import numpy as np

    class History:
        def __init__(self):
            self.losses = {{"train": []}}

        def add(self, loss: torch.Tensor):
            self.losses["train"].append({kept})

        def mean(self):
            return np.array(self.losses["train"])
    """
    kinds = [{each.kind for each in read.assumptions} for read in settled(code).host_reads]
    detached = AssumptionKind.DETACHED_INPUT_IS_ACCELERATED
    assert [detached in each for each in kinds] == ([] if is_detached is None else [is_detached])


@pytest.mark.parametrize(
    ("used", "count"), [("scores.unsqueeze(-1) + noise", 1), ("self.fill * 2 + noise", 0)]
)
def test_what_an_override_returns_is_a_tensor_where_it_is_used_as_one(used, count):
    code = f"""
    class Ranker(nn.Module):
        def score(self, x):
            raise NotImplementedError

        def forward(self, x):
            scores = self.score(x)
            noise = torch.rand(3)
            return {used}
    """
    assert len(met(code)) == count


STACK = """
class Stack:
    def __init__(self, n, device):
        self.seen = torch.zeros((n, 4), device=device)

    def reset(self, rows):
        {made}
        self.seen[:, -1] = rows
"""


@pytest.mark.parametrize(
    ("made", "confidences"),
    [
        ("self.seen = torch.zeros(self.seen.shape)", ["likely"]),
        ("self.seen = torch.zeros(self.seen.size())", ["likely"]),
        ("self.last = torch.zeros(self.seen.shape)", []),
        ("self.seen = torch.zeros_like(self.seen)", []),
        ("self.seen = torch.zeros(self.seen.shape, device=self.seen.device)", []),
        ("self.seen = torch.zeros(self.seen.shape); self.seen = self.seen.cuda()", []),
    ],
)
def test_what_takes_the_place_of_a_tensor_belongs_where_that_was(made, confidences):
    """It has its shape and its name: whatever that was for is going to get this one."""
    found = met(STACK.format(made=made))
    assert [each.rpartition(" ")[2] for each in found] == confidences


OUT_OF_SIGHT = """
import torch
from elsewhere import Model

class Player:
    def __init__(self, device):
        self.net = Model(4, 2)
        {then}

    def play(self):
        return self.net(torch.rand(3).to('cuda')).numpy()
"""


@pytest.mark.parametrize(
    ("then", "is_certain"),
    [
        ("self.net = self.net.to('cuda')", True),
        ("self.net = Model(4, 2).to('cuda')", True),
        ("if device:\n            self.net = self.net.to('cuda')", False),
    ],
)
def test_what_is_assigned_again_in_any_case_is_no_longer_there(then, is_certain):
    (read,) = given(OUT_OF_SIGHT.format(then=then)).host_reads
    assert (not read.assumptions) is is_certain


SCALE = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("top", torch.ones(3))

    def fit(self, rows):
        self.top = {left}

def scaled(rows):
    rows = torch.ones(3, device="cuda")
    scale = Scale()
    {then}
    return rows / scale.top
"""


@pytest.mark.parametrize(
    ("left", "then", "count"),
    [
        ("rows.abs()", "scale.fit(rows)", 0),
        ("load(rows)", "scale.fit(rows)", 0),
        ("torch.maximum(rows, rows.new_ones(3))", "if len(rows): scale.fit(rows)", 0),
        ("rows.abs()", "pass", 1),  # as its constructor left it
        ("torch.zeros(3)", "scale.fit(rows)", 1),
    ],
)
def test_a_method_rebinds_what_its_module_was_made_with(left, then, count):
    assert len(met(SCALE.format(left=left, then=then))) == count


WINDOW = """
class Window:
    def __init__(self):
        self.taper = torch.hann_window(8)

    def send(self, device):
        self.taper = self.taper.to(device)

window = Window()
window.send("cuda")
window.taper * torch.ones(8{device})
"""


@pytest.mark.parametrize(("device", "count"), [("", 1), (", device='cuda'", 0)])
def test_a_method_of_a_plain_object_leaves_what_the_constructor_made_elsewhere(device, count):
    assert len(met(WINDOW.format(device=device))) == count
