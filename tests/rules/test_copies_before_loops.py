"""A copy made before a loop takes no name from those who read it where it was."""

from __future__ import annotations

import pytest
from rule_check import check_text

LOOP = """\
import torch
from torch.utils.data import DataLoader


def shown(model, dataset, scale: torch.Tensor):
    model.cuda()
    for x in DataLoader(dataset):
        y = {call}
        print(y.sum(), {shown})
"""


@pytest.mark.parametrize(
    ("call", "shown", "bound"),
    [
        ("model(x.cuda(), scale)", "scale.cpu()", "scale_on_host = scale.cpu()"),
        ("model(x.cuda())", "scale.cpu()", "scale = scale.cpu()"),  # nobody wants it there
    ],
)
def test_a_copy_for_the_host_gets_a_name_of_its_own_where_the_old_one_is_read(call, shown, bound):
    found = [f for f in check_text(LOOP.format(call=call, shown=shown)) if f.rule == "DEV301"]
    assert [f.advice for f in found] == [f"transfer it once before the loop: `{bound}`"]
