"""Remarks that nobody would act on are not made at the confidence that users have."""

from __future__ import annotations

from pathlib import Path

import pytest
from rule_check import RULES

from devlint import engine
from devlint.config import Config

HEAD = "import torch\nfrom torch import nn\n\n\n"


def shown(root: Path, code: str, path: str = "work.py") -> list[str]:
    """The rules that say something of one file."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEAD + code)
    report = engine.check([file], Config(root), tuple(RULES.values()))
    assert not report.errors
    return [f"{finding.rule}: {finding.advice}" for finding in report.findings]


STEP = """\
from torch.utils.data import DataLoader


def train(dataset, optimizer):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(5, 1).to(device)
    table = torch.rand(9, device=device)
    for x, seen in DataLoader(dataset):
        errors = model(x.to(device)).abs()
        loss = model(x.to(device)).sum()
        loss += {loss}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("loss", ["errors[errors > 0.1].mean()", "errors[errors > 1].sum()"])
def test_a_mask_that_only_selects_what_is_reduced_may_weigh(tmp_path, loss):
    (said,) = [s for s in shown(tmp_path, STEP.format(loss=loss)) if s.startswith("DEV303")]
    assert "let the mask weigh" in said


def test_rows_that_go_on_as_rows_have_a_size_that_the_host_asks_for(tmp_path):
    code = STEP.format(loss="model(table[table > 0.5])")
    assert [s for s in shown(tmp_path, code) if s.startswith("DEV303")] == []


PICK = """\
class Replay(nn.Module):
    def forward(self, states: torch.Tensor):
        picked = states[torch.randint(0, 9, {size})]
        return picked * 2
"""


@pytest.mark.parametrize(("size", "said"), [("(1,)", 0), ("(64,)", 1), ("(1, 64)", 1)])
def test_one_random_number_is_no_costly_index(tmp_path, size, said):
    assert len([s for s in shown(tmp_path, PICK.format(size=size)) if s[:6] == "DEV308"]) == said


MIX = """\
class Mixup(nn.Module):
    def forward(self, states: torch.Tensor, labels):
        order = torch.randperm(len(labels))
        mixed = states[order]
        return mixed, [labels[i] for i in {order}]
"""


@pytest.mark.parametrize(("order", "said"), [("order.tolist()", 0), ("range(9)", 1)])
def test_an_index_that_the_host_reads_too_may_be_on_the_host(tmp_path, order, said):
    found = shown(tmp_path, MIX.format(order=order))
    assert len([s for s in found if s[:6] == "DEV308"]) == said


NEIGHBOURS = """def nearest(rows: torch.Tensor, near: torch.Tensor, count=5):
    order = (near @ rows.T).topk(count).indices
    return [order[i, j].item() for i in range(near.shape[0]) for j in range(count)]


def embed(net, x):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with torch.no_grad():
        return net.to(device)(x.to(device)){end}


def evaluate(net, a, b):
    return nearest(embed(net, a), embed(net, b))
"""


@pytest.mark.parametrize(("end", "said"), [(".cpu()", 0), ("", 1)])
def test_elements_of_what_callers_have_brought_to_the_host_are_read_without_a_wait(
    tmp_path, end, said
):
    found = shown(tmp_path, NEIGHBOURS.format(end=end))
    assert len([s for s in found if s[:6] == "DEV305"]) == said


SPLIT = """\
def pick(rows: torch.Tensor):
    order = torch.randperm(9)
    return rows[order]


def use(path):
    {caller}
"""


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        ("return pick(torch.load(path, map_location='cpu'))", 0),
        ("return pick(torch.load(path, map_location='cuda'))", 1),
    ],
)
def test_an_index_into_rows_that_callers_keep_on_the_host_copies_nothing(tmp_path, caller, said):
    found = shown(tmp_path, SPLIT.format(caller=caller))
    assert len([s for s in found if s[:6] == "DEV308"]) == said


MAIN = """\
class Net(nn.Module):
    def forward(self, x):
        return x * 2


if __name__ == "__main__":
    {main}
    net = Net().cuda()
    print(torch.cuda.is_available())
    print(sum(p.numel() for p in net.parameters()))
"""


@pytest.mark.parametrize(
    ("main", "said"),
    [("torch.manual_seed(0)", 0), ("import argparse; args = argparse.ArgumentParser()", 1)],
)
def test_a_demonstration_below_a_class_may_ask_for_cuda(tmp_path, main, said):
    assert len(shown(tmp_path, MAIN.format(main=main))) == said


