"""Roles of functions: which run once per step, prepare data, evaluate, or build.

A function may also make the batches of a loader, `collate_fn=stack`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.domain.provenance import Site
from devlint.inference.facts import Hotness
from devlint.inference.program.declarations import CallSite, ClassInfo, Function, functions_of
from devlint.inference.program.events import ModuleMade
from devlint.inference.program.frames import Frame
from devlint.inference.program.multiplicity import many_times
from devlint.inference.program.seldom import goes_through_data, is_called_seldom
from devlint.inference.program.units import Unit
from devlint.inference.program.usage import left_over
from devlint.inference.program.values import FunctionValue, read
from devlint.inference.syntax.text import called_name, dotted, every, plain_parameters
from devlint.records import NamedTuple

MAX_CALLS = 4  # from a function that runs once per step to one that it reaches


class PerStep(NamedTuple):
    """Why a function runs once per step: by its own name, since it takes the step, or by the call
    in a hot loop."""

    called_in: Site | None = None
    trains: bool = False


def note_call(frame: Frame, function: Function, node: cst.CSTNode) -> None:
    """Remember who calls a function of the same file."""
    if function.unit is frame.unit:
        frame.unit.facts.callees[node] = function.node
        around = frame.control
        call = CallSite(frame.function, node, around.loop, around.cold, around.evaluating)
        function.callers.append(call)


def note_made(frame: Frame, event: ModuleMade) -> None:
    """Remember who makes a module of a class of the same file."""
    if event.info.unit is frame.unit:
        around = frame.control
        made = CallSite(frame.function, event.node, around.loop, around.cold)
        event.info.makers.append(made)


def is_cold(function: Function | None) -> bool:
    """A function that by its name runs once, or now and then, or whose results are kept."""
    return function is not None and bool(
        holds("cold-function", function.name)
        or holds("building-function", function.name)
        or _is_cached(function)
    )


def _is_cached(function: Function) -> bool:
    """Its results are kept: one call for each argument. By a decorator that says so, or one of the
    project that applies such a one."""
    return any(
        holds("caching-decorator", each) or _applies_cache(function.unit, each)
        for each in function.decorators
    )


def _applies_cache(unit: Unit, decorator: str) -> bool:
    found = read(unit.env, decorator)
    return type(found) is FunctionValue and any(
        holds("caching-decorator", dotted(call.func))
        for call in every(found.function.node, cst.Call)
    )


def _is_compared(function: Function) -> bool:
    """A test, or a plain implementation that tests compare another one with."""
    return holds("reference-function", function.name)


def prepares(function: Function | None) -> bool:
    """A function that builds something once, or that prepares data on the host."""
    if function is None:
        return False
    info = function.info
    names = [function.name] if info is None else [function.name, info.name, *info.library_bases]
    return (
        holds("building-function", function.name)
        or holds("host-path", function.unit.source.path)
        or any(holds("collating-name", name) for name in names)
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
    return any(holds("gradient-free-decorator", decorator) for decorator in function.decorators)


def evaluates(function: Function | None) -> bool:
    """A function that runs without gradients: by its name or its decorators."""
    if function is None:
        return False
    if turns_gradients_off(function):
        trains = holds("step-function", function.name) or function.name in ("step", "update")
        return not trains and not _is_of_optimizer(function.info)
    return holds("evaluating-function", function.name)


def _is_for_evaluation(function: Function) -> bool:
    """A plain function, all calls of which in its file stand under `no_grad`, or in what evaluates:
    so does what it does, whatever its name says. A method may serve others."""
    calls = [call for call in function.callers if call.caller is not function]
    return (
        function.info is None
        and bool(calls)
        and all(call.without_gradients or evaluates(call.caller) for call in calls)
    )


def _is_of_optimizer(info: ClassInfo | None) -> bool:
    """The steps of an optimizer never record gradients, nor do the methods that take them."""
    names = [*(c.name for c in info.lineage()), *info.library_bases] if info is not None else []
    return any(holds("optimizer-name", name) for name in names)


def _runs_rarely(function: Function) -> bool:
    """By its name; a lambda by that of the function that makes it."""
    named = function.outermost if function.name == "<lambda>" else function
    return is_cold(named) or holds("evaluating-function", named.name) or is_called_seldom(named)


def _may_run_per_step(function: Function) -> bool:
    """No lambda, and nothing that by its name or path runs once or on the host."""
    name = function.name
    if name == "<lambda>" or is_cold(function) or holds("checking-function", name):
        return False
    return not holds("host-path", function.unit.source.path)


def _takes_step(function: Function) -> bool:
    """`loss.backward()` and `self.optimizer.step()`, and in no loop: the caller's loop is around
    it, unless all calls in sight stand in none."""
    if not function.trains >= {"backward", "step"} or not _may_run_per_step(function):
        return False
    if _steps_once_per_epoch(function):
        return False
    calls = function.callers
    inner = (c.loop is not None or not (c.caller is None or is_cold(c.caller)) for c in calls)
    return not calls or any(inner)


def _steps_once_per_epoch(function: Function) -> bool:
    """It takes a step with all the data: loops over epochs call it, and it draws no batch."""
    calls = function.callers
    in_epochs = (c.loop is not None and c.loop.hotness is Hotness.EPOCHS for c in calls)
    takes_step = bool(calls) and "step" in function.trains and all(in_epochs)
    return takes_step and not function.says("batch-drawing-text")


def runs_per_step(function: Function) -> bool:
    """By its own name, class or parameters a function runs once per step."""
    name = function.name
    info = function.info
    if not _may_run_per_step(function) or _steps_once_per_epoch(function):
        return False
    classes = [c.name for c in info.lineage()] + info.library_bases if info is not None else []
    if info is not None and info.is_module and name == "__call__":
        return True
    if name == "step":
        return _is_of_optimizer(info) or _advances(function)
    if _counts_its_calls(function):
        return True
    if name in ("update", "_update"):
        return any(holds("metric-class", c) for c in classes)
    params = _parameters(function)
    if "forward" in name and info is not None and not info.is_module:
        return False
    if holds("step-function", name):
        return bool(params) or name.startswith("_") or info is not None
    if _is_forward_hook(params):
        return True
    return (
        any(holds("output-name", p) for p in params)
        and any(holds("target-name", p) for p in params)
        and not holds("evaluating-function", name)
    )


def _counts_its_calls(function: Function) -> bool:
    """`self.steps += 1`, of a buffer, in each call: the calls are steps."""
    info = function.info
    body = function.node.body
    lines = body.body if isinstance(body, cst.IndentedBlock) and info is not None else ()
    small = [s for line in lines if isinstance(line, cst.SimpleStatementLine) for s in line.body]
    counted = [
        dotted(s.target)
        for s in small
        if isinstance(s, cst.AugAssign) and isinstance(s.value, cst.Integer)
    ]
    return info is not None and any(
        owner == "self" and info.registered.get(name, "module") != "module"
        for owner, _, name in (each.partition(".") for each in counted)
    )


def _advances(function: Function) -> bool:
    """The step of a sampler or a solver, which is given what it works on. Schedulers of learning
    rates are given a number or nothing; an environment, which starts anew as well, is no part of
    the device's work."""
    info = function.info
    return (
        info is not None
        and info.method("reset") is None
        and not any(base.endswith("Env") for base in info.library_bases)
        and sum(p.default is None for p in function.node.params.params) > 2
    )


