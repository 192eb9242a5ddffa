"""What a wait or a copy costs beside what stands around it: how often it runs, how many bytes it
moves, and what the host would wait for without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config
from devlint.findings import Finding

HEAD = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\n\n\n"


def found(root: Path, code: str, rule: str) -> list[Finding]:
    """What one rule says at least likely."""
    file = root / "work.py"
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [finding for finding in report.findings if finding.rule == rule]


BESIDE = """\
class Loss(nn.Module):
    def forward(self, x: torch.Tensor, width: int):
        y = self.net(x)
        total = {made}.to(x.device)
        if y.sum() > {limit}:
            return total
        return total + y
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("torch.zeros(1)", 0),
        ("torch.ones((x.size(0), 1))", 0),
        ("torch.arange(x.shape[0])", 0),
        ("torch.randint(0, 9, (len(x),))", 0),
        ("torch.randn(x.shape)", 1),  # filled on the host, and copied: that costs by itself
        ("torch.zeros(x.size(0), width, 3)", 1),
        ("torch.eye(x.size(0))", 1),
        ("torch.arange(end=width * 9)", 1),  # whatever that is
    ],
)
def test_of_a_few_numbers_only_the_wait_costs_and_another_wait_hides_it(tmp_path, made, count):
    assert len(found(tmp_path, BESIDE.format(made=made, limit=0), "DEV304")) == count


def test_a_few_numbers_are_worth_it_where_nothing_else_waits(tmp_path):
    code = BESIDE.format(made="torch.zeros(1)", limit=0).replace("y.sum() > 0", "width > 0")
    assert len(found(tmp_path, code, "DEV304")) == 1


ROLLED = """\
class Model:
    def {name}(self, x: torch.Tensor, steps):
        state = torch.zeros(x.size(0)).to(x.device)
        {behind}
        return state
"""


@pytest.mark.parametrize(
    ("name", "behind", "count"),
    [
        ("roll_out", "for t in steps: state = self.cell(x, state)", 0),
        ("roll_out", "state = self.cell(x, state)", 1),
        ("roll_out", "for layer in self.layers: state = layer(state)", 1),  # a few turns
        ("training_step", "for t in steps: state = self.cell(x, state)", 1),  # each step pays it
    ],
)
def test_what_a_loop_starts_from_is_paid_once_for_all_its_turns(tmp_path, name, behind, count):
    assert len(found(tmp_path, ROLLED.format(name=name, behind=behind), "DEV304")) == count


@pytest.mark.parametrize(("target", "count"), [("self.ids", 0), ("ids", 1)])
def test_what_an_object_keeps_is_made_once_for_all_its_uses(tmp_path, target, count):
    code = (
        "class Flow:\n    def begin(self, x: torch.Tensor):\n"
        f"        {target} = torch.arange(x.size(0)).to(x.device)\n        return {target} * x\n"
    )
    assert len(found(tmp_path, code, "DEV304")) == count


SCORED = """\
def score(model, loader, optimizer, device):
    model.to(device)
    for x, y in loader:
        logits = model(x.to(device, non_blocking=True))
        marks = {made}.to(device)
        loss = logits[marks].mean()
        {train}
"""


@pytest.mark.parametrize(
    ("made", "train", "count"),
    [
        ("torch.arange(len(x))", "pass", 0),
        ("torch.rand(x.shape)", "pass", 1),
        ("torch.arange(len(x))", "loss.backward(); optimizer.step()", 1),
    ],
)
def test_an_evaluation_may_make_a_few_numbers_on_the_host(tmp_path, made, train, count):
    code = SCORED.format(made=made, train=train)
    if train == "pass":
        code = "@torch.no_grad()\n" + code
    assert len(found(tmp_path, code, "DEV304")) == count


