"""DEV301 on numbers that each call copies to where its callers' tensors are: not where all callers
in sight are on the host."""

import pytest
from rule_check import said

SAMPLER = """
class Sampler:
    def rate(self, t, table):
        low = torch.tensor([0.01, 0.02])
        rows = table[t]
        return rows * low.to(rows.device)

    def run(self, steps, net):
        table = torch.cumprod(1 - self.scheduler.betas, dim=0)
        for t in steps:
            net(self.rate({index}, {table}))
"""


@pytest.mark.parametrize(
    ("index", "table", "count"),
    [
        ("t", "table", 1),
        ("t.long()", "table", 1),
        ("t.long().cpu()", "table", 0),
        ("t.long()", "table.cuda()", 1),
    ],
)
def test_who_copies_the_index_to_the_host_copies_nothing_else(index, table, count):
    assert len(said(SAMPLER.format(index=index, table=table), "DEV301")) == count
