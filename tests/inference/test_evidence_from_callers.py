"""What a function's callers and its own moves say of where its values belong."""

import pytest
from given import given, met, moves

PARTS = """
    def part(owner: nn.Module):
        return owner.detector

    def run(owner: nn.Module, x: torch.Tensor):
        found = part(owner)
        {use}
"""


@pytest.mark.parametrize(
    ("use", "discarded"),
    [('found.to("cuda")', False), ('found.to("cuda")\n        found.sigmoid()', True)],
)
def test_what_a_callee_takes_from_a_module_may_be_a_module(use, discarded):
    found = [m for m in moves(given(PARTS.format(use=use))) if "discarded" in m]
    assert bool(found) is discarded


MASKS = """
    def masks(width: int, order: torch.Tensor):
        ranks = torch.arange(width) * 2.0
        return ranks[order]

    class Net(nn.Module):
        def __init__(self, width, order):
            super().__init__()
            self.ranks = masks(width, order)

        def renew(self, width, order):
            self.ranks = {renewed}
"""


@pytest.mark.parametrize(
    ("renewed", "contradicts"), [("None", False), ("masks(width, order)", True)]
)
def test_a_function_that_constructors_alone_call_runs_on_the_host(renewed, contradicts):
    assert bool(met(MASKS.format(renewed=renewed))) is contradicts


ROWS = """
    from torch.utils.data import DataLoader

    class White(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Parameter(torch.zeros(3))

        def forward(self, x):
            rows = []
            for row in DataLoader({data}):
                rows.append(row.sigmoid() - self.mean)
            return x.sigmoid(), rows
"""


@pytest.mark.parametrize(("data", "contradicts"), [("x.view(-1, 3)", False), ("self.held", True)])
def test_a_loader_over_a_tensor_yields_rows_from_where_it_is(data, contradicts):
    assert bool(met(ROWS.format(data=data))) is contradicts


@pytest.mark.parametrize(
    ("labels", "contradicts"), [("labels.type(torch.LongTensor)", False), ("labels", True)]
)
def test_what_meets_a_tensor_brought_to_the_host_belongs_there(labels, contradicts):
    found = met(f"""
        def one_hot(labels: torch.Tensor, classes):
            rows = torch.zeros(labels.size(0), classes)
            return rows.scatter_(1, {labels}.view(-1, 1), 1)
    """)
    assert bool(found) is contradicts


@pytest.mark.parametrize(("annotation", "shown"), [("dict", False), ("torch.Tensor", True)])
def test_the_entries_of_a_dict_need_not_be_where_others_are(annotation, shown):
    found = met(f"""
        def mean(results: {annotation}, name):
            best = results[name]
            return torch.tensor([-1.0, 0.0]) if len(best) == 0 else best.sigmoid()
    """)
    assert any(m.endswith("likely") for m in found) is shown


@pytest.mark.parametrize(("name", "shown"), [("num_edits", False), ("edits", True)])
def test_by_its_name_a_count_is_one_number(name, shown):
    found = met(f"""
        def add(total: torch.Tensor, words):
            {name} = distance(words)
            return total + torch.tensor({name})
    """)
    assert any(m.endswith("likely") for m in found) is shown
