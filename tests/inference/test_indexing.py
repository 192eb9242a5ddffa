"""Indexing is not symmetric: a host index reaches a device tensor, never the other way round."""

import pytest
from given import given, hidden_copies, host_reads, meetings, met, revealed

X = 'x = torch.zeros(3, device="cuda")\ny = torch.zeros(3)\ni = torch.tensor([0, 1])\n'


def test_a_host_index_of_a_device_tensor_is_copied_in_silence():
    facts = given(f"{X}x[i]")
    assert meetings(facts) == []
    assert hidden_copies(facts) == ["index i@cpu of x@cuda"]


@pytest.mark.parametrize("index", ["i.cuda()", "x > 0"])
def test_a_device_index_of_a_host_tensor_is_refused(index):
    assert met(f"{X}y[{index}]") == [f"index: y@cpu index {index}@cuda certain"]


@pytest.mark.parametrize(
    "index",
    ["0", ":2", "None", "...", "torch.tensor(1)", "[0, 1]", "x.argmax()", "x.argmax():", "x.any()"],
)
def test_numbers_slices_and_scalars_index_anything(index):
    facts = given(f"{X}x[{index}]\ny[{index}]")
    assert meetings(facts) == []


@pytest.mark.parametrize("index", ["i.cuda()", "x > 0", "i.cuda(), 0"])
def test_what_is_written_takes_its_index_from_anywhere(index):
    assert met(f"{X}y[{index}] = 1") == []
    assert met(f"{X}y[{index}] = x.sum()") == []
    assert [m.partition(" index ")[0] for m in met(f"{X}y[{index}] += 1")] == ["index: y@cpu"]
    assert met(f"{X}y[{index}] = x[:2]") == ["x[:2]@cuda index assignment y@cpu certain"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("x.index_put_((i,), x[:2])", []),
        ("x.index_put([i, i.cuda()], x[:2], accumulate=True)", []),
        ("x.index_put((i,), torch.tensor(1.0))", []),
        ("y.index_put_((i.cuda(),), torch.zeros(2))", []),
        ("torch.index_put(x, (i,), x[:2])", []),
        ("x.index_put_((i,), y[:2])", ["y[:2]@cpu .index_put_ x@cuda certain"]),
        ("y.index_put_((i,), x[:2])", ["y@cpu .index_put_ x[:2]@cuda certain"]),
        ("y.gather(0, i.cuda())", ["index: y@cpu .gather i.cuda()@cuda certain"]),
    ],
)
def test_index_put_takes_indices_from_anywhere_and_values_from_where_the_tensor_is(call, expected):
    assert met(X + call) == expected


@pytest.mark.parametrize(
    ("index", "confidence"),
    [
        ("spots", "likely"),
        ("spots[counts > 1]", "likely"),
        ("counts.nonzero(as_tuple=True)[0]", "likely"),
        ("counts[spots[0]]", "possible"),
        ("counts[counts.argmax()] - 1", "possible"),
        ("counts.argmax(), counts[spots[0]] - 1", "possible"),
        ("counts.argmax()", ""),
    ],
)
def test_an_element_picked_by_one_number_may_be_one_itself(index, confidence):
    code = f"""
    def pick(counts: torch.Tensor):
        (spots,) = torch.where(counts > 2)
        return torch.zeros(9, 9)[{index}]
    """
    assert [m.rpartition(" ")[2] for m in met(code)] == [confidence] * bool(confidence)


@pytest.mark.parametrize(
    ("rows", "confidence"),
    [
        ("(counts > 2).nonzero(as_tuple=True)[0]", ""),
        ("torch.where(counts > 2)[0]", ""),
        ("(counts > 2).nonzero().unbind(1)[0]", "possible"),
        ("(counts > 2).nonzero()", "likely"),
    ],
)
def test_the_positions_of_what_is_not_zero(rows, confidence):
    code = f"""
    def pick(counts: torch.Tensor):
        return [torch.zeros(9)[row] for row in {rows}]
    """
    assert [m.rpartition(" ")[2] for m in met(code)] == [confidence] * bool(confidence)


@pytest.mark.parametrize("index", ["i", "0", ":2", "x > 0", "..., 0"])
def test_what_is_picked_lives_where_the_tensor_does(index):
    assert revealed(f"{X}reveal(x[{index}])") == ["cuda"]


def test_assigning_a_host_tensor_to_a_part_is_a_hidden_copy():
    facts = given(f"{X}x[0] = torch.ones(3)")
    assert meetings(facts) == []
    assert hidden_copies(facts) == ["assignment torch.ones(3)@cpu of x@cuda"]


def test_assigning_a_host_tensor_through_an_index_is_refused():
    assert met(f"{X}x[i.cuda()] = torch.zeros(2)") == [
        "torch.zeros(2)@cpu index assignment x@cuda certain"
    ]


@pytest.mark.parametrize("value", ["1.0", "torch.tensor(1.0)"])
def test_assigning_a_number_through_an_index_is_right(value):
    assert met(f"{X}x[i.cuda()] = {value}") == []