CONVERT = """\
import argparse

if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    print("cuda" if torch.cuda.is_available() else "cpu")
    weights = torch.load(args.old, map_location="cpu")
    torch.save({"weights": weights["model"].cuda()}, args.new)
"""


@pytest.mark.parametrize(
    ("path", "said"), [("tools/convert_v1.py", 0), ("tools/net2onnx.py", 0), ("tools/serve.py", 1)]
)
def test_a_script_that_converts_runs_once_where_it_was_written(tmp_path, path, said):
    assert len(shown(tmp_path, CONVERT, path)) == said


LEGACY = """\
import fast_kernels

fast = torch.cuda.is_available()


def flag(value):
    return fast_kernels.reduce(torch.cuda.ByteTensor([value]))
"""


def test_a_legacy_type_of_cuda_is_a_matter_of_style_in_code_for_cuda(tmp_path):
    built = 'setup(ext_modules=[CUDAExtension(name="fast_kernels", sources=["a.cu"])])\n'
    (tmp_path / "setup.py").write_text(built)
    assert shown(tmp_path, LEGACY) == []
    (tmp_path / "setup.py").write_text("")
    assert [said[:6] for said in shown(tmp_path, LEGACY)] == ["DEV503"]


LOADED = """
import fast_kernels

{first}


def resume(net, path):
    net.load_state_dict(torch.load(path))
    return net
"""


@pytest.mark.parametrize(
    ("first", "rules"),
    [("import os", []), ("torch.distributed.init_process_group('nccl')", ["DEV502"])],
)
def test_a_load_in_code_for_cuda_matters_in_each_of_several_processes(tmp_path, first, rules):
    built = 'setup(ext_modules=[CUDAExtension(name="fast_kernels", sources=["a.cu"])])\n'
    (tmp_path / "setup.py").write_text(built)
    assert [said[:6] for said in shown(tmp_path, LOADED.format(first=first))] == rules


SCORE = """\
class Loss(nn.Module):
    def forward(self, rows: torch.Tensor, mask: torch.Tensor):
        if mask.any():
            return {empty}
        return self.net(rows).mean() + torch.zeros(()).to(rows)
"""


@pytest.mark.parametrize(
    ("empty", "count"),
    [
        ("torch.tensor(0.0, device=rows.device)", 0),
        ("torch.zeros(1).to(rows.device)", 0),
        ("self.net(rows) * torch.tensor(0.5, device=rows.device)", 1),  # it computes something
    ],
)
def test_an_answer_for_nothing_to_compute_is_made_seldom(tmp_path, empty, count):
    said = shown(tmp_path, SCORE.format(empty=empty))
    assert len([s for s in said if s.startswith("DEV304")]) == count + 1


@pytest.mark.parametrize(("option", "count"), [("True", 0), ("False", 1)])
def test_what_requires_grad_is_a_leaf_only_where_it_was_made(tmp_path, option, count):
    code = f"""\
class Pick(nn.Module):
    def forward(self, rows: torch.Tensor):
        picked = torch.zeros(1, 4, requires_grad={option}).to(rows.device)
        picked[0] = rows[0]
        return picked
"""
    assert len([s for s in shown(tmp_path, code) if s.startswith("DEV304")]) == count


@pytest.mark.parametrize(
    ("layer", "advice"),
    [
        ("self.scale = 2", "take the device from an input"),  # it has no parameter to ask
        ("self.proj = nn.Linear(4, 4)", "`next(self.parameters()).device`"),
    ],
)
def test_a_module_without_parameters_has_no_device(tmp_path, layer, advice):
    code = f"""\
class Focal(nn.Module):
    def __init__(self):
        super().__init__()
        {layer}

    def forward(self, rows: torch.Tensor):
        return rows + torch.zeros(3).cuda()


fast = torch.cuda.is_available()
"""
    (said,) = [s for s in shown(tmp_path, code) if s.startswith("DEV501")]
    assert advice in said


DEMO = """\
class Loss(nn.Module):
    def forward(self, x, y):
        return (x - y).mean()


{head}
    kept = []
    for _ in range(3):
        x = torch.rand(4, 512)
        kept.append(Loss()(x.cuda(), x.cuda()).item()){more}
"""


