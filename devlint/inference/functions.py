"""Functions: inferred once to a summary in terms of their parameters, instantiated at each call."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from devlint.inference import (
    asked,
    autograd,
    choices,
    contracts,
    dropped,
    feeding,
    gradients,
    meetings,
    mentions,
    mistaken,
    notes,
    orphans,
    returns,
)
from devlint.inference.conditions import truth_of
from devlint.inference.facts import MeetingKind, Site, Source, StepKind
from devlint.inference.frame import BudgetExceeded, Frame, Pending
from devlint.inference.iteration import element_of
from devlint.inference.parameters import Parameter, initial_value, says_host
from devlint.inference.placement import CPU, CUDA, Device, Placement, Variable, VariableKind
from devlint.inference.steps import CallSite, note_call
from devlint.inference.text import code, dotted, every, shorten
from devlint.inference.values import (
    DEFAULT,
    HOST,
    INDIRECT,
    INHERITED,
    LOADED,
    MAYBE_SCALAR,
    NONE,
    PARAMETER,
    SCALAR,
    SHAPED,
    UNKNOWN,
    ClassValue,
    Const,
    DeviceValue,
    Evidence,
    FunctionValue,
    Host,
    Imported,
    Instance,
    Loader,
    Mapping,
    Origin,
    Placed,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    alternatives,
    cases,
    choose,
    possible,
    under,
    union,
    with_facts,
)
from devlint.knowledge import Result

if TYPE_CHECKING:
    from devlint.inference.classes import ClassInfo
    from devlint.inference.unit import Unit

MAX_DEPTH = 24

# Methods that run while a module is being built, before anybody could move it.
_CONSTRUCTING = re.compile(
    r"^(__init__|__new__|__post_init__|setup|build|configure_.*|reset_parameters?|_?init_.*|_?init|"
    r"_?initiali[sz]e.*|_init_weights|extra_repr|_build_.*|build_.*|_create_.*|_make_.*|"
    r"make_layers?|from_pretrained|load_.*|_load_.*)$"
)
# Functions whose arguments are on the host by their place in a DataLoader.
_HOST_FUNCTIONS = re.compile(
    r"^(__getitem__|.*state_dict.*|.*checkpoint.*|convert_.*|_?convert|.*collate.*|"
    r".*worker_init.*|load_data.*|prepare_data|get_batch)$"
)
# Classes that make batches.
_HOST_CLASS = re.compile(r"(Dataset|Collat(e|or|er))$")
# Classes that work on the host, and feed the device.
_FEEDING = ("Dataset", "DataLoader", "Sampler")

# The only statement of a method that subclasses are to override.
_TO_BE_OVERRIDDEN = re.compile(
    r"\s*(pass|\.\.\.|raise NotImplementedError\b.*)\s*(#.*)?$", re.DOTALL
)


class Arguments:
    """The arguments of one call, evaluated."""

    __slots__ = ("keywords", "open", "positional")

    def __init__(
        self,
        positional: list[tuple[Value, cst.CSTNode]],
        keywords: dict[str, tuple[Value, cst.CSTNode]],
        is_open: bool = False,
    ) -> None:
        self.positional = positional
        self.keywords = keywords
        self.open = is_open  # `*args` or `**kwargs` of unknown content may give more

    def get(self, index: int, name: str) -> Value | None:
        """The argument at a position or by a keyword."""
        if name in self.keywords:
            return self.keywords[name][0]
        if 0 <= index < len(self.positional):
            return self.positional[index][0]
        return None

    def node(self, index: int, name: str) -> cst.CSTNode | None:
        if name in self.keywords:
            return self.keywords[name][1]
        if 0 <= index < len(self.positional):
            return self.positional[index][1]
        return None

    def all(self) -> list[tuple[Value, cst.CSTNode]]:
        return [*self.positional, *self.keywords.values()]


@dataclass(slots=True, eq=False)
class Summary:
    """What a function does, in terms of its parameters' devices."""

    parameters: list[Parameter]
    result: Value
    pendings: list[Pending] = field(default_factory=list)
    syncs: list[Site] = field(default_factory=list)
    fresh: tuple[Instance, ...] = ()  # modules in the result: others with each call
    left_default: Placement = None  # the default device, where the function sets it


