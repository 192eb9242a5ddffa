"""What an error may rest on: each law with code that is right, and the slip beside it that is not.

Wherever the code shows that a value is no tensor, is moved already or could not be kept, nothing is
said.
"""

from __future__ import annotations

import pytest
from rule_check import check_files, check_text, said, told

CENTERS = """
def centers(boxes, other):
    out = boxes.clone() if {test} else np.copy(other)
    out[:, 0] = (boxes[:, 0] + boxes[:, 2]) / 2
    return out


def run(net, images):
    return centers(net(images.cuda()).cuda(), np.zeros((3, 4)))
"""


@pytest.mark.parametrize(
    ("test", "count"),
    [
        ("isinstance(boxes, torch.Tensor)", 0),
        ("torch.is_tensor(boxes)", 0),
        ("not isinstance(boxes, np.ndarray)", 0),
        ("type(boxes) is not np.ndarray", 0),
        ("boxes.ndim == 2", 1),
    ],
)
def test_an_array_is_filled_where_its_source_is_no_tensor(test, count):
    assert len(said(CENTERS.format(test=test), "DEV401")) == count


CROPS = """
def crops(rows, image):
    parts = [image[:, row] for row in rows]
    if {test}:
        return torch.cat(parts)
    return np.concatenate(parts)


def run(net, images):
    return crops([0, 1], net(images.cuda()).cuda())
"""


@pytest.mark.parametrize(("test", "count"), [("torch.is_tensor(image)", 0), ("len(rows) > 3", 1)])
def test_a_list_holds_arrays_where_what_it_was_cut_from_is_one(test, count):
    assert len(said(CROPS.format(test=test), "DEV401")) == count


PARTS = """
def best(output):
    boxes, scores = output[0], output[1]
    if {test}:
        boxes = boxes.detach().cpu().numpy()
        scores = scores.detach().cpu().numpy()
    return np.hstack([boxes, scores[:, None]])


def run(net, images):
    return best(net(images.cuda()).cuda())
"""


@pytest.mark.parametrize(
    ("test", "count"),
    [
        ('type(boxes).__name__ != "ndarray"', 0),
        ('type(boxes).__name__ == "Tensor"', 0),
        ("not isinstance(boxes, np.ndarray)", 0),
        ("isinstance(boxes, torch.Tensor)", 0),
    ],
)
def test_the_parts_of_one_object_are_of_one_kind(test, count):
    assert len(said(PARTS.format(test=test), "DEV401")) == count


HANDS = """
class Hand(nn.Module):
    def __init__(self):
        super().__init__()
        self.pose = nn.Linear(3, 3)

    def forward(self, rows, as_tensor=True):
        out = self.pose(rows)
        if not as_tensor:
            out = out.detach().cpu().numpy()
        return out


class Hands(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = Hand(), Hand()

    def forward(self, **given):
        both = []
        for hand in (self.left, self.right):
            both.append(hand({given}))
        return np.concatenate(both)
"""


@pytest.mark.parametrize(("given", "count"), [("**given", 0), ("given['rows']", 1)])
def test_what_a_list_holds_may_be_what_a_flag_out_of_sight_makes_of_it(given, count):
    assert len(said(HANDS.format(given=given), "DEV401")) == count


WARM_UP = """
def warm_up(first: torch.Tensor):
    for card in range(torch.cuda.device_count()):
        rows = first + 1
        {move}
    return rows * first
"""


@pytest.mark.parametrize(
    ("move", "count"),
    [('first.to(f"cuda:{card}")', 0), ("first.cuda(card)", 0), ('first.to("cuda:1")', 1)],
)
def test_no_turn_of_a_loop_keeps_what_goes_to_each_device(move, count):
    assert len(said(WARM_UP.format(move=move), "DEV201")) == count


BATCHES = """
from torch.utils.data import DataLoader


class Trainer:
    def train(self, rows):
        for number, batch in enumerate(DataLoader(rows)):
            {batch}
            loss = self.compute_loss({given})
"""


@pytest.mark.parametrize(
    ("batch", "given", "count"),
    [
        ("batch.to(self.device)", "batch", 0),
        ("images, labels = batch; images.to(self.device)", "images", 1),
    ],
)
def test_a_criterion_may_take_a_whole_batch_which_moves_in_place(batch, given, count):
    assert len(said(BATCHES.format(batch=batch, given=given), "DEV201")) == count


