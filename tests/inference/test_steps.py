"""What a step costs: loops that take one, reads that could stand before, chains of names."""

import pytest
from given import given, settled

from devlint.inference.facts import Hotness

TRAINING = """
    def run(net, optimizer, batch, {over}):
        batch = batch.cuda()
        for _ in {over}:
            loss = net(batch).square().mean()
            {step}
            print(loss.item())
"""


@pytest.mark.parametrize(
    ("over", "step", "hotness"),
    [
        ("bar", "loss.backward()", "hot"),  # by what it does
        ("bar", "optimizer.step()", "hot"),
        ("bar", "pass", "cold"),  # by what it is called
        ("steps", "pass", "hot"),
        ("layers", "loss.backward()", "hot"),
    ],
)
def test_a_loop_that_takes_a_step_is_hot_whatever_it_goes_over(over, step, hotness):
    syncs = given(TRAINING.format(over=over, step=step)).syncs
    assert {sync.loop.hotness.value for sync in syncs if sync.loop} == {hotness}


@pytest.mark.parametrize(
    ("read", "again", "invariant"),
    [
        ("mask.sum().item()", "pass", True),
        ("mask.float().mean(0).tolist()", "pass", True),
        ("mask.sum().item()", "mask = mask[1:]", False),
        ("mask.sum().item()", "mask[0] = 0", False),
        ("mask[i].item()", "pass", False),
        ("points.sum().item()", "points += 1", False),
        ("mask.add_(1).item()", "pass", False),
    ],
)
def test_a_read_of_what_the_loop_leaves_alone_could_stand_before_it(read, again, invariant):
    code = f"""
    def relax(points: torch.Tensor, mask: torch.Tensor, rounds):
        points, mask = points.cuda(), mask.cuda()
        for i in range(rounds):
            points = points * {read}
            {again}
    """
    assert given(code).syncs[0].invariant is invariant


@pytest.mark.parametrize(("test", "waits"), [("0 <= t <= 9", 1), ("0 <= n <= 9", 0)])
def test_a_chain_of_comparisons_asks_each_for_its_truth(test, waits):
    code = f"""
    def clipped(t: torch.Tensor, n: int):
        t = t.cuda().sum()
        return {test}
    """
    assert len(given(code).syncs) == waits


@pytest.mark.parametrize(
    ("second", "moved", "made"),
    [
        ("steps = steps / 3", "rates = torch.exp(steps).to(t.device)", True),
        ("steps = -steps", "rates = steps.to(t.device)", True),
        ("pass", "rates = steps.to(t.device)", False),  # mostly it stands for data
        # Something else reads it on the host.
        ("steps = steps / 3", "rates = torch.exp(steps).to(t.device); print(steps)", False),
        ("print(steps)", "rates = torch.exp(steps).to(t.device)", False),
    ],
)
def test_a_tensor_that_is_made_over_several_names_to_be_moved(second, moved, made):
    code = f"""
    def embedding(t: torch.Tensor, half):
        steps = torch.arange(half)
        {second}
        {moved}
        return t[:, None] * rates
    """
    (move,) = given(code).moves
    assert (move.creation is not None) is made


@pytest.mark.parametrize(
    ("other", "kept"),
    [
        ("", "window"),
        ("def resize(self, size):\n            self.window = torch.ones(size)", ""),
        ("def cuda(self):\n            self.window = self.window.cuda()", ""),
    ],
)
def test_an_attribute_that_only_the_constructor_sets(other, kept):
    code = f"""
    class Spectrum(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.window = torch.hann_window(size)

        def forward(self, x):
            return x * self.window.to(x.device)

        {other}
    """
    moves = [move for move in given(code).moves if move.method == "to"]
    assert [move.kept for move in moves] == [kept]


@pytest.mark.parametrize(
    ("target", "over"),
    [("j", "k"), ("i, j", "enumerate(k)"), ("i, j", "zip(k, k)"), ("j", "reversed(k)")],
)
def test_a_loop_goes_through_a_tensor_element_by_element(target, over):
    code = f"""
    def bins(size, device):
        k = torch.linspace(-1.0, 1.0, steps=size, device=device)
        for {target} in {over}:
            if -0.5 <= j <= 0.5:
                print(j.shape)
    """
    found = settled(code).syncs
    assert found
    assert all(sync.loop is not None and sync.loop.hotness is Hotness.HOT for sync in found)


def test_a_loop_over_what_is_no_tensor_is_not_known_to_be_hot():
    code = """
    def bins(names, x: torch.Tensor):
        for i, name in enumerate(names):
            print(i, x.max().item())
    """
    (found,) = settled(code).syncs
    assert found.loop is not None
    assert found.loop.hotness is Hotness.COLD
