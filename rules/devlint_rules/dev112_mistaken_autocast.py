"""DEV112: autocasting or a gradient scaler is given what it does not take."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.facts import AutocastMistake, Facts, MistakenAutocast, Site
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.rewrites import atom, text_of

# `text` is what is given, `callee` what gets it, `keyword` under which name.
_MESSAGES = {
    AutocastMistake.MISSING: "`{callee}` is not told which device type it is for, and raises",
    AutocastMistake.DEVICE: "`{callee}` wants the type of a device, a string: `{text}` is a "
    "`torch.device`",
    AutocastMistake.FLAG: "`{callee}` is given `{text}` as its device type, which is True or False",
    AutocastMistake.DTYPE: "`{callee}` is given `{text}` as its device type, which is a dtype",
    AutocastMistake.KEYWORD: "`{callee}` takes no `{keyword}`",
    AutocastMistake.UNREAD: "`{callee}` takes `{text}` for its switch: it is on, and for CUDA, "
    "whatever stands there",
    AutocastMistake.SCALE: "`{callee}` takes `{text}` for its first scale, and raises with the "
    "first loss",
    AutocastMistake.SCALER_FLAG: "`{callee}` takes `{text}` for its device: it scales whether that "
    "is true or not",
}
_ADVICE = {
    AutocastMistake.MISSING: 'pass it: `torch.autocast("cuda")`, or `x.device.type` of an input',
    AutocastMistake.DEVICE: "pass its type: `{text}.type`",
    AutocastMistake.FLAG: "pass it as `enabled={text}`, behind the device type",
    AutocastMistake.DTYPE: "pass it as `dtype={text}`, behind the device type",
    AutocastMistake.UNREAD: "`torch.autocast({text})` takes a device type",
    AutocastMistake.SCALE: "`torch.amp.GradScaler({text})` takes a device type",
    AutocastMistake.SCALER_FLAG: "pass it as `enabled={text}`",
}
_CUDA_ONLY = "it is for CUDA alone; `torch.autocast` and `torch.amp.GradScaler` take a device type"


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.mistaken_autocasts:
        words = {"callee": fact.callee, "text": fact.text, "keyword": fact.keyword}
        unread = fact.mistake is AutocastMistake.UNREAD
        yield Claim(
            fact.site,
            Severity.WARNING if unread else Severity.ERROR,
            Confidence.CERTAIN,
            _MESSAGES[fact.mistake].format(**words),
            advice=_advice(fact).format(**words),
            fix=_fix(fact),
            applicability=Applicability.UNSAFE
            if fact.mistake is AutocastMistake.SCALE
            else Applicability.SAFE,
        )


def _advice(fact: MistakenAutocast) -> str:
    if fact.mistake is not AutocastMistake.KEYWORD:
        return _ADVICE[fact.mistake]
    return _CUDA_ONLY if "cuda" in fact.callee else "it is called `device_type`"


def _fix(fact: MistakenAutocast) -> tuple[Replacement, ...]:
    call, given = fact.site.node, fact.given.node
    assert isinstance(call, cst.Call)
    if fact.mistake is AutocastMistake.DEVICE:
        return (Replacement(fact.given, f"{atom(given)}.type"),)
    if fact.mistake is AutocastMistake.SCALER_FLAG:
        return _named(fact, call, "enabled")
    if fact.mistake is AutocastMistake.UNREAD and text_of(call.func) == "torch.cuda.amp.autocast":
        return (Replacement(Site(fact.site.source, call.func), "torch.autocast"),)
    if fact.mistake is AutocastMistake.SCALE and text_of(call.func) == "torch.cuda.amp.GradScaler":
        return (Replacement(Site(fact.site.source, call.func), "torch.amp.GradScaler"),)
    return ()


def _named(fact: MistakenAutocast, call: cst.Call, keyword: str) -> tuple[Replacement, ...]:
    """The argument under a keyword; only where it is the only one."""
    if len(call.args) != 1 or call.args[0].keyword is not None:
        return ()
    return (Replacement(fact.given, f"{keyword}={text_of(fact.given.node)}"),)


RULE = Rule(
    code="DEV112",
    name="mistaken-autocast",
    severity=Severity.ERROR,
    summary="Autocasting or a gradient scaler is given no device type, or something else for it.",
    what="""\
Reports `torch.autocast()` and `torch.amp.autocast(enabled=…)` without a device type;
`torch.autocast(device)` with a `torch.device`, a flag or a dtype in its place;
`torch.autocast(device=…)`; `torch.cuda.amp.autocast("cuda")`, whose first argument is the switch;
`torch.cuda.amp.GradScaler("cuda")`, whose first argument is the scale; and
`torch.amp.GradScaler(use_amp == "fp16")`, whose first argument is the device.""",
    why="""\
`torch.cuda.amp.autocast(enabled)` became `torch.autocast(device_type, dtype, enabled)`: what was
the first argument is the third. `torch.autocast` wants the type as a string and raises `TypeError`
for none, `ValueError` for a `torch.device` (`RuntimeError` in older releases).
`torch.cuda.amp.autocast("cpu")` is on, and for CUDA. A scaler keeps whatever it is given as its
device, so that `GradScaler(False)` scales; one with a text for its scale raises at
`scale(loss)`.""",
    reference="https://docs.pytorch.org/docs/stable/amp.html",
    bad=(
        """\
import torch


def step(model, x, use_amp):
    with torch.autocast(enabled=use_amp):
        return model(x)
""",
        """\
import torch


def step(model, x: torch.Tensor):
    with torch.autocast(x.device, dtype=torch.bfloat16):
        return model(x)
""",
        """\
import torch


def scaler(precision):
    return torch.amp.GradScaler(precision == "fp16")
""",
    ),
    good=(
        """\
import torch


def step(model, x, use_amp):
    with torch.autocast("cuda", enabled=use_amp):
        return model(x)
""",
        """\
import torch


def step(model, x: torch.Tensor):
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return model(x)
""",
        """\
import torch


def scaler(precision):
    return torch.amp.GradScaler(enabled=precision == "fp16")
""",
    ),
    check=_check,
    fix="""\
Writes the type of a `torch.device`, names a flag `enabled`, and takes `torch.autocast` for
`torch.cuda.amp.autocast` where a device type is given. Which type is missing is not guessed.""",
    twin="""\
None: PyTorch refuses the argument on every machine, or takes it for another one in silence.""",
    limits="""\
A name that may hold a string or a `torch.device` is taken for a string. `torch.autocast("cuda:0")`
is no finding: PyTorch 2.13 takes it, though older releases raised. Nor is
`torch.amp.GradScaler("cpu")`, which works since 2.3. The rule is in preview: 249 repositories gave
two findings (November 2026), both right, which is too few to tell.""",
    preview=True,
)
