"""Reading, decoding and parsing a file: what Python reads is read, the rest is one clear error."""

from __future__ import annotations

import ast
import codecs
import os
from pathlib import Path

import pytest

from devlint.project.parsing import parse
from devlint.project.source import SourceError, decode, read, split_lines


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("é".encode(), "é", "utf-8"),
        (codecs.BOM_UTF8 + b"x", "x", "utf-8"),
        (b"# -*- coding: latin-1 -*-\n\xe9", "# -*- coding: latin-1 -*-\né", "iso-8859-1"),
        (b"#!/bin/python\n# vim: set fileencoding=cp1251 :\n\xe9", None, "cp1251"),
        (b"x\r\ny\rz", "x\r\ny\rz", "utf-8"),
    ],
)
def test_text_is_decoded_as_python_does(data: bytes, text: str | None, encoding: str) -> None:
    decoded = decode(data)
    assert decoded.encoding == encoding
    assert decoded.encode(decoded.text) == data
    if text is not None:
        assert decoded.text == text


@pytest.mark.parametrize(
    ("data", "place", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", (2, 6), "not valid utf-8: byte 0xe9"),
        (b"\xe9", (1, 1), "coding line"),
        (b"# coding: nonsense\nx", (1, 1), "nonsense"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", (1, 1), "contradicts its byte order"),
        (b"# coding: rot13\nx = 1\n", (1, 1), "'rot13' is no text encoding"),
        (b"# coding: undefined\nx = 1\n", (1, 1), "not valid undefined"),
        (b"# coding comes later\n\xe9", (2, 1), "not valid utf-8"),
        (b"# coding: ascii\nx = '\xc3'", (2, 6), "not valid ascii"),
        (b"x = 1\n\x00", (2, 1), "NUL"),
        (b"\x00\x01\x02\xff", (1, 4), "not valid utf-8"),
    ],
)
def test_what_cannot_be_decoded_is_an_error_at_its_place(
    data: bytes, place: tuple[int, int], words: str
) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        decode(data)
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("x = 1\ny = (2\n", (2, 5), "'\\(' was never closed"),
        ("def f(:\n    pass\n", (1, 7), "invalid syntax"),
        ('x = 1\ny = "\n', (2, 5), "unterminated string"),
        ("if x:\n        y\n    z\n", (3, 6), "unindent does not match"),
        ("print 'hello'\n", (1, 1), "Missing parentheses"),
        ("(" * 500 + "1" + ")" * 500, (1, 201), "too many nested parentheses"),
        ("((" + "[" * 5000 + "]" * 5000 + "))", (1, 201), "too many nested parentheses"),
    ],
)
def test_a_syntax_error_has_python_s_message_and_place(
    text: str, place: tuple[int, int], words: str
) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.excerpt == text.split("\n")[place[0] - 1]


def test_valid_python_that_libcst_cannot_parse_is_called_that() -> None:
    text = "x = 1\ny = (" + '"a" ' * 10_000 + ")\n"
    ast.parse(text)
    with pytest.raises(
        SourceError, match=r"is valid Python that LibCST \d.* cannot parse"
    ) as found:
        parse(text)
    assert found.value.line == 2


def test_brackets_in_strings_are_not_nesting() -> None:
    text = 'x = "' + "(" * 1000 + '"\n'
    assert parse(text).code == text


@pytest.mark.parametrize("text", ["", "\n", "   ", "x", "# only a comment", "\f\nx = 1\n"])
def test_small_and_odd_files_parse(text: str) -> None:
    parse(text)


def test_lines_end_where_python_ends_them() -> None:
    assert split_lines("a\nb\r\nc\rd\x0be\x1cf\u2028g\fh") == [
        "a", "b", "c", "d\x0be\x1cf\u2028g\fh"
    ]  # fmt: skip


def test_reading_says_why_not(tmp_path: Path) -> None:
    (tmp_path / "nowhere.py").symlink_to("missing")
    (tmp_path / "loop.py").symlink_to("loop.py")
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        read(tmp_path / "nowhere.py")
    with pytest.raises(SourceError, match="symbolic links"):
        read(tmp_path / "loop.py")
    with pytest.raises(SourceError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(SourceError, match="is not a regular file"):
        read(Path(os.devnull))


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.py").touch()
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(SourceError, match="cannot be read: Permission denied"):
        read(tmp_path / "x.py")