@pytest.mark.parametrize(
    ("head", "more", "said"),
    [
        ("if __name__ == '__main__':", "", 0),
        ("if __name__ == '__main__':", "\n        Loss()(x, x).backward()", 1),
        ("if True:", "", 1),
    ],
)
def test_what_only_shows_what_a_class_does_may_wait(tmp_path, head, more, said):
    found = shown(tmp_path, DEMO.format(head=head, more=more))
    assert len([s for s in found if s[:6] == "DEV303"]) == said


COUNT = """\
from torch.utils.data import DataLoader


def {name}(model, dataset, optimizer):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    hits, shares = 0, []
    for x, y in DataLoader(dataset):
        scores = model(x.to(device))
        {work}
        {count}
    return hits, shares
"""
TRAIN = "scores.mean().backward(); optimizer.step()"
ADDED = "hits += scores.argmax(1).eq(y.to(device)).cpu().sum()"


@pytest.mark.parametrize(
    ("name", "work", "count", "said"),
    [
        ("train", TRAIN, ADDED, 1),
        ("evaluate", "pass", ADDED, 0),
        ("train", TRAIN, "shares.append((scores.argmax(1) == y.to(device)).cpu().sum())", 0),
        ("train", TRAIN, "shares.append((y.to(device) != scores).float().cpu().mean())", 0),
        ("train", TRAIN, "hits += (scores == 0).cpu().sum()", 1),
        ("train", TRAIN, "shares.append((scores == 0).cpu().sum())", 0),
        ("evaluate", "pass", "shares.append(scores.cpu().mean())", 0),
    ],
)
def test_only_a_copy_that_is_added_up_costs_more_than_the_wait_for_its_result(
    tmp_path, name, work, count, said
):
    found = shown(tmp_path, COUNT.format(name=name, work=work, count=count))
    assert len([s for s in found if s[:6] == "DEV309"]) == said


def test_answers_that_a_training_loop_adds_up_stay_on_the_device(tmp_path):
    found = shown(tmp_path, COUNT.format(name="train", work=TRAIN, count=ADDED))
    (said,) = [s for s in found if s[:6] == "DEV309"]
    assert "add up on the device" in said and ".cpu()" not in said


PARTS = """\
class Boxes(nn.Module):
    def forward(self, boxes: torch.Tensor, picture: torch.Tensor):
        parts = []
        for box in boxes:
            x, y, w, h = list(map(int, box))
            parts.append(picture[y : y + h, x : x + w] * {weight})
        return parts
"""


@pytest.mark.parametrize(
    ("weight", "said"), [("torch.cat([picture[picture > x]])", 0), ("(picture > x)", 1)]
)
def test_elements_are_read_in_passing_where_each_turn_waits_anyway(tmp_path, weight, said):
    found = shown(tmp_path, PARTS.format(weight=weight))
    assert len([s for s in found if s[:6] == "DEV305"]) == said


LEFT = """\
from torch.utils.data import DataLoader


def resume(model, dataset, optimizer, path):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.load_state_dict(torch.load(path))
    model.to(device)
    for x in DataLoader(dataset):
        loss = model(x.to(device)).sum()
        print(loss.item())
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("train.py", ["DEV303", "DEV502"]),
        ("scripts/archive/train.py", []),
        ("old_code/train.py", []),
        ("train_bkp.py", []),
        ("third_party/train.py", []),
        ("older/train.py", ["DEV303", "DEV502"]),
    ],
)
def test_what_was_put_aside_is_left_alone(tmp_path, path, said):
    assert sorted(each[:6] for each in shown(tmp_path, LEFT, path)) == said


FETCH = """\
from torch.utils.data import DataLoader


def fetch(model, dataset):
    model.cuda()
    kept = []
    for rows, marks in DataLoader(dataset, pin_memory=True):
        kept.append({work})
    return kept
"""


@pytest.mark.parametrize(
    ("work", "said"),
    [("(rows.cuda(), marks.cuda())", 0), ("model(rows.cuda(), marks.cuda())", 1)],
)
def test_a_loop_that_only_copies_has_nothing_to_do_meanwhile(tmp_path, work, said):
    found = shown(tmp_path, FETCH.format(work=work))
    assert len([s for s in found if s[:6] == "DEV306"]) == said


ZERO = """\
class Loss(nn.Module):
    def forward(self, scores: torch.Tensor, labels):
        total = torch.tensor(0.0, device=scores.device)
        for score, label in zip(scores, labels):
            total = total + (score - {label}).sum()
        return total
