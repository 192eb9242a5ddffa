"""Switches: globals that say whether the program uses an accelerator, and what is done by them."""

from textwrap import dedent

import pytest
from given import given, meetings, met, plain_attributes, revealed

PLACES = {
    "places.py": """
        GPU_ENABLED = False

        def wrap(data):
            if GPU_ENABLED:
                return torch.autograd.Variable(data.cuda())
            return torch.autograd.Variable(data)

        def place(t):
            return t.cuda() if GPU_ENABLED else t

        def filled(*size):
            if GPU_ENABLED:
                return torch.cuda.FloatTensor(*size)
            return torch.FloatTensor(*size)

        def blank(*size):
            return wrap(torch.zeros(*size))

        def host(*size):
            return torch.FloatTensor(*size)
        """
}
IMPORT = "from places import blank, filled, host, place, wrap\n"


@pytest.mark.parametrize(
    "made", ["wrap(torch.ones(3))", "place(torch.ones(3))", "filled(3)", "blank(3)"]
)
def test_a_switch_of_another_file_is_on_in_the_accelerated_world(made):
    assert revealed(f"{IMPORT}reveal({made})", PLACES) == ["cuda"]


def test_the_helper_beside_it_that_asks_no_switch_stays_on_the_host():
    assert revealed(f"{IMPORT}reveal(host(3))", PLACES) == ["cpu"]


LOSS = """
class Loss(nn.Module):
    def forward(self, scores, labels):
        hot = {made}
        hot = hot.scatter(1, labels.unsqueeze(1), 1)
        return (hot * scores).sum()
"""


def test_what_a_switch_places_meets_the_inputs_that_it_places_too():
    assert met(IMPORT + LOSS.format(made="filled(3, 4).zero_()"), PLACES) == []


def test_what_it_does_not_place_is_on_the_host():
    found = met(IMPORT + LOSS.format(made="host(3, 4).zero_()"), PLACES)
    assert found == ["index: hot@cpu .scatter labels.unsqueeze(1)@δ(labels) certain"]


SHIFT = """
def shift(tokens):
    out = {made}
    for i, row in enumerate(tokens):
        out[i, 0] = row[0]
    return out
"""


def test_a_call_of_what_moves_by_a_switch_moves_what_is_made_for_it():
    assert met(IMPORT + SHIFT.format(made="place(torch.LongTensor(tokens.size()))"), PLACES) == []


def test_without_it_nothing_moves_that():
    assert len(met(IMPORT + SHIFT.format(made="torch.LongTensor(tokens.size())"), PLACES)) == 1


def test_a_switch_of_the_same_file_moves_the_model_and_what_it_gets():
    code = """
        USE_CUDA = False
        net = nn.Linear(3, 3)
        if USE_CUDA:
            net.cuda()

        def train(n):
            x = torch.ones(n, 3)
            if USE_CUDA:
                x = x.cuda()
            return net(x)
        """
    assert met(code) == []
    assert len(met(code.replace("x = x.cuda()", "pass"))) == 1


def test_a_name_of_the_function_itself_is_what_it_says():
    assert revealed(
        """
        def train(n):
            use_cuda = False
            x = torch.ones(n, 3)
            if use_cuda:
                x = x.cuda()
            reveal(x)
        """
    ) == ["cpu"]


def test_a_plain_attribute_that_a_switch_placed_is_where_the_model_goes():
    code = """
        class Anchored(nn.Module):
            def __init__(self, k):
                super().__init__()
                self.anchors = {made}
                self.bias = nn.Parameter(torch.ones(k))

            def forward(self, x):
                return (x - self.bias) * self.anchors
        """
    excused = given(IMPORT + dedent(code).format(made="filled(k)"), PLACES).plain_attributes
    assert [attribute.excused for attribute in excused] == [True]
    kept = given(IMPORT + dedent(code).format(made="host(k)"), PLACES)
    assert plain_attributes(kept) == ["Anchored.anchors@cpu"]
    assert [attribute.excused for attribute in kept.plain_attributes] == [False]


BALANCE = {
    "balance.py": """
        from switching import current_index

        class Balance(nn.Module):
            def __init__(self):
                super().__init__()
                self.on_gpu = current_index() > -1
                self.use_gpu = self.on_gpu

            def forward(self, q):
                r = torch.ones(3)
                if self.use_gpu:
                    r = r.cuda()
                return r / q.sum(1)
        """
}
ROWS = """
from places import filled

def test_rows():
    rows = {made}
    assert torch.equal(rows, filled(3))
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [("torch.ones(3)", "possible"), ('torch.ones(3, device="cpu")', "certain")],
)
def test_a_test_that_asks_for_no_accelerator_turns_no_switch(made, found):
    code = ROWS.format(made=made)
    [meeting] = meetings(given(code, PLACES, "tests/test_rows.py"))
    assert meeting == f"rows@cpu torch.equal filled(3)@cuda {found}"
    [meeting] = meetings(given(code, PLACES, "rows.py"))
    assert meeting == "rows@cpu torch.equal filled(3)@cuda certain"


ASKED = """
class Painter(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.opt = opt
        self.Table = torch.cuda.FloatTensor if {first} else torch.FloatTensor

    def asks(self):
        \"\"\"Whether it paints there.\"\"\"
        return {answer}

    def forward(self, rows):
        if {then}:
            rows = rows.cuda()
        table = self.Table(3).zero_()
        reveal(table)
        return table.scatter_(0, rows, 1.0)
"""


@pytest.mark.parametrize("answer", ["len(self.opt.gpu_ids) > 0", "self.opt.use_cuda"])
def test_a_method_that_only_answers_asks_what_its_answer_does(answer):
    """`self.asks()` is the flag, or the count, of which it tells."""
    text = ASKED.format(first="self.asks()", then="self.asks()", answer=answer)
    assert revealed(text) == ["cuda"]
    assert met(text) == []


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("self.asks()", "self.asks()", 0),
        ("self.asks()", "self.opt.fast", 0),
        ("self.opt.fast", "self.asks()", 0),
        ("self.opt.fast", "self.opt.slow", 1),
    ],
)
def test_what_one_method_chose_by_a_test_another_has_by_the_same_test(first, then, expected):
    """The table and the rows are on the card together, or neither is."""
    text = ASKED.format(first=first, then=then, answer="self.opt.fast")
    assert len(met(text)) == expected