TRAINED = """\
{mode}


def train(model, dataset, optimizer):
    model.cuda()
    for x in DataLoader(dataset, num_workers=4):
        loss = model(x.cuda()).mean()
        print(loss.item())
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("mode", "count"),
    [
        ("torch.autograd.set_detect_anomaly(True)", 0),
        ("torch.autograd.set_detect_anomaly(False)", 1),
        ("torch.manual_seed(1)", 1),
    ],
)
def test_nobody_who_looks_for_nan_behind_each_operation_is_after_speed(tmp_path, mode, count):
    assert len(found(tmp_path, TRAINED.format(mode=mode), "DEV303")) == count


@pytest.mark.parametrize(("name", "count"), [("train", 0), ("check", 1)])
def test_a_function_that_looks_for_nan_does_so_for_itself(tmp_path, name, count):
    code = TRAINED.format(mode="pass") + "\n\ndef check(model, x):\n    return model(x)\n"
    asked = f"def {name}(model, "
    head, _, tail = code.partition(asked)
    first, _, rest = tail.partition("\n")
    on = "    torch.autograd.set_detect_anomaly(True)"
    assert len(found(tmp_path, f"{head}{asked}{first}\n{on}\n{rest}", "DEV303")) == count


ENTRIES = """\
def gather(losses, model, x):
    model.cuda()
    y = model(x.cuda())
    for name, value in {over}:
        losses[name] = (y * value).mean().item()
        model(y)
"""


@pytest.mark.parametrize(
    ("over", "count"),
    [("losses.items()", 0), ("enumerate(losses.items())", 0), ("batches.items()", 1)],
)
def test_how_many_entries_a_table_has_is_not_said_by_its_methods(tmp_path, over, count):
    code = ENTRIES.format(over=over).replace("losses, model", "losses, batches, model")
    assert len(found(tmp_path, code, "DEV303")) == count


PICKED = """\
class Learner:
    def {name}(self, rows: torch.Tensor):
        order = torch.randperm(rows.size(0))
        return rows[order]
"""


@pytest.mark.parametrize(("name", "count"), [("after_task", 0), ("mix", 1)])
def test_an_index_that_is_copied_once_a_task_costs_nothing(tmp_path, name, count):
    assert len(found(tmp_path, PICKED.format(name=name), "DEV308")) == count


CRITERION = """\
class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = {judge}

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        logits = self.net(x)
        weights = logits[torch.zeros(x.size(0)).long()]
        loss = self.judge(logits, y) * weights
        return loss, (logits.argmax(1) == y).sum().item()
"""


@pytest.mark.parametrize(
    ("judge", "count"), [("nn.CrossEntropyLoss()", 0), ("make_perceptual_loss()", 1)]
)
def test_a_loss_of_torch_queues_next_to_nothing(tmp_path, judge, count):
    assert len(found(tmp_path, CRITERION.format(judge=judge), "DEV308")) == count


EPOCH = """\
def train(model, loader, optimizer, device):
    model.to(device)
    total = 0.0
    for x, y in loader:
        {first}
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


@pytest.mark.parametrize(
    ("first", "count"),
    [
        ("x = to_device(x, device)", 0),  # whatever it is called: it brings the batch there
        ("x = to_device(x, device, non_blocking=True)", 1),
        ("x = x.to(torch.float32)", 1),  # converted where it is
    ],
)
def test_a_helper_that_is_handed_the_batch_and_a_device_copies_it(tmp_path, first, count):
    assert len(found(tmp_path, EPOCH.format(first=first), "DEV303")) == count


CONTEXT = """\
class Net(nn.Module):
    def forward(self, rows: torch.Tensor, size: int, flag: bool):
        count = {count}
        if {test}:
            z = rows.mean(0)
        else:
            z = torch.ones(size, size).to(rows.device)
        return self.net(rows) * z
"""


