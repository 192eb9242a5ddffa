"""DEV510: the number of a card is asked for its truth, which card 0 lacks."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.facts import Facts, IndexTest
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import function_is_called, in_use


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.index_tests:
        assumed = function_is_called(facts, fact.site) + in_use(facts, fact.site)
        yield Claim(
            fact.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{fact.text}` is the number of a card, and 0 is false: the first card is left out",
            advice=f"ask whether there is one: `{_question(fact)}`",
            trace=(
                Note(fact.declared, f"an integer, or {fact.absent}"),
                Note(fact.used, f"`{fact.use}` takes it for the number of a card"),
            ),
            fix=_fix(fact),
            assumptions=assumed,
        )


def _question(fact: IndexTest) -> str:
    if fact.absent == "None":
        return f"{fact.text} is {'' if fact.negated else 'not '}None"
    return f"{fact.text} {'<' if fact.negated else '>='} 0"


def _fix(fact: IndexTest) -> tuple[Replacement, ...]:
    if fact.absent != "None":
        return ()
    return (Replacement(fact.site, _question(fact)),)


RULE = Rule(
    code="DEV510",
    name="index-as-flag",
    severity=Severity.WARNING,
    summary="The number of a card is asked for its truth: card 0 is false.",
    what="""\
Reports a value that is declared as an integer or None (an option of a command line, a parameter, a
field), that a condition asks for its truth, and that is taken for the number of a card where it is
true: `f"cuda:{gpu}" if gpu else "cpu"`.""",
    why="""\
0 is the number of the first card, and false. Whoever asks for it with `--gpu 0` goes the way of
those who asked for none: the work runs on the host, with no word of it.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=None)
args = parser.parse_args([])
device = torch.device(f"cuda:{args.gpu}") if args.gpu else torch.device("cpu")
print(device)
""",
        """\
import torch
from torch import nn


def place(model: nn.Module, gpu: int | None = None) -> nn.Module:
    if gpu:
        model = model.cuda(gpu)
    return model
""",
        """\
import torch


def choose(gpu=None):
    if not gpu:
        return torch.device("cpu")
    else:
        return torch.device("cuda", gpu)
""",
    ),
    good=(
        """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", type=int, default=None)
args = parser.parse_args([])
device = torch.device(f"cuda:{args.gpu}") if args.gpu is not None else torch.device("cpu")
print(device)
""",
        """\
import torch
from torch import nn


def place(model: nn.Module, gpu: int | None = None) -> nn.Module:
    return model.cuda() if not gpu else model.cuda(gpu)
""",
        """\
import torch


def choose(gpu: str | None = None):
    return torch.device(f"cuda:{gpu}") if gpu else torch.device("cpu")  # "0" is true
""",
    ),
    check=_check,
    fix="""\
Asks for None instead: `if gpu:` becomes `if gpu is not None:`. Where -1 stands for no card, there
is no fix: `if gpu >= 0:` is for you to write.""",
    twin="""\
Nothing is raised: without a card, or with the first one, the work is done on the host.""",
    limits="""\
The declaration has to be in the same file: an option with `type=int`, a parameter or a field that
is `int | None`, or a parameter that is None by default and used as no text could be. What is 0 by
default has a meaning of its own there, and so has a number that is counted with (`range(gpus)`). It
is no finding where the other way leads to the first card, too (`else "cuda"`), and where the branch
only makes a card the current one (`torch.cuda.set_device(gpu)`), which card 0 is anyway.""",
)
