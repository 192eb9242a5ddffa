"""DEV107: a device at hand is not passed on to a function that takes one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import DroppedArgument, Facts, Neglect
from devlint.inference.syntax.text import every
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if
from devlint_rules.helpers.causes import repeats
from devlint_rules.helpers.rewrites import add_argument, in_file, text_of
from devlint_rules.helpers.scopes import function_around

_LEFT_BEHIND = (Neglect.LEFT_OUT, Neglect.UNUSED)  # what comes back is not where it may be wanted
_PASSED_ON = (Neglect.LEFT_OUT, Neglect.UNUSED, Neglect.FLAG)


_HAS = "`{function}` has a `{parameter}` and "
_MESSAGES = {
    Neglect.LEFT_OUT: f"{_HAS}does not pass it on: `{{callee}}` works on its default one",
    Neglect.FLAG: f"{_HAS}does not pass it on: `{{callee}}` goes by its own default",
    Neglect.DEFAULTED: "`{callee}` works on an accelerator unless it is told otherwise, wherever "
    "`{parameter}` is",
    Neglect.UNUSED: f"{_HAS}does not use it: `{{callee}}` works on its default one",
    Neglect.REPLACED: f"{_HAS}asks no more than whether it is the CPU: `{{callee}}` has one card "
    "for all",
    Neglect.OVERWRITTEN: f"{_HAS}binds it anew before it reads it, to `{{callee}}`: what "
    "callers ask for has no effect",
    Neglect.MAPPED: f"{_HAS}only loads weights to it: `{{callee}}` is not moved there",
    Neglect.UNRESOLVED: "`{callee}` goes by the `{parameter}` that was given, which may be None, "
    "and not by what it was resolved to",
    Neglect.BESIDE: f"{_HAS}works there, and yet moves to `{{callee}}`, perhaps another one",
    Neglect.CURRENT: f"{_HAS}asks no more than its type: `{{callee}}` is for the current card",
    Neglect.UNMOVED: "`{function}` moves its inputs to `{parameter}`, and `{callee}` is wherever "
    "it was left: others move it before they call it",
    Neglect.STREAM: "`{function}` copies to `{parameter}`, and `{callee}` is a stream of the "
    "current card, perhaps another one",
}
# `called`: the callee as the call writes it; `others`: what it is given before.
_ADVICE = {
    Neglect.LEFT_OUT: "pass it on: `{called}({others}{parameter}={parameter})`",
    Neglect.FLAG: "pass it on: `{called}({others}{parameter}={parameter})`",
    Neglect.DEFAULTED: "say where, by the input: `{parameter}.device`",
    Neglect.UNUSED: "pass it on: `{called}({others}{parameter}={parameter})`",
    Neglect.REPLACED: "take the one that was asked for: `torch.device({parameter})`",
    Neglect.OVERWRITTEN: "choose only where none is asked for: `if {parameter} is None:`",
    Neglect.MAPPED: "return `{callee}.to({parameter})`",
    Neglect.UNRESOLVED: "use the device that it was resolved to",
    Neglect.BESIDE: "move all to `{parameter}`",
    Neglect.CURRENT: "pass it on: `{called}({parameter})`",
    Neglect.UNMOVED: "move it here as well: `{callee}.to({parameter})`",
    Neglect.STREAM: "say which card's: `{called}(device={parameter})`",
}


def _said(fact: DroppedArgument, texts: dict[Neglect, str]) -> str:
    call = fact.site.node if isinstance(fact.site.node, cst.Call) else None
    return texts[fact.neglect].format(
        function=fact.function,
        parameter=fact.parameter,
        callee=fact.callee,
        called=text_of(call.func) if call is not None else fact.callee,
        others="…, " if call is None or call.args else "",
    )


def _fix(facts: Facts, fact: DroppedArgument) -> tuple[Replacement, ...]:
    if fact.neglect not in _PASSED_ON or not in_file(facts, fact.site):
        return ()
    return add_argument(fact.site, f"{fact.parameter}={fact.parameter}")


def _is_dropped(facts: Facts, fact: DroppedArgument) -> bool:
    """Nothing else can bring what comes back to the device: the function, which calls itself so,
    gives two kinds of results, or reads its device nowhere."""
    function = function_around(facts, fact.site.node)
    if fact.callee == fact.function or function is None:
        return fact.callee == fact.function
    named = [each for each in every(function, cst.Name) if each.value == fact.parameter]
    return fact.neglect is Neglect.LEFT_OUT and len(named) == 1


def _check(facts: Facts) -> Iterator[Claim]:
    yield from repeats(facts, _claims(facts))


def _claims(facts: Facts) -> Iterator[Claim]:
    for fact in facts.dropped_arguments:
        trace: tuple[Note, ...] = ()
        defaulted = fact.neglect is Neglect.DEFAULTED
        unmoved = fact.neglect is Neglect.UNMOVED
        if fact.callee_site is not None and unmoved:
            trace = (Note(fact.callee_site, f"`{fact.callee}` is moved here"),)
        elif fact.callee_site is not None and not defaulted:
            trace = (Note(fact.callee_site, f"`{fact.callee}` takes `{fact.parameter}` here"),)
        if fact.placed is not None:
            own = "default device" if defaulted else f"own `{fact.parameter}`"
            text = f"`{fact.callee}` puts its result on its {own} here"
            text = "its inputs are moved here" if unmoved else text
            trace = (*trace, Note(fact.placed, text))
        assumed = assume(
            AssumptionKind.DEVICE_IS_FOR_ALL,
            fact.site,
            f"all of `{fact.function}` works there",
        ) + assume_if(
            fact.moved,
            AssumptionKind.RESULT_IS_MOVED_IN_VAIN,
            fact.site,
            "what comes back need not be moved",
        )
        assumed += assume_if(
            fact.neglect in _LEFT_BEHIND and not _is_dropped(facts, fact),
            AssumptionKind.RESULT_STAYS_BEHIND,
            fact.site,
            "nothing moves afterwards what comes back",
        )
        yield Claim(
            fact.site,
            Severity.WARNING,
            confidence_of(assumed),
            _said(fact, _MESSAGES),
            advice=_said(fact, _ADVICE),
            trace=trace,
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV107",
    name="device-not-passed-on",
    severity=Severity.WARNING,
    summary="A function with a `device` calls one that takes a `device`, and leaves it out.",
    what="""\
