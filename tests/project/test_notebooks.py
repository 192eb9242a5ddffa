"""Notebooks: their cells as one Python text, and what an edit leaves of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devlint.findings import Applicability, Edit, Fix, Location
from devlint.fixes import fix_bytes
from devlint.project.notebooks import read_notebook
from devlint.project.python_text import in_cell, python_text
from devlint.project.source import OtherLanguage, SourceError

FILE = Path("x.ipynb")


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "outputs": [], "source": source, **more}


def notebook(*cells: dict[str, Any], **more: Any) -> str:
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def replaced(cell: int, line: int, column: int, end_column: int, text: str) -> Fix:
    place = Location("x.ipynb", line, column, line, end_column, cell=cell)
    return Fix(Applicability.SAFE, (Edit(place, text),))


def test_the_code_cells_are_one_text_in_their_order() -> None:
    markdown = {"cell_type": "markdown", "metadata": {}, "source": "# no code"}
    found = read_notebook(notebook(code(["x = 1\n", "y = 2"]), markdown, code("%time\nz\n")))
    assert found.text == "x = 1\ny = 2\n0    \nz\n\n"
    assert [(c.number, c.line, c.last) for c in found.cells] == [(1, 1, 2), (3, 3, 5)]


def test_places_are_counted_in_their_cell() -> None:
    cells = read_notebook(notebook(code("a\nb"), code("c\nd\n"))).cells
    inside = in_cell(Location("x.ipynb", 4, 1, 4, 2), cells)
    assert inside == Location("x.ipynb", 2, 1, 2, 2, cell=2)
    beyond = in_cell(Location("x.ipynb", 2, 1, 3, 1), cells)
    assert beyond == Location("x.ipynb", 2, 1, 2, 2, cell=1), "it ends where its cell does"


def test_a_cell_that_is_no_python_is_an_error_of_its_own() -> None:
    found = read_notebook(
        notebook(code("x = ("), code("y = 1"), code("a = '\0'"), code("'\ud800'"))
    )
    errors = [(c.number, c.error.line, c.error.message) for c in found.cells if c.error]
    assert errors == [
        (1, 1, "syntax error: '(' was never closed"),
        (3, 1, "contains a NUL character"),
        (4, 1, "contains half a character"),
    ]
    assert found.text.split() == ["y", "=", "1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not valid JSON: Expecting value"),
        ('{"cells": [', "not valid JSON"),
        ("[]", "no number under `nbformat`"),
        ("1", "no number under `nbformat`"),
        ("[" * 100_000, "deeply nested|not valid JSON"),
        ('{"nbformat": 3, "worksheets": []}', "of format 3, and only format 4 is read"),
        ('{"nbformat": 99, "cells": []}', "format 99, which devlint does not know"),
        ('{"nbformat": 4}', "no list under `cells`"),
        ('{"nbformat": 4, "cells": [1]}', "cell 1 has no `cell_type`"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "cell 1 has no text"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has no text"),
        ('{"nbformat": ' + "9" * 5000 + "}", "not valid JSON|format 9"),
    ],
)
def test_what_is_no_notebook_is_one_clear_error(text: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        read_notebook(text)


@pytest.mark.parametrize(
    "metadata",
    [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}],
)
def test_other_kernels_have_nothing_to_check(metadata: dict[str, Any]) -> None:
    with pytest.raises(OtherLanguage, match="not Python"):
        read_notebook(notebook(code("x <- 1"), metadata=metadata))


def test_cells_in_another_language_are_passed_over() -> None:
    sql = code("select 1", metadata={"vscode": {"languageId": "sql"}})
    assert read_notebook(notebook(sql, code("x = 1"))).text == "x = 1\n"


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("source", ["a = 1\nb = é\nc = 3", ["a = 1\n", "b = é\n", "c = 3"]])
@pytest.mark.parametrize("escaped", [False, True])
def test_only_the_edited_line_changes(
    indent: int | None, source: str | list[str], escaped: bool
) -> None:
    outputs = [{"output_type": "stream", "text": ["é / \u2028 \\\\"]}]
    whole = {
        "nbformat": 4,
        "metadata": {"é": "\u2028"},
        "cells": [code("x", outputs=outputs), code(source, outputs=outputs)],
    }
    before = json.dumps(whole, indent=indent, ensure_ascii=escaped)
    after, applied = fix_bytes(FILE, before.encode(), [replaced(2, 3, 1, 2, 'd["e"]')])
    assert applied == [0]
    assert after.decode() == before.replace("c = 3", 'd[\\"e\\"] = 3')


def test_bytes_around_the_cell_stay_whatever_they_are() -> None:
    raw = (
        '\ufeff{"cells" : [\r\n\t{"source":[ "a = 1\\n" ,\r\n "b\\u003d2"],"cell_type":"code",'
        '"source" :\t["c = 1\\n",  "d = 2"] } ],\n "nbformat":4.0e0,"nbformat":4, "x": 1E5}\t\n'
    )
    after, applied = fix_bytes(FILE, raw.encode(), [replaced(1, 1, 1, 2, "z")])
    assert applied == [0]
    assert after.decode() == raw.replace('"c = 1', '"z = 1')


def test_lines_are_added_and_taken_in_the_form_of_the_list() -> None:
    before = notebook(code(["a = 1\n", "b = 2\n", "c = 3"]))
    added, _ = fix_bytes(FILE, before.encode(), [replaced(1, 2, 1, 1, "d = 4\n")])
    assert added.decode() == notebook(code(["a = 1\n", "d = 4\n", "b = 2\n", "c = 3"]))
    gone = Fix(Applicability.SAFE, (Edit(Location("x.ipynb", 1, 1, 3, 6, cell=1), ""),))
    assert json.loads(fix_bytes(FILE, before.encode(), [gone])[0])["cells"][0]["source"] == []


def test_a_magic_is_never_edited() -> None:
    before = notebook(code("x = !ls\n%time y = 1\n")).encode()
    assert fix_bytes(FILE, before, [replaced(1, 1, 5, 6, "z")]) == (before, [])
    after, applied = fix_bytes(FILE, before, [replaced(1, 2, 7, 8, "z")])
    assert applied == [0] and after == before.replace(b"y = 1", b"z = 1")


def test_an_edit_that_breaks_its_cell_is_left_out() -> None:
    before = notebook(code("x = 1"), code("y = (")).encode()
    assert fix_bytes(FILE, before, [replaced(1, 1, 1, 2, "(")]) == (before, [])
    assert fix_bytes(FILE, before, [replaced(1, 1, 1, 2, "z")])[1] == [0]


def test_a_notebook_is_utf_8() -> None:
    with pytest.raises(SourceError, match="not valid utf-8"):
        python_text(FILE, notebook(code("x")).encode("utf-16"))
