"""Loops: a body is walked until one more turn leaves nothing new."""

from itertools import pairwise

import pytest
from given import given, meetings, met, syncs
from hypothesis import example, settings
from hypothesis import given as forall
from hypothesis import strategies as st

NAMES = "abcdef"
START = "".join(f"{name} = torch.zeros(3)\n" for name in NAMES)


def loop(body, head="for turn in range(8):"):
    return START + "\n".join([head, *(f"    {line}" for line in body)]) + "\n"


def chain(length, last):
    """`a = b`, `b = c`, …: what the last name is given, the first holds so many turns later."""
    links = [*NAMES[:length], last]
    return [f"{name} = {given}" for name, given in pairwise(links)]


def claimed(code):
    """The claims of a program, wherever they stand, and however sure."""
    return sorted({claim.rpartition(" ")[0] for claim in meetings(given(code))})


lengths = pytest.mark.parametrize("length", range(1, len(NAMES) + 1))
heads = pytest.mark.parametrize("head", ["for turn in range(8):", "while todo():"])


@lengths
@heads
def test_what_a_turn_leaves_the_next_one_reads(length, head):
    body = ["a + torch.ones(3)", *chain(length, "torch.zeros(3).cuda()")]
    assert met(loop(body, head)) == ["torch.ones(3)@cpu + a@cuda certain"]


@lengths
def test_the_host_reads_what_later_turns_leave(length):
    body = ["a.item()", *chain(length, "torch.zeros(3).cuda()")]
    assert len(syncs(given(loop(body)))) == 1


@lengths
def test_a_container_is_read_as_later_turns_leave_it(length):
    kept = [f"kept['{name}']" for name in NAMES[:length]]
    body = [
        "kept['a'] + torch.ones(3)",
        *(f"{to} = {of}" for to, of in pairwise(kept)),
        f"{kept[-1]} = torch.zeros(3).cuda()",
    ]
    start = "kept = {" + ", ".join(f"'{name}': torch.zeros(3)" for name in NAMES) + "}\n"
    assert len(met(start + loop(body))) == 1


@lengths
def test_a_loop_in_a_loop_passes_on_what_both_leave(length):
    inner = chain(length, "torch.zeros(3).cuda()")
    body = ["for batch in range(8):", "    a + torch.ones(3)", *(f"    {line}" for line in inner)]
    assert len(met(loop(body))) == 1
    outer = [*body[:2], *inner]
    assert len(met(loop(outer))) == 1


def test_a_turn_that_ends_early_leaves_what_it_holds_then():
    body = [
        "a + torch.ones(3)",
        *chain(3, "torch.zeros(3).cuda()"),
        "if todo():",
        "    continue",
        "a = b = c = torch.zeros(3)",
    ]
    assert len(met(loop(body))) == 1


names = st.sampled_from(NAMES)
copies = st.tuples(names, names).map(" = ".join)
reads = st.tuples(names, names).map(" + ".join)
made = names.map(lambda name: f"{name} = torch.zeros(3).cuda()")
moved = st.tuples(names, names).map(lambda n: f"{n[0]} = {n[1]}.cuda()")


def bodies(*lines):
    return st.lists(st.one_of(lines), min_size=1, max_size=6)


@settings(max_examples=40)
@forall(bodies(copies, reads, made, moved))
@example(["a + b", "a = a.cuda()", "b = a"])
def test_a_loop_claims_what_its_turns_claim_one_after_the_other(body):
    assert claimed(loop(body)) == claimed(START + "\n".join(body * 8) + "\n")


# Of a name and what it was moved to, a join keeps what was moved: in the accelerated world one turn
# is made at least.
@settings(max_examples=40)
@forall(bodies(copies, reads, made), names, names)
def test_behind_a_loop_names_hold_what_one_number_of_turns_left(body, left, right):
    """No more is claimed of them than for some number of turns."""
    behind = f"{left} * {right}\n"
    some = {
        claim
        for turns in range(9)
        for claim in claimed(START + "\n".join([*body * turns, behind]))
        if " * " in claim
    }
    assert {claim for claim in claimed(loop(body) + behind) if " * " in claim} <= some


