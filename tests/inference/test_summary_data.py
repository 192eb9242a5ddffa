"""A summary is plain data: written down, read again, and as good as the one that was inferred."""

from pathlib import Path

import libcst as cst
import pytest
from abstract_values import (
    CLASSES,
    ONE,
    OTHER,
    any_value,
    conditions,
    kinds,
    nodes,
    places,
    provenances,
    records,
    subclasses,
    tensor_values,
)
from everyday_code import FOUND, SILENT, findings_of
from given import parsed
from hypothesis import given as forall
from hypothesis import settings
from hypothesis import strategies as st
from rule_check import RULES, config_for
from summary_names import ProgramNames
from summary_records import (
    CONSTANTS,
    OWNED,
    NotASummary,
    Ref,
    decode,
    encode,
    from_json,
    to_json,
)

from devlint import engine
from devlint.contracts import On, SameDevice
from devlint.inference import api
from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.domain.containers import Address, Container
from devlint.inference.domain.kinds import Effects, Evidence, Hints
from devlint.inference.domain.path_conditions import Predicate
from devlint.inference.domain.placement import CPU, Device, Variable, VariableKind
from devlint.inference.domain.provenance import Provenance, Site
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import UNKNOWN, Unknown, Value
from devlint.inference.facts import MeetingKind
from devlint.inference.program.functions import Parameter, Summary
from devlint.inference.program.meetings import Pending
from devlint.inference.program.outcomes import MovedEntry
from devlint.inference.program.values import Imported, Method

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


class Named:
    """The names of nodes, and of what stands for files, functions and classes."""

    def __init__(self):
        self.things = [ONE, OTHER]

    def name(self, thing):
        if isinstance(thing, type):
            return ("type", thing.__name__)
        if isinstance(thing, cst.CSTNode) and thing not in self.things:
            self.things.append(thing)
        return (self.things.index(thing),) if thing in self.things else None

    def find(self, name):
        return getattr(cst, name[1]) if name[0] == "type" else self.things[name[0]]


def a_summary(value):
    """A summary that comes to this value, or whatever it may be."""
    return Summary((), UNKNOWN, left={"part": value})


def written(summary, names):
    return from_json(to_json(encode(summary, names)))


# --- for each class ------------------------------------------------------------------------------


def some(parts):
    return st.lists(parts, max_size=2).map(tuple)


texts = st.text(max_size=3)
flags = st.booleans()
subjects = st.sampled_from(["x", ("bool", "x"), ("bool", (cst.Call, "isinstance", "x", "list"))])
parameters = st.builds(
    Parameter,
    texts,
    st.none() | st.builds(Variable, texts, st.sampled_from(VariableKind), flags),
    any_value,
    st.none() | any_value,
    *(flags, flags, flags),
)
sites = st.builds(Site, records, nodes)
assumptions = st.builds(Assumption, st.sampled_from(AssumptionKind), sites, texts)
evidence = kinds.filter(lambda kind: kind is not None)
meetings = st.builds(
    Pending,
    nodes,
    st.sampled_from(MeetingKind),
    texts,
    tensor_values,
    tensor_values,
    flags,
    conditions,
    kinds,
    some(assumptions),
)
PARTS = {
    Parameter: parameters,
    Pending: meetings,
    MovedEntry: st.builds(
        MovedEntry, evidence, st.none() | texts | st.integers() | st.just(b"key"), tensor_values
    ),
    Site: sites,
    Assumption: assumptions,
    Variable: st.builds(Variable, texts, st.sampled_from(VariableKind), flags),
    Device: st.builds(Device, texts, st.none() | st.integers(0, 9)),
    Predicate: st.builds(Predicate, st.integers(0), flags, subjects, st.tuples(texts)),
    Provenance: provenances(),
    Address: st.builds(Address),
    Evidence: evidence,
    Effects: st.builds(Effects, *[flags] * 4),
    Hints: st.builds(Hints, *[flags] * 4),
    On: st.sampled_from([On("cuda"), On("cpu")]),
    SameDevice: st.sampled_from([SameDevice("x"), SameDevice("x", "self")]),
}
VALUES = {kind: CLASSES[kind] for kind in CLASSES if kind not in (Unknown, Imported)}
SUMMARIES = {
    Summary: st.builds(
        Summary,
        some(parameters),
        any_value,
        some(meetings),
        some(sites),
        some(CLASSES[Method]),
        places,
        st.dictionaries(texts, any_value, max_size=2),
        some(PARTS[MovedEntry]),
    ),
    **{kind: parts.map(a_summary) for kind, parts in {**PARTS, **VALUES}.items()},
}


