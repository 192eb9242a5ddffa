"""What is said beside a word that is none: the most similar one, or the rules of its family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from devlint.rule import Rule

_CODE = re.compile(r"([A-Za-z]+?)(\d*)")


def hint(wanted: str, rules: Sequence[Rule]) -> str:
    """What to say behind `there is no rule …`: the family's rules, or the most similar name."""
    code = _CODE.fullmatch(wanted)
    letters = code[1].upper() if code else ""
    codes = [rule.code for rule in rules]
    if code is None or not any(known.startswith(letters) for known in codes):
        return nearest(wanted, [*codes, *(rule.name for rule in rules)])
    family = [known for known in codes if known.startswith(wanted.upper())]
    if family:
        return f": it is a family of rules, {', '.join(family)}"
    family = [known for known in codes if code[2] and known.startswith(letters + code[2][0])]
    if family:
        return f"; those of {letters}{code[2][0]} are {', '.join(family)}"
    return "; `devlint rules` lists them all"


def nearest(wanted: str, words: Iterable[str]) -> str:
    """`; did you mean "…"?` with the most similar word, or nothing."""
    import difflib  # nothing is wrong with most words

    candidates = {word.lower(): word for word in words}
    close = difflib.get_close_matches(wanted.lower(), candidates, n=1, cutoff=0.5)
    return f"; did you mean {candidates[close[0]]!r}?" if close else ""
