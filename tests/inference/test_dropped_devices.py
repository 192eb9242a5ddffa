"""Devices that a call leaves out, beside what is said of its result."""

import pytest
from given import given, met

from devlint.inference.facts import Neglect

SEARCH = """
    class Scorer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(9, 4)

        def encode(self, tokens):
            return self.embed(tokens)

    def best(scorer, tokens, width=4, device=torch.device("cpu")):
        found = torch.zeros(width).to(device)
        return found, scorer.encode(tokens.to(device)).mean()

    def decode(tokens, device=torch.device("cpu")):
        scorer = Scorer().to(device)
        found, score = best(scorer, tokens{given})
        return found{used}, score
"""


@pytest.mark.parametrize(
    ("passed", "used", "left_out"),
    [
        ("", "", ["best"]),  # that they meet in the callee is possible only
        (", device=device", "", []),
        ("", " * torch.ones(4, device=device)", ["best"]),
    ],
)
def test_what_is_said_by_default_of_a_call_that_leaves_it_out(passed, used, left_out):
    code = SEARCH.format(given=passed, used=used)
    facts = given(code)
    dropped = [d.callee for d in facts.dropped_arguments if d.neglect is Neglect.LEFT_OUT]
    assert dropped == left_out
    assert bool(met(code)) is bool(left_out)


LOAD = """
    def restored(net, path, device="cpu"):
        state = torch.load(path, map_location=torch.device(device))
        net.load_state_dict(state["net"])
        return state["scale"]

    def run(net, rows, path, device):
        {call}
        return net(rows.to(device)) * {factor}
"""


@pytest.mark.parametrize(
    ("call", "factor", "left_out"),
    [
        ("scale = restored(net, path)", "scale", ["restored"]),
        ("restored(net, path)", "2", []),  # what it returns may be anywhere
    ],
)
def test_a_call_whose_result_is_thrown_away_leaves_out_nothing(call, factor, left_out):
    facts = given(LOAD.format(call=call, factor=factor))
    assert [d.callee for d in facts.dropped_arguments] == left_out
