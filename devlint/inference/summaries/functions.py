"""Functions: inferred once to a summary in terms of their parameters, instantiated at each call."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import HOST, NONE
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import both
from devlint.inference.domain.placement import CUDA, Placement, Variable, VariableKind
from devlint.inference.domain.provenance import StepKind
from devlint.inference.domain.tensors import INDIRECT, INHERITED, Tensor
from devlint.inference.domain.value import (
    UNKNOWN,
    Union,
    Value,
    alternatives,
    cases,
    choose,
    is_untold,
    union,
)
from devlint.inference.interpreter import contract_checks, contract_places, contracts
from devlint.inference.interpreter.annotations import Given, declared_value, says_host, says_tensor
from devlint.inference.interpreter.attribute_writes import settle_writes
from devlint.inference.interpreter.control_flow import block
from devlint.inference.interpreter.parameters import initial_value
from devlint.inference.models import autograd, current_device
from devlint.inference.models.devices import place_of
from devlint.inference.models.held_tensors import with_companions
from devlint.inference.models.unification.authority import decider
from devlint.inference.models.unification.pending_meetings import may_meet
from devlint.inference.program import tests
from devlint.inference.program.constructors import is_handed_data, runs_in_constructor
from devlint.inference.program.control import ControlContext
from devlint.inference.program.declarations import Function, Owners
from devlint.inference.program.events import (
    FunctionLeft,
    FunctionReturns,
    PlacesSettled,
    TensorReturned,
)
from devlint.inference.program.frames import (
    BudgetExceeded,
    Frame,
    Interpreter,
    closure_of,
    running_methods,
)
from devlint.inference.program.functions import Parameter, Summary
from devlint.inference.program.meetings import Meetings, Pending
from devlint.inference.program.roles import works_on_host
from devlint.inference.program.values import ClassValue, Imported, Instance, self_of
from devlint.inference.summaries import object_state, returns, waits
from devlint.inference.syntax.fallbacks import fallback
from devlint.inference.syntax.text import dotted, every
from devlint.knowledge import Result

MAX_DEPTH = 24


def summarize(interpreter: Interpreter, function: Function) -> Summary | None:
    """The summary of a function; None while it is being inferred (recursion) or too deep."""
    if function.summary is not None:
        return function.summary
    context = function.unit.context
    if function.running or context.depth >= MAX_DEPTH:
        return None
    _construct_first(interpreter, function)
    function.running = True
    context.depth += 1
    try:
        summary = function.summary = _infer(interpreter, function)
    finally:
        context.depth -= 1
        function.running = False
    for parameter in summary.parameters:
        handled = parameter.variable in context.none_handled
        parameter.handles_none = parameter.is_device and handled
    return summary


# Methods that run before each test of their class.
_SETTING_UP = ("setUpClass", "setup_class", "setUp", "asyncSetUp", "setup_method")


_BEFORE_TESTS = ("__init__", *_SETTING_UP)


def _construct_first(interpreter: Interpreter, function: Function) -> None:
    """A method runs on what the constructor built, and where the test was set up."""
    info = function.info
    built = info.methods.get("__init__") if info is not None else None
    if built is not None and built is not function and built.summary is None:
        interpreter.summarize(built)
    if info is not None and function.name not in _BEFORE_TESTS and not info.is_module:
        for name in _SETTING_UP:
            prepared = info.method(name)
            summary = interpreter.summarize(prepared) if prepared is not None else None
            if summary is not None and summary.left_default is not None:
                function.unit.default_device = summary.left_default


def _infer(interpreter: Interpreter, function: Function) -> Summary:
    unit, outer = function.unit, closure_of(function)
    frame = Frame(unit, interpreter, function, outer, function.info)
    frame.control = ControlContext(guarded=function.guarded)
    if function.info is not None:
        frame.constructing = function.info.is_module and _constructs(frame, function)
    elif outer is not None:
        frame.constructing = outer.constructing and not _is_kept(function)
        frame.instance = outer.instance
    parameters = function.parameters = _bind_parameters(frame, function)
    rest, named_rest = _bind_rest(frame, function)
    owners = unit.context.kept(Owners).functions
    for each in (*parameters, rest, named_rest):
        if each is not None and each.variable is not None:
            owners[each.variable] = function
    signature = contracts.signature_of(function)
    if signature:
        contract_places.apply(frame, signature, parameters)
    for parameter in parameters:
        if parameter.is_device:
            parameter.fallback = _fallback(frame, function, parameter.name)
    autograd.restore(frame, function)
    running = running_methods(function.info) if function.info is not None else []
    running.append(frame)
    try:
        if isinstance(function.node, cst.Lambda):
            frame.outcome.returns.append((function.node.body, frame.eval(function.node.body)))
            frame.outcome.ways.append(frame.state.when)
        else:
            if block(frame, function.node.body):
                frame.outcome.exits.append(frame.state.env)
    except BudgetExceeded:
        unit.facts.budgets_hit.append(
            f"{unit.source.path}: {function.name} is too large to be inferred whole"
        )
        frame.kept(Meetings).drafts.clear()
        frame.notes.clear()
        return Summary(tuple(parameters), UNKNOWN)
    finally:
        running.pop()
    for env in frame.outcome.exits:
        frame.leave(env)
    autograd.store(frame)
    contract_checks.check_returns(frame, signature)
    inputs = {p.name: p.variable for p in parameters if p.variable is not None}
    returned = current_device.beside_inputs(frame, _decided(_result(frame)), inputs)
    result = contract_places.result_of(frame, signature, returned)
    frame.emit(FunctionReturns(function, result))
    if frame.outcome.writes and function.info is not None:
        settle_writes(function.info, frame)
    for _, value in frame.outcome.returns:
        for tensor, beside in with_companions(value):
            frame.emit(TensorReturned(tensor, beside))
    frame.emit(PlacesSettled())
    syncs = waits.lasting_syncs(frame)
    frame.emit(FunctionLeft())
    return Summary(
        tuple(parameters),
        result,
        tuple(_left_to_callers(frame, inputs)),
        tuple(syncs[:1]),
        _fresh_modules(frame, result),
        frame.outcome.left_default,
        object_state.left_by(frame),
        frame.outcome.kept,
        tuple(frame.outcome.moved_entries),
        rest,
        named_rest,
    )


def _fallback(frame: Frame, function: Function, name: str) -> Placement:
    """Where a device is that is None, as far as the parameters say: `x.device`, `self.device`."""
    may_fall_back = any(function.unit.contains(f"{name} {word}") for word in ("is", "or"))
    node = fallback(function.node, name) if may_fall_back else None
    return place_of(frame, frame.eval(node)) if isinstance(node, cst.Attribute) else None


def _is_kept(function: Function) -> bool:
    """A function that a constructor defines, and that its object keeps: `self.act = lambda x: x`.
    It runs when the object is at work."""
    around = function.around
    for each in every(around.node, cst.Assign) if around is not None else ():
        if any(dotted(target.target).startswith("self.") for target in each.targets):
            kept = [each.value]
            while kept:
                value = kept.pop()
                if isinstance(value, cst.IfExp):
                    kept += [value.body, value.orelse]
                elif value is function.node or dotted(value) == function.name:
                    return True
    return False


def _constructs(frame: Frame, function: Function) -> bool:
    """The function runs while a module is being built: by who calls it, or by its name. A method
    that is handed data runs later."""
    if runs_in_constructor(frame):
        return True
    if not holds("constructing-method", function.name):
        return False
    if function.name in ("__init__", "__new__", "__post_init__"):
        return True
    return not is_handed_data(function)


def _place_in_hook(function: Function) -> Placement:
    """Where a framework puts what it hands to a hook: with the module, or on its accelerator."""
    info = function.info
    if info is None:
        return None
    knowledge = function.unit.context.knowledge
    for base in info.library_bases:
        for name in knowledge.lineage(base):
            known = knowledge.module(name) or knowledge.class_(name)
            if known is not None and function.name in known.hooks:
                if info.is_module:
                    return info.variable
                return CUDA if known.result is Result.CUDA else None
    return None


def _bind_parameters(frame: Frame, function: Function) -> list[Parameter]:
    params = function.node.params
    found: list[Parameter] = []
    listed = [*params.posonly_params, *params.params]
    on_host = works_on_host(function)
    shared = _place_in_hook(function)
    for index, param in enumerate(listed):
        name = param.name.value
        if index == 0 and function.info is not None and not function.is_static:
            if function.is_class_method or function.name == "__new__":
                value: Value = ClassValue(function.info)
            else:
                value = frame.instance = self_of(function.info)
            found.append(Parameter(name, None, value, None, False))
        else:
            found.append(initial_value(frame, param, function, on_host, shared=shared))
        frame.state.env[name] = found[-1].value
    for param in params.kwonly_params:
        parameter = initial_value(frame, param, function, on_host, True, shared)
        found.append(parameter)
        frame.state.env[param.name.value] = parameter.value
    return found


def _bind_rest(frame: Frame, function: Function) -> tuple[Parameter | None, Parameter | None]:
    """`*args` and `**kwargs`: what no other parameter takes, of which each may be a tensor."""
    params = function.node.params
    star = params.star_arg if isinstance(params.star_arg, cst.Param) else None
    rest, named = _rest(frame, function, star), _rest(frame, function, params.star_kwarg)
    if rest is not None:
        rest.value = Sequence(None, rest.value, "tuple")
    if named is not None:
        named.value = Mapping({}, named.value)
    for each in (rest, named):
        if each is not None:
            frame.state.env[each.name] = each.value
    return rest, named


def _rest(frame: Frame, function: Function, param: cst.Param | None) -> Parameter | None:
    """The parameter, with any one of what it takes for its value."""
    if param is None:
        return None
    name = param.name.value
    variable = Variable(name, VariableKind.INPUT, True)
    origin = frame.origin(StepKind.PARAMETER, param)
    given = Given(variable, None if works_on_host(function) else variable, origin)
    declared: Value | None = None
    if param.annotation is not None:
        declared = declared_value(frame, param.annotation.annotation, given)
    value = given.untyped() if declared is None else declared
    return Parameter(name, variable, value, None, True)


def _result(frame: Frame) -> Value:
    """What the function returns, as its annotation says."""
    function, result = frame.function, _returned(frame)
    node = function.node if function is not None else None
    if not isinstance(node, cst.FunctionDef) or not says_tensor(frame, node.returns):
        return result
    for value in alternatives(result):
        if type(value) is Tensor:
            value.show()
    return _of_subclass(frame, node) if is_untold(result) or result is NONE else result


def _of_subclass(frame: Frame, node: cst.FunctionDef) -> Value:
    """`def embed(self, x) -> Tensor: raise NotImplementedError`: where the object is that it is
    called on, by a class out of sight."""
    function = frame.function
    if function is None or function.info is None or frame.instance is None:
        return UNKNOWN
    origin = frame.origin(StepKind.COMPUTED, node.name)
    return Tensor(function.info.variable, origin, INDIRECT, Evidence(True))


def _returned(frame: Frame) -> Value:
    """What the function returns; one return on the default device beside a rigid one is a
    contradiction."""
    yields, returned = frame.outcome.yields, frame.outcome.returns
    if yields:
        return Sequence(None, union(yields), "iterator")
    if not returned:
        return NONE
    function = frame.function
    node = function.node if function is not None else None
    if isinstance(node, cst.FunctionDef) and says_host(frame, node.returns):
        return union(_without_tensors(value) for _, value in returned)
    one = tests.one_of(frame, len(returned))
    ways = [both(around, way) for around, way in zip(frame.outcome.ways, one, strict=True)]
    result = choose((value, way) for (_, value), way in zip(returned, ways, strict=True))
    if len(returned) > 1 or returns.differs(returned[0][1]):
        constructing = frame.constructing or (
            function is not None and holds("host-function", function.name)
        )
        if not constructing and returns.compare(frame) and type(result) is Union:
            # It is said here: callers go on with what the other returns give.
            result = union(v for v in result.alternatives if not returns.is_odd(v))
    return returns.without_raised(frame, result) if type(result) is Union else result


def _left_to_callers(frame: Frame, inputs: dict[str, Variable]) -> Iterator[Pending]:
    """The operands that callers may put apart."""
    for pending in frame.kept(Meetings).pendings.values():
        sides = pending.left, pending.right
        together = (current_device.goes_with(frame, *s, inputs) for s in (sides, sides[::-1]))
        if may_meet(pending) and not any(together):
            yield pending


def _fresh_modules(frame: Frame, result: Value) -> tuple[Instance, ...]:
    """The modules that the function returns, and that nothing but its caller holds then."""
    parts = result.items if type(result) is Sequence and result.items is not None else [result]
    found = [
        v
        for part in parts
        for v in alternatives(part)
        if type(v) is Instance and v.module and v.parent is None and type(v.place) is not Variable
    ]
    if not found:
        return ()
    kept = [held for name, held in frame.state.env.items() if type(name) is str and "." in name]
    kept += frame.unit.env.values()
    if frame.info is not None:
        kept += frame.info.attributes.values()
    around = frame.outer
    while around is not None:
        kept += around.state.env.values()
        around = around.outer
    held = {id(v) for value in kept if type(value) is not Imported for v in alternatives(value)}
    return tuple(module for module in found if id(module) not in held)


def _without_tensors(value: Value) -> Value:
    return union(HOST if type(v) is Tensor else v for v in alternatives(value))


def _decided(value: Value) -> Value:
    """A returned tensor lives where what was shown to be a tensor meanwhile says."""
    if type(value) is Tensor:
        shown = decider(value)
        if shown is None:
            return value
        return Tensor(shown.place, shown.origin, shown.traits & INHERITED)
    if type(value) is Union:
        return choose((_decided(v), when) for v, when in cases(value))
    if type(value) is Sequence and value.items is not None and value.kind == "tuple":
        return Sequence(
            [_decided(item) for item in value.items], None, "tuple", value.node, value.names
        )
    return value