@dataclass(eq=False)
class Function:
    """A function of the project, inferred when it is first called or when its file is done."""

    node: cst.FunctionDef | cst.Lambda
    unit: Unit
    outer: Frame | None = None
    info: ClassInfo | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[str, ...] = ()
    summary: Summary | None = None
    running: bool = False
    in_constructor: bool | None = None  # called from constructors alone, once that was asked
    name: str = "<lambda>"
    registers: tuple[str, str] | None = None  # `register_buffer`, by the name in this parameter
    callers: list[CallSite] = field(default_factory=list)  # in its own file
    parameters: list[Parameter] = field(default_factory=list)  # once it is being inferred
    signature: contracts.Signature | None = None  # its contracts, once they were read
    stored: dict[str, Value] = field(default_factory=dict)  # in `ctx`, see autograd.py

    @cached_property
    def is_local(self) -> bool:
        """Defined in another function, which calls it and does nothing else with it."""
        around = self.outer.function if self.outer is not None else None
        if around is None or self.decorators or not isinstance(self.node, cst.FunctionDef):
            return False
        uses = [name for name in every(around.node, cst.Name) if name.value == self.name]
        calls = [call for call in every(around.node, cst.Call) if dotted(call.func) == self.name]
        return len(uses) - 1 == len(calls)  # the one is its definition

    @cached_property
    def text(self) -> str:
        """Its source."""
        return code(self.node)

    @cached_property
    def key(self) -> str:
        """What tells it from all others of the project."""
        of_class = f"{self.info.name}." if self.info is not None else ""
        return f"{self.unit.source.path}::{of_class}{self.name}"

    @cached_property
    def positional(self) -> list[str]:
        """The parameters that a call gives by position, without the object of a method."""
        params = self.node.params
        names = [p.name.value for p in (*params.posonly_params, *params.params)]
        return names[1:] if self.info is not None and not self.is_static else names

    @cached_property
    def is_abstract(self) -> bool:
        """A method whose body only stands for those of subclasses: it is declared so, or does
        nothing but say that it is to be overridden."""
        if self.info is None or not isinstance(self.node, cst.FunctionDef):
            return False
        if any(d.rpartition(".")[2].startswith("abstract") for d in self.decorators):
            return True
        lines = [line for line in self.node.body.body if not _is_docstring(line)]
        return not lines or (len(lines) == 1 and bool(_TO_BE_OVERRIDDEN.match(code(lines[0]))))

    @property
    def is_static(self) -> bool:
        return "staticmethod" in self.decorators

    @property
    def is_class_method(self) -> bool:
        return "classmethod" in self.decorators

    @property
    def is_property(self) -> bool:
        return any(
            d in ("property", "cached_property", "functools.cached_property", "lazy_property")
            for d in self.decorators
        )


def _is_docstring(line: cst.CSTNode) -> bool:
    first = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    return isinstance(first, cst.Expr) and isinstance(
        first.value, (cst.SimpleString, cst.ConcatenatedString)
    )


def declare_function(
    frame: Frame, node: cst.FunctionDef, info: ClassInfo | None = None
) -> FunctionValue:
    """A function definition: its defaults are evaluated now, its body later."""
    decorators = []
    for decorator in node.decorators:
        inner = decorator.decorator
        decorators.append(dotted(inner.func if isinstance(inner, cst.Call) else inner))
    function = Function(
        node=node,
        unit=frame.unit,
        outer=frame if frame.function is not None else None,
        info=info,
        defaults=_defaults(frame, node.params),
        decorators=tuple(decorators),
        name=node.name.value,
    )
    frame.unit.functions.append(function)
    return FunctionValue(function)


def declare_class(frame: Frame, node: cst.ClassDef) -> ClassValue:
    from devlint.inference.classes import build_class

    return ClassValue(build_class(frame, node))


def lambda_value(frame: Frame, node: cst.Lambda) -> FunctionValue:
    function = Function(
        node=node,
        unit=frame.unit,
        outer=frame,
        defaults=_defaults(frame, node.params),
    )
    frame.unit.functions.append(function)
    return FunctionValue(function)


def _defaults(frame: Frame, params: cst.Parameters) -> dict[str, Value]:
    found = {}
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.default is not None:
            found[param.name.value] = frame.eval(param.default)
            mentions.of_default(frame, param.default)
    return found


# ----------------------------------------------------------------- inferring


def summarize(function: Function) -> Summary | None:
    """The summary of a function; None while it is being inferred (recursion) or too deep."""
    if function.summary is not None:
        return function.summary
    context = function.unit.context
    if function.running or context.depth >= MAX_DEPTH:
        return None
    _construct_first(function)
    function.running = True
    context.depth += 1
    try:
        function.summary = _infer(function)
    finally:
        context.depth -= 1
        function.running = False
    return function.summary


# Methods that run before each test of their class.
_SETTING_UP = ("setUpClass", "setup_class", "setUp", "asyncSetUp", "setup_method")


def _construct_first(function: Function) -> None:
    """A method runs on what the constructor built, and where the test was set up."""
    info = function.info
    built = info.methods.get("__init__") if info is not None else None
    if built is not None and built is not function and built.summary is None:
        summarize(built)
    if info is not None and function.name not in _SETTING_UP and not info.is_module:
        for name in _SETTING_UP:
            prepared = info.method(name)
            summary = summarize(prepared) if prepared is not None else None
            if summary is not None and summary.left_default is not None:
                function.unit.default_device = summary.left_default