KEYPOINTS = """
class Points(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.keep(rows)

    def keep(self, rows):
        {keep}


class Mirrored(Points):
    def __init__(self, rows):
        super().__init__(rows)
        self.weight = torch.ones(3)

    def forward(self, x: torch.Tensor):
        return self.fc(x) * self.weight
"""


@pytest.mark.parametrize(
    ("keep", "count"),
    [('self.register_buffer("weight", torch.Tensor(rows))', 0), ("self.rows = rows", 1)],
)
def test_what_a_base_class_registers_stays_registered(keep, count):
    assert len(said(KEYPOINTS.format(keep=keep), "DEV205")) == count


COLLECTED = """
def collect(rows):
    found = {made}
    for row in rows:
        found[{first}].append(torch.ones(3, device="cuda"))
        found[{second}].append(torch.ones(3))
    return torch.stack(found[{first}])
"""


@pytest.mark.parametrize(
    ("made", "first", "second", "count"),
    [
        ("{key: [] for key in ('image', 'color')}", "'image'", "'color'", 0),
        ("[[] for _ in range(2)]", "0", "1", 0),
        ("{'image': [], 'color': []}", "'image'", "'image'", 1),
    ],
)
def test_the_lists_of_a_comprehension_are_several(made, first, second, count):
    code = COLLECTED.format(made=made, first=first, second=second)
    assert len(said(code, "DEV101")) == count


LENGTHS = """
class Encoder(nn.Module):
    def forward(self, rows):
        words, lengths = rows
        return np.sort(-lengths), words

    def encode(self, words, sizes):
        return self.forward((words.cuda(), {second}))
"""


@pytest.mark.parametrize(
    ("second", "count"), [("sizes[:3]", 0), ("np.array(sizes)", 0), ("torch.ones(3).cuda()", 1)]
)
def test_the_parts_of_a_tuple_need_not_all_be_tensors(second, count):
    assert len(said(LENGTHS.format(second=second), "DEV401")) == count


WRAPPED = """
class Stack(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.parts = []
        for size in sizes:
            self.parts.append(nn.Linear(size, size))
        around = []
        for {names}:
            around.append({around})
        self.around = nn.Sequential(*around)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return self.around(x)


class Residual(nn.Module):
    def __init__(self, inner, size=3):
        super().__init__()
        self.inner = inner
"""


@pytest.mark.parametrize(
    ("names", "around", "count"),
    [
        ("part in self.parts", "Residual(part)", 0),
        ("size, part in zip(sizes, self.parts)", "Residual(inner=part)", 0),
        ("part in self.parts", "Residual(None, part.in_features)", 1),
    ],
)
def test_what_gets_each_module_of_a_list_may_register_it(names, around, count):
    assert len(said(WRAPPED.format(names=names, around=around), "DEV206")) == count


SCORED = """
class Task(nn.Module):
    def __init__(self, scores):
        super().__init__()
        self.scores = scores


class Embedding(Task):
    def __init__(self):
        self.scores = [nn.Linear(3, 3), nn.Linear(3, 3)]
        super().__init__({given})
"""


@pytest.mark.parametrize(("given", "count"), [("scores=self.scores", 0), ("None", 1)])
def test_a_base_class_may_register_what_it_is_given(given, count):
    assert len(said(SCORED.format(given=given), "DEV206")) == count


CHOSEN = """
class Backbone(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.nets = {{"small": nn.Linear(3, 3), "large": nn.Linear(3, 9)}}
        self.net = self._chosen(size)

    def _chosen(self, size):
        return {chosen}

    def forward(self, x):
        return {result}
"""


@pytest.mark.parametrize(
    ("chosen", "result", "count"),
    [
        ("self.nets[size]", "self.net(x)", 0),
        ("self.nets.get(size)", "self.net(x)", 0),
        ("self.nets[size]", "self.nets['small'](x)", 1),
        ("nn.Linear(3, 3)", "self.net(x)", 1),  # code out of sight may want them
    ],
)
def test_modules_to_choose_from_need_no_place_of_their_own(chosen, result, count):
    assert len(said(CHOSEN.format(chosen=chosen, result=result), "DEV206")) == count


