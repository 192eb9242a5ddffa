"""What callers do with what they hand in says where it is, though nothing shows whence it came."""

import pytest
from given import Files, given, meetings, settled

from devlint.inference.call_contexts import Feeds

SHIFT = """
import numpy as np
from PIL import Image
from elsewhere import encode, image_to_tensor, tensor_to_image

def shift(rows: torch.Tensor):
    return rows + torch.arange(4)

{caller}
"""
RAISES = "torch.arange(4)@cpu + rows@δ(rows) likely"
OPEN = "torch.arange(4)@cpu + rows@δ(rows) possible"
LOOP = """
def run(source, net, device):
    for batch in source:
        {lines}
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("net(batch['kinds'].to(device)); net(shift(batch['kinds']))", OPEN),
        ("net(batch.kinds.cuda()); shift(batch.kinds)", OPEN),
        ("out = shift(batch['kinds']); net(batch['kinds'].to(device))", OPEN),
        # from here on it is there
        ("batch['kinds'] = batch['kinds'].to(device); shift(batch['kinds'])", RAISES),
        ("net(batch['kinds'].to(torch.half)); shift(batch['kinds'])", RAISES),
        ("net(batch['rows'].to(device)); shift(batch['kinds'])", RAISES),
        ("batch.kinds.to(device); shift(batch.kinds)", RAISES),  # as a module moves, in place
        ("net(batch['kinds'].to(device)); shift(batch['kinds'].cuda())", RAISES),
    ],
)
def test_what_a_caller_moves_elsewhere_is_not_there_yet(lines, expected):
    caller = LOOP.format(lines=lines)
    assert meetings(settled(SHIFT.format(caller=caller)))[0] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("image_to_tensor(Image.open(path))", OPEN),
        ("encode(Image.open(path))", RAISES),
        ("tensor_to_image(Image.open(path))", RAISES),
        ("image_to_tensor(Image.open(path)).cuda()", RAISES),
        ("image_to_tensor(Image.open(path), device='cuda')", RAISES),
    ],
)
def test_a_helper_that_makes_tensors_of_images_by_its_name(value, expected):
    caller = f"def read(path):\n    return shift({value})"
    assert meetings(settled(SHIFT.format(caller=caller)))[0] == expected


RATE = """
class Sampler:
    def rate(self, t, table):
        low = torch.tensor([0.01])
        return table[t].unsqueeze(0) * low

    def run(self, steps, net):
        table = torch.cumprod(1 - self.scheduler.betas, dim=0)
        for t in steps:
            net(self.rate({index}, {table}))
"""


@pytest.mark.parametrize(
    ("index", "table", "confidence"),
    [
        ("t.long().cpu()", "table", "possible"),
        ("t", "table", "likely"),
        ("t.long().cpu()", "table.cuda()", "likely"),
    ],
)
def test_who_copies_an_index_to_the_host_has_the_table_there(index, table, confidence):
    [found] = meetings(settled(RATE.format(index=index, table=table)))
    assert found.endswith(confidence)


TRAINER = """
from nets import Net

def shift(rows: torch.Tensor):
    return rows.to(rows.dtype) + torch.arange(4)

class Trainer:
    def __init__(self, device):
        self.net = Net(4).to(device)
        shift({rows})
"""


@pytest.mark.parametrize(
    ("rows", "is_met"),
    [("self.net.rows.exp()[:3]", False), ("self.net(torch.ones(4).to(device))", True)],
)
def test_an_attribute_of_a_module_that_was_not_read_need_not_move_with_it(
    rows, is_met, monkeypatch
):
    nets = {"nets.py": "class Net(nn.Module):\n    pass"}
    monkeypatch.setattr(Files, "load", lambda files, name: None)
    facts = given(TRAINER.format(rows=rows), nets)
    [parameter] = [meeting.given for meeting in facts.meetings]
    assert Feeds(facts.feeds).verdict(parameter).is_met is is_met


READ = """
import numpy as np
import plotly.graph_objects as go

def noisy(rows: torch.Tensor, centre: torch.Tensor):
    noise = torch.randn(len(rows))
    {lines}
"""


@pytest.mark.parametrize(
    ("lines", "confidence"),
    [
        ("return (noise + rows).numpy()", "possible"),
        ("made = noise + rows; return np.sort(made[0])", "possible"),
        ("noise += rows; return go.Scatter(x=noise[0])", "possible"),
        ("made = noise * rows; made += centre; return go.Mesh3d({'x': made[0]})", "possible"),
        ("return noise + rows", "likely"),
        ("return (noise + rows).cpu().numpy()", "likely"),
        ("made = noise + rows; return np.sort(noise)", "likely"),
        ("made = noise + rows; return made, np.zeros(len(made))", "likely"),
    ],
)
def test_what_the_host_reads_of_two_that_meet_shows_that_both_are_there(lines, confidence):
    found = meetings(given(READ.format(lines=lines)))
    assert found[0].endswith(confidence)
