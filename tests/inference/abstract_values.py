"""Abstract values of every class, for properties that hold of all of them."""

import libcst as cst
from hypothesis import strategies as st

from devlint.contracts import On
from devlint.inference.domain import containers, host, tensors
from devlint.inference.domain import value as lattice
from devlint.inference.domain.kinds import Evidence
from devlint.inference.domain.path_conditions import ALWAYS, Predicate
from devlint.inference.domain.placement import CPU, CUDA, Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, StepKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import PLACED, TOP, UNKNOWN
from devlint.inference.program import values
from devlint.inference.program.type_expressions import TypeExpression


class Record:
    """What a value refers to: a file, a class or a function of the program."""

    name = "Record"
    path = "main.py"
    node = cst.Pass()


ONE, OTHER = Record(), Record()
records = st.sampled_from([ONE, OTHER])
nodes = st.sampled_from([cst.Name("a"), cst.Name("b")])
SELF = Variable("self", VariableKind.MODULE)
INPUT = Variable("x", VariableKind.INPUT)
places = st.sampled_from([CPU, CUDA, Device("cuda", 1), SELF, INPUT, None])
P, Q = Predicate(), Predicate()
conditions = st.sampled_from(
    [ALWAYS, ((P, True, "true"),), ((P, False, "true"),), ((P, True, "true"), (Q, True, "true"))]
)


def shown(is_tensor, is_host):
    evidence = Evidence(is_tensor)
    if is_host:
        evidence.mark_host()
    return evidence


kinds = st.none() | st.builds(shown, st.booleans(), st.booleans())
traits = st.integers(0, (tensors.MATRIX << 1) - 1)


@st.composite
def provenances(draw):
    step = Provenance(draw(st.sampled_from([StepKind.CREATED, StepKind.MOVED])), draw(nodes), ONE)
    return step.known(draw(conditions))


tensor_values = st.builds(Tensor, places, st.none() | provenances(), traits, kinds)


def objects(parts):
    def made(info, library, module, place, fields, given, tensor):
        built = values.Instance(info, library, module, place)
        built.fields = containers.Mapping(fields)
        built.given = given
        built.tensor = None if info is not None else tensor
        return built

    return st.builds(
        made,
        st.none() | records,
        st.sampled_from(["", "torch.nn.Linear"]),
        st.booleans(),
        places,
        st.dictionaries(st.sampled_from("ab"), parts, max_size=2),
        st.none() | st.dictionaries(st.just(INPUT), tensor_values),
        st.none() | tensor_values,
    )


modules = st.sampled_from([values.Instance(None, "torch.nn.Linear", True) for _ in range(2)])


def sequences(parts):
    kinds = st.sampled_from(["list", "tuple", "iterator", "columns"])
    names = st.sampled_from([(), ("a",)])
    return st.builds(
        containers.Sequence, st.lists(parts, max_size=2), st.none(), kinds, names=names
    ) | st.builds(containers.Sequence, st.none(), st.none() | parts, kinds)


def mappings(parts):
    entries = st.dictionaries(st.sampled_from("ab"), parts, max_size=2)
    return st.builds(containers.Mapping, entries, st.none() | parts)


SIMPLE = {
    lattice.Unknown: st.sampled_from([UNKNOWN, PLACED, TOP]),
    tensors.Tensor: tensor_values,
    host.Const: st.sampled_from([host.NONE, host.TRUE, host.ASSUMED, host.FALSE])
    | st.builds(host.Const, st.sampled_from([True, 0, 1, 1.0, "cuda", "cpu"])),
    host.Host: st.sampled_from([host.HOST, host.ARRAY, host.GLOBAL_RANK, host.DTYPE])
    | st.builds(
        host.Host, st.none() | st.sampled_from([Tensor(CPU)]), st.booleans(), st.booleans()
    ),
    host.DeviceValue: st.builds(
        host.DeviceValue, places, st.none() | st.sampled_from([Tensor(CPU)]), st.booleans()
    ),
    host.External: st.builds(host.External, st.sampled_from(["torch.add", "numpy.add"])),
    containers.NamedTuple: st.builds(containers.NamedTuple, st.sampled_from([("a",), ("b",)])),
    values.ProjectModule: st.builds(values.ProjectModule, records),
    values.FunctionValue: st.builds(values.FunctionValue, records, st.none() | modules),
    values.ClassValue: st.builds(values.ClassValue, records),
    values.Placed: st.builds(values.Placed, places, st.none()),
    values.Optimizer: st.builds(values.Optimizer, st.none() | modules, provenances()),
    values.Parameters: st.builds(values.Parameters, st.none() | modules, tensor_values),
    values.Generator: st.builds(values.Generator, places, st.none()),
    values.Super: st.builds(values.Super, records, modules),
    TypeExpression: st.builds(TypeExpression, nodes, records),
    values.Contract: st.builds(values.Contract, st.sampled_from([On("cuda"), On("cpu")])),
}


def imported(value):
    return values.Imported(lambda: value)


COMPOUND = {
    containers.Sequence: sequences,
    containers.Mapping: mappings,
    containers.Loader: lambda parts: st.builds(containers.Loader, parts),
    values.Instance: lambda parts: objects(parts) | modules,
    values.Imported: lambda parts: parts.map(imported),
    values.Method: lambda parts: st.builds(values.Method, parts, st.sampled_from(["to", "add"])),
    values.Partial: lambda parts: st.builds(values.Partial, parts, st.just([]), st.just({})),
    lattice.Union: lambda parts: st.builds(
        lambda cases: lattice.choose(cases),
        st.lists(st.tuples(parts, conditions), min_size=1, max_size=4),
    ),
}

simple = st.one_of(*SIMPLE.values())
any_value = st.recursive(
    simple, lambda parts: st.one_of(*(make(parts) for make in COMPOUND.values())), max_leaves=3
)
CLASSES = {**SIMPLE, **{kind: make(any_value) for kind, make in COMPOUND.items()}}


def subclasses(kind):
    return {kind}.union(*(subclasses(each) for each in kind.__subclasses__()))