ALIASES = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(3, 3)


class Named(Attention):
    def __init__(self):
        super().__init__()
        self.by_name = {{"key": {module}}}

    def forward(self, x):
        return self.by_name["key"](x)
"""


@pytest.mark.parametrize(("module", "count"), [("self.key", 0), ("nn.Linear(3, 3)", 1)])
def test_what_a_base_class_registers_is_registered(module, count):
    assert len(said(ALIASES.format(module=module), "DEV206")) == count


HEIRS = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(3, 3)
        self.by_name = {"key": self.key}

    def forward(self, x):
        return self.by_name["key"](x)


class Soft(Attention):
    def __init__(self):
        super().__init__()
        self.add()

    def add(self):
        self.soft = nn.Linear(3, 3)
        self.by_name["soft"] = self.soft
        nn.init.zeros_(self.by_name["soft"].weight)
"""


def test_what_an_heir_puts_into_a_container_it_may_register_itself():
    assert said(HEIRS, "DEV206") == []


OFFLOADED = """
def offload(state):
    kept = state.cuda().to("cpu", non_blocking=True).pin_memory()
    {first}
    return kept.sum()
"""


@pytest.mark.parametrize(("first", "count"), [("torch.cuda.synchronize()", 0), ("pass", 1)])
def test_a_copy_without_waiting_is_pinned_already(first, count):
    assert len(said(OFFLOADED.format(first=first), "DEV402")) == count


BOTH_KINDS = """
def to_torch(x):
    if isinstance(x, np.ndarray):
        return torch.from_numpy(x), True
    return x, False


def rotate(points, angle):
    {first}
    out = torch.matmul(points, torch.cos(angle))
    return {given}


def scaled(spec, mean):
    if {test}:
        return spec.exp() * mean
    return np.exp(spec.sum(-1) + mean[:, None])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        y = self.fc(x)
        return rotate(y, y[0]), scaled(y, y[:, 0])
"""
ASKED = "points, is_array = to_torch(points)\n    angle, _ = to_torch(angle)"


@pytest.mark.parametrize(
    ("first", "given", "test", "count"),
    [
        (ASKED, "out.numpy() if is_array else out", "isinstance(spec, torch.Tensor)", 0),
        (ASKED, "out.numpy()", "isinstance(spec, torch.Tensor)", 1),
        (ASKED, "out", "mean.ndim > 1", 1),
        ("pass", "out.numpy()", "isinstance(spec, torch.Tensor)", 1),
    ],
)
def test_what_one_call_hands_in_is_of_one_kind(first, given, test, count):
    code = BOTH_KINDS.format(first=first, given=given, test=test)
    assert len(said(code, "DEV401")) == count


WRITTEN = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def write(self, x):
        return self.lin({given}).detach().numpy()

    def forward(self, x):
        return {result}
"""


@pytest.mark.parametrize(
    ("given", "result", "severity"),
    [
        ("x", "self.lin(x)", "warning"),
        ("x", "self.write(x)", "error"),
        ("x.to(self.lin.weight.device)", "self.lin(x)", "error"),
    ],
)
def test_a_module_may_be_brought_back_for_what_writes_it_down(given, result, severity):
    usual = "import torch\nfrom torch import nn\n"
    found = check_text(usual + WRITTEN.format(given=given, result=result))
    assert [each.severity.value for each in found if each.rule == "DEV401"] == [severity]


EMBEDDED = """
class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.rows = nn.Parameter(torch.rand(3)).to(device)

    def forward(self, x):
        {first} = torch.cat((x, x))
        return self.rows[:2]
"""


@pytest.mark.parametrize(
    ("first", "count"),
    [("self.rows", 0), ("rows", 1), ("self.rows = nn.Parameter(x).to(x.device); rows", 1)],
)
def test_what_a_method_replaces_was_to_be_no_parameter(first, count):
    assert len(said(EMBEDDED.format(first=first), "DEV203")) == count


PAIRED = """
from zoo import load
from typing import Tuple


def ones({pair}):
    return torch.ones(3, device={name}.device)


def encode(rows):
    pair, _ = load(rows)
    return ones(pair).numpy()


