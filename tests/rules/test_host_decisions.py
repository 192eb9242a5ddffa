"""What the host decides by a number it has to read; what it reads before an error is cold."""

from __future__ import annotations

import pytest
from rule_check import said

INVERSION = """\
def invert(model, optimizer, target, limit):
    model.cuda()
    target = target.cuda()
    for step in range(500):
        loss = (model(step) - target).square().mean()
        loss.backward()
        optimizer.step()
        number = loss.item()
        model.note(step)
        {last}
"""


@pytest.mark.parametrize(
    ("last", "count"),
    [
        ("if number < limit:\n            break", 0),
        ("if number < limit:\n            model.tune(number)", 1),  # no way out
        ("if step > limit:\n            break", 1),  # by what the host knows
    ],
)
def test_a_number_by_which_a_loop_ends_the_host_needs(last, count):
    assert len(said(INVERSION.format(last=last), "DEV303")) == count


STOPPING = """\
class SearchLoss(nn.Module):
    def is_done(self, x: torch.Tensor):
        return x.sum().item() == 3

    def forward(self, x: torch.Tensor):
        for step in range(100):
            x = self.net(x)
            {ask}
        return x
"""


@pytest.mark.parametrize(
    ("ask", "count"),
    [("if self.is_done(x):\n                break", 0), ("self.note(self.is_done(x))", 1)],
)
def test_a_function_that_hands_back_whether_to_go_on_has_to_read_it(ask, count):
    assert len(said(STOPPING.format(ask=ask), "DEV303")) == count


DRAWN = """\
class RandomMaskLayer(nn.Module):
    def forward(self, x: torch.Tensor, tries):
        y = self.net(x)
        if tries > 9:
            print("refused", y.mean())
            {end}
        return self.last(y)
"""


@pytest.mark.parametrize(
    ("end", "count"), [('raise RuntimeError("too many")', 0), ("sys.exit(1)", 0), ("tries = 0", 1)]
)
def test_what_is_shown_on_the_way_to_an_error_is_cold(end, count):
    assert len(said(DRAWN.format(end=end), "DEV303")) == count


BEST = """\
def fit(model, loader, optimizer):
    model.cuda()
    best = torch.tensor(9.0, device="cuda")
    for x in loader:
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        if loss < best:
            best = loss.detach()
            {keep}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("keep", "count"), [('torch.save(model, "best.pt")', 0), ("loss = loss * 2", 1)]
)
def test_whether_to_write_a_file_the_host_decides(keep, count):
    assert len(said(BEST.format(keep=keep), "DEV303")) == count
