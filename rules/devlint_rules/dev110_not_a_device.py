"""DEV110: what stands where a device belongs is none."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Confidence, Severity
from devlint.inference.facts import Facts, Mistake, MistakenDevice
from devlint.rule import Claim, Rule

_ADVICE = {
    Mistake.FLAG: 'choose the device by the flag: `"cuda" if flag else "cpu"`',
    Mistake.CONTEXT: "pass the index itself, or `torch.device(…)`; `torch.cuda.device` is for a "
    "`with`",
    Mistake.NEVER_EQUAL: 'compare its type: `x.device.type == "cuda"`',
    Mistake.ALWAYS_UNEQUAL: 'compare its type: `x.device.type != "cpu"`',
}


def _message(fact: MistakenDevice) -> str:
    if fact.mistake is Mistake.FLAG:
        return f"`{fact.callee}` is given `{fact.text}` as its device, which is True or False"
    if fact.mistake is Mistake.CONTEXT:
        return (
            f"`{fact.callee}` is given `{fact.text}` as its device, which is a context manager "
            "and no device"
        )
    always = "never true" if fact.mistake is Mistake.NEVER_EQUAL else "always true"
    return f"`{fact.text}` is {always}: a `torch.device` does not equal a string"


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.mistaken_devices:
        yield Claim(
            fact.site,
            Severity.WARNING if fact.mistake is Mistake.ALWAYS_UNEQUAL else Severity.ERROR,
            Confidence.LIKELY if fact.inferred else Confidence.CERTAIN,
            _message(fact),
            advice=_ADVICE[fact.mistake],
        )


RULE = Rule(
    code="DEV110",
    name="not-a-device",
    severity=Severity.ERROR,
    summary="A flag, a context manager or a string stands where a device belongs.",
    what="""\
Reports a truth value or `torch.cuda.device(i)` that is passed as a device, and a `torch.device`
that is compared with a string.""",
    why="""\
`.cuda(True)` and `device=True` raise `TypeError: argument 'device' must be torch.device, not bool`.
`torch.cuda.device(i)` is a context manager that selects a device for a `with` block. And
`x.device == "cuda"` is False wherever `x` lives, without an error: a `torch.device` equals only a
`torch.device`, so that the branch behind it never runs.""",
    reference="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device",
    bad=(
        """\
import torch


def prepare(batch: torch.Tensor, use_gpu=False):
    return batch.cuda(use_gpu)
""",
        """\
import torch

for index in range(torch.cuda.device_count()):
    print(torch.cuda.memory_summary(device=torch.cuda.device(index)))
""",
        """\
import torch


def fast_path(x: torch.Tensor) -> bool:
    return x.device == "cuda" and x.is_contiguous()
""",
    ),
    good=(
        """\
import torch


def prepare(batch: torch.Tensor, use_gpu=False):
    return batch.to("cuda" if use_gpu else "cpu")
""",
        """\
import torch

for index in range(torch.cuda.device_count()):
    print(torch.cuda.memory_summary(device=index))
""",
        """\
import torch


def fast_path(x: torch.Tensor) -> bool:
    return x.device.type == "cuda" and x.is_contiguous()
""",
    ),
    check=_check,
    twin="None: PyTorch raises a `TypeError` of its own, and a comparison raises nothing.",
    limits="""\
A parameter that is named for a device, and may hold a string or a `torch.device`, may be compared
with either.""",
)
