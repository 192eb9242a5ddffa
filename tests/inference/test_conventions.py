"""Conventions are data: each row holds of its examples and of no counter-example, says what it
suggests, and is asked by the inference under its id."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import devlint_rules
import generate_conventions
import libcst as cst
import pytest
from convention_literals import asks_for_no_place, is_of_a_line, literals_of
from convention_rows import ConventionError, read_conventions
from convention_rows import conventions as read_rows

from devlint.inference import conventions
from devlint.inference.conventions import found, holds, may_hold, searches
from devlint.inference.syntax.text import code

ROWS = read_rows()
QUESTIONS = ("holds", "found", "without")
INFERENCE = Path(conventions.__file__).parent.parent
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RULES = Path(devlint_rules.__file__).parent


def asked() -> Iterator[str]:
    """The ids that the inference and the rules ask for."""
    for file in sorted([*INFERENCE.rglob("*.py"), *RULES.rglob("*.py")]):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            func = getattr(node, "func", None)
            if getattr(func, "id", "") in QUESTIONS or getattr(func, "attr", "") == "says":
                yield from (
                    each.value
                    for each in ast.walk(node.args[0])
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_convention_holds_of_its_examples_and_of_no_counter_example(row):
    assert [text for text in row.examples if not holds(row.id, text, row.of)] == []
    assert [text for text in row.counter_examples if holds(row.id, text, row.of)] == []


def test_every_convention_is_asked_for_and_every_one_asked_for_is_a_row():
    assert set(asked()) == set(ROWS)


def test_a_convention_that_is_left_out_holds_of_nothing():
    name, text = next((row.id, row.examples[0]) for row in ROWS.values())
    conventions.leave_out([name])
    try:
        assert not holds(name, text)
    finally:
        conventions.leave_out([])
    assert holds(name, text)


SOUND = """
[model-name]
looks-at = "name"
suggests = "a model"
words = ["model", "net(work)?"]
how = "last"
example = ["target_net"]
counter-example = ["network_size"]
"""


def test_a_row_may_speak_of_a_name():
    text = SOUND.replace('"net(work)?"', '"<name>"').replace(
        "suggests", 'of = "net.work"\nsuggests'
    )
    (row,) = read_conventions(text).values()
    assert row.compiled("net.work").search("the_net.work")
    assert not row.compiled("net.work").search("the_net_work")


@pytest.mark.parametrize("row", [r for r in ROWS.values() if r.of], ids=lambda r: r.id)
def test_a_row_about_a_name_holds_of_no_text_without_it(row):
    """A question about a name first looks whether the text has it."""
    for example in row.examples:
        assert conventions.holds(row.id, example, row.of)
        assert not row.compiled("quux").search(example)


@pytest.mark.parametrize(
    ("regex", "flags", "texts"),
    [
        (r"\bcuda\.stream\(|pin_memory[^)]*non_blocking", 0, {"cuda.stream(", "non_blocking"}),
        (r"(no|use)_cuda", 0, {"_cuda"}),
        (r"(?m)^(import|from) (triton|cupy)\b", 0, {"triton", "cupy"}),  # keywords are everywhere
        (r"\.cuda\(|cuda_only", 0, {".cuda(", "cuda_only"}),
        (r"cuda|use_cuda", 0, {"cuda"}),
        (r"(Gpu)+", re.IGNORECASE, {"gpu"}),
        (r"(gpu)*|cpu", 0, None),
        (r"\w+", 0, None),
        (r"(?i:gpu)", 0, None),
        (r"(?i)gpu", 0, None),
        ("größe", re.IGNORECASE, None),
    ],
)
def test_texts_that_an_expression_can_not_do_without(regex, flags, texts):
    assert literals_of(regex, flags) == texts


@pytest.mark.parametrize("row", [r for r in ROWS.values() if not r.of], ids=lambda r: r.id)
def test_an_example_has_one_of_the_texts_that_its_row_can_not_do_without(row):
    texts = literals_of(row.regex, re.IGNORECASE if row.ignore_case else 0)
    for example in row.examples if texts is not None else ():
        assert any(each in (example.lower() if row.ignore_case else example) for each in texts)


@pytest.mark.parametrize("row", [r for r in ROWS.values() if not r.of], ids=lambda r: r.id)
def test_a_long_text_gets_the_same_answer(row):
    """Texts of files are first looked through for what a row can't do without."""
    regex = row.compiled()
    for example in (*row.examples, *row.counter_examples):
        for filler in ("x = 1\n" * 200, "ſ = 'K'\n" * 200):
            for text in (filler + example, example + "\n" + filler):
                assert holds(row.id, text) == (regex.search(text) is not None)


