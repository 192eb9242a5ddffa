"""LibCST's nodes are what LibCST makes them, however they were imported."""

from __future__ import annotations

import json
import subprocess
import sys

ASKING = """
import dataclasses, json, sys
if sys.argv[1] == "devlint":
    import devlint.inference.api
import libcst

def below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from below(each)

def is_in_use(kind):  # others are those that LibCST gave slots, and made anew for that
    return vars(sys.modules[kind.__module__]).get(kind.__name__) is kind

print(json.dumps([
    [
        kind.__qualname__,
        kind.__match_args__,
        kind.__repr__.__qualname__,
        sorted(kind.__abstractmethods__),
        [field.name for field in dataclasses.fields(kind)],
        [field.default is dataclasses.MISSING for field in dataclasses.fields(kind)],
        sorted(name for name in vars(kind) if name not in sys.argv[2:]),
    ]
    for kind in below(libcst.CSTNode) if is_in_use(kind)
]))
print(libcst.Name.__dataclass_params__.frozen)
"""


# Frozen nodes have the first two; devlint compares and generates nodes in its own way.
OTHERS = ("__setattr__", "__delattr__", "__eq__", "__hash__", "_codegen", "_parenthesize")


def asked(of: str) -> tuple[list[object], bool]:
    found = subprocess.run(
        [sys.executable, "-c", ASKING, of, *OTHERS], capture_output=True, text=True, check=True
    )
    kinds, frozen = found.stdout.splitlines()
    return json.loads(kinds), frozen == "True"


def test_what_the_inference_imports_are_the_nodes_of_libcst_made_in_less_time():
    kinds, frozen = asked("devlint")
    same, as_it_makes_them = asked("libcst")
    assert kinds == same and len(kinds) > 200
    assert as_it_makes_them and not frozen  # else somebody imports LibCST before `devlint.nodes`


WRITING = """
import devlint.nodes
import libcst as cst

before = cst.Nonlocal.__init__
name = cst.Name("x")
node = cst.Nonlocal([cst.NameItem(name)])
print(before is not cst.Nonlocal.__init__, node.names[0].name is name, node.semicolon)
print(cst.Module([node]).code_for_node(node))
try:
    cst.Nonlocal()
except TypeError as error:
    print(error)
"""


def test_an_init_is_written_for_the_first_node_of_a_kind():
    found = subprocess.run(
        [sys.executable, "-c", WRITING], capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == [
        "True True MaybeSentinel.DEFAULT",
        "nonlocal x",
        "Nonlocal.__init__() missing 1 required positional argument: 'names'",
    ]
