"""What a function finds is what others left: globals that they move, a default device, and which of
two classes a part was made of."""

import pytest
from given import met

GLOBAL_NET = """\
net = nn.Linear(3, 3)


def prepare(device):
    {prepares}


def run(x):
    return net(x.to("cuda"))
"""


def test_a_global_module_that_a_function_moves_may_be_in_either_place():
    assert met(GLOBAL_NET.format(prepares="net.to(device)")) == []


def test_a_global_module_that_nobody_moves_is_where_it_was_made():
    assert met(GLOBAL_NET.format(prepares="print(net)"))


def test_a_name_of_its_own_that_a_function_moves_is_no_global():
    prepares = "net = nn.Linear(4, 4)\n    net.to(device)"
    assert met(GLOBAL_NET.format(prepares=prepares))


def test_what_a_function_moves_itself_is_where_it_moved_it():
    moved = GLOBAL_NET.format(prepares="pass").replace('    return net(x.to("cuda"))', "    MOVE")
    on_host = 'net.to("cpu")\n    return net(x.to("cuda"))'
    assert met(moved.replace("MOVE", on_host))


TOKENS = """\
import torch
from transformers import AutoModel, AutoTokenizer

{default}
tokenizer = AutoTokenizer.from_pretrained("bert")
model = AutoModel.from_pretrained("bert").to("cuda")


def main(text):
    batch = tokenizer(text, return_tensors="pt")
    return model(**batch)
"""


def test_a_tokenizer_makes_its_tensors_on_the_default_device():
    default = 'torch.set_default_device("cuda")'
    assert met(TOKENS.format(default=default)) == []
    assert met(TOKENS.format(default=""))


EITHER_CLASS = """\

class Mild(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.weight


class Strong(Mild):
    def forward(self, x):
        return x * self.weight * self.weight


class Net(nn.Module):
    def __init__(self, strong):
        super().__init__()
        if strong:
            part = Strong()
        else:
            part = Mild()
        self.add_module("part", part)

    def forward(self, x):
        return self.part(x)


def main(x):
    net = Net(True).to("cuda")
    return net(x.to({device!r}))
"""


def test_a_part_of_either_class_lives_where_its_module_lives():
    assert met(EITHER_CLASS.format(device="cuda")) == []
    assert met(EITHER_CLASS.format(device="cpu"))


MOVED_ENTRIES = """\
from torch.utils.data import DataLoader


def to_card(batch, device):
    {moves}


def train(dataset):
    net = nn.Linear(3, 3).cuda()
    for batch in DataLoader(dataset, batch_size=4):
        to_card(batch, "cuda")
        net(batch["x"])
"""


@pytest.mark.parametrize(
    "moves",
    [
        "for key in batch: batch[key] = batch[key].to(device)",
        "for key, value in batch.items(): batch[key] = value.to(device)",
        'batch["x"] = batch["x"].to(device)',
        "batch['x'] = batch['x'].to(device)",
    ],
)
def test_entries_that_a_callee_moves_in_place_are_moved(moves):
    assert met(MOVED_ENTRIES.format(moves=moves)) == []


@pytest.mark.parametrize(
    "moves",
    [
        "return {key: value.to(device) for key, value in batch.items()}",
        'batch["y"] = batch["y"].to(device)',
        'for key in batch: batch[key] = batch[key].to("cpu")',
    ],
)
def test_entries_that_stay_where_they_are_meet_the_module(moves):
    assert met(MOVED_ENTRIES.format(moves=moves))


def test_entries_of_a_dict_of_the_caller_are_moved_too():
    code = """
        def to_card(batch):
            for key in batch:
                batch[key] = batch[key].cuda()

        def main():
            batch = {"x": torch.ones(3)}
            before = batch["x"] + torch.ones(3).cuda()
            to_card(batch)
            return batch["x"] + torch.ones(3).cuda()
    """
    assert len(met(code)) == 1
