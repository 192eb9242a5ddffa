"""What a function does costs what its calls do: once per epoch, or for a reader, it may be slow."""

from __future__ import annotations

import pytest
from rule_check import RULES, said

from devlint import engine
from devlint.config import Config

MEAN = """\
def mean_loss(total: torch.Tensor, count):
    total = total.cuda()
    return total.sum().item() / count


def fit(model, loader, optimizer):
    model.cuda()
    for epoch in range(90):
        total = torch.zeros(3, device="cuda")
        for x in loader:
            loss = model(x.cuda()).mean()
            loss.backward()
            optimizer.step()
            {inner}
        {outer}


if __name__ == "__main__":
    fit(nn.Linear(3, 3), [], None)
"""
CALL = "model.note(mean_loss(total, 9))"


@pytest.mark.parametrize(("inner", "outer", "count"), [("pass", CALL, 0), (CALL, "pass", 1)])
def test_a_loss_that_is_asked_for_once_per_epoch_may_wait(inner, outer, count):
    assert len(said(MEAN.format(inner=inner, outer=outer), "DEV303")) == count


DRAWN = """\
class Painter(nn.Module):
    def empty_like_images(self, x: torch.Tensor):
        return torch.zeros(x.shape[0], 4, 8, 8).to(x.device)

    def {name}(self, x: torch.Tensor):
        return self.net(x, self.empty_like_images(x))


if __name__ == "__main__":
    print(Painter())
"""


@pytest.mark.parametrize(("name", "count"), [("log_images", 0), ("forward", 1)])
def test_what_only_serves_a_log_may_be_slow(name, count):
    assert len(said(DRAWN.format(name=name), "DEV304")) == count


PASS = """\
def importance(model, {data}, layers, device):
    heads = torch.zeros(layers, 8).to(device)
    for x in {data}:
        heads += model(x.to(device))
    return heads


def prune(model, {data}, layers, device):
    model.to(device)
    while model.is_good():
        model.drop(importance(model, {data}, layers, device))


if __name__ == "__main__":
    prune(nn.Linear(3, 3), [], 2, "cuda")
"""


@pytest.mark.parametrize(("data", "count"), [("eval_dataloader", 0), ("parts", 1)])
def test_a_whole_pass_over_the_data_is_no_step_of_another_loop(data, count):
    assert len(said(PASS.format(data=data), "DEV304")) == count


EPOCHS = """\
def fit(model, loader, optimizer, names):
    model.cuda()
    errors = torch.zeros(9, device="cuda")
    rows = []
    for epoch in range(90):
        for x in loader:
            loss = model(x.cuda(non_blocking=True)).mean()
            {inner}
            loss.backward()
            optimizer.step()
        {outer}
"""
EACH = "for i in range(len(names)): rows.append(errors[i].item())"


@pytest.mark.parametrize(("inner", "outer", "count"), [("pass", EACH, 0), (EACH, "pass", 1)])
def test_elements_that_are_read_once_per_epoch_are_few(inner, outer, count):
    assert len(said(EPOCHS.format(inner=inner, outer=outer), "DEV305")) == count


LAYERS = """\
import torch
from torch import nn


class Norm(nn.Module):
    @torch.no_grad()
    def forward(self, x: torch.Tensor):
        return x / torch.ones(x.shape).to(x.device)
"""
MAIN = '\n\nif __name__ == "__main__":\n    main()\n'


@pytest.mark.parametrize(
    ("other", "config", "count"),
    [
        ("def main(): pass", "net: Other", 0),
        ("from layers import Norm\n\n\ndef main(): print(Norm())", "net: Other", 1),
        ("def main(): pass", "net: layers.Norm", 1),  # it is chosen by its name
        ("import layers\n\n\ndef main(name): getattr(layers, name)()", "net: Other", 1),
        ("import layers\n\n\ndef main(name): eval(name)()", "net: Other", 1),
    ],
)
def test_what_no_file_of_an_application_names_nobody_uses(tmp_path, other, config, count):
    (tmp_path / "layers.py").write_text(LAYERS)
    (tmp_path / "train.py").write_text(other + MAIN)
    (tmp_path / "run.yaml").write_text(config)
    report = engine.check([tmp_path / "layers.py"], Config(tmp_path), tuple(RULES.values()))
    assert not report.errors
    assert sum(finding.rule == "DEV304" for finding in report.findings) == count


SET_UP = """\
class QuantLayer(nn.Module):
    def configure(self, bits, search={default}):
        self.bits = bits
        self.search = search

    def forward(self, x: torch.Tensor):
        y = self.net(x)
        if self.search:
            y = y * torch.zeros(y.shape).to(y.device)
        return self.last(y)

{call}
"""


@pytest.mark.parametrize(
    ("default", "call", "count"),
    [
        ("False", "QuantLayer().configure(4)", 0),
        ("True", "", 1),
        ("None", "", 1),
        ("False", "QuantLayer().configure(4, True)", 1),
        ("False", "QuantLayer().configure(4, search=True)", 1),
    ],
)
def test_an_option_of_a_method_that_sets_an_object_up_is_off_where_nothing_sets_it(
    default, call, count
):
    assert len(said(SET_UP.format(default=default, call=call), "DEV304")) == count
