"""Colour, widths, progress, and terminals that cannot show everything."""

from __future__ import annotations

import io

import pytest

from devlint.terminal import ProgressBar, columns, emit, show, styler, wants_color


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize(
    ("choice", "environment", "terminal", "color"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        ("always", {}, False, True),
        ("never", {}, True, False),
        ("auto", {"NO_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "0"}, False, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("always", {"NO_COLOR": "1"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"TERM": "dumb"}, True, False),
    ],
)
def test_colour(
    choice: str,
    environment: dict[str, str],
    terminal: bool,
    color: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(choice, Terminal() if terminal else io.StringIO()) is color


def test_styles() -> None:
    assert styler(False)("x", "bold red") == "x"
    assert styler(True)("x", "bold red") == "\x1b[31m\x1b[1mx\x1b[0m"


@pytest.mark.parametrize(
    ("text", "width"), [("ab", 2), ("日本", 4), ("e\u0301", 1), ("\t", 4), ("\u200b", 0), ("\f", 1)]
)
def test_columns(text: str, width: int) -> None:
    assert columns(text) == width


def test_nothing_shown_steers_the_terminal() -> None:
    hostile = "".join(map(chr, [*range(32), 0x7F, *range(0x80, 0xA0), 0x2028, 0x202E, 0x2066]))
    assert all(character.isprintable() for character in show(hostile.replace("\t", "")))


def test_what_an_encoding_lacks_is_escaped() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    emit("δ(self)\n", stream)
    stream.seek(0)
    assert stream.read() == "\\u03b4(self)\n"


def test_a_short_run_shows_no_progress() -> None:
    stream = Terminal()
    bar = ProgressBar(stream)
    bar(0, 2, "a.py")
    bar(1, 2, "b.py")
    bar(2, 2, "")
    assert stream.getvalue() == ""


def test_a_long_run_shows_progress_and_cleans_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("devlint.terminal.time.monotonic", lambda: now[0])
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    bar = ProgressBar(stream)
    now[0] = 2.0
    bar(1, 4, "some/" + "very/" * 20 + "long.py")
    drawn = stream.getvalue().split("\x1b[2K")[-1]
    assert drawn.startswith("[######..................] 1/4 some/very/")
    assert len(drawn) < 60
    bar(4, 4, "")
    assert stream.getvalue().endswith("\r\x1b[2K")
