"""DEV501: the code demands an accelerator that nothing guards or configures."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mention, Site
from devlint.inference.syntax.code_generator import code_of
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import (
    assume,
    in_use,
    own_card,
    runs_elsewhere,
    runs_without_cuda,
    sign_of_cuda,
)
from devlint_rules.helpers.blocks import assignment_of
from devlint_rules.helpers.edits import told
from devlint_rules.helpers.mentions import twins, unguarded
from devlint_rules.helpers.ownership import rule_of_mention
from devlint_rules.helpers.rewrites import (
    argument,
    atom,
    in_file,
    move_target,
    parsed,
    receiver,
    text_of,
)
from devlint_rules.helpers.scopes import function_around, is_bound, means_the_same

_CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
_ADVICE = (
    f"choose the device once (`device = {_CHOICE}`) or let the user, and pass it on",
    "take the device from an input (`x.device`) or as a parameter of the function",
    "take the device as a parameter, of the constructor or of the function",
)


def _fix(facts: Facts, mentions: list[Mention]) -> tuple[Replacement, ...]:
    """The choice in the first place, and its name in the others; or an input's own device."""
    if not in_file(facts, *(mention.site for mention in mentions)):
        return ()
    chosen, *others = mentions
    found = list(_with_choice(chosen))
    name = _name_of(facts, chosen)
    if not found or (others and name is None):
        found, others, name = [], mentions, None
    for mention in others:
        node = mention.site.node
        device = name if name is not None else _of_input(facts, node)
        if device is None or (name and not means_the_same(facts, name, node, node)):
            return ()
        text = _placed(node, device)
        if text is None:
            return ()
        found.append(Replacement(mention.site, text))
    return tuple(found)


def _name_of(facts: Facts, mention: Mention) -> str | None:
    """`device` of `device = torch.device("cuda")`."""
    found = assignment_of(facts, mention.site.node)
    return text_of(found.targets[0].target) if found and len(found.targets) == 1 else None


def _of_input(facts: Facts, node: cst.CSTNode) -> str | None:
    """The device of the input whose size a tensor is made with, there or before it is moved."""
    made = receiver(node) if move_target(node) is not None else node
    if not isinstance(made, cst.Call):
        return None
    sizes = re.findall(r"(?<![\w.])(\w+)\.(?:size\(|shape\b)", text_of(made))
    names = {name for name in sizes if means_the_same(facts, name, node, node)}
    return f"{names.pop()}.device" if len(names) == 1 and "self" not in names else None


def _placed(node: cst.CSTNode, device: str) -> str | None:
    """The same call with this device in the place of the accelerator that it names."""
    before, named = receiver(node), move_target(node)
    if before is not None and named is not None:
        return f"{atom(before)}.to({device})"
    given = argument(node, "device") if isinstance(node, cst.Call) else None
    if given is None or not isinstance(given.value, cst.SimpleString):
        return None
    changed = node.deep_replace(given.value, parsed(device))
    return text_of(changed) if isinstance(changed, cst.Call) else None


def _goes_back(facts: Facts, node: cst.CSTNode) -> tuple[Replacement, ...]:
    """`.to(x.device)` for the `.cuda()` behind `x.cpu()…`."""
    before = receiver(node)
    inner: cst.CSTNode | None = before
    while inner is not None and receiver(inner) is not None:
        inner = receiver(inner)
    if before is None or not isinstance(inner, cst.Name):
        return ()
    if not means_the_same(facts, inner.value, node, node):
        return ()
    return (Replacement(Site(facts.source, node), f"{atom(before)}.to({inner.value}.device)"),)


def _with_choice(mention: Mention) -> tuple[Replacement, ...]:
    """`torch.device("cuda")` gets the choice inside: only where the text itself is in sight."""
    first, node = mention.site, mention.site.node
    if not isinstance(node, cst.Call) or len(node.args) != 1 or node.args[0].keyword:
        return ()
    value, func = node.args[0].value, code_of(node.func)
    if func != "torch.device" or not isinstance(value, cst.SimpleString):
        return ()
    if value.evaluated_value != "cuda":
        return ()
    return (Replacement(first, f"torch.device({_CHOICE})"),)


def _assumptions(facts: Facts, mentions: list[Mention]) -> Assumptions:
    """A file without a sign of any other machine may be meant for this one only: a script as well
    as a library."""
    first, telling = mentions[0], any(mention.serves_host for mention in mentions)
    without = runs_without_cuda(first.site)
    without += runs_elsewhere(first.site, sign_of_cuda(mentions, telling))
    return without + in_use(facts, first.site)


