"""DEV208: a model is moved as a whole, although its layers have been placed."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import DispatchedMove, Facts, Placer
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, warm_file
from devlint_rules.helpers.rewrites import in_file, text_of

_HARM = {
    Placer.DISPATCHED: "it raises where a layer was left on the host or on disk, and brings all "
    "layers to one card where they are on several",
    Placer.PIPELINE: "a pipeline raises `ValueError` then",
    Placer.SEQUENTIAL: "the pipeline raises `ValueError`",
    Placer.OFFLOAD: "the memory that it should save is taken again",
    Placer.EIGHT_BIT: "bitsandbytes has put it on a card already, and before its version 0.48 "
    "`.to` raises `ValueError`",
}
_RAISES = (Placer.PIPELINE, Placer.SEQUENTIAL, Placer.EIGHT_BIT)


def _check(facts: Facts) -> Iterator[Claim]:
    for move in facts.dispatched_moves:
        subject = f"`{move.name}`" if move.name and not move.chained else "the model"
        done = f"`{move.how}` has placed it"
        assumed = assume(
            AssumptionKind.RESULT_WAS_WANTED, move.site, "the model is to stay where it was placed"
        ) + warm_file(facts, move.site)
        yield Claim(
            move.site,
            Severity.ERROR if move.placer in _RAISES else Severity.WARNING,
            confidence_of(assumed),
            f"{subject} is moved as a whole although {done}: {_HARM[move.placer]}",
            advice=_advice(move),
            trace=(Note(move.made, f"placed here: `{move.how}`"),),
            fix=_fix(facts, move),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _advice(move: DispatchedMove) -> str:
    if move.placer in (Placer.SEQUENTIAL, Placer.OFFLOAD):
        return "remove the move: offloading brings each part to the card when it is needed"
    call = move.site.node
    remove = "remove the move"
    if move.chained and isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        remove = f"remove `{text_of(call)[len(text_of(call.func.value)) :]}`"
    if move.placer is Placer.EIGHT_BIT:
        return f"{remove}, and send inputs to `model.device`"
    return f"{remove}, and send inputs to `model.device`; or load without `{move.how}`"


def _fix(facts: Facts, move: DispatchedMove) -> tuple[Replacement, ...]:
    """`load(…).to(device)` without the move."""
    call = move.site.node
    if not move.chained or not in_file(facts, move.site):
        return ()
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    return (Replacement(move.site, text_of(call.func.value)),)


RULE = Rule(
    code="DEV208",
    name="dispatched-model-moved",
    severity=Severity.WARNING,
    summary="A model is moved as a whole, although its layers have been placed already.",
    what="""\
Reports `.to(device)` and `.cuda()` on a model that was loaded with `device_map="auto"` (or
`"balanced"`, `"balanced_low_0"`, `"sequential"`) or `load_in_8bit=True`, or that
`accelerate.dispatch_model` or `load_checkpoint_and_dispatch` has placed; and on a diffusers
pipeline with a `device_map`, or behind its `enable_sequential_cpu_offload()` or
`enable_model_cpu_offload()`.""",
    why="""\
Accelerate spreads the layers over cards, host and disk, and hooks bring inputs to where each layer
was put. What it left on the host or on disk is on the meta device until it is needed:
`RuntimeError: You can't move a model that has some modules offloaded to cpu or disk`. With several
cards the hooks go on sending inputs to where the layers were. Diffusers refuses the move of a
pipeline that has a device map or is offloaded layer by layer. Nothing happens only where all of it
is on the one card that it is moved to.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.to",
    bad=(
        """\
from transformers import AutoModelForCausalLM


def load(path, device):
    model = AutoModelForCausalLM.from_pretrained(path, device_map="auto")
    return model.to(device)
""",
        """\
import torch
from transformers import AutoModelForCausalLM

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = AutoModelForCausalLM.from_pretrained("gpt2", device_map="auto").to(device)
""",
        """\
from diffusers import DiffusionPipeline


def pipeline(path, device):
    pipe = DiffusionPipeline.from_pretrained(path)
    pipe.enable_sequential_cpu_offload()
    pipe.to("cuda")
    return pipe
""",
    ),
    good=(
        """\
from transformers import AutoModelForCausalLM


def load(path):
    return AutoModelForCausalLM.from_pretrained(path, device_map="auto")
""",
        """\
from transformers import AutoModelForCausalLM


def load(path, device):
    model = AutoModelForCausalLM.from_pretrained(path)
    return model.to(device)
""",
        """\
from transformers import AutoModelForCausalLM


def load(path, device, spread):
    if spread:
        model = AutoModelForCausalLM.from_pretrained(path, device_map="auto")
    else:
        model = AutoModelForCausalLM.from_pretrained(path)
        model.to(device)
    return model
""",
    ),
    check=_check,
    fix="""\
Takes the move off a call that loads and moves in one expression. It is an unsafe fix: where all of
the model is on one card, it may be another one than was asked for.""",
    twin="None: the guard knows no hooks of accelerate's.",
    limits="""\
Silent where the device map is a variable, which may be None, and where the move stands behind a
condition that the loading does not stand behind. A model that is kept on an object is followed as
far as its class goes. The rule is in preview: 249 repositories gave no finding that is likely
(November 2026); it starts from what users report.""",
    preview=True,
)