"""


@pytest.mark.parametrize(
    ("label", "said"), [("torch.tensor(label, device=scores.device)", 0), ("label", 1)]
)
def test_a_number_is_copied_in_passing_where_other_data_are(tmp_path, label, said):
    found = shown(tmp_path, ZERO.format(label=label))
    assert len([s for s in found if s[:6] == "DEV304"]) == said


READ = """\
net = nn.Linear(3, 3)
net.load_state_dict(torch.load("net.pt"))
net(torch.ones(3){moved}).sum().backward()

if __name__ == "__main__":
    print(net)
"""


@pytest.mark.parametrize(
    ("moved", "said"), [("", 0), (", device='cuda' if torch.cuda.is_available() else 'cpu'", 1)]
)
def test_a_script_without_accelerators_loads_what_its_like_have_saved(tmp_path, moved, said):
    found = shown(tmp_path, READ.format(moved=moved))
    assert len([s for s in found if s[:6] == "DEV502"]) == said


SPARE = """\
def weights(net, path):
    net.load_state_dict(torch.load(path))
    return net


if __name__ == "__main__":
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(nn.Linear(3, 3).to(device))
"""


@pytest.mark.parametrize(("also", "said"), [("", 0), ("weights(net, 1)\n", 1)])
def test_a_load_that_nothing_in_the_project_calls_is_left_alone(tmp_path, also, said):
    (tmp_path / "train.py").write_text(f"from work import *\nprint(net)\n{also}")
    assert len([s for s in shown(tmp_path, SPARE) if s[:6] == "DEV502"]) == said


TRIP = """\
def both(frame: torch.Tensor, device: str):
    frame = frame.to(device)
    return torch.cat([frame.cpu().abs(), {other}]).to(device)
"""


@pytest.mark.parametrize(("other", "said"), [("torch.zeros(1, 3)", 0), ("frame.cpu()", 1)])
def test_what_met_another_tensor_on_its_trip_was_needed_there(tmp_path, other, said):
    found = shown(tmp_path, TRIP.format(other=other))
    assert len([s for s in found if s[:6] == "DEV302"]) == said


FIRST = """\
def first(model, loader):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
    kept = []
    for batch in loader:
        loss = model(batch.to(device, non_blocking=True)).mean()
        {skip}
        kept.append(loss.item())
        {leave}
"""


@pytest.mark.parametrize(
    ("skip", "leave", "said"),
    [("pass", "pass", 1), ("pass", "break", 0), ("if not batch.shape[0]: continue", "break", 1)],
)
def test_a_loop_that_leaves_in_its_first_turn_waits_once(tmp_path, skip, leave, said):
    found = shown(tmp_path, FIRST.format(skip=skip, leave=leave))
    assert len([s for s in found if s[:6] == "DEV303"]) == said


KEPT = """\
class Sampler{base}:
    def __init__(self):
        super().__init__()
        self.rows = torch.tensor([1, 2])

    def step(self, x: torch.Tensor):
        return x[self.rows] * 2
"""


@pytest.mark.parametrize(("base", "advised"), [("(nn.Module)", True), ("", False)])
def test_only_a_module_has_buffers(tmp_path, base, advised):
    (said,) = [s for s in shown(tmp_path, KEPT.format(base=base)) if s[:6] == "DEV308"]
    assert ("register_buffer" in said) == advised


PLAYER = """\
def play(net: nn.Module, storage, device):
    version = 0
    while True:
        latest = storage.version()
        if latest > version:
            {done} = latest
            net.load_state_dict(storage.weights())
            net.to(device)
        net(storage.next().to(device)).sum().backward()
"""


@pytest.mark.parametrize(("done", "said"), [("version", 0), ("storage.shown", 1)])
def test_a_branch_that_makes_its_test_false_is_taken_now_and_then(tmp_path, done, said):
    found = shown(tmp_path, PLAYER.format(done=done))
    assert len([s for s in found if s[:6] == "DEV307"]) == said


@pytest.mark.parametrize(
    ("guarded", "count"),
    [
        ("torch.cuda.manual_seed(3)", 0),  # is kept for a CUDA that may come
        ("torch.cuda.empty_cache()", 0),
        ("rows = [each.cpu() for each in rows]", 0),
        ("rows = rows.half()", 1),
        ("torch.cuda.synchronize()", 1),
    ],
)
def test_a_test_in_vain_matters_if_what_it_guards_does_something_on_the_host(
    tmp_path, guarded, count
):
    choice = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    code = f'{choice}rows = torch.load("rows.pt")\nif device != "cpu":\n    {guarded}\n'
    said = [each for each in shown(tmp_path, code) if each.startswith("DEV110")]
    assert len(said) == count