def _infer(function: Function) -> Summary:
    unit = function.unit
    frame = Frame(unit, function, function.outer, function.info)
    if function.info is not None:
        frame.constructing = function.info.is_module and _constructs(function)
    elif function.outer is not None:
        frame.constructing = function.outer.constructing
        frame.instance = function.outer.instance
    parameters = function.parameters = _bind_parameters(frame, function)
    owners = unit.context.owners
    owners.update((p.variable, function) for p in parameters if p.variable is not None)
    signature = contracts.signature_of(function)
    if signature:
        contracts.apply(frame, signature, parameters)
    autograd.restore(frame, function)
    running = function.info.running if function.info is not None else []
    running.append(frame)
    try:
        if isinstance(function.node, cst.Lambda):
            frame.returns.append((function.node.body, frame.eval(function.node.body)))
        else:
            from devlint.inference.statements import block

            if block(frame, function.node.body):
                frame.exits.append(frame.env)
    except BudgetExceeded:
        unit.facts.budgets_hit.append(
            f"{unit.source.path}: {function.name} is too large to be inferred whole"
        )
        frame.drafts.clear()
        frame.notes.clear()
        return Summary(parameters, UNKNOWN)
    finally:
        running.pop()
    autograd.store(frame)
    contracts.check_returns(frame, signature)
    result = contracts.result_of(frame, signature, _decided(_result(frame)))
    dropped.of_unused(frame, function, result)
    dropped.of_replaced(frame, function)
    asked.of_function(frame, function)
    if frame.writes and function.info is not None:
        function.info.settle_writes(frame)
    for _, value in frame.returns:
        for tensor in meetings.tensors_in(value):
            orphans.used(frame, tensor)
    orphans.settle(frame)
    syncs = notes.lasting_syncs(frame)
    meetings.settle(frame)
    notes.settle(frame)
    gradients.leave(frame)
    pendings = [pending for pending in frame.pendings.values() if meetings.may_meet(pending)]
    return Summary(
        parameters, result, pendings, syncs[:1], _fresh_modules(frame, result), frame.left_default
    )


def _constructs(function: Function) -> bool:
    """It runs while a module is being built. A method that is handed data runs later."""
    if not _CONSTRUCTING.match(function.name):
        return False
    if function.name in ("__init__", "__new__", "__post_init__"):
        return True
    params = function.node.params
    given = [*params.posonly_params, *params.params][1:]
    return not any(p.default is None and p.annotation is None for p in given) and not any(
        p.annotation is not None and "Tensor" in code(p.annotation.annotation) for p in given
    )


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
    on_host = _works_on_host(function)
    if function.info is not None and not on_host:
        on_host = bool(_HOST_CLASS.search(function.info.name)) or any(
            base.endswith(_FEEDING) for base in function.info.library_bases
        )
    on_host = on_host or function.unit.collates(function.name)
    shared = _place_in_hook(function)
    for index, param in enumerate(listed):
        name = param.name.value
        if index == 0 and function.info is not None and not function.is_static:
            if function.is_class_method or function.name == "__new__":
                value: Value = ClassValue(function.info)
            else:
                value = function.info.self_value
                frame.instance = function.info.self_value
            found.append(Parameter(name, None, value, None, False))
        else:
            found.append(initial_value(frame, param, function, on_host, shared=shared))
        frame.env[name] = found[-1].value
    for param in params.kwonly_params:
        parameter = initial_value(frame, param, function, on_host, True, shared)
        found.append(parameter)
        frame.env[param.name.value] = parameter.value
    if isinstance(params.star_arg, cst.Param):
        name = params.star_arg.name.value
        variable = Variable(name, VariableKind.INPUT, True)
        origin = frame.origin(StepKind.PARAMETER, params.star_arg)
        element = Tensor(None if on_host else variable, origin, 0, Evidence())
        frame.env[name] = Sequence(None, element, "tuple")
    if params.star_kwarg is not None:
        name = params.star_kwarg.name.value
        variable = Variable(name, VariableKind.INPUT, True)
        origin = frame.origin(StepKind.PARAMETER, params.star_kwarg)
        frame.env[name] = Mapping({}, Tensor(None if on_host else variable, origin, 0, Evidence()))
    return found


def _works_on_host(function: Function) -> bool:
    """By its name, or that of the function around it, it prepares what is moved later."""
    if _HOST_FUNCTIONS.match(function.name):
        return True
    around = function.outer.function if function.outer is not None else None
    return around is not None and _works_on_host(around)


def _result(frame: Frame) -> Value:
    """What the function returns; one return on the default device beside a rigid one is a
    contradiction."""
    if frame.yields:
        return Sequence(None, union(frame.yields), "iterator")
    if not frame.returns:
        return NONE
    function = frame.function
    node = function.node if function is not None else None
    if isinstance(node, cst.FunctionDef) and says_host(frame, node.returns):
        return union(_without_tensors(value) for _, value in frame.returns)
    ways = choices.one_of(frame, len(frame.returns))
    result = choose((value, way) for (_, value), way in zip(frame.returns, ways, strict=True))
    if len(frame.returns) > 1 or returns.differs(frame.returns[0][1]):
        constructing = frame.constructing or (
            function is not None and bool(_HOST_FUNCTIONS.match(function.name))
        )
        if not constructing and returns.compare(frame) and type(result) is Union:
            # It is said here: callers go on with what the other returns give.
            return union(v for v in result.alternatives if not returns.is_odd(v))
    return result


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
    kept = [held for name, held in frame.env.items() if type(name) is str and "." in name]
    kept += frame.unit.env.values()
    if frame.info is not None:
        kept += frame.info.attributes.values()
    around = frame.outer
    while around is not None:
        kept += around.env.values()
        around = around.outer
    held = {id(v) for value in kept if type(value) is not Imported for v in alternatives(value)}
    return tuple(module for module in found if id(module) not in held)


def _without_tensors(value: Value) -> Value:
    return union(HOST if type(v) is Tensor else v for v in alternatives(value))