def _parameters(function: Function) -> list[str]:
    names = [p.name.value for p in plain_parameters(function.node.params)]
    return names[1:] if function.info is not None and not function.is_static else names


def _is_forward_hook(params: list[str]) -> bool:
    """`def hook(module, inputs, output)`: it runs with every forward."""
    return (
        len(params) == 3
        and params[0].strip("_") in ("module", "mod", "m", "layer")
        and params[1].startswith("in")
        and params[2].startswith("out")
    )


class Owned:
    """Facts by the function that they are in: their kind, their index, and whether that builds."""

    def __init__(self, unit: Unit) -> None:
        self.facts: list[tuple[str, int, Function, bool]] = []


def settle(unit: Unit) -> None:
    """Write into the file's syncs, moves and hidden copies whether the function around them runs
    per step."""
    owned = unit.kept(Owned).facts
    if not owned:
        return
    reached = _reached(unit)
    per_item = _called_per_item(unit)
    facts = unit.facts
    facts.repeated = {
        function.node: Site(unit.source, place)
        for function, place in many_times(unit, reached).items()
    }
    for function in {owner[2]: None for owner in owned}:
        name = left_over(function)
        if name:
            facts.left_over[function.node] = name
    for kind, index, function, constructing in owned:
        found = reached.get(function)
        if kind in ("move", "data"):
            found = found or per_item.get(function)
        building = (constructing or _is_compared(function)) and found is None
        recursive = any(c.caller is function and c.loop is not None for c in function.callers)
        if kind == "move":
            move = facts.moves[index]
            facts.moves[index] = move._replace(
                in_step=function.name if found is not None else "",
                recursive=recursive,
                cold=move.cold
                or building
                or (found is None and move.loop is None and _runs_rarely(function)),
            )
        elif kind == "copy":
            copy = facts.hidden_copies[index]
            facts.hidden_copies[index] = copy._replace(
                in_step=function.name if found is not None else "",
                cold=copy.cold
                or building
                or (found is None and (is_cold(function) or is_called_seldom(function))),
            )
        elif kind == "data":
            data_copy = facts.data_copies[index]
            facts.data_copies[index] = data_copy._replace(
                in_step=function.name if found is not None else "",
                cold=data_copy.cold or building or (found is None and _runs_rarely(function)),
            )
        elif kind == "card" and found is not None:
            is_method = function.info is not None or found.called_in is not None
            card_call = facts.card_wide_calls[index]
            facts.card_wide_calls[index] = card_call._replace(
                in_step=function.name if is_method else ""
            )
        elif kind == "sync":
            is_for_evaluation = _is_for_evaluation(function)
            if found is None and not building and not is_for_evaluation:
                continue
            sync = facts.syncs[index]
            of_evaluation = found is None or holds("evaluating-function", function.name)
            facts.syncs[index] = sync._replace(
                in_step=function.name if found is not None else "",
                called_in=found.called_in if found is not None else None,
                trains=found is not None and found.trains,
                evaluates=(sync.evaluates or is_for_evaluation) and of_evaluation,
                cold=sync.cold or building,
            )
    owned.clear()


