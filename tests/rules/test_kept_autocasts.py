"""An autocast that a variable holds is what it is in the head of the `with`."""

import pytest
from rule_check import said

TRAINER = """
def train(model, batches, device, flag):
    {cast}
    for x in batches:
        x = x.to(device)
        with cast:
            model(x).sum().backward()
"""


@pytest.mark.parametrize(
    ("cast", "count"),
    [
        ("cast = torch.autocast('cuda')", 1),
        ("cast = torch.cuda.amp.autocast(dtype=torch.float16)", 1),
        ("cast = torch.autocast(torch.device(device).type)", 0),
        ("cast = torch.autocast('cuda', enabled=flag)", 0),
        ("cast = torch.autocast('cuda') if flag else torch.no_grad()", 0),
        ("cast = torch.no_grad()\n    if flag:\n        cast = torch.autocast('cuda')", 0),
    ],
)
def test_a_kept_autocast_is_for_its_device(cast, count):
    assert len(said(TRAINER.format(cast=cast), "DEV507")) == count