print(encode(3))
"""


@pytest.mark.parametrize(
    ("pair", "name", "count"),
    [("pair: Tuple[torch.Tensor, torch.Tensor]", "pair", 0), ("args", "args", 1)],
)
def test_a_tuple_has_no_device_that_anybody_chose(pair, name, count):
    assert len(said(PAIRED.format(pair=pair, name=name), "DEV401")) == count


SETTINGS = """
{head}
    device: str = "cuda:0"


def far(rows, settings: Settings):
    return rows.to(settings.device)


SETTINGS = Settings({given})


def run():
    rows = far(torch.ones(3), SETTINGS)
    return rows.to(SETTINGS.device) + torch.zeros(3, device={where})
"""


@pytest.mark.parametrize(
    "head",
    [
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Settings:",
        "from pydantic import BaseModel\n\n\nclass Settings(BaseModel):",
    ],
)
@pytest.mark.parametrize(
    ("given", "where", "count"),
    [('device="cpu"', '"cpu"', 0), ('device="cpu"', '"cuda"', 1), ("", '"cpu"', 1)],
)
def test_a_declared_field_is_what_its_object_is_given(head, given, where, count):
    found = said(SETTINGS.format(head=head, given=given, where=where), "DEV101")
    assert len(found) == count


DEFAULTS = """
from dataclasses import dataclass


@dataclass
class Settings:
    device: str = "cuda:0"


class Loss(nn.Module):
    def __init__(self, weights, settings: Settings | None = None):
        super().__init__()
        self.weights = weights.to({device})

    def forward(self, x):
        return x * self.weights


def test(settings):
    return Loss(torch.ones(3), settings)(torch.zeros(3))
"""


@pytest.mark.parametrize(("device", "count"), [("settings.device", 0), ('"cuda:0"', 1)])
def test_the_default_of_a_declared_field_is_not_what_others_hand_in(device, count):
    assert len(said(DEFAULTS.format(device=device), "DEV103")) == count


ATTACK = """
class Attack:
    def __init__(self, model):
        self.model = model

    def prepare(self, image):
        if image.dim() == 4:
            {body}
        return image.cuda()


class Fast(Attack):
    {constructor}

    def generate(self, image):
        return self.prepare(image)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.last(x)


net = Net()
image = torch.zeros(2, 3, device="cuda")
attack = Fast(net{more})
attack.generate(image)
net(image)
"""
HANDING_UP = "def __init__(self, net, steps):\n        super().__init__(net)"


@pytest.mark.parametrize(("constructor", "more"), [("steps = 3", ""), (HANDING_UP, ", 3")])
@pytest.mark.parametrize(
    ("body", "count"), [("self.model = self.model.cuda()", 0), ("image = image[0]", 1)]
)
def test_what_an_object_moves_of_its_own_is_moved_for_whoever_made_it(
    constructor, more, body, count
):
    code = ATTACK.format(constructor=constructor, more=more, body=body)
    assert len(said(code, "DEV103")) == count


PREPARED = """
def prepared(image):
    if type(image).__name__ == "ndarray":
        image = torch.tensor(image)
    return image


def run():
    return nn.Linear(3, 3).cuda()(prepared({given}))
"""


@pytest.mark.parametrize(
    ("given", "count"), [('torch.zeros(3, device="cuda")', 0), ("np.zeros(3)", 1)]
)
def test_the_name_of_a_type_says_which_branch_a_call_takes(given, count):
    assert len(said(PREPARED.format(given=given), "DEV103")) == count


ACCURACY = """
def accuracy(output: torch.Tensor, labels):
    if isinstance(labels, list):
        labels = torch.tensor(labels)
    found = output.argmax(1){move}
    return (found == labels).sum()
"""


@pytest.mark.parametrize(
    ("move", "count"), [(".type_as(labels)", 0), (".to(labels.device)", 0), ("", 1)]
)
def test_what_goes_where_another_is_finds_it_there_on_any_way(move, count):
    assert len(said(ACCURACY.format(move=move), "DEV102")) == count


PREPARE = """
from accelerate import Accelerator


def train(loader, deep):
    accelerator = Accelerator()
    if deep:
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    else:
        net = nn.Linear(3, 3)
    {prepare}
    for x in loader:
        net(x.to(accelerator.device))
