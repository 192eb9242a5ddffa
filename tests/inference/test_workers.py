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


@pytest.mark.parametrize(
    ("pins", "pinned"), [("pin_memory=True", True), ("pin_memory=False", False), ("", False)]
)
def test_what_is_pinned_is_to_be_on_the_host(pins, pinned):
    code = f"""
    from torch.utils.data import DataLoader

    class Batches:
        def __init__(self, device):
            self.device = device

        def loader(self, rows):
            return DataLoader(rows, collate_fn=self.join, {pins})

        def join(self, rows):
            return torch.stack(rows).to(self.device)
    """
    assert [fact.pinned for fact in given(code).worker_accesses] == [pinned]