def test_no_class_of_a_summary_is_left_out():
    assert set(SUMMARIES) == set(OWNED)
    assert subclasses(Value) - {Value, Container, Unknown, Imported} == set(OWNED) & set(CLASSES)


@pytest.mark.parametrize("kind", SUMMARIES, ids=lambda kind: kind.__name__)
@settings(max_examples=25)
@forall(data=st.data())
def test_what_is_written_is_read_again(kind, data):
    names = Named()
    data = encode(data.draw(SUMMARIES[kind]), names)
    assert from_json(to_json(data)) == data
    assert encode(decode(data, names), names) == data


@pytest.mark.parametrize("name", CONSTANTS)
def test_of_a_constant_there_is_one(name):
    names = Named()
    read = decode(written(a_summary(CONSTANTS[name]), names), names)
    assert read.left["part"] is CONSTANTS[name]


def test_what_is_one_stays_one():
    place, evidence = Variable("x", VariableKind.INPUT, True), Evidence()
    moved = MovedEntry(evidence, None, Tensor(CPU))
    result = Tensor(place, None, 0, evidence)
    summary = Summary((), result, left={"x": Tensor(place)}, moved_entries=(moved,))
    names = Named()
    read = decode(written(summary, names), names)
    assert read.result.place is read.left["x"].place
    assert read.moved_entries[0].holder is read.result.evidence
    assert read.result.place is not place


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '[["constant", "UNKNOWN"]]',
        '[["constant", "no such"]]',
        '[["Popen", "ls"]]',
        '[["Summary"]]',
        '[["literal", "print(1)"]]',
        '[["name", 7]]',
        '[["list", {"ref": 7}]]',
    ],
)
def test_nothing_else_is_read(text):
    with pytest.raises(NotASummary):
        decode(from_json(text), Named())


# --- of programs ---------------------------------------------------------------------------------


def summary_of(code, name):
    """The summary of a function of a file, and the names of its program."""
    context = api.new_context(api.load(), None)
    api.infer_with(context, parsed("main.py", code))
    (function,) = [f for f in api.functions_of(context.units["main.py"]) if f.name == name]
    return function.summary, ProgramNames(function)


def test_a_parameter_and_a_result_in_its_place_share_a_variable():
    data = encode(*summary_of("def shift(t):\n    return t + torch.ones(3)\n", "shift"))
    (variable,) = [Ref(n) for n, each in enumerate(data.records) if each.kind == "Variable"]
    holders = {each.kind for each in data.records if variable in each.cells}
    assert holders == {"Parameter", "Tensor"}


def test_what_a_function_does_not_own_is_named():
    summary, names = summary_of(
        """
        ROWS = []

        def rows():
            return ROWS
        """,
        "rows",
    )
    assert ("way", ("file", "main.py"), 0, "ROWS") in [
        each.cells for each in encode(summary, names).records
    ]
    assert decode(encode(summary, names), names).result is summary.result


class ThroughData(api._Interpreter):
    """Writes each summary down, and reads it again before anybody uses it."""

    def __init__(self):
        self.summaries = 0

    def summarize(self, function):
        known, inferred = function.summary, super().summarize(function)
        if known is None and inferred is not None:
            names = ProgramNames(function)
            data = encode(inferred, names)
            assert from_json(to_json(data)) == data
            inferred = function.summary = decode(data, names)
            assert encode(inferred, names) == data
            self.summaries += 1
        return inferred


def findings(path):
    config = config_for(path if path.is_dir() else path.parent)
    report = engine.check([path], config, tuple(RULES.values()))
    assert not report.errors
    return report.findings


PROJECTS = [
    *(each for kind in ("rules", "projects") for each in sorted(FIXTURES.glob(f"{kind}/*"))),
    FIXTURES / "fixes",
    FIXTURES / "teaching",
]


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_findings_are_those_of_the_summaries_that_were_inferred(path, monkeypatch):
    expected = findings(path)
    interpreter = ThroughData()
    monkeypatch.setattr(api, "_INTERPRETER", interpreter)
    assert findings(path) == expected
    assert interpreter.summaries


@pytest.mark.parametrize("path", [*FOUND, *SILENT], ids=lambda path: path.stem)
def test_so_it_is_in_everyday_code(path, monkeypatch):
    expected = findings_of(path)
    interpreter = ThroughData()
    monkeypatch.setattr(api, "_INTERPRETER", interpreter)
    assert findings_of(path) == expected