@pytest.mark.parametrize(
    "operation",
    [
        "x.index_select(0, i)",
        "x.gather(0, i)",
        "torch.index_select(x, 0, i)",
        "x.masked_fill(i.bool(), 0)",
        "x.masked_fill_(i.bool(), torch.tensor(0.0))",
    ],
)
def test_the_functions_that_index_want_their_index_on_the_device(operation):
    [meeting] = met(X + operation)
    assert meeting.startswith("index: i")
    assert meeting.endswith("x@cuda certain")


def test_out_must_be_where_the_result_is():
    [meeting] = met(f"{X}torch.add(x, 1, out=y)")
    assert meeting == "index: y@cpu torch.add x@cuda certain"


@pytest.mark.parametrize("maker", ["torch.manual_seed(0)", "torch.random.manual_seed(0)"])
def test_the_generator_that_a_seed_gives_is_the_host_s(maker):
    (found,) = met(f'torch.randn(3, device="cuda", generator={maker})')
    assert found.startswith("generator: ") and "@cpu torch.randn" in found
    assert met(f"torch.randn(3, generator={maker})") == []


def test_a_generator_belongs_to_one_device():
    code = 'g = torch.Generator()\ntorch.randn(3, device="cuda", generator=g)'
    [meeting] = met(code)
    assert meeting.startswith("generator: g@cpu torch.randn")


@pytest.mark.parametrize(
    "code",
    [
        "g = torch.Generator()\ntorch.randn(3, generator=g)",
        'g = torch.Generator(device="cuda")\ntorch.randn(3, device="cuda", generator=g)',
        'g = torch.Generator("cuda").manual_seed(1)\ntorch.randn(3, device="cuda", generator=g)',
    ],
)
def test_a_generator_of_the_same_device_is_right(code):
    assert met(code) == []


def test_numbers_in_all_dimensions_in_sight_may_leave_a_number():
    code = """
    def pick(pairs: torch.Tensor):
        mask = torch.ones(4)
        mask[pairs[0, 1]] = 0
        return mask[pairs[:2]]
    """
    sure = [m for m in met(code) if "possible" not in m]
    assert len(sure) == 1 and "pairs[:2]@" in sure[0], sure


LOOKUP = """
    def looked_up(index, table{annotation}):
        return {table}[index]

    def main(index, table, device):
        index = index.to(device)
        return looked_up({index}, {given})
"""


@pytest.mark.parametrize(
    ("table", "index", "given", "found"),
    [
        ("torch.eye(4)", "index.long()", "table", 1),  # made by the helper
        ("table", "index.long()", "torch.eye(4)", 1),  # handed in
        ("table", "index.long()", "torch.eye(4).to(device)", 0),
        ("table", "3", "torch.eye(4)", 0),
        ("table", "torch.arange(3)", "torch.eye(4).to(device)", 0),  # a host index is copied
        ("table", "index.long()", "[1, 2]", 0),  # no tensor at all
    ],
)
def test_an_index_is_a_constraint_of_the_function_that_calls_complete(table, index, given, found):
    code = LOOKUP.format(annotation="=None", table=table, index=index, given=given)
    assert len([each for each in met(code) if each.startswith("index")]) == found


TABLE = """
def order(scores: torch.Tensor):
    for row in scores:
        score = row[0]
        table = torch.arange(9)
        {line}
"""


@pytest.mark.parametrize(
    ("line", "confidence"),
    [
        ("best, at = score.topk(3); table[at]", "likely"),
        ("table[torch.argsort(score)]", "likely"),
        ("torch.arange(len(score))[score > 0]", "likely"),  # what is counted has a dimension
        ("torch.arange(score.shape[0])[score > 0]", "likely"),
        ("table[score > 0]", "likely"),  # a mask has one
        ("table[~score.bool()]", "likely"),
        ("table[score.long()]", "possible"),
    ],
)
def test_what_is_ordered_or_counted_has_a_dimension(line, confidence):
    [found] = met(TABLE.format(line=line))
    assert found.endswith(confidence)


@pytest.mark.parametrize("line", ["table[score.sum()]", "table[at.item()]", "table[len(score)]"])
def test_a_number_is_a_good_index_anywhere(line):
    assert met(TABLE.format(line=f"best, at = score.max(0); {line}")) == []


@pytest.mark.parametrize(
    ("value", "confidence"),
    [
        ("boxes[0][1, 2] / 2", "possible"),  # one number, which is brought along
        ("boxes[:3]", "certain"),
    ],
)
def test_one_number_may_be_assigned_through_an_index_from_anywhere(value, confidence):
    code = f"""
    class Loss(nn.Module):
        def forward(self, boxes: torch.Tensor):
            rows = torch.zeros(4, 4)
            rows[torch.arange(3)] = {value}
            return rows
    """
    assert [fact.split()[-1] for fact in met(code)] == [confidence]


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("F.mse_loss(net(x.cuda()), y.cuda()).data[0]", 0),  # a number, in PyTorch 0.3
        ("(net(x.cuda()).sum() / n).data[0]", 0),
        ("F.mse_loss(net(x.cuda()), y.cuda()).data", 1),
        ("net(x.cuda()).data[0]", 1),
    ],
)
def test_of_what_has_no_dimensions_the_first_is_a_number(loss, found):
    code = f"""
        import numpy as np

        def train(net, x, y, n):
            net.cuda()
            losses = []
            for _ in range(3):
                losses.append({loss})
            return np.mean(losses)
    """
    assert len(host_reads(given(code))) == found
