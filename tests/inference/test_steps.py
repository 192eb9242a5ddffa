"""What a step costs: loops that take one, reads that could stand before, chains of names."""

from textwrap import dedent

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
    assert (move.creation is not None and not move.apart) is made


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


STEP = """
    class Engine:
        def advance(self, rows: torch.Tensor, optimizer):
            {before}
            loss = self.net(rows).mean()
            self.total += loss.item()
            {back}
            {step}
"""


@pytest.mark.parametrize(
    ("before", "back", "step", "trains"),
    [
        ("pass", "loss.backward()", "self.optimizer.step()", True),
        ("pass", "self.accelerator.backward(loss)", "optimizer.step()", True),
        ("pass", "loss.backward()", "pass", False),  # gradients may be asked for once
        ("pass", "pass", "optimizer.step()", False),
        ("pass", "loss.backward()", "scheduler.step()", False),
        # It trains something of its own from one end to the other.
        ("optimizer = torch.optim.SGD(rows, 1)", "loss.backward()", "optimizer.step()", False),
        # The loop is inside: the function runs once.
        ("pass", "for _ in range(3): loss.backward()", "optimizer.step()", False),
    ],
)
def test_a_function_that_takes_a_step_runs_once_per_step(before, back, step, trains):
    (sync,) = given(STEP.format(before=before, back=back, step=step)).syncs
    assert sync.trains is trains
    assert sync.in_step == ("advance" if trains else "")


@pytest.mark.parametrize(
    ("call", "trains"),
    [
        ("for rows in batches: engine.advance(rows, sgd)", True),
        ("def epoch(rows): engine.advance(rows, sgd)", True),  # its caller may loop
        ("engine.advance(batches, sgd)", False),
        ("def main(): engine.advance(batches, sgd)", False),
    ],
)
def test_a_step_that_is_taken_once_is_no_matter(call, trains):
    code = dedent(STEP.format(before="pass", back="loss.backward()", step="optimizer.step()"))
    (sync,) = given(f"{code}\nengine = Engine()\n{call}\n").syncs
    assert sync.trains is trains


@pytest.mark.parametrize(("base", "evaluates"), [("torch.optim.Optimizer", False), ("", True)])
def test_the_methods_of_an_optimizer_evaluate_nothing(base, evaluates):
    code = f"""
    class Scaled({base}):
        @torch.no_grad()
        def update_one(self, p: nn.Parameter):
            self.norm += p.grad.norm().item()
    """
    (sync,) = given(code).syncs
    assert sync.evaluates is evaluates
