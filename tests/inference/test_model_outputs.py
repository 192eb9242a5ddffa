"""What a model out of sight gives is where the model is, and so is each value that it holds."""

import pytest
from given import given, host_reads, met, settled

MODEL = """
from transformers import AutoModel

def run(name, rows, labels):
    net = AutoModel.from_pretrained(name).to("cuda")
    out = net(rows.to("cuda"))
    return {made}
"""


@pytest.mark.parametrize(
    "made", ["F.cross_entropy(out.logits, torch.zeros(3))", "out.loss.cuda() + torch.ones(3)"]
)
def test_its_values_meet_what_is_on_the_host(made):
    assert len(met(MODEL.format(made=made))) == 1


@pytest.mark.parametrize(
    "made", ["F.cross_entropy(out.logits, torch.zeros(3, device='cuda'))", "out.count + 1"]
)
def test_and_not_what_is_with_them_nor_a_number(made):
    assert met(MODEL.format(made=made)) == []


def test_the_host_reads_them_in_vain():
    assert len(host_reads(settled(MODEL.format(made="out.logits.numpy()")))) == 1
    assert host_reads(settled(MODEL.format(made="out.logits.cpu().numpy()"))) == []


LOADED = """
def load(path):
    return torch.jit.load(path{where}){moved}

def run(path, rows):
    return load(path)(torch.from_numpy(rows){there})
"""


@pytest.mark.parametrize(
    ("where", "moved", "there", "count"),
    [
        (", map_location='cuda'", "", "", 1),
        ("", ".cuda()", "", 1),
        (", map_location='cpu'", ".cuda()", ".cuda()", 0),
        ("", "", "", 0),  # wherever it was saved
    ],
)
def test_a_scripted_module_that_is_loaded_is_one(where, moved, there, count):
    assert len(met(LOADED.format(where=where, moved=moved, there=there))) == count


HELD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

net = None

def load():
    global net
    net = Net()
    {moved}

def run(rows):
    return net(rows.cuda())
"""


@pytest.mark.parametrize(
    ("moved", "count"), [("net.cuda()", 0), ("net.cuda().eval()", 0), ("net.eval()", 1)]
)
def test_a_global_that_a_function_makes_and_moves_is_somewhere(moved, count):
    assert len(met(HELD.format(moved=moved))) == count


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("batch['image'].cpu()", ["explicit-host-is-meant-elsewhere"]),
        ("torch.ones(3)", []),
    ],
)
def test_who_copies_to_the_host_where_an_entry_is_met_knows_where_that_is(other, expected):
    facts = given(f"""
        from zoo import build

        net = build("unet").cuda()
        batch = {{"image": torch.rand(3).cuda()}}
        outputs = net(**batch)
        assert torch.equal(outputs["image"], {other})
    """)
    assert [[a.kind.value for a in fact.assumptions] for fact in facts.meetings] == [expected]
