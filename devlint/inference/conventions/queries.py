"""Questions to the conventions: each is compiled when it is first asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from devlint.inference.conventions.searches import NAME, compiled, search_of

_NEVER = re.compile(r"(?!)")
_LONG = 400  # characters: a shorter text is searched in less time than is saved


_left_out: frozenset[str] = frozenset()


_held: set[str] | None = None


# The same is asked of the text of a file or a function for much of what stands in it.
@lru_cache(maxsize=4096)
def holds(convention: str, text: str, name: str = "") -> bool:
    """Whether a text is one that the convention speaks of: `holds("module-name", "target_net")`.

    name: of which a row with `<name>` speaks.
    """
    if name not in text:
        return False  # every row about a name has it in its patterns
    if not _may_hold(convention, text, name):
        return False
    if len(text) > _LONG and search_of(convention).is_of_a_line:
        held = next(_in_lines(convention, text, name), None) is not None
    else:
        held = _pattern(convention, name).search(text) is not None
    if held and _held is not None:
        _held.add(convention)
    return held


def may_hold(convention: str, text: str, name: str = "") -> bool:
    """Whether a convention may hold of some lines of the text, the code of a function in a file's
    say: false where nothing of it stands that the pattern can't do without, or where the pattern is
    found in no line."""
    if not (name in text and _may_hold(convention, text, name)):
        return False
    # tabs and line ends are written anew when a part is written by itself
    if "\t" in text or "\r" in text or not search_of(convention).asks_for_no_place:
        return True
    return holds(convention, text, name)


def found(convention: str, text: str, name: str = "") -> list[str]:
    """The places in a text that the convention speaks of: of each the first group, if it has one,
    else all."""
    places = _found(convention, text, name)
    if places and _held is not None:
        _held.add(convention)
    return list(places)


def is_assigned(text: str, name: str) -> bool:
    """Whether a file gives an object other than `self`, which is no configuration, a value under a
    name: `model.device = device`."""
    return _are_others(found("attribute-assigned", text, name))


def is_rebound(text: str, name: str) -> bool:
    """The same, of a value that is no constant: `rows.table = rows.table.cuda()`."""
    return _are_others(found("attribute-rebound", text, name))


def _are_others(owners: Iterable[str]) -> bool:
    return any(owner != "self" and not holds("configuration-owner", owner) for owner in owners)


def without(convention: str, text: str, instead: str = "") -> str:
    """The text with nothing left that the convention speaks of, or something else in its place."""
    rest = _pattern(convention, "").sub(instead, text)
    if rest != text and _held is not None:
        _held.add(convention)
    return rest


def leave_out(ids: Iterable[str], held: set[str] | None = None) -> None:
    """From now on these conventions hold of nothing: to measure what they are worth.

    held: gets the ids of those that hold of something.
    """
    global _left_out, _held
    _left_out = frozenset(ids)
    _held = held
    for answers in (holds, _found, _regex, _named):
        answers.cache_clear()


def _may_hold(convention: str, text: str, name: str) -> bool:
    """Whether one of the texts stands there that the pattern can't do without."""
    search = search_of(convention)
    texts = search.literals
    if texts is None:
        return True
    if search.ignores_case:
        if name or not text.isascii():
            return True
        text = _lower(text)
    if name:
        texts = tuple(each.replace(NAME, name) for each in texts)
    return any(map(text.__contains__, texts))  # a generator takes longer than most of the searches


def _in_lines(convention: str, text: str, name: str) -> Iterator[re.Match[str]]:
    """The places in a text, looked for only in lines where one of the texts stands that the pattern
    can't do without: to search a whole file takes ten times as long."""
    texts = search_of(convention).literals
    assert texts is not None
    if name:
        texts = tuple(each.replace(NAME, name) for each in texts)
    lines: set[tuple[int, int]] = set()
    for each in texts:
        place = text.find(each)
        while place >= 0:
            end = text.find("\n", place)
            end = len(text) if end < 0 else end
            lines.add((text.rfind("\n", 0, place) + 1, end))
            place = text.find(each, end)
    pattern = _pattern(convention, name)
    for start, end in sorted(lines):
        yield from pattern.finditer(text, start, end)


@lru_cache(maxsize=2)
def _lower(text: str) -> str:
    return text.lower()


@lru_cache(maxsize=512)
def _found(convention: str, text: str, name: str) -> tuple[str, ...]:
    if name not in text:
        return ()
    if len(text) > _LONG and search_of(convention).is_of_a_line:
        matches = _in_lines(convention, text, name)
    else:
        matches = _pattern(convention, name).finditer(text)
    return tuple(match[1] if match.re.groups else match[0] for match in matches)


def _pattern(convention: str, name: str) -> re.Pattern[str]:
    return _named(convention, name) if name else _regex(convention)


@cache
def _regex(convention: str) -> re.Pattern[str]:
    return _compiled(convention, "")


@lru_cache(maxsize=1024)
def _named(convention: str, name: str) -> re.Pattern[str]:
    return _compiled(convention, name)


def _compiled(convention: str, name: str) -> re.Pattern[str]:
    if convention in _left_out:
        return _NEVER
    search = search_of(convention)
    return compiled(search.regex, search.ignores_case, name)