"""


@pytest.mark.parametrize(
    ("prepare", "count"),
    [("net, loader = accelerator.prepare(net, loader)", 0), ("accelerator.print(net)", 1)],
)
def test_each_of_several_modules_is_prepared(prepare, count):
    assert len(said(PREPARE.format(prepare=prepare), "DEV103")) == count


OWNER = """
def flows(state, batch):
    limit = batch.to(state.device)
    {use}
    if state.device == "cuda":
        limit = limit * 2
    return limit
"""


@pytest.mark.parametrize(("use", "count"), [("pass", 0), ("limit = limit + torch.exp(state)", 1)])
def test_a_device_alone_shows_no_tensor(use, count):
    assert len(said(OWNER.format(use=use), "DEV110")) == count


CAST = """
def as_tensor(x, device=None):
    if device is None and isinstance(x, torch.Tensor):
        device = {own}
    return torch.as_tensor(x, device=device)


def kernel(sigma, device=None):
    if torch.is_tensor(sigma):
        sigma = as_tensor(sigma).item()
    return torch.linspace(0, sigma, 3, device=device)
"""


@pytest.mark.parametrize(("own", "count"), [("x.device", 0), ('"cpu"', 1)])
def test_a_callee_may_take_the_device_of_what_it_is_handed(own, count):
    assert len(told(CAST.format(own=own), "DEV107")) == count


TRAINER = """
from transformers import Trainer
from somewhere import Runner


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.last(x)


net = Net()
runner = {runner}
runner.train()
net(torch.zeros(3, device="cuda"))
"""


@pytest.mark.parametrize(
    ("runner", "count"), [("Trainer(model=net)", 0), ("Runner(net)", 0), ("Runner()", 1)]
)
def test_an_object_of_a_library_may_move_the_module_that_it_is_given(runner, count):
    assert len(said(TRAINER.format(runner=runner), "DEV103")) == count


EXTREME = """
def weighted(x: torch.Tensor, epoch: int):
    weight = {weight}
    return weight * x.sum(-1)
"""


@pytest.mark.parametrize(
    ("weight", "count"),
    [
        ("torch.min(torch.tensor(1.0), torch.tensor(epoch / 3))", 0),
        ("torch.min(input=torch.tensor(1.0), other=torch.tensor(epoch / 3))", 0),
        ("torch.min(torch.ones(3), torch.tensor(epoch / 3))", 1),
    ],
)
def test_the_smaller_of_two_numbers_is_one(weight, count):
    assert len(said(EXTREME.format(weight=weight), "DEV102")) == count


TABLE = """
def row(logits: torch.Tensor):
    table = np.zeros((3, 4))
    index = {index}
    return table[index]
"""


@pytest.mark.parametrize(
    ("index", "count"),
    [
        ("logits.cuda().argmax(-1)", 0),
        ('torch.arange(3, device="cuda")', 1),
        ('torch.tensor(2, device="cuda")', 0),
    ],
)
def test_numpy_reads_one_integer_from_wherever_it_is(index, count):
    assert len(said(TABLE.format(index=index), "DEV401")) == count


ROWS = """
def rows(x: torch.Tensor):
    picked = torch.randint(0, len(x), {size})
    return {read}
"""


@pytest.mark.parametrize(
    ("size", "read", "count"),
    [
        ("size=(8,)", "[x[:, i] for i in picked]", 0),
        ("(8,)", "x[picked[0]]", 0),
        ("(8, 2)", "[x[i] for i in picked]", 1),
        ("(8,)", "x[picked]", 1),
        ("x.shape", "x[picked]", 1),
        ("size=x.shape", "x[picked]", 1),
    ],
)
def test_one_index_is_a_number_that_nothing_copies(size, read, count):
    assert len(said(ROWS.format(size=size, read=read), "DEV308")) == count


ENCODER = """
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 3)

    def forward(self, x):
        return self.last(x)

    def load(self, path, use_cuda=False):
        self.load_state_dict(torch.load(path))
        if use_cuda:
            {move}

    def restore(self, path, use_cuda):
        self.load(path, use_cuda)


def run(path, use_cuda):
    encoder = Encoder()
    encoder.{call}(path, use_cuda)
    return encoder(torch.zeros(3).cuda())