def _other_cards(mention: Mention) -> Assumptions:
    message = "the code runs on machines with several cards"
    return assume(AssumptionKind.OTHER_CARDS_ARE_USED, mention.site, message) + own_card(mention)


def _returns(facts: Facts) -> Iterator[Claim]:
    """`x.cpu().sort().values.cuda()` behind a condition: right on one card only."""
    for mention in facts.mentions:
        if mention.returns and rule_of_mention(mention) == "DEV501":
            assumed = _other_cards(mention)
            yield Claim(
                mention.site,
                Severity.WARNING,
                confidence_of(assumed),
                f"`{mention.text}` does not go back to where the input was: `.cuda()` is the "
                "current card, which may be another",
                advice="go back to the input's own device: `.to(x.device)`",
                fix=_goes_back(facts, mention.site.node),
                applicability=Applicability.UNSAFE,
                assumptions=assumed,
            )


def _on_purpose(facts: Facts, strays: list[Mention]) -> Claim:
    """Code for CUDA: wrong is only what takes another card than the one that it was given."""
    first, *others = strays
    which = "the current card" if first.index is None else f"card {first.index}"
    device = f"`{first.at_hand}`" if first.at_hand else "where the model is"
    assumed = _other_cards(first)
    return Claim(
        first.site,
        Severity.WARNING,
        confidence_of(assumed),
        f"`{first.text}` takes {which}, which need not be {device}{_more(others)}",
        advice=_advice(facts, first),
        trace=twins(others),
        assumptions=assumed,
    )


def _demands(facts: Facts, mentions: list[Mention]) -> Claim:
    first, *others = mentions
    assumed = _assumptions(facts, mentions)
    fix = _fix(facts, mentions)
    return Claim(
        first.site,
        Severity.WARNING,
        confidence_of(assumed),
        f"`{first.text}` demands an accelerator, which nothing asks for first{_more(others)}",
        advice=_told(facts, fix) if fix else _advice(facts, first),
        trace=twins(others),
        fix=fix,
        applicability=Applicability.UNSAFE,
        assumptions=assumed,
    )


def _more(others: list[Mention]) -> str:
    return f" (and {len(others)} more in this file)" if others else ""


def _told(facts: Facts, fix: tuple[Replacement, ...]) -> str:
    """What a fix does: it chooses in the first place, or goes by an input."""
    if fix[0].text == f"torch.device({_CHOICE})":
        return _ADVICE[0]
    by_input = "go by the device of what it is made for"
    return told(facts, fix, by_input, by_input)


def _advice(facts: Facts, mention: Mention) -> str:
    if mention.at_hand and is_bound(facts, mention.at_hand, mention.site.node):
        return f"go by the device that is at hand: `{mention.at_hand}`"
    if mention.in_main:
        return _ADVICE[0]
    return _ADVICE[1] if _is_given_something(facts, mention) else _ADVICE[2]


def _is_given_something(facts: Facts, mention: Mention) -> bool:
    """The function has a parameter that may be an input; an object is none, nor is a class."""
    function = function_around(facts, mention.site.node)
    params = function.params if function is not None else None
    given = (*params.posonly_params, *params.params, *params.kwonly_params) if params else ()
    return any(each.name.value not in ("self", "cls") for each in given)


def _follow(facts: Facts) -> Iterator[Claim]:
    """`"cuda" if x.is_cuda else "cpu"`: where `x` is, but for other cards."""
    for mention in facts.mentions:
        if mention.follows and rule_of_mention(mention) in ("DEV501", "DEV505"):
            assumed = _other_cards(mention)
            yield Claim(
                mention.site,
                Severity.WARNING,
                confidence_of(assumed),
                f"`{mention.text}` is the current card, and not that of `{mention.follows}`",
                advice=f"take the device as it is: `{mention.follows}.device`",
                fix=(Replacement(mention.site, f"{mention.follows}.device"),)
                if in_file(facts, mention.site)
                else (),
                applicability=Applicability.UNSAFE,
                assumptions=assumed,
            )


def _check(facts: Facts) -> Iterator[Claim]:
    yield from _returns(facts)
    yield from _follow(facts)
    for mentions in unguarded(facts, "DEV501"):
        meant = [mention for mention in mentions if mention.on_purpose]
        strays = [mention for mention in meant if mention.strays]
        others = [mention for mention in mentions if not mention.on_purpose]
        if strays:
            yield _on_purpose(facts, strays)
        elif meant and not others:
            yield _demands(facts, meant)
        if others:
            yield _demands(facts, others)