def _decided(value: Value) -> Value:
    """A returned tensor lives where what was shown to be a tensor meanwhile says."""
    if type(value) is Tensor:
        decider = meetings.decider(value)
        if decider is None:
            return value
        return Tensor(decider.place, decider.origin, decider.traits & INHERITED)
    if type(value) is Union:
        return choose((_decided(v), when) for v, when in cases(value))
    if type(value) is Sequence and value.items is not None and value.kind == "tuple":
        return Sequence(
            [_decided(item) for item in value.items], None, "tuple", value.node, value.names
        )
    return value


# ----------------------------------------------------------------- calling


def call_function(
    frame: Frame,
    node: cst.CSTNode,
    callee: FunctionValue,
    arguments: Arguments,
    as_module: bool = False,
) -> Value | None:
    """Instantiate a function's summary; None when it has none yet (recursion).

    as_module: the call is `module(…)`, and the function its `forward`.
    """
    function = callee.function
    note_call(frame, function, node)
    summary = summarize(function)
    signature = contracts.signature_of(function)
    if summary is None:
        return contracts.promised(signature)
    if summary.left_default is not None:
        frame.unit.default_device = frame.left_default = summary.left_default
    binding = _bind(frame, node, callee, summary, arguments)
    feeding.note(frame, function, binding)
    if signature:
        contracts.check_call(frame, node, function, signature, binding)
    if function.name == "__init__" and type(callee.bound) is Instance:
        callee.bound.given = {v: t for v, t in binding.places.items() if v.parameter}
    if summary.syncs and function.unit is not frame.unit:
        _sync_in_callee(frame, node, summary.syncs[0], binding)
    for pending in () if function.name == "__init__" else summary.pendings:
        _check_pending(frame, node, pending, binding, as_module)
    binding.fresh = summary.fresh
    result = _taken(summary.result, binding)
    result = binding.substitute(with_facts(result, binding.chosen))
    return gradients.marked(result, 0) if gradients.are_off(frame) else result


def _taken(result: Value, binding: Binding) -> Value:
    """What a call returns, without what it does not come to with what it is given."""
    if type(result) is Union:
        whens = [*result.whens, *(v.when for v in result.alternatives if type(v) is Tensor)]
        facts = binding.facts(tuple(fact for when in whens for fact in when))
        here = possible(result, facts)
        if any(type(v) is Unknown for v in alternatives(here)):  # as of a recursion
            own = tuple(fact for fact in facts if "." in fact[0].names[-1])
            return possible(result, own)  # its object's flags hold all the same
        return here
    if type(result) is Sequence and result.items is not None and result.kind == "tuple":
        items = [_taken(item, binding) for item in result.items]
        return Sequence(items, None, "tuple", result.node, result.names)
    return result


_ARRAYS = ("np.ndarray", "numpy.ndarray")