@pytest.mark.parametrize(
    ("count", "test", "said"),
    [("rows.shape[0]", "count", 0), ("rows.shape[0]", "flag", 1), ("flag", "count", 1)],
)
def test_where_there_is_nothing_to_count_something_stands_for_it(tmp_path, count, test, said):
    assert len(found(tmp_path, CONTEXT.format(count=count, test=test), "DEV304")) == said


@pytest.mark.parametrize(("test", "count"), [("init is True", 0), ("init", 0), ("wide is True", 1)])
def test_what_the_first_call_makes_is_made_once(tmp_path, test, count):
    code = (
        "class Norm(nn.Module):\n    def forward(self, x: torch.Tensor, init=False, wide=False):\n"
        f"        if {test}:\n            x = x + torch.randn(x.size()).type_as(x)\n"
        "        return self.net(x)\n"
    )
    assert len(found(tmp_path, code, "DEV304")) == count


KEPT = """\
class Prior(nn.Module):
    def __init__(self, bins, net):
        super().__init__()
        self.bins, self.net = bins, net

    def forward(self, xs):
        bins = self.net(xs)
        for i in range(len(xs)):
            xs[i] = xs[i] + int({of}[i])
        return xs
"""


@pytest.mark.parametrize(("of", "count"), [("self.bins", 0), ("bins", 1)])
def test_what_an_object_keeps_may_be_a_list(tmp_path, of, count):
    said = found(tmp_path, KEPT.format(of=of), "DEV305")
    assert len([s for s in said if f"`{of}`" in s.message]) == count


@pytest.mark.parametrize(
    ("asked", "advice"),
    [
        ("mask[:, 0].sum()", "ask once in the caller"),
        ("self.net(x).sum()", "let the device decide"),
    ],
)
def test_only_what_the_caller_has_can_be_asked_there(tmp_path, asked, advice):
    code = (
        "class PoolLayer(nn.Module):\n    def forward(self, x: torch.Tensor, mask: torch.Tensor):\n"
        f"        full = {asked} == 3\n        if full:\n            for row in x:\n"
        "                print()\n            return x\n"
        "        return x[:, 1:]\n"
    )
    (said,) = found(tmp_path, code, "DEV303")
    assert said.advice is not None and said.advice.startswith(advice)


@pytest.mark.parametrize(
    ("between", "behind", "advice"),
    [
        ("losses.append(loss.item())", "pass", "read it behind `backward`"),
        ("pass", "losses.append(loss.item())", "read it only every n-th step"),
    ],
)
def test_a_read_behind_the_step_is_not_sent_there(tmp_path, between, behind, advice):
    code = (
        "def train(model, dataset, optimizer):\n    model.cuda()\n    losses = []\n"
        "    for x in DataLoader(dataset):\n        loss = model(x.cuda()).mean()\n"
        f"        {between}\n        loss.backward()\n        optimizer.step()\n        {behind}\n"
    )
    (said,) = found(tmp_path, code, "DEV303")
    assert said.advice is not None and said.advice.startswith(advice)


def test_advice_of_several_lines_is_written_on_one(tmp_path):
    code = (
        "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        return self.net(x) + torch.zeros(x.size(0),\n"
        "                                         4).to(x.device)\n"
    )
    (said,) = found(tmp_path, code, "DEV304")
    assert said.advice == "make it there: `torch.zeros(x.size(0), 4, device=x.device)`"


RANKED = """\
class Search(nn.Module):
    def forward(self, rows: torch.Tensor, scores: torch.Tensor):
        out = []
        for i in range(rows.size(0)):
            out.append(self.words({read}))
            out.append(scores[i].item())
        return out
"""


@pytest.mark.parametrize(
    ("read", "count"), [("rows[i, :].tolist()", 1), ("rows[i, : len(out)].tolist()", 0)]
)
def test_rows_that_can_be_read_at_once_are_no_wait_that_stays(tmp_path, read, count):
    said = found(tmp_path, RANKED.format(read=read), "DEV305")
    assert len([s for s in said if "`scores`" in s.message]) == count
