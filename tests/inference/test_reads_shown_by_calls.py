"""What the host reads of a parameter, and may be an array: a call that hands in a tensor from an
accelerator shows that it is none."""

import pytest
from given import host_reads, settled

SHOW = """
import numpy as np
import matplotlib.pyplot as plt

def show(images):
    {read}

{calls}
"""
MADE = "x = torch.zeros(3, device='cuda')"


@pytest.mark.parametrize(
    "read", ["plt.imshow(images[0])", "np.mean(images)", "plt.plot(images * 2)"]
)
def test_a_call_that_hands_in_a_tensor_shows_the_read(read):
    calls = f"def main():\n    {MADE}\n    show(x)"
    (found,) = host_reads(settled(SHOW.format(read=read, calls=calls)))
    assert found.endswith("likely")


@pytest.mark.parametrize(
    "calls",
    [
        "",
        "def main(rows):\n    show(np.asarray(rows))",
        f"def main():\n    {MADE}\n    show(x.cpu())",
        # for arrays as well: whoever calls knows
        f"def main():\n    {MADE}\n    show(x)\n    show(np.zeros(3))",
        # which of several is handed in may go by what the function asks
        f"def main(rows, flag):\n    {MADE}\n    show(x if flag else rows)",
        # a method of that name, of whatever object
        f"def main(view):\n    {MADE}\n    view.show(x)",
    ],
)
def test_without_one_nothing_is_said(calls):
    found = host_reads(settled(SHOW.format(read="np.mean(images)", calls=calls)))
    assert not any(each.endswith(("likely", "certain")) for each in found)


LENGTHS = """
from torch.nn.utils.rnn import pack_padded_sequence

class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 3)

    def forward(self, rows, lengths):
        return self.rnn(pack_padded_sequence(rows, lengths))

def train(loader, device):
    reader = Reader().to(device)
    for rows, lengths in loader:
        reader(rows.to(device), {lengths})
"""


@pytest.mark.parametrize(("lengths", "count"), [("lengths.to(device)", 1), ("lengths", 0)])
def test_lengths_that_a_call_brings_to_the_device(lengths, count):
    found = host_reads(settled(LENGTHS.format(lengths=lengths)))
    assert sum(each.endswith("likely") for each in found) == count


def test_an_array_takes_indices_of_the_host():
    code = """
    import numpy as np
    COLORS = np.zeros((4, 3))
    def paint(net, x):
        net.cuda()
        found = net(x.cuda())
        labels, best = found.argmax(1), found.argmax()
        return COLORS[labels], COLORS[labels.cpu()], COLORS[best]
    """
    assert len(host_reads(settled(code))) == 1


PICKED = """
class Attack:
    def __init__(self, net):
        self.net = net.cuda()

    def chances(self, x):
        return self.net(x).detach().cpu().numpy()

    def loss(self, x, label):
        return {read}

    def run(self, x, labels: torch.Tensor):
        labels = labels.cuda()
        return [self.loss(x, labels[{row}]) for i in range(len(labels))]
"""
AT = "self.chances(x)[:, label]"


@pytest.mark.parametrize(
    ("read", "row", "confidence"),
    [
        # NumPy takes one number by `Tensor.__index__`
        (AT, "i : i + 1", "possible"),
        (AT, "0:1", "possible"),
        (AT, "i : i + 2", "likely"),
        (AT, "i:", "likely"),
        # to read it as an array is another thing
        ("np.mean(label)", "i : i + 1", "likely"),
    ],
)
def test_an_array_is_read_at_one_number_from_anywhere(read, row, confidence):
    code = "import numpy as np\n" + PICKED.format(read=read, row=row)
    (found,) = host_reads(settled(code))
    assert found.endswith(confidence)


def test_one_row_of_a_matrix_is_none():
    code = """
    import numpy as np
    TABLE = np.zeros((4, 3))
    def read(x, i):
        one, many = torch.arange(3, device="cuda"), torch.ones(3, 3, device="cuda")
        return TABLE[one[i : i + 1]], TABLE[many[i : i + 1]]
    """
    assert len(host_reads(settled(code))) == 1


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("{'first': x, 'second': x * 2}", 1),
        ("dict(first=x)", 1),
        ("{'first': x.cpu()}", 0),
        ("{'first': np.zeros(3)}", 0),
        # one of them is an array: which of them is drawn?
        ("{'first': x, 'second': np.zeros(3)}", 0),
    ],
)
def test_a_call_hands_in_what_its_table_holds(given, count):
    calls = f"def main():\n    {MADE}\n    show({given})"
    found = host_reads(settled(SHOW.format(read="plt.plot(images['first'])", calls=calls)))
    assert sum(each.endswith("likely") for each in found) == count


INNER = """
import numpy as np

def first(rows):
    def order(values):
        return np.argsort(values)
    return order({first})

def second(rows):
    def order(values):
        return np.argsort(values)
    return order({second})
"""


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("torch.cat(rows).cuda()", "torch.cat(rows).cuda()", 2),
        ("torch.cat(rows).cuda()", "np.zeros(3)", 1),  # another function of the same name
        ("torch.cat(rows).cpu()", "rows", 0),
    ],
)
def test_a_function_within_another_gets_what_its_calls_hand_in(first, second, count):
    found = host_reads(settled(INNER.format(first=first, second=second)))
    assert sum(each.endswith("likely") for each in found) == count