class Binding:
    """What a call puts in the place of a function's parameters."""

    def __init__(self, frame: Frame, node: cst.CSTNode, function: Function) -> None:
        self.frame = frame
        self.node = node
        self.function = function
        self.places: dict[Variable, Tensor] = {}  # a stand-in with the actual place and traits
        self.values: dict[Evidence, Value] = {}
        self.nodes: dict[Variable, cst.CSTNode] = {}
        self.owners: set[Variable] = set()  # where modules live: their parts need be no tensors
        self.inside = False  # the caller is a method of the same object
        self.holder: Instance | None = None  # the object of a method, seen from outside
        self.actuals: dict[Variable, Value] = {}  # those that differ from branch to branch
        self.given: dict[str, tuple[Value, cst.CSTNode]] = {}  # by parameter
        self.choices: dict[choices.Choice, choices.Choice] = {}  # the callee's, in this call
        self.fresh: tuple[Instance, ...] = ()
        self.made: dict[Instance, Instance] = {}  # what this call makes, by what any call does

    def chosen(self, when: choices.When) -> choices.When:
        """Facts of the callee: they hold for this call alone."""
        for choice, _, _ in when:
            if choice not in self.choices:
                seen = choices.seen_from(self.frame, choice, self.function, self._expressions())
                self.choices[choice] = seen
        return tuple((self.choices[choice], is_so, value) for choice, is_so, value in when)

    def facts(self, when: choices.When) -> choices.When:
        """What this call's arguments say of the callee's choices on a parameter alone."""
        found: list[choices.Fact] = []
        for choice, _, _ in when:
            subject, asks_truth = choice.subject, False
            if isinstance(subject, tuple) and subject[0] == "bool":
                subject, asks_truth = subject[1], True
            is_one = self._is_instance(subject) if asks_truth and not choice.born else None
            if is_one is not None:
                found.append((choice, is_one, choices.TRUE))
                continue
            actual = self._known(subject) if not choice.born else None
            if actual is None:
                continue
            if asks_truth:
                answer = truth_of(actual)
                if answer is not None:
                    found.append((choice, answer, choices.TRUE))
            elif type(actual) is Const:
                found.append((choice, True, repr(actual.value)))
            elif type(actual) is Tensor and actual.is_sure:
                found.append((choice, False, "None"))
        return tuple(found)

    def _is_instance(self, subject: Hashable) -> bool | None:
        """`isinstance(x, np.ndarray)`, of what this call hands in."""
        if not (isinstance(subject, tuple) and len(subject) == 4 and subject[0] is cst.Call):
            return None
        _, func, name, kind = subject
        if func != "isinstance" or kind not in ("torch.Tensor", *_ARRAYS) or name not in self.given:
            return None
        actual = self.given[name][0]
        if type(actual) is Tensor and actual.is_sure:
            return kind not in _ARRAYS
        if type(actual) is Host and actual.array:
            return kind in _ARRAYS
        return None

    def _known(self, subject: Hashable) -> Value | None:
        """A parameter, one of a tuple that is handed in, or what the object of a method holds by
        the call that made it."""
        if isinstance(subject, tuple) and len(subject) == 3 and subject[0] is cst.Subscript:
            held, index = self._known(subject[1]), subject[2]
            if type(held) is not Sequence or held.kind != "tuple" or held.items is None:
                return None
            known = isinstance(index, str) and index.isdigit() and int(index) < len(held.items)
            return held.items[int(index)] if known else None
        if not isinstance(subject, str):
            return None
        if subject in self.given:
            return self.given[subject][0]
        owner, _, name = subject.partition(".")
        parameters = self.function.parameters
        if self.holder is None or not parameters or owner != parameters[0].name:
            return None
        return self.holder.fields.get(name)

    def _expressions(self) -> dict[str, cst.BaseExpression]:
        """What the caller wrote for each parameter, and for the object of a method."""
        params = self.function.node.params
        found = {
            p.name.value: p.default
            for p in (*params.posonly_params, *params.params, *params.kwonly_params)
            if p.default is not None
        }
        for name, (_, node) in self.given.items():
            if isinstance(node, cst.BaseExpression) and node is not self.node:
                found[name] = node
        parameters = self.function.parameters
        if self.function.info is not None and parameters and isinstance(self.node, cst.Call):
            func = self.node.func
            found.setdefault(
                parameters[0].name, func.value if isinstance(func, cst.Attribute) else func
            )
        return found

    def handed_in(self, called: Evidence) -> Value | None:
        """What this call hands in for a parameter, or what its object's constructor was given."""
        if called in self.values or self.holder is None or self.holder.info is None:
            return self.values.get(called)
        for name, given in self.holder.fields.items():
            held = self.holder.info.attributes.get(name)
            if type(held) is Tensor and held.evidence is called:
                return given
        return None

    def put(self, parameter: Parameter, actual: Value, node: cst.CSTNode) -> None:
        """Bind one parameter."""
        self.given[parameter.name] = (actual, node)
        value = parameter.value
        if type(value) is Tensor or type(value) is Union:
            _pass_evidence(value, actual)
        if type(value) is Union:
            for alternative in value.alternatives:
                if type(alternative) is Tensor and alternative.evidence is not None:
                    self.values[alternative.evidence] = actual
        elif type(value) is Tensor and value.evidence is not None:
            self.values[value.evidence] = actual
        if type(actual) is Instance and actual.module and _moves_parameter(value):
            self.frame.env[actual] = Placed(None, None)  # the callee puts it somewhere
        handled = self.frame.unit.context.none_handled
        if parameter.is_device and parameter.variable in handled:
            handed = actual.place if type(actual) is DeviceValue else None
            if type(handed) is Variable and handed.parameter:
                handled.add(handed)  # on to a callee that knows what None means
        if parameter.variable is not None:
            self.places[parameter.variable] = self._stand_in(
                actual, parameter.is_device, parameter.variable
            )
            is_index = type(value) is Tensor and value.evidence is not None and value.evidence.index
            if is_index and type(actual) is Const and type(actual.value) is int:
                self.places[parameter.variable] = Tensor(Device("cuda", actual.value))
            if type(actual) is Instance:
                self.owners.add(parameter.variable)
            if type(actual) is Union:
                self.actuals[parameter.variable] = actual
            self.nodes[parameter.variable] = node

    def _stand_in(self, actual: Value, is_device: bool, variable: Variable) -> Tensor:
        from devlint.inference.devices import place_of

        frame = self.frame
        if is_device:
            if type(actual) is Const and actual.value is None:
                if variable in frame.unit.context.none_handled:
                    return Tensor(None)
                traits = 0 if frame.has_default_device else DEFAULT
                return Tensor(frame.default_device, None, traits)
            return Tensor(place_of(frame, actual), None, 0)
        if type(actual) is Instance and actual.tensor is None:
            from devlint.inference.modules import placed

            place, origin = placed(frame, actual)
            # What a module computes is a tensor, what another object's methods return is open.
            return Tensor(place, origin, 0, None if actual.module else Evidence())
        if type(actual) is DeviceValue:
            return Tensor(actual.place, None, 0)
        found = meetings.tensors_in(actual)
        if not found:
            return Tensor(None, None, 0, Evidence())  # perhaps no tensor at all
        first = found[0]
        if all(t.place is first.place or t.place == first.place for t in found):
            return first
        sure = all(t.is_sure for t in found)
        return Tensor(None, None, 0, None if sure else Evidence())

    def _strange(self, value: Tensor, place: Variable) -> Tensor:
        """A tensor whose place is a parameter of some other function: unknown out here."""
        if not place.parameter or self.inside:
            return value
        return Tensor(None, value.origin, value.traits & SCALAR, value.evidence)

    def odd_branches(self, tensor: Tensor) -> list[Tensor]:
        """The callee's tensor, once for each alternative that the caller may hand in."""
        place = tensor.place
        actual = self.actuals.get(place) if type(place) is Variable else None
        if actual is None:
            return meetings.tensors_in(self.substitute(tensor))
        found = [t for t in meetings.tensors_in(actual) if t.place is not None]
        scalar = tensor.traits & SCALAR  # what the callee computes of it
        return [
            Tensor(t.place, t.origin, t.traits & ~PARAMETER | scalar, t.evidence) for t in found
        ]

    def substitute(self, value: Value, depth: int = 4) -> Value:
        """A value of the callee, seen from the caller."""
        if type(value) is Tensor:
            return self.tensor(value)
        if depth == 0:
            return UNKNOWN
        if type(value) is DeviceValue:
            place = value.place
            if type(place) is Variable and place in self.places:
                return DeviceValue(self.places[place].place)
            if type(place) is Variable and place.parameter and not self.inside:
                return DeviceValue(None)
            return value
        if type(value) is Sequence:
            if value.items is not None:
                items = [self.substitute(v, depth - 1) for v in value.items]
                return Sequence(items, None, value.kind, value.node, value.names)
            element = value.element
            changed = None if element is None else self.substitute(element, depth - 1)
            return Sequence(None, changed, value.kind, value.node)
        if type(value) is Mapping:
            entries = {k: self.substitute(v, depth - 1) for k, v in value.entries.items()}
            element = value.element
            return Mapping(
                entries, None if element is None else self.substitute(element, depth - 1)
            )
        if type(value) is Union:
            return choose((self.substitute(v, depth - 1), when) for v, when in cases(value))
        if type(value) is Instance and value in self.fresh:
            return self._made_anew(value)
        if type(value) is Instance:
            place = value.place
            if type(place) is Variable and place in self.places:
                source: Instance = value
                moved = Instance(
                    source.info,
                    source.library,
                    source.module,
                    self.places[place].place,
                    source.origin,
                    None,
                    source.items,
                    source.name,
                )
                moved.fields = source.fields
                if source.tensor is not None:
                    held = self.tensor(source.tensor)
                    moved.tensor = held if type(held) is Tensor else None
                return moved
        if type(value) is Host and value.sizes is not None:
            return HOST
        return value

    def _made_anew(self, module: Instance) -> Instance:
        """What each call makes: a move of the one is no move of the others."""
        from devlint.inference.modules import replaced

        if module not in self.made:
            copy = self.made[module] = replaced(module, module.place, module.origin, None)
            copy.fields = dict(module.fields)
        return self.made[module]

    def _batch_of(self, loader: Value, batch: Tensor) -> Value:
        """A batch of what by its name alone is a DataLoader: the caller may know what it is."""
        if type(loader) in (Loader, Instance):
            return element_of(self.frame, loader, self.node)
        return batch

    def _rival(self, value: Tensor) -> Tensor | None:
        """What the caller hands in for an operand that decides where a value of the callee is,
        should it be a tensor."""
        if value.origin is None:
            return None
        for step in value.origin.chain():
            if step.kind is StepKind.MOVED:
                return None
            rival = step.rival
            if rival is None or rival.evidence is None or type(rival.place) is not Variable:
                continue
            stand_in = self.places.get(rival.place)
            for evidence in (rival.evidence, *rival.evidence.parents):
                actual = self.values.get(evidence)
                if type(actual) is Unknown:
                    return Tensor(None)
                if stand_in is not None and type(actual) is Tensor:
                    return stand_in
        return None

    def _computed(self, tensor: Tensor) -> Origin:
        return Origin(StepKind.COMPUTED, self.node, self.frame.unit.source, tensor.origin)

    def tensor(self, value: Tensor) -> Value:
        """A tensor of the callee, seen from the caller."""
        if value.evidence is not None and value.evidence in self.values:
            actual = self.values[value.evidence]
            if value.origin is None or value.origin.kind is StepKind.PARAMETER:
                return under(actual, value.when)
            if type(actual) is Host or type(actual) is Const:
                return HOST
        place = value.place
        if type(place) is Variable:
            stand_in = self.places.get(place)
            if stand_in is None:
                return self._strange(value, place)
            origin = self._computed(stand_in)
            origin.when = choices.both(origin.when, value.when)
            traits = value.traits & ~(PARAMETER | SHAPED) | stand_in.traits & (INHERITED & ~DEFAULT)
            if value.traits & SHAPED:
                traits |= stand_in.traits & (SCALAR | MAYBE_SCALAR | SHAPED)
            if stand_in.traits & DEFAULT:
                traits |= DEFAULT
            evidence = stand_in.evidence if value.evidence is not None else None
            if stand_in.traits & ~traits & SCALAR and _by_operator(value):
                return Tensor(None, origin, 0, evidence)  # where the other operand is
            if value.evidence is not None and place in self.owners:
                evidence = Evidence(value.evidence.is_tensor)
            elif value.evidence is not None and value.evidence.in_place:
                given = self.values.get(value.evidence)
                evidence = given.evidence if type(given) is Tensor else Evidence()
            return Tensor(stand_in.place, origin, traits, evidence)
        handed = [self.values.get(p) for p in value.evidence.parents] if value.evidence else []
        if value.traits & LOADED and len(handed) == 1 and handed[0] is not None:
            return self._batch_of(handed[0], value)
        rival = self._rival(value)
        if rival is not None:
            if rival.place is None or rival.is_sure:
                return Tensor(rival.place, self._computed(rival), rival.traits & INHERITED)
            step = self._computed(value)
            step.rival = rival
            return Tensor(place, step, value.traits, value.evidence, value.sizes)
        if any(_is_tensor(actual) for actual in handed):
            return Tensor(place, value.origin, value.traits, None, value.sizes)
        return value


