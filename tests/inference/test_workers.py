"""Accelerators in what DataLoader workers run."""

import pytest
from given import given

ROWS = """
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, rows, device, quick):
        self.rows, self.device, self.quick = rows, device, quick
    def __getitem__(self, index):
        row = torch.tensor(self.rows[index])
        {line}
        return row
"""


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("if self.device.type == 'cuda': row = row.cuda()", True),
        ("if self.device != 'cpu': row = row.to('cuda')", True),
        ("if torch.cuda.is_available(): row = row.cuda()", False),
        ("if self.quick: row = row.cuda()", False),
        ("row = row.cuda()", False),
    ],
)
def test_whoever_makes_the_data_set_may_choose(line, chosen):
    found = [fact.chosen for fact in given(ROWS.format(line=line)).worker_accesses]
    assert found == [chosen]


def test_loaders_in_sight_tell_of_workers():
    code = ROWS.format(line="if self.device.type == 'cuda': row = row.cuda()")
    made = "loader = DataLoader(Rows(rows, device, True), num_workers={})\n"
    for count in (0, 2):
        facts = given(code + made.format(count))
        assert [fact.workers for fact in facts.worker_accesses] == [count]
