"""Places of nodes: equal to LibCST's own, right in odd files, at a fraction of the time."""

from __future__ import annotations

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper, PositionProvider

from devlint.positions import lay_out
from devlint.project.parsing import parse
from devlint.project.source import ParsedFile, decode, split_lines

PROGRAM = '''\
"""A module with most kinds of statements."""
import torch, os.path as p  # noqa
from . import (a,
               b)


@decorate(1)
@other
class Net(torch.nn.Module, metaclass=M):
    x: int = 1; y = 2

    # a comment

    @property
    async def forward(self, x: "T" = 1, /, y=2, *args, key, **kw) -> int:
        """Doc."""
        if (x := f(1)) > 2 :
            return ( x + y )   # trailing
        elif x:
            pass
        else :
            yield (1, 2)
        for i in range ( 3 ) :
            x[i:2, ...] = await y
            continue
        else:
            del x, (y)
        while not ( x and -y ): break
        try:
            raise E from None
        except (A, B) as e :
            assert x, "no"
        except C: pass
        else: z = 1
        finally:
            global q
        with open(f"{x!r:>{w}} # not a comment") as f, g(): nonlocal_ = lambda a, *b: {**c}
        async with h as (i, j):
            [k async for k in l if k if not k], {m: n for m in o}, {1, *p}
        match x:
            case [1, *rest] if rest: pass
            case {"k": v, **kw}: pass
            case P(a, b=c) | None as z:
                return x if y else \\
                    z


def last(): return "a" "b" """c
d""" % (é, "日本") ;
'''


def parsed(text: str) -> ParsedFile:
    return ParsedFile("x.py", "x", False, text, parse(text))


def every_node(tree: cst.Module) -> list[cst.CSTNode]:
    nodes: list[cst.CSTNode] = [tree]
    for node in nodes:
        nodes.extend(node.children)
    return nodes


def positions(file: ParsedFile) -> dict[cst.CSTNode, tuple[int, int, int, int]]:
    wrapper = MetadataWrapper(file.tree, unsafe_skip_copy=True)
    return {
        node: (place.start.line, place.start.column + 1, place.end.line, place.end.column + 1)
        for node, place in wrapper.resolve(PositionProvider).items()
    }


def places(
    file: ParsedFile, nodes: list[cst.CSTNode]
) -> dict[cst.CSTNode, tuple[int, int, int, int]]:
    return {
        node: (span.line, span.column, span.end_line, span.end_column)
        for node, span in lay_out(file, nodes).spans.items()
    }


FILE = parsed(PROGRAM)
NODES = every_node(FILE.tree)
EXPECTED = positions(FILE)


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM,
        PROGRAM.replace("\n", "\r\n"),
        PROGRAM.replace("    ", "\t"),
        PROGRAM.rstrip("; \n"),
        "",
        "x",
        "\n\n# only comments\n",
        "if x:\n\ty = 1\n\tz = '\t'\n",
    ],
    ids=["lf", "crlf", "tabs", "no-final-newline", "empty", "name", "comments", "tab-in-string"],
)
def test_every_node_is_where_libcst_says(text: str) -> None:
    file = parsed(text)
    nodes = every_node(file.tree)
    expected = positions(file)
    assert places(file, nodes) == {node: within(text, expected[node]) for node in nodes}


def within(text: str, place: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """LibCST ends the last line even where the file does not; then the file's end is the place."""
    lines = split_lines(text)
    last = (len(lines), len(lines[-1]) + 1)
    return min(place[:2], last) + min(place[2:], last)


@given(st.sets(st.sampled_from(range(len(NODES))), max_size=5))
def test_any_few_nodes_are_where_libcst_says(chosen: set[int]) -> None:
    nodes = [NODES[index] for index in chosen]
    found = places(FILE, nodes)
    assert {node: found[node] for node in nodes} == {node: EXPECTED[node] for node in nodes}


def test_a_span_s_offsets_are_its_text() -> None:
    node = cst.ensure_type(FILE.tree.body[-1], cst.FunctionDef).name
    span = lay_out(FILE, [node]).spans[node]
    assert PROGRAM[span.start : span.end] == "last"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("x = 1\n\fneedle\n", 2, 2),
        ("def f():\n    y\n\f\n\f    needle\n", 4, 6),
        ("x = '\f'; needle\n", 1, 10),
        ("'\f'\n\f\fa\n\f needle\n".replace(" ", ""), 3, 2),
        ("x = 1\rneedle\r", 2, 1),
        ("x = '''a\rb''' + needle", 2, 8),
        ("x = 1\\\n   ; needle\r\n", 2, 6),
        ("x = '\x0b\x1c\u2028'; needle\n", 1, 12),
    ],
)
def test_columns_are_those_of_the_file_where_libcst_drops_characters(
    text: str, line: int, column: int
) -> None:
    file = parsed(text)
    node = next(n for n in every_node(file.tree) if isinstance(n, cst.Name) and n.value == "needle")
    span = lay_out(file, [node]).spans[node]
    assert (span.line, span.column) == (line, column)
    assert text[span.start : span.end] == "needle"


def test_a_byte_order_mark_is_not_a_column() -> None:
    decoded = decode(b"\xef\xbb\xbfneedle = 1\n")
    file = parsed(decoded.text)
    node = next(n for n in every_node(file.tree) if isinstance(n, cst.Name))
    assert lay_out(file, [node]).spans[node].column == 1


@pytest.mark.parametrize(
    "text",
    [
        "main()\nx = 1\nmain()\n",
        "main()\nx = 1\nmain()",
        "if x:\n    main()\nmain()\n",
        "def f():\n    y\n    z\nx = 1\ndef f():\n    y\n\f\n    z\n",
    ],
    ids=["twice", "no-final-newline", "within-another", "form-feed"],
)
def test_a_statement_whose_code_stands_twice_is_where_it_is(text: str) -> None:
    file = parsed(text)
    node = cst.ensure_type(file.tree.body[-1], cst.CSTNode)
    expected = places(file, every_node(file.tree))[node]
    assert places(file, [node])[node] == expected
    assert expected[0] > 1


def test_a_node_of_another_tree_has_no_place() -> None:
    assert lay_out(FILE, [cst.Name("elsewhere")]).spans == {}


def test_comments_are_found_and_strings_are_not_comments() -> None:
    text = 'x = "# no" # yes\nf"# no{x}# no"\n"""\n# no\n"""\nf(  # two\n)\n# last'
    comments = lay_out(parsed(text), comments=True).comments
    assert [(c.text, c.span.line, c.span.column) for c in comments] == [
        ("# yes", 1, 12),
        ("# two", 6, 5),
        ("# last", 8, 1),
    ]