"""


@pytest.mark.parametrize("call", ["load", "restore"])
@pytest.mark.parametrize(("move", "count"), [("self.cuda()", 0), ("self.eval()", 1)])
def test_a_method_may_move_its_object(call, move, count):
    assert len(said(ENCODER.format(call=call, move=move), "DEV103")) == count


GENERATOR = """
class Generator(nn.Module):
    def initialize(self):
        self.net = nn.Linear(3, 3){move}


def run(loader):
    model = Generator()
    model.initialize()
    return [model.net(batch.cuda()) for batch in loader]
"""


@pytest.mark.parametrize(("move", "count"), [(".cuda()", 0), ("", 1)])
def test_a_class_without_a_constructor_may_place_its_parts_itself(move, count):
    assert len(said(GENERATOR.format(move=move), "DEV103")) == count


PROMPT = """
def run(path, use_cuda):
    model = torch.load(path, map_location="cpu")
    model.cuda()
    prompt = torch.rand(1, 1).long()
    {move}
    return model(prompt)
"""


@pytest.mark.parametrize(
    ("move", "count"),
    [
        ("prompt.data = prompt.data.cuda()", 0),
        ("prompt.data = prompt.data + 1", 1),
    ],
)
def test_a_tensor_is_where_its_data_is(move, count):
    assert len(said(PROMPT.format(move=move), "DEV103")) == count


SORTER = """
class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 3)

    def is_cuda(self):
        return {asked}.is_cuda

    def forward(self, rows, order):
        back = torch.from_numpy(np.argsort(order))
        back = back.cuda() if self.is_cuda() else back
        return self.lstm(rows)[0].index_select(1, back)
"""


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("self.lstm.bias_hh_l0", 0),
        ("self.lstm.bias_hh_l0.data", 0),
        ("self.lstm.weight_ih_l0", 0),
        ("torch.zeros(3)", 1),
    ],
)
def test_a_layer_of_torch_says_where_it_is_by_any_of_its_parameters(asked, count):
    assert len(said(SORTER.format(asked=asked), "DEV104")) == count


DEBUG = """
def debug(batch, output):
    shown = output.detach().cpu().numpy()
    return shown, {entry}.detach().numpy()
"""


@pytest.mark.parametrize(
    ("entry", "count"),
    [
        ('batch["meta"]["size"]', 0),
        ('batch["size"]', 1),
    ],
)
def test_a_table_in_a_batch_may_have_been_left_where_it_was(entry, count):
    assert len(said(DEBUG.format(entry=entry), "DEV401")) == count


TRACKER = """
def track(area, model: nn.Module, chosen: torch.Tensor):
    area = area.clone()
    area.votes = torch.zeros(3)
    {move}
    return area.votes[chosen]
"""


@pytest.mark.parametrize(("move", "count"), [("area.to(model.device)", 0), ("area.sort()", 1)])
def test_what_an_object_was_given_is_moved_with_it(move, count):
    assert len(said(TRACKER.format(move=move), "DEV104")) == count


ATTENTION = """
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(3, 3)

    def forward(self, x, shows={default}):
        weights = self.score(x).softmax(-1)
        if shows:
            return weights.detach().numpy()
        return weights
"""


@pytest.mark.parametrize(("default", "confidence"), [("False", "possible"), ("True", "certain")])
def test_the_host_reads_where_an_option_is_on(default, confidence):
    found = check_text("import torch\nfrom torch import nn\n" + ATTENTION.format(default=default))
    assert [each.confidence.value for each in found if each.rule == "DEV401"] == [confidence]


POLICY = """
class Policy(nn.Module):
    def __init__(self, space):
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.scale = torch.tensor([space.high])

    def forward(self, x):
        return self.last(x) * self.scale

    def to(self, device):
        self.scale = self.scale.to(device)
        return {moved}
"""

AGENT = """
from policy import Policy


class Agent:
    def __init__(self, space, cuda):
        self.device = torch.device("cuda" if cuda else "cpu")
        self.policy = Policy(space).to(self.device)

    def act(self, state):
        return self.policy(torch.tensor(state).to(self.device))
