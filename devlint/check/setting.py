"""What all groups of a check share: the configuration, the rules, what is known of APIs.

It loads neither the inference nor LibCST: a check whose outcomes are all in the cache needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from devlint import knowledge
from devlint.check.judgement import Judge
from devlint.config import Config, Policy
from devlint.knowledge import Knowledge
from devlint.records import dataclass
from devlint.rule import Rule

if TYPE_CHECKING:
    from devlint.inference.facts import Facts
    from devlint.project.imports import Importer
    from devlint.project.source import ParsedFile


class Infer(Protocol):
    """The inference: all facts of one file."""

    def __call__(self, parsed: ParsedFile, importer: Importer, knowledge: Knowledge) -> Facts: ...


@dataclass(frozen=True, slots=True)
class Setting(Judge):
    """What all groups of a check share.

    contents: what is to be taken for the content of some files instead of what is on disk.
    infer: the inference, or what stands in for it.
    interrupt: called between units of work; what it raises, no Exception, ends the check.
    """

    rules: tuple[Rule, ...]
    knowledge: Knowledge
    contents: Mapping[Path, bytes]
    infer: Infer
    interrupt: Callable[[], None]

    @classmethod
    def of(
        cls,
        config: Config,
        rules: tuple[Rule, ...],
        contents: Mapping[Path, bytes],
        infer: Infer,
        interrupt: Callable[[], None] | None = None,
    ) -> Setting:
        """Raises KnowledgeError for the user's knowledge files."""
        known = knowledge.load(config.knowledge_files(), config.target_torch or "")
        policy = Policy(config, rules)
        return cls(config, policy, rules, known, contents, infer, interrupt or _go_on)


def _go_on() -> None:
    """The interrupt of a check that nobody interrupts."""