RULE = Rule(
    code="DEV501",
    name="hard-coded-accelerator",
    severity=Severity.WARNING,
    summary='`.cuda()` or `device="cuda"` that nothing guards or configures.',
    what="""\
Reports code that names an accelerator without asking whether it is there, and without letting
anybody choose; and what takes the current card instead of an input's own: a bare `.cuda()` that
brings an input back from the host, or `"cuda" if x.is_cuda else "cpu"`. In code that nothing but
CUDA runs, only what takes the current card, or a numbered one, although a device is at hand
(`self.device`, `q.device`, `args.device`). One finding for the main part of a file and one for its
functions and classes, with all places in the trace.""",
    why="""\
On a machine without that accelerator the line raises `AssertionError: Torch not compiled with CUDA
enabled` or `RuntimeError: Found no NVIDIA driver`; on one with MPS or XPU it leaves the accelerator
that is there unused. PyTorch's own advice is device-agnostic code with one `device`.""",
    reference="https://docs.pytorch.org/docs/stable/notes/cuda.html#device-agnostic-code",
    bad=(
        """\
import torch


def mask(length):
    return torch.ones(length, length).tril().cuda()
""",
        """\
import torch


def embed(model, x: torch.Tensor):
    return model.to("cuda")(x.to("cuda"))
""",
        """\
import torch
from torch import nn

device = torch.device("cuda")
model = nn.Linear(4, 2).to(device)
print(model(torch.randn(1, 4, device=device)))
""",
    ),
    good=(
        """\
import torch


def mask(x: torch.Tensor):
    length = x.size(1)
    return torch.ones(length, length, device=x.device).tril()
""",
        """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
print(model(torch.randn(1, 4, device=device)))
""",
        """\
import torch
from torch import nn

model = nn.Linear(4, 2)
if torch.cuda.is_available():
    model = model.cuda()
""",
    ),
    check=_check,
    fix="""\
`torch.device("cuda")` becomes `torch.device("cuda" if torch.cuda.is_available() else "cpu")`, and
the other places name it; a tensor with the size of an input goes to that input's device. Only where
all places of a finding can be mended: a function without any input to go by and a class that makes
its state need a new parameter `device`, which their callers have to give; and of a model that an
input is moved to, nothing says that all its parameters are on one device. Unsafe: running on the
host may not be wanted.""",
    twin="""\
On a machine without CUDA (`devlint confirm --virtual mps`, or a host) the line raises.""",
    limits="""\
Whether a program is meant for one kind of machine only, devlint cannot know; hence a warning, and a
`possible` one unless something shows that it runs elsewhere: the file asks whether CUDA is there,
has an option for it or falls back on `"cpu"`; the code around is given a device or reads
`self.device` or `args.device`. Signs from further away count in a project that leaves a choice in
more of its files than it demands CUDA in without one: a file that imports this one leaves it,
however far away; its class moves something else only behind a question; its function goes by the
device of an input elsewhere; it is a module's method, which has an input to go by, in a file that
takes devices from tensors elsewhere. What the file imports itself says nothing. Code
named for CUDA, GPUs or Triton, by its function, class or file, and tests are left alone; so is the
`.cuda()` of a module without parameters, which moves nothing. A file whose main part, or a set-up
function (`initialize`, `setup_…`), fails where `torch.cuda.is_available()` is false is for CUDA, as
are the methods of a class whose constructor does so or makes a `torch.cuda.Stream`, and what works
with streams or calls a kernel that there is for CUDA only (`amp_C`, `flash_attn`, `…_cuda`). So is
what is measured with `ProfilerActivity.CUDA`, timing events or a clock between two waits, and what
is compared with the host (`for device in (cpu, cuda)`). Where a file, or a module that it imports,
needs an extension that the project builds with `CUDAExtension`, where a file imports a library of
kernels for CUDA at its top (`vllm`, `exllamav2`, `mamba_ssm`), where a script sets
`CUDA_VISIBLE_DEVICES` or wraps its model for several cards, where all tensors are CUDA's by
default, where a layer is taken to the card and back, where all programs of the project that come to
it assert that CUDA is there, and in the check of a module that others import (its `__main__` part,
which reads no options, and what only that calls), that it demands CUDA is `possible` only. A string
that a variable holds is configuration, and so is the default of an option.""",
)