@pytest.mark.parametrize(
    "body",
    [
        ["e = a.cuda()", "f = a.cuda()"],
        ["e = a", "f = b", "a = c.cuda()", "b = c.cuda()"],
        ["e = a", "f = b", "a = c", "b = d", "c = d = torch.zeros(3).cuda()"],
    ],
)
def test_what_goes_to_a_device_in_one_turn_is_there_together(body):
    assert met(loop(body) + "e + f\n") == []
    assert met(loop(["e + f", *body])) == []


def test_what_grows_by_each_turn_comes_to_an_end():
    body = ["a = [a]", "b = {'rest': b}", "c = (c, a)", "d = lambda: d", "e = torch.ones(3) + e"]
    assert met(loop(body)) == []


def test_a_chain_longer_than_the_walks_says_nothing():
    names = [f"x{number}" for number in range(40)]
    start = "".join(f"{name} = torch.zeros(3)\n" for name in names)
    links = [f"    {to} = {of}" for to, of in pairwise(names)]
    body = "\n".join([*links, "    x39 = torch.zeros(3).cuda()"])
    assert met(f"{start}for turn in range(90):\n{body}\nx20 + torch.ones(3)\n") == []


def test_what_every_first_turn_of_an_inner_loop_replaces_is_in_no_list_of_the_outer_one():
    code = """
    def collect(model, loader, n, device):
        model.to(device)
        rows = []
        for batch in loader:
            total = torch.zeros(3)
            for i in range(n + 1):
                out = model(batch.to(device))
                if i == 0:
                    total = out.sum(1)
                else:
                    total = total + out.sum(1)
            rows.append(total)
        return torch.cat(rows)
    """
    assert met(code) == []


ENTRIES = """
    from torch.utils.data import DataLoader

    def placed(x):
        if torch.cuda.is_available():
            x = x.cuda()
        return torch.autograd.Variable(x)

    def train(rows):
        net = nn.LSTM(3, 3).cuda()
        for batch in DataLoader(rows):
            {head}
                {body}
            net(batch["x"])
"""


@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        ("for k, v in batch.items():", "batch[k] = placed(v)", 0),
        ("for k, v in batch.items():", "if torch.is_tensor(v): batch[k] = placed(v)", 0),
        ("for k in batch:", "batch[k] = placed(batch[k])", 0),
        ("for k, v in batch.items():", "v = placed(v)", 1),
        ("for k, v in batch.items():", "batch[k] = v / 255", 1),
    ],
)
def test_a_loop_over_a_batch_may_put_each_entry_elsewhere(head, body, found):
    assert len(met(ENTRIES.format(head=head, body=body))) == found


@pytest.mark.parametrize(("made", "found"), [("torch.zeros(3).cuda()", 0), ("torch.ones(3)", 1)])
def test_a_loop_over_a_list_in_a_table_replaces_its_elements(made, found):
    code = f"""
    def stacked(n, key):
        table = {{"a": [torch.zeros(3) for _ in range(n)]}}
        for key in table:
            for i in range(len(table[key])):
                table[key][i] = {made}
        return torch.stack(table["a"]) * torch.ones(3).cuda()
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(
    ("stop", "row", "after"),
    [("", [], 1), ("if row.sum() > 3: break", [], 0), ("if not len(row): continue", [], 0)],
)
def test_no_turn_reads_what_another_puts_at_its_own_index(stop, row, after):
    facts = given(f"""
        import numpy as np

        def run(paths):
            found = [np.load(path) for path in paths]
            for i in range(len(found)):
                row = found[i]
                {stop or "pass"}
                np.abs(row)
                found[i] = torch.from_numpy(row).cuda()
            np.abs(found[0])
    """)
    places = [read.operand.name for read in facts.host_reads]
    assert [name for name in places if name == "row"] == row
    assert places.count("found[0]") == after


@pytest.mark.parametrize(
    ("dets", "made", "count"),
    [
        ('{"scores": x, "boxes": x}', "dets[k].cpu().numpy()", 0),
        ('{"scores": x, "boxes": x}', "dets[k].cpu()", 1),
        ("x.parts", "dets[k].cpu().numpy()", 0),
    ],
)
def test_a_loop_over_a_dict_that_makes_arrays_of_its_entries_leaves_arrays(dets, made, count):
    code = f"""
    def show(x: torch.Tensor):
        x = x.cuda()
        dets = {dets}
        for k in dets:
            dets[k] = {made}
        return dets["scores"] + torch.ones(3).cuda()
    """
    assert len(met(code)) == count
