"""Properties of reading and editing that hold for any text (Hypothesis)."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devlint.config import ConfigError, find_config, to_toml
from devlint.project.magics import python_of, python_of_script
from devlint.project.python_text import python_text
from devlint.project.source import SourceError
from devlint.terminal import show

LINES = st.sampled_from(
    ["x = 1", "%time y", "!ls \\", "x?", "'''", "(", ")", "%%time", "# %%", "\f", "\ty", "a = %b"]
)
CELLS = st.one_of(
    st.text(max_size=60),
    st.lists(LINES, max_size=6).flatmap(
        lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines))
    ),
)
SOURCES = st.one_of(CELLS, CELLS.map(lambda cell: cell.splitlines(keepends=True)))
PLAIN = settings(derandomize=True, max_examples=80)
IN_A_FOLDER = settings(PLAIN, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PLAIN
@given(CELLS)
def test_the_python_of_a_cell_is_as_long_as_the_cell(cell: str) -> None:
    for python in (python_of(cell), python_of_script(cell)):
        assert python is None or len(python) == len(cell)


@PLAIN
@given(st.lists(SOURCES, max_size=4), st.sampled_from([None, 0, 1, "\t"]), st.booleans(), st.data())
def test_an_edit_of_a_notebook_changes_what_it_says_and_nothing_else(
    sources: list[str | list[str]], indent: int | str | None, escaped: bool, data: st.DataObject
) -> None:
    cells = [{"cell_type": "code", "source": source, "é": "\u2028"} for source in sources]
    whole = {"nbformat": 4, "cells": cells}
    raw = json.dumps(whole, indent=indent, ensure_ascii=escaped).encode("utf-8", "replace")
    text = python_text(Path("x.ipynb"), raw)
    assert len(text.text) == len(text.written)
    assert text.edited({}).encode() == raw
    if not text.cells:
        return
    cell = data.draw(st.sampled_from(text.cells))
    start = data.draw(st.integers(cell.start, cell.end))
    new = data.draw(st.text(alphabet='aé\n"\\', max_size=4))
    after = json.loads(text.edited({(start, cell.end): new}).encode())
    expected = json.loads(raw)
    kept = cell.source[: start - cell.start] + new
    for number, (then, now) in enumerate(zip(expected["cells"], after["cells"], strict=True), 1):
        was, now["source"] = "".join(then.pop("source")), "".join(now["source"])
        assert now.pop("source") == (kept if number == cell.number else was)
    assert after == expected


@PLAIN
@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for name in ("x.py", "x.ipynb"):
        try:
            text = python_text(Path(name), data)
        except SourceError as error:
            assert error.line >= 1 and error.column >= 1 and "\n" not in error.message
        else:
            assert text.edited({}).encode() == data


@IN_A_FOLDER
@given(st.lists(st.text(min_size=1, max_size=8), max_size=3))
def test_a_configuration_is_written_as_it_is_read(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "devlint.toml"
    file.write_text(f"paths = {json.dumps(words)}\n", encoding="utf-8")
    try:
        config = find_config(tmp_path, file)
    except ConfigError:
        return  # half a character is none in TOML
    assert config.paths == tuple(words)
    file.write_text(to_toml(config), encoding="utf-8")
    assert find_config(tmp_path, file).paths == tuple(words)


@PLAIN
@given(st.text())
def test_nothing_shown_steers_the_terminal(text: str) -> None:
    shown = show(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