"""


@pytest.mark.parametrize(
    ("moved", "count"),
    [("super().to(device)", 0), ("super(Policy, self).to(device)", 0), ("self", 1)],
)
def test_a_class_moves_itself_by_a_method_of_its_own(tmp_path, moved, count):
    head = "import torch\nfrom torch import nn\n"
    (tmp_path / "policy.py").write_text(head + POLICY.format(moved=moved))
    agent = tmp_path / "agent.py"
    agent.write_text(head + AGENT)
    found = [each for each in check_files(tmp_path, agent) if each.rule == "DEV103"]
    assert len(found) == count


TRANSFORM = """
class Noise{base}:
    def __init__(self, sigma):
        super().__init__()
        self.sigma = sigma

    def {method}(self, {given}: torch.Tensor):
        return {given} + self.sigma * torch.randn({given}.shape)
"""


@pytest.mark.parametrize(
    ("base", "method", "given", "count"),
    [
        ("", "__call__", "image", 0),
        ("", "__call__", "scores", 1),
        ("", "apply", "image", 1),
        ("(nn.Module)", "__call__", "image", 1),
    ],
)
def test_an_object_that_is_called_with_a_sample_is_for_data_on_the_host(base, method, given, count):
    code = TRANSFORM.format(base=base, method=method, given=given)
    assert len(said(code, "DEV102")) == count


RATES = """
class Leaky(nn.Module):
    def __init__(self):
        super().__init__()
        {made}

    def keep(self):
        {kept}
        self.rate = torch.ones(3)

    def forward(self, x):
        return x * self.rate
"""


@pytest.mark.parametrize("made", ["self.register_buffer('rate', torch.zeros(3))"])
@pytest.mark.parametrize("other", ["pass", "self.rate = nn.Parameter(torch.zeros(3))"])
def test_a_method_rebinds_where_it_was_made_what_it_registers_itself(made, other):
    assert len(said(RATES.format(made=made, kept="pass"), "DEV207")) == 1
    kept = made if other == "pass" else other
    assert not said(RATES.format(made=made, kept=kept), "DEV207")


MEASURE = """
class Measure:
    def __init__(self, {name}: torch.Tensor):
        self.{name} = {name}


def place(measure: Measure):
    measure.{name}.cuda()
    return measure.{name}.mean(dim=1)
"""


@pytest.mark.parametrize(("name", "count"), [("loss_fn", 0), ("criterion", 0), ("weights", 1)])
def test_what_is_called_like_a_function_moves_in_place(name, count):
    assert len(said(MEASURE.format(name=name), "DEV201")) == count


DRAW = """
def draw(model, count, device=None):
    if device is None:
        device = {own}
    return torch.zeros(count, device=device)


def noise(model, count, device=None):
    return draw(model={given}, count=count) + torch.ones(count, device=device)
"""


@pytest.mark.parametrize(
    ("own", "given", "count"),
    [
        ("next(model.parameters()).device", "model", 0),
        ('"cpu"', "model", 1),
    ],
)
def test_a_callee_may_take_the_device_of_the_module_that_it_is_handed(own, given, count):
    assert len(told(DRAW.format(own=own, given=given), "DEV107")) == count


@pytest.mark.parametrize(("name", "count"), [("_onnx_paste", 0), ("paste", 1)])
def test_what_stands_in_for_another_in_an_export_runs_on_the_host(name, count):
    code = f"def {name}(box: torch.Tensor):\n    return torch.cat((box, torch.zeros(1)))\n"
    assert len(said(code, "DEV102")) == count


ROWS_OF_BATCH = """
from torch.utils.data import DataLoader


def collate(rows):
    return [torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])]


def run(options, rows):
    model = nn.Linear(3, 3).to(options.device)
    for number, data in enumerate(DataLoader(rows, collate_fn=collate)):
        for i in range(len(data)):
            {move}
        print(model(data))
"""


@pytest.mark.parametrize(
    ("move", "count"),
    [("data[i] = data[i].to(options.device)", 0), ("data[i] = data[i] * 2", 1)],
)
def test_who_moves_each_part_of_a_batch_in_its_place_has_a_list(move, count):
    assert len(said(ROWS_OF_BATCH.format(move=move), "DEV103")) == count


GRID = """
def grid(n, device="cpu"):
    if n == 0:
        return torch.zeros(1, device=device)
    return {inner} * 2


def level(n, device="cpu"):
    return torch.zeros(n, device=device)


def command(options):
    device = options.pop("device")
    return level(options.pop("size"))