def _by_operator(value: Tensor) -> bool:
    return value.origin is not None and type(value.origin.node) is cst.BinaryOperation


def _is_tensor(value: Value | None) -> bool:
    return type(value) is Tensor and value.evidence is None


def _moves_parameter(value: Value) -> bool:
    return any(
        type(v) is Tensor and v.evidence is not None and (v.evidence.moved or v.evidence.handed)
        for v in alternatives(value)
    )


def _pass_evidence(value: Value, actual: Value) -> None:
    """What the callee uses as a tensor is one in the caller, too."""
    if not any(
        type(v) is Tensor and v.evidence is not None and v.evidence.is_tensor
        for v in alternatives(value)
    ):
        return
    for tensor in alternatives(actual):
        if type(tensor) is Tensor:
            tensor.show()


def _bind(
    frame: Frame,
    node: cst.CSTNode,
    callee: FunctionValue,
    summary: Summary,
    arguments: Arguments,
) -> Binding:
    function = callee.function
    binding = Binding(frame, node, function)
    parameters = summary.parameters
    start = 0
    info = function.info
    if info is not None and not function.is_static and parameters:
        start = 1
        bound = callee.bound
        if type(bound) is Instance and bound is not info.self_value:
            from devlint.inference.modules import placed

            place, origin = placed(frame, bound)
            related = info.lineage() if bound.info is None else bound.info.lineage()
            for each in (info, *related):  # what a base registers lives there, too
                binding.places[each.variable] = Tensor(place, origin, 0)
                binding.owners.add(each.variable)
                binding.nodes[each.variable] = _holder(node, function)
            binding.holder = bound
            if bound.given is not None:
                binding.places.update(bound.given)
        elif bound is None and arguments.positional:
            start = 0
        else:
            binding.inside = True
    if function.outer is not None and function.outer is frame:
        binding.inside = True  # a closure, called where the parameters that it reads are bound
    positional = list(arguments.positional)
    keywords = dict(arguments.keywords)
    if callee.given is not None:
        given_positional, given_keywords = callee.given
        positional = [(v, node) for v in given_positional] + positional
        for key, value in given_keywords.items():
            keywords.setdefault(key, (value, node))
    rest = list(parameters[start:])
    index = 0
    for parameter in rest:
        if parameter.name in keywords:
            actual, actual_node = keywords[parameter.name]
        elif index < len(positional) and not parameter.keyword_only:
            actual, actual_node = positional[index]
            index += 1
        elif parameter.default is not None and not arguments.open:
            actual, actual_node = parameter.default, node
            dropped.of_default(frame, node, function, parameter, summary)
        else:
            actual, actual_node = UNKNOWN, node
        if parameter.is_device:
            mistaken.of_argument(frame, node, actual, actual_node, function)
        binding.put(parameter, actual, actual_node)
    return binding