Reports a call of a function of the project that takes a device, makes its result there, and is left
to its default although the caller has a device under the same name, or a flag such as `use_cuda`;
one of a function that works on `"cuda"` by default, with an input of the caller's; a function that
calls itself without its own device; one that never mentions its device, and returns or lets an
object keep what a factory makes on the default one, or calls one that takes the like; and one that
takes the first card for whatever device it is given, but for the CPU; and one that replaces its
device by `"cuda"` or by a choice of its own before it reads it. So are a function that loads
weights to its device and returns the model where it was made; one that resolves a device which may
be None, and goes on with None; one that moves its module to the device and what goes in to
`self.device`; and one that waits for the current card (`torch.cuda.synchronize()`) whichever it is
given; and one that copies to a device on a stream of the current card (`torch.cuda.Stream()`). And
the one method of a class that calls a module as it is, with inputs that it moves, where two others
move the module first.""",
    why="""\
The result is on the default device, mostly the CPU, or on the first accelerator: not where the
caller was asked to work. It fails where the two meet, far from the call, or costs a transfer and
the memory of a second device.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
    bad=(
        """\
import torch


def positions(length, device="cpu"):
    return torch.arange(length, device=device)


def windows(count, length, device="cpu"):
    return [positions(length) for _ in range(count)]
""",
        """\
import torch
from torch import nn


def load(width, device=None):
    model = nn.Linear(width, width)
    return model.to(device)


def main(device="cuda"):
    model = load(16)
    print(model(torch.ones(1, 16, device=device)))
""",
        """\
import torch


def restore(path, device="cpu"):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.load(path, map_location=device)
""",
        """\
import torch


def tree(depth, device):
    return grow(depth, device=device)


def grow(depth, device=torch.device("cpu")):
    if depth == 0:
        return torch.zeros(1, device=device)
    return torch.stack([grow(depth - 1), grow(depth - 1)])
""",
    ),
    good=(
        """\
import torch


def positions(length, device="cpu"):
    return torch.arange(length, device=device)


def windows(count, length, device="cpu"):
    return [positions(length, device=device) for _ in range(count)]
""",
        """\
import torch


def normalised(x, device=None):
    return x / x.sum()


def run(x, device="cuda"):
    return normalised(x.to(device))  # where `x` is
""",
        """\
import torch


def mask(length, device="cpu"):
    return torch.ones(length, length, device=device).tril()


def masked(scores: torch.Tensor) -> torch.Tensor:
    return scores * mask(scores.size(-1), scores.device)
""",
    ),
    check=_check,
    fix="Passes it on: `f(x, device=device)`. Unsafe: the default may be meant.",
    twin="""\
`devlint confirm` waits for a mixed-device error with a tensor that the called function made.""",
    limits="""\
Only for functions in sight whose result lives on their `device`, and only where the names agree. A
result that meets a value elsewhere is reported there (DEV101, DEV102) and not here. A call that
leaves the device out is a `possible` finding: what comes back is mostly moved later, or is wanted
on the host; not so where the function calls itself, or reads its device nowhere else. Whether a
model that was loaded to a device is moved by whoever calls is seen in its own file only (to ask
whether the device is `"cpu"`, or to wrap the model in `DataParallel`, moves nothing), and that the
current card is waited for is said where an option takes any device, and not of a private function
or a script's whose calls in sight all name a type alone (`torch.device("cuda")`).""",
)
