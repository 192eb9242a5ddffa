"""One of several devices: what goes there is there only where the code chose that one."""

import pytest
from given import given, host_reads, met

CHOSEN = """
    def run(flag, other, x):
        {choice}
        y = torch.ones(3).to(place)
        net = nn.Linear(3, 3).to(place)
        {use}
"""
CHOICES = (
    'place = "cuda" if flag else "cpu"',
    'if flag: place = "cuda"\n        else: place = "cpu"',
    'place = "cpu"\n        if flag: place = torch.device("cuda")',
)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("y.numpy()", 1),
        ("if flag: y.numpy()", 1),
        ("if not flag: y.numpy()", 0),
        ("return y.numpy() if not flag else y", 0),
        ("if other: y.numpy()", 1),
        ("flag = other\n        if not flag: y.numpy()", 1),  # another flag by then
    ],
)
def test_a_tensor_is_read_where_its_device_was_chosen(choice, use, found):
    assert len(host_reads(given(CHOSEN.format(choice=choice, use=use)))) == found


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("net(torch.ones(3))", 1),
        ("if flag: net(torch.ones(3))", 1),
        ("if not flag: net(torch.ones(3))", 0),
        ("if not flag: y + torch.ones(3)", 0),
        ("if flag: y + torch.ones(3)", 1),
    ],
)
def test_a_module_is_called_where_its_device_was_chosen(choice, use, found):
    assert len(met(CHOSEN.format(choice=choice, use=use))) == found


@pytest.mark.parametrize(("test", "found"), [("flag", 1), ("not flag", 0)])
def test_a_move_of_what_is_unknown_goes_there_too(test, found):
    use = f"z = (x.first[0]).to(place)\n        if {test}: z.detach().numpy()"
    assert len(host_reads(given(CHOSEN.format(choice=CHOICES[0], use=use)))) == found
