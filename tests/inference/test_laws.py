"""Laws that hold for every program of a kind."""

import re

from given import given, meetings, moves, syncs
from hypothesis import given as forall
from hypothesis import settings
from hypothesis import strategies as st

from devlint.inference.domain.placement import CPU, CUDA, Device, Variable, VariableKind
from devlint.inference.domain.tensors import Tensor
from devlint.inference.domain.value import alternatives, join

SELF = Variable("self", VariableKind.MODULE)
INPUT = Variable("x", VariableKind.INPUT)
places = st.sampled_from([CPU, CUDA, Device("cuda", 1), SELF, INPUT, None])
tensors = places.map(Tensor)


def where(value):
    return {str(v.place) for v in alternatives(value)}


@forall(tensors)
def test_join_is_idempotent(a):
    assert where(join(a, a)) == where(a)
    assert where(join(a, Tensor(a.place))) == where(a)


@forall(tensors, tensors)
def test_join_is_commutative(a, b):
    assert where(join(a, b)) == where(join(b, a))


NAMES = ("a", "b", "c")
names = st.sampled_from(NAMES)
sources = st.sampled_from(
    [
        "torch.zeros(3)",
        "torch.zeros(3).cuda()",
        "torch.tensor(1.0)",
        'torch.ones(3, device="cuda:1")',
    ]
)
statements = st.one_of(
    st.tuples(names, sources).map(" = ".join),
    st.tuples(names, names, names).map(lambda n: f"{n[0]} = {n[1]} + {n[2]}"),
    st.tuples(names, names).map(lambda n: f"{n[0]} = {n[1]}.cuda()"),
    st.tuples(names, names).map(lambda n: f"{n[0]} = {n[1]}.cpu()"),
    st.tuples(names, names).map(lambda n: f"if flag:\n    {n[0]} = {n[1]}"),
    st.tuples(names, names).map(lambda n: f"for i in range(3):\n    {n[0]} = {n[1]} * 2"),
    names.map(lambda n: f"print({n}.sum().item())"),
)
START = "".join(f"{name} = torch.zeros(3)\n" for name in NAMES)
programs = st.lists(statements, max_size=8).map(lambda lines: START + "\n".join(lines) + "\n")


def told(code):
    facts = given(code)
    return meetings(facts), moves(facts), syncs(facts)


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_inference_gives_the_same_answer_twice(program):
    assert told(program) == told(program)


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_dead_code_changes_nothing(program):
    dead = "if False:\n    a = b.cuda() + c.cpu()\n"
    assert told(program + dead) == told(program)


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_an_unused_function_changes_nothing_outside_of_it(program):
    unused = "def unused():\n    a = torch.zeros(3)\n    return a\n"
    assert told(program + unused) == told(program)


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_names_do_not_matter(program):
    other = {"a": "first", "b": "second", "c": "third"}

    def rename(text):
        return re.sub(r"\b[abc]\b", lambda match: other[match[0]], text)

    assert told(rename(program)) == tuple([rename(line) for line in part] for part in told(program))


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_a_program_is_the_same_inside_a_function(program):
    body = "".join(f"    {line}\n" for line in program.splitlines())
    assert told(f"def main():\n{body}")[0] == told(program)[0]


@settings(max_examples=40, deadline=None)
@forall(programs)
def test_on_one_device_nothing_contradicts(program):
    moved = program.replace("torch.zeros(3)", "torch.zeros(3).cuda()").replace(".cpu()", "")
    assert given(moved.replace(":1", "")).meetings == []
