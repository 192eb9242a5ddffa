"""Which functions run once per step: a sync in them costs as much as one in the training loop.

`forward` of a module, `training_step`, a loss, a metric's `update`, clipping of gradients, and
what these call in their own file. So does what a hot loop calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference.domain.provenance import Site
from devlint.inference.facts import Hotness
from devlint.inference.frame import Frame, LoopState

if TYPE_CHECKING:
    from devlint.inference.classes import ClassInfo
    from devlint.inference.functions import Function
    from devlint.inference.unit import Unit

MAX_CALLS = 4  # from a function that runs once per step to one that it reaches

_STEP = re.compile(
    r"^_*((training|train)_(step|batch|one_step|one_batch|iter)|(forward|backward)(_\w+)?|"
    r"\w+_forward|forward_backward\w*|(compute|calc|calculate|get)_(\w+_)?loss(es)?(_\w+)?|"
    r"get_batch_loss\w*|\w*loss(es)?(_fn|_func|_function)?|criterion|closure|optimizer_step|"
    r"clip_grad\w*|(get|compute|calc)_(total_)?grad_norm\w*|unscale_\w*grads?\w*|multiply_grads)$",
    re.I,
)
_OPTIMIZING = re.compile(r"optim|engine|sgd|adam|rmsprop", re.I)
_SCHEDULING = re.compile(r"(lr|rate|warmup|cosine|plateau|early)", re.I)
_METRIC = re.compile(r"metric|aggregat", re.I)
_OUTPUTS = re.compile(r"^_?(preds?|predictions?|y_?pred|y_?hat|logits?|outputs?|lprobs|scores)$")
_TARGETS = re.compile(r"^_?(targets?|labels?|y_?true|y|gt|ground_truths?|gts?)$")
# Once at the start, now and then, or for a reader.
_COLD = re.compile(
    r"^_*(__init__|__new__|__setstate__|load|save|store|plot|draw|show|print|log(?!its)|vis|export|"
    r"test_|demo|set_?up|configure|warm|debug|describe|dump|check|validate|validation|assert|main|parse|"
    r"extra_repr|write|read|get_config|summary|report|render|prepare_data|from_pretrained|reset_p)",
    re.I,
)
# Once at the start, unless something that runs once per step calls it.
_BUILDING = re.compile(r"^_*(init|re?set|build|make|create|from_|to_)", re.I)
_CHECKING = re.compile(r"validat|check|assert|sanity|debug|compute$", re.I)
_EVALUATING = re.compile(
    r"(^|_)(eval\w*|valid\w*|test\w*|infer\w*|predict\w*|generate\w*|sample\w*|detect\w*|demo|"
    r"bench\w*|val|accuracy|decode\w*|search|score)(_|$)",
    re.I,
)
# Files that prepare data, which is done on the host, or that evaluate.
_ON_HOST = re.compile(
    r"(^|/)(data|datasets?|transforms?|augment\w*|preprocess\w*|evaluation)(/|\.py$)|_transforms?\.py$"
)
_COLLATING = re.compile(r"collat|__getitem__|(dataset|augment\w*|preprocess\w*)$", re.I)
_NO_GRADIENTS = re.compile(r"(no_grad|inference_mode|torch_no_grad)$")


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call of a function in its own file."""

    caller: Function | None
    node: cst.CSTNode
    loop: LoopState | None
    cold: bool
    without_gradients: bool = False  # under `torch.no_grad()`


@dataclass(frozen=True, slots=True)
class PerStep:
    """Why a function runs once per step: by its own name, or by the call in a hot loop."""

    called_in: Site | None = None


def note_call(frame: Frame, function: Function, node: cst.CSTNode) -> None:
    """Remember who calls a function of the same file."""
    if function.unit is frame.unit:
        call = CallSite(frame.function, node, frame.loop, frame.cold > 0, frame.evaluating > 0)
        function.callers.append(call)


def is_cold(function: Function | None) -> bool:
    """A function that by its name runs once, or now and then."""
    return function is not None and bool(
        _COLD.match(function.name) or _BUILDING.match(function.name)
    )


def prepares(function: Function | None) -> bool:
    """A function that builds something once, or that prepares data on the host."""
    if function is None:
        return False
    info = function.info
    names = [function.name] if info is None else [function.name, info.name, *info.library_bases]
    return (
        bool(_BUILDING.match(function.name))
        or bool(_ON_HOST.search(function.unit.source.path))
        or any(_COLLATING.search(name) for name in names)
        or _samples_for_loader(info)
    )