def _check_pending(
    frame: Frame, node: cst.CSTNode, pending: Pending, binding: Binding, as_module: bool
) -> None:
    if _moves(pending.left) or _moves(pending.right):
        return
    called = pending.called
    if called is not None:
        handed = binding.handed_in(called)
        if called.moved or called.handed or not _wants_inputs(frame, handed):
            return
        if pending.left.traits & LOADED and _loader_of(pending.left, binding) is None:
            return
        called = handed.evidence if type(handed) is Tensor else None
    for when in (pending.when, pending.left.when, pending.right.when):
        if when and choices.exclude(when, binding.facts(when)):
            return  # this call does not come there
    for a in _operands(pending.left, binding):
        for b in _operands(pending.right, binding):
            if a is b or a.place is None or b.place is None or meetings.never_meet(frame, a, b):
                continue
            if called is not None:  # a parameter of this function, too: its callers know
                meetings.add_pending(
                    frame, node, pending.kind, pending.operation, a, b, pending.pointwise, called
                )
                continue
            contract = pending.kind is MeetingKind.CONTRACT
            if contract:
                rank = contracts.rank(a.place, b.place)
            else:
                rank = meetings.contradiction(frame, a, b, pending.pointwise)
                if rank >= 0 and meetings.is_placeholder(pending.operation, a, b):
                    continue
            if rank < 0:
                both = type(a.place) is Variable and type(b.place) is Variable
                if contracts.is_open(a) or contracts.is_open(b) if contract else both:
                    meetings.add_pending(
                        frame, node, pending.kind, pending.operation, a, b, pending.pointwise
                    )
                continue
            if _fed_by_its_holder(a, b, binding) or _fed_by_its_holder(b, a, binding):
                rank = 0
            left_node = _argument(pending.left, binding, node)
            right_node = _argument(pending.right, binding, node)
            holder, handed = pending.right, pending.left
            if not contract and meetings._authority(a) > meetings._authority(b):
                a, b, left_node, right_node = b, a, right_node, left_node
                holder, handed = pending.left, pending.right
            of_module = as_module and holder.place in binding.owners
            if not (of_module and _is_direct(frame, pending, handed, a, b, binding)):
                rank = min(rank, 1)
            meetings.note(
                frame,
                node,
                MeetingKind.INPUT if as_module and not contract else pending.kind,
                shorten(call_name(node)) if as_module and not contract else pending.operation,
                a,
                left_node,
                b,
                right_node,
                rank,
                inside=Site(_source_of(pending, frame), pending.node),
            )
            meetings.leave_to_callers(
                frame, node, pending.kind, pending.operation, a, b, pending.pointwise
            )
            return


