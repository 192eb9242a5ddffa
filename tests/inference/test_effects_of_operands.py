"""What an operand does to containers and modules, which is evaluated under a condition: it stands
afterwards as it does after an `if`."""

import pytest
from given import met

FILLED = """
    def joined(early, x):
        rows = [x.cuda()]
        {statement}
        return torch.cat(rows)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "early and rows.append({made})",
        "early or rows.append({made})",
        "rows.append({made}) if early else None",
        "None if early else rows.append({made})",
    ],
)
@pytest.mark.parametrize(("made", "meets"), [("torch.zeros(3)", True), ("x.cuda()", False)])
def test_what_an_operand_fills_is_filled(statement, made, meets):
    assert bool(met(FILLED.format(statement=statement.format(made=made)))) is meets


MOVED = """
    def run(early, x):
        net = nn.Linear(3, 3)
        {statement}
        return net(x.cuda())
"""


@pytest.mark.parametrize(
    ("statement", "meets"),
    [
        ("early and net.cuda()", False),
        ("torch.cuda.is_available() and net.cuda()", False),
        ("net.cuda() if early else None", False),
        ("early and net.eval()", True),
        ("net.cpu() if early else None", True),
    ],
)
def test_what_an_operand_moves_is_moved(statement, meets):
    assert bool(met(MOVED.format(statement=statement))) is meets


def test_the_names_of_an_operand_are_its_own():
    code = """
        def scaled(x, weight: torch.Tensor):
            known = x if isinstance(x, torch.Tensor) else weight
            return x.cuda() * weight.cuda() * known.cuda()
    """
    assert met(code) == []
