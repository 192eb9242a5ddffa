"""A device that a class tells by a property without a setter can't be set."""

from __future__ import annotations

import pytest
from rule_check import check_text

CODE = """\
import abc

import lightning.pytorch as pl
import pytorch_lightning
import torch
from accelerate import Accelerator
from diffusers import ModelMixin
from others import Mixin, Other
from transformers import BertPreTrainedModel, Pipeline
from torch import nn
from torchmetrics import Metric


class Model({bases}):
    {body}

    def __init__(self, device):
        super().__init__()
        self.net = nn.Linear(3, 3)
        {line}
"""


def found(bases: str, line: str = "self.device = device", body: str = "size = 3") -> int:
    findings = check_text(CODE.format(bases=bases, line=line, body=body))
    return sum(each.rule == "DEV110" for each in findings)


@pytest.mark.parametrize(
    ("bases", "count"),
    [
        ("pytorch_lightning.LightningModule", 1),
        ("pl.LightningModule, abc.ABC", 1),
        ("BertPreTrainedModel", 1),
        ("ModelMixin", 1),
        ("Metric", 1),
        ("nn.Module", 0),
        ("pl.LightningDataModule", 0),
        ("Pipeline", 0),  # it has an attribute of that name
        ("Other", 0),
        ("Mixin, pl.LightningModule", 0),  # it may have a setter
    ],
)
def test_which_classes_have_such_a_property(bases: str, count: int) -> None:
    assert found(bases) == count


@pytest.mark.parametrize(
    ("line", "body", "count"),
    [
        ("self.net.device = device", "size = 3", 0),
        ("self.device = self._device = device", "size = 3", 1),
        ("self.device, self.size = device, 3", "size = 3", 1),
        ("self._device = device", "size = 3", 0),
        ("self.device = nn.Linear(3, 3)", "size = 3", 0),  # a module of that name
        ("Accelerator().device = device", "size = 3", 1),
        ("try:\n            self.device = device\n        except AttributeError: pass", "n = 3", 0),
        ("self.device = device", "device = None", 0),
        ("self.device = device", "device: torch.device", 1),
        ("self.device = device", "def __setattr__(self, name, value): ...", 0),
    ],
)
def test_what_is_set(line: str, body: str, count: int) -> None:
    assert found("pl.LightningModule", line, body) == count