def _is_direct(
    frame: Frame,
    pending: Pending,
    inside: Tensor,
    odd: Tensor,
    anchor: Tensor,
    binding: Binding,
) -> bool:
    """Whoever calls the module with this value comes to the operation inside, and nothing is
    guessed on the way."""
    indirect = (odd.traits | anchor.traits | pending.left.traits | pending.right.traits) & INDIRECT
    if indirect or pending.when or pending.left.when or pending.right.when:
        return False
    place = inside.place
    handed, _ = binding.given.get(place.name if type(place) is Variable else "", (UNKNOWN, None))
    if type(handed) is Union:
        several = [v for v in handed.alternatives if type(v) is Tensor]
        return meetings.stands_in(frame, odd, several)
    return type(handed) is Tensor


def _loader_of(batch: Tensor, binding: Binding) -> cst.CSTNode | None:
    """What the caller hands in for the loader of a batch, where that moves nothing itself."""
    step = batch.origin.root if batch.origin is not None else None
    for name in every(step.node, cst.Name) if step is not None else ():
        actual, node = binding.given.get(name.value, (UNKNOWN, None))
        if type(actual) is Loader and type(actual.batch) is Tensor and actual.batch.place == CPU:
            return node
    return None


def _wants_inputs(frame: Frame, handed: Value | None) -> bool:
    """What is called is a module that wants its inputs where it is, or a parameter that may be."""
    from devlint.inference.modules import stateful

    if type(handed) is Tensor:
        return handed.evidence is not None and not handed.evidence.is_tensor
    if type(handed) is not Instance or not handed.module:
        return False
    if handed.info is None:
        known = frame.unit.context.knowledge.module(handed.library) if handed.library else None
        scatters = handed.library.endswith("Parallel")
        return not scatters and bool(known or not handed.library) and stateful(frame, handed)
    function = handed.info.method("forward")
    summary = summarize(function) if function is not None else None
    if summary is None:
        return False
    own = {info.variable for info in handed.info.lineage()}
    return any(own & {p.left.place, p.right.place} for p in summary.pendings)


def _fed_by_its_holder(held: Tensor, given: Tensor, binding: Binding) -> bool:
    """An object that keeps its module where it was made, on the CPU, is fed from there."""
    return (
        held.place == CPU
        and bool(held.traits & DEFAULT)
        and held.origin is not None
        and any(step.kind is StepKind.ATTRIBUTE for step in held.origin.chain())
        and type(given.place) is Variable
        and given.place.kind is VariableKind.INPUT
        and bool(binding.owners)
    )


def _holder(node: cst.CSTNode, function: Function) -> cst.CSTNode:
    """`net` of `net(x)` and of `net.encode(x)`."""
    func = call_name(node)
    if isinstance(func, cst.Attribute) and func.attr.value == function.name:
        return func.value
    return func


def _operands(inside: Tensor, binding: Binding) -> list[Tensor]:
    """An operand of the callee, seen from the caller. What a module holds is on the default device
    by default, as long as nobody has moved the module."""
    found = binding.odd_branches(inside)
    if inside.place not in binding.owners:
        return found
    return [
        t.with_place(CPU, t.origin, add=DEFAULT) if t.place == CPU and not _was_moved(t) else t
        for t in found
    ]


def _was_moved(tensor: Tensor) -> bool:
    return tensor.origin is not None and any(
        step.kind is StepKind.MOVED for step in tensor.origin.chain()
    )


def _moves(tensor: Tensor) -> bool:
    """The callee moves this parameter itself on some path."""
    return tensor.evidence is not None and tensor.evidence.moved


def call_name(node: cst.CSTNode) -> cst.CSTNode:
    return node.func if isinstance(node, cst.Call) else node


def _source_of(pending: Pending, frame: Frame) -> Source:
    origin = pending.left.origin or pending.right.origin
    return origin.source if origin is not None else frame.unit.source


def _argument(tensor: Tensor, binding: Binding, node: cst.CSTNode) -> cst.CSTNode:
    place = tensor.place
    if type(place) is Variable:
        return binding.nodes.get(place, node)
    loader = _loader_of(tensor, binding) if tensor.traits & LOADED else None
    return node if loader is None else loader


def _sync_in_callee(frame: Frame, node: cst.CSTNode, site: Site, binding: Binding) -> None:
    """A callee in another file that syncs makes its call in a loop a sync. One in the same file
    is reported where it waits."""
    if not frame.loops:
        return
    from devlint.inference.syncs import sync

    for stand_in in binding.places.values():
        if notes.on_accelerator(stand_in) >= 1:
            sync(frame, node, "call", stand_in, node, inside=site)
            return