def test_whole_files_get_the_same_answers():
    texts = [file.read_text(encoding="utf-8") for file in sorted(FIXTURES.rglob("*.py"))[::20]]
    rows = [row for row in ROWS.values() if not row.of]
    assert len(texts) > 10
    for row in rows:
        regex = row.compiled()
        assert [holds(row.id, text) for text in texts] == [bool(regex.search(t)) for t in texts]
        places = [[m[1] if regex.groups else m[0] for m in regex.finditer(t)] for t in texts]
        assert [found(row.id, text) for text in texts] == places


@pytest.mark.parametrize(
    ("regex", "by_itself"),
    [
        (r"(?m)^(import|from) +argparse$|\bcuda\.jit\b", True),
        (r"(?<![\w.])(\w+)\.eval\(\)(?![^\n]*device)", True),
        (r"free[sz]e.*", True),
        (r"(?s)free[sz]e.*", False),  # `.` is a line end, too
        (r"pin_memory\s+=", False),
        (r"print\([^)]*\)", False),  # the call may go on in the next line
        (r"^import", False),  # of the whole text
        (r"import\Z", False),
        (r"a\nb", False),
        (r"a\W", False),
    ],
)
def test_an_expression_that_is_found_in_lines_by_themselves(regex, by_itself):
    assert is_of_a_line(regex) == by_itself


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_a_row_may_hold_wherever_it_holds(row):
    for example in row.examples:
        assert may_hold(row.id, f"x = 1\n{example}\ny = 2\n", row.of)


def test_an_expression_that_asks_for_a_place_is_not_found_in_any_line_that_holds_it():
    assert asks_for_no_place(r"import \w+")
    assert not asks_for_no_place(r"(?m)^import \w+")  # a part may be indented less
    assert not asks_for_no_place(r"(?m)import \w+$")
    assert not asks_for_no_place(r"import\s+\w+")


def test_what_holds_of_some_lines_may_hold_of_the_text_around_them():
    """A function's source is not written where its row is found in no line of the file's."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(FIXTURES.rglob("*.py"))[::20]]
    held = 0
    for text in texts:
        for node in cst.parse_module(text).body:
            part = code(node)
            for row in ROWS.values():
                if not row.of and holds(row.id, part):
                    assert may_hold(row.id, text), (row.id, part)
                    held += 1
    assert held > 100


def test_words_stand_where_the_row_says():
    (row,) = read_conventions(SOUND).values()
    assert row.regex == r"(?:\A|_)(?:model|net(work)?)\Z"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('looks-at = "name"', 'looks-at = "nose"'), "model-name: looks-at: expected one of name"),
        (('suggests = "a model"', ""), "model-name: suggests: expected a text"),
        (('how = "last"', 'how = "first"'), "model-name: how: expected one of part"),
        (('how = "last"', 'hwo = "last"'), "model-name: no such key: hwo"),
        (('how = "last"', 'pattern = "x"'), "model-name: pattern: stands without words and how"),
        (('how = "last"', "ignore-case = 1"), "model-name: ignore-case: expected true or false"),
        (("net(work)?", "net(work?"), "model-name: not a regular expression"),
        (('example = ["target_net"]', ""), "model-name: example: expected a list of texts"),
        (('counter-example = ["network_size"]', ""), "model-name: counter-example: expected"),
        (('how = "last"', 'of = "x"'), "model-name: of: expected the name for <name>"),
        (("[model-name]", "model-name = 1"), "model-name: expected a table of fields"),
        (("[model-name]", "[model-name"), "conventions: not TOML"),
    ],
)
def test_a_row_that_is_not_sound_is_an_error(change, message):
    with pytest.raises(ConventionError) as raised:
        read_conventions(SOUND.replace(*change))
    assert str(raised.value).startswith(message)


def test_no_other_part_of_the_inference_has_patterns_of_its_own():
    others = [
        file.relative_to(INFERENCE).as_posix()
        for file in sorted(INFERENCE.rglob("*.py"))
        if "conventions" not in file.parts
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)
    ]
    assert others == []


def test_the_kept_searches_are_those_of_the_rows():
    """Run scripts/generate_conventions.py after a change of conventions.toml."""
    assert searches.FILE.read_text(encoding="utf-8") == generate_conventions.generate()


@pytest.mark.parametrize("row", [r for r in ROWS.values() if not r.of], ids=lambda r: r.id)
def test_a_short_text_gets_the_same_answer(row):
    regex = row.compiled()
    for example in (*row.examples, *row.counter_examples):
        for text in (example, example.upper(), example.lower(), example[1:], example[:-1]):
            assert holds(row.id, text) == (regex.search(text) is not None)
