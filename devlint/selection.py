"""Which rules run: selectors (code prefixes, rule names, ALL) in layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from devlint.records import dataclass
from devlint.rule import Rule
from devlint.suggestions import hint, nearest

ALL = "ALL"


class SelectionError(Exception):
    """A selector that no rule answers to."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source (configuration, override, command line) says.

    `select` replaces what was selected before, None leaves it; `extend_select` adds; `ignore`
    takes away. Within a layer the longer selector wins, and `ignore` when they are as long.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def applied(self, rule: Rule, selected: bool) -> bool:
        """Whether the rule is selected after this layer, from whether it was before."""
        chosen = weight(self.extend_select, rule)
        if self.select is not None:
            chosen = max(chosen, weight(self.select, rule))
            selected = False
        if rule.preview and chosen < len(rule.code):
            chosen = 0  # a preview rule must be named itself
        dropped = weight(self.ignore, rule)
        if chosen > dropped:
            return True
        return selected and not dropped


def weight(selectors: Iterable[str], rule: Rule) -> int:
    """How precisely the selectors mean the rule: 0 not at all, else the longest one's length."""
    return max((_weight(selector, rule) for selector in selectors), default=0)


def _weight(selector: str, rule: Rule) -> int:
    if selector.lower() == rule.name:
        return len(rule.code)
    selector = selector.upper()
    if selector == ALL:
        return 1
    return len(selector) if rule.code.startswith(selector) else 0


def select(rules: Sequence[Rule], layers: Sequence[Layer]) -> tuple[Rule, ...]:
    """The rules that are on after all layers; before the first, all but the preview ones are."""
    chosen = []
    for rule in rules:
        selected = not rule.preview
        for layer in layers:
            selected = layer.applied(rule, selected)
        if selected:
            chosen.append(rule)
    return tuple(chosen)


def validate(selectors: Iterable[str], rules: Sequence[Rule], where: str) -> None:
    """Raise SelectionError for a selector that means no rule; the message says the nearest."""
    for selector in selectors:
        if not selector or not any(_weight(selector, rule) for rule in rules):
            raise SelectionError(
                f"{where}: no rule has the code, code prefix or name {selector!r}"
                + (hint(selector, rules) or nearest(selector, words_for(rules)))
            )


def words_for(rules: Iterable[Rule]) -> list[str]:
    """Every selector there is: names, codes and their prefixes."""
    words = {ALL: None}
    for rule in rules:
        words |= {rule.name: None, rule.code: None}
        words |= {rule.code[:end]: None for end in range(4, len(rule.code))}
    return list(words)