def _samples_for_loader(info: ClassInfo | None) -> bool:
    """A DataLoader iterates over its sampler; a sampler of boxes or tokens is called."""
    if info is None:
        return False
    named = any(name.endswith("Sampler") for name in (info.name, *info.library_bases))
    return named and info.method("__iter__") is not None


def turns_gradients_off(function: Function) -> bool:
    """`@torch.no_grad()`, `@torch.inference_mode()`."""
    return any(_NO_GRADIENTS.search(decorator) for decorator in function.decorators)


def evaluates(function: Function | None) -> bool:
    """A function that runs without gradients: by its name or its decorators."""
    if function is None:
        return False
    if turns_gradients_off(function):
        return not _STEP.match(function.name) and function.name not in ("step", "update")
    return bool(_EVALUATING.search(function.name))


def _runs_rarely(function: Function) -> bool:
    return is_cold(function) or bool(_EVALUATING.search(function.name))


def runs_per_step(function: Function) -> bool:
    """By its own name, class or parameters a function runs once per step."""
    name = function.name
    info = function.info
    if name == "<lambda>" or is_cold(function) or _CHECKING.search(name):
        return False
    if _ON_HOST.search(function.unit.source.path):
        return False
    classes = [c.name for c in info.lineage()] + info.library_bases if info is not None else []
    if info is not None and info.is_module and name == "__call__":
        return True
    if name == "step":
        return any(_OPTIMIZING.search(c) and not _SCHEDULING.search(c) for c in classes)
    if name in ("update", "_update"):
        return any(_METRIC.search(c) for c in classes)
    params = _parameters(function)
    if "forward" in name and info is not None and not info.is_module:
        return False
    if _STEP.match(name):
        return bool(params) or name.startswith("_") or info is not None
    if _is_forward_hook(params):
        return True
    return (
        any(_OUTPUTS.match(p) for p in params)
        and any(_TARGETS.match(p) for p in params)
        and not _EVALUATING.search(name)
    )


def _parameters(function: Function) -> list[str]:
    params = function.node.params
    names = [p.name.value for p in (*params.posonly_params, *params.params, *params.kwonly_params)]
    return names[1:] if function.info is not None and not function.is_static else names


def _is_forward_hook(params: list[str]) -> bool:
    """`def hook(module, inputs, output)`: it runs with every forward."""
    return (
        len(params) == 3
        and params[0].strip("_") in ("module", "mod", "m", "layer")
        and params[1].startswith("in")
        and params[2].startswith("out")
    )


def settle(unit: Unit) -> None:
    """Write into the file's syncs and moves whether the function around them runs per step."""
    if not unit.owned:
        return
    reached = _reached(unit)
    facts = unit.facts
    for kind, index, function, constructing in unit.owned:
        found = reached.get(function)
        building = constructing and found is None
        recursive = any(c.caller is function and c.loop is not None for c in function.callers)
        if kind == "move":
            move = facts.moves[index]
            facts.moves[index] = replace(
                move,
                in_step=function.name if found is not None else "",
                recursive=recursive,
                cold=move.cold
                or building
                or (found is None and move.loop is None and _runs_rarely(function)),
            )
        elif found is not None or building:
            sync = facts.syncs[index]
            facts.syncs[index] = replace(
                sync,
                in_step=function.name if found is not None else "",
                called_in=found.called_in if found is not None else None,
                cold=sync.cold or building,
            )
    unit.owned.clear()


def _reached(unit: Unit) -> dict[Function, PerStep]:
    """The functions of a file that run once per step, and why."""
    reached = {f: PerStep() for f in unit.functions if runs_per_step(f)}
    for function in unit.functions:
        if function in reached or is_cold(function) or _CHECKING.search(function.name):
            continue
        for call in function.callers:
            loop = call.loop
            if (
                loop is not None
                and not call.cold
                and call.caller is not function
                and loop.trains
                and loop.hotness is Hotness.HOT
                and not evaluates(function)
            ):
                reached[function] = PerStep(Site(unit.source, call.node))
                break
    for _ in range(MAX_CALLS):
        added: dict[Function, PerStep] = {}
        for function in unit.functions:
            name = function.name
            if function in reached or _COLD.match(name) or _CHECKING.search(name):
                continue
            for call in function.callers:
                if call.caller in reached and not call.cold:
                    added[function] = reached[call.caller]
                    break
        if not added:
            break
        reached.update(added)
    return reached