def _called_per_item(unit: Unit) -> dict[Function, PerStep]:
    """The functions of a file that a hot loop calls in each turn, be it only to evaluate: what each
    call copies to a device costs the same."""
    return {
        function: PerStep(Site(unit.source, call.node))
        for function in functions_of(unit)
        for call in function.callers
        if not is_cold(function) and not call.cold and call.caller is not function
        if call.loop is not None and call.loop.hotness is Hotness.HOT
        if not goes_through_data(function)
    }


def _reached(unit: Unit) -> dict[Function, PerStep]:
    """The functions of a file that run once per step, and why."""
    trains = {f for f in functions_of(unit) if _takes_step(f)}
    reached = {
        f: PerStep(trains=f in trains)
        for f in functions_of(unit)
        if f in trains
        or (runs_per_step(f) and not _is_for_evaluation(f) and not is_called_seldom(f))
    }
    for function in functions_of(unit):
        if function in reached or is_cold(function) or holds("checking-function", function.name):
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
                and not goes_through_data(function)
            ):
                reached[function] = PerStep(Site(unit.source, call.node))
                break
    for _ in range(MAX_CALLS):
        added: dict[Function, PerStep] = {}
        for function in functions_of(unit):
            name = function.name
            if (
                function in reached
                or _is_cached(function)
                or holds("cold-function", name)
                or holds("checking-function", name)
            ):
                continue
            for call in function.callers:
                if call.caller in reached and not call.cold:
                    added[function] = PerStep(reached[call.caller].called_in)
                    break
        if not added:
            break
        reached.update(added)
    return reached


# Classes that work on the host, and feed the device.
_FEEDING = ("Dataset", "DataLoader", "Sampler")


def works_on_host(function: Function) -> bool:
    """What it is given is on the host, and moved later: it feeds the device, or prepares data by
    its name, or that of the function around it."""
    return feeds_device(function) or _prepares_data(function)


def feeds_device(function: Function) -> bool:
    """It is of a data set or a loader, or makes the batches of one: what it hands on is moved
    later."""
    info = function.info
    if info is not None and holds("host-class", info.name):
        return True
    if info is not None and any(base.endswith(_FEEDING) for base in info.library_bases):
        return True
    return collates(function)


def _prepares_data(function: Function) -> bool:
    """By its name; unless it asks what it is given where that is."""
    around = function.around
    named = holds("host-function", function.name) and not function.says("device-asking-text")
    return named or (around is not None and _prepares_data(around))


def collates(function: Function) -> bool:
    """A function is some loader's `collate_fn`, or is called by such alone; or it is written where
    a pipeline of transforms takes it, `transforms.Lambda(lambda image: image[:3])`."""
    known = function.unit.kept(_Collation)
    return function.name in known.names or function.node in known.lambdas


class _Collation:
    def __init__(self, unit: Unit) -> None:
        self.names = _collate_functions(unit)
        self.lambdas = frozenset(_pipeline_lambdas(unit))


_PIPELINE = ("Compose", "Lambda")  # of torchvision's transforms, and of those that are made alike


def _pipeline_lambdas(unit: Unit) -> Iterator[cst.Lambda]:
    """The lambdas that `Compose([…, Lambda(…)])` takes: loaders run them, on the host."""
    if not all(f"{name}(" in unit.source.text for name in _PIPELINE):
        return
    for pipeline in every(unit.tree, cst.Call):
        if called_name(pipeline) == "Compose":
            for each in every(pipeline, cst.Call):
                if called_name(each) == "Lambda":
                    yield from (a.value for a in each.args if isinstance(a.value, cst.Lambda))


def _collate_functions(unit: Unit) -> set[str]:
    if "collate_fn" not in unit.source.text:
        return set()
    given = {
        dotted(each.value.func if isinstance(each.value, cst.Call) else each.value)
        for each in every(unit.tree, cst.Arg)
        if each.keyword is not None and each.keyword.value == "collate_fn"
    }
    collating = {name.rpartition(".")[2] for name in given}
    known = {f.name: f for f in functions_of(unit)}
    waiting = [known[name] for name in collating if name in known]
    for function in waiting:  # grows by those that they call
        text = function.text
        for callee in set(found("any-call", text)) & known.keys() - collating:
            inside = len(found("call-of-any", text, callee))
            if inside == len(found("call-of-any", unit.source.text, callee)):
                collating.add(callee)
                waiting.append(known[callee])
    return collating