"""


@pytest.mark.parametrize(
    ("inner", "count"), [("grid(n - 1)", 1), ("level(n)", 0), ("grid(n - 1, device)", 0)]
)
def test_what_another_function_leaves_on_its_default_device_is_mostly_moved_later(inner, count):
    """What a function leaves to its own default is not: its callers get the one and the other. Nor
    is it by a command that reads its device nowhere."""
    assert len(said(GRID.format(inner=inner), "DEV107")) == count + 1
    assert len(told(GRID.format(inner=inner), "DEV107")) == 1 + (not inner.endswith("device)"))


FED = """
def scores(model, {given}device):
    model.to(device)
    rows = {rows}
    return model(rows)


def {main}(net):
    scores(net, {hands}"cuda")
"""


@pytest.mark.parametrize(
    ("given", "rows", "hands", "count"),
    [
        ("", "torch.zeros(3, 4)", "", 1),
        ("", "torch.zeros(3, 4).to(device)", "", 0),
        ("rows, ", "rows", "torch.zeros(3, 4), ", 0),
    ],
)
def test_an_input_may_be_moved_on_its_way_to_the_module(given, rows, hands, count):
    """Where the function that calls the module makes it, there is no way. What only may be on the
    module's device is `possible`: the module, or what is between, mostly moves it."""
    code = FED.format(given=given, rows=rows, hands=hands, main="main")
    assert len(said(code, "DEV103")) == count


NAMED = """
class Runner:
    def __init__(self, net, asked):
        {chosen}
        self.net = net.to(self.device)
"""


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ("if asked: self.device = 'cuda'\n        else: self.device = 'cpu'", 0),
        ("self.device = 'cpu'\n        if torch.cuda.is_available(): self.device = 'cuda'", 0),
        ("self.device = 'cuda'\n        if asked: self.device = asked", 0),
        ("self.device = 'cuda:0'", 1),
    ],
)
def test_a_name_that_holds_one_device_of_two_is_a_choice(chosen, count):
    assert len(said(NAMED.format(chosen=chosen), "DEV501")) == count


CAPABLE = """
def dtype(device, wants):
    {how} {test} and torch.cuda.get_device_name().endswith("A"):
        return torch.float16
"""


@pytest.mark.parametrize("how", ["if", "while"])
@pytest.mark.parametrize(
    ("test", "count"),
    [('"cuda" in device', 0), ('"cuda" in device and wants', 0), ("wants", 1)],
)
def test_the_right_side_of_a_condition_is_asked_only_where_the_left_one_holds(how, test, count):
    assert len(said(CAPABLE.format(how=how, test=test), "DEV504")) == count


NOISE = """
from {where} import {draw}


def noise(shape):
    return {draw}(shape, generator=torch.manual_seed(0), device="cuda")
"""


@pytest.mark.parametrize(
    ("where", "draw", "count"),
    [("torch", "randn", 1), ("diffusers.utils.torch_utils", "randn_tensor", 0)],
)
def test_a_library_may_draw_where_the_generator_is(where, draw, count):
    """diffusers draws on the host for such a generator, and moves what it has drawn."""
    assert len(said(NOISE.format(where=where, draw=draw), "DEV105")) == count


HELD = """
def differences():
    net, other = nn.Linear(3, 3), nn.Linear(3, 3)
    weight = {held}
    net = net.to("cuda")
    return weight - net.weight
"""


@pytest.mark.parametrize(
    ("held", "count"), [("net.weight", 0), ("other.weight", 1), ("net.weight.clone()", 1)]
)
def test_a_parameter_under_a_name_of_its_own_moves_with_its_module(held, count):
    assert len(said(HELD.format(held=held), "DEV101")) == count


TIMES = """
def times(x: torch.Tensor, uniform):
    noise = torch.randn_like(x)
    if uniform:
        t = torch.rand((x.shape[0],)) * 2
    else:
        t = 1 / torch.exp(torch.normal(mean=0.0, std=1.0, size=(x.shape[0],)))
    {then}
    return t, noise
"""


@pytest.mark.parametrize(("then", "count"), [("t = t.to(x)", 0), ("t = t * 2", 1)])
def test_what_two_branches_make_under_a_name_is_moved_under_it(then, count):
    assert len(said(TIMES.format(then=then), "DEV102")) == count
