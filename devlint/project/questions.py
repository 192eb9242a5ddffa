"""The questions that were asked of a project, with their answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum

from devlint.records import dataclass


class Question(str, Enum):
    """A question that only the whole project answers: about a file and a name in it, about a file,
    or about neither."""

    NEEDS_CUDA = "needs-cuda"
    """Does nothing but CUDA run the file?"""
    PROGRAMS_CHOOSE_DEFAULT_DEVICE = "programs-choose-default-device"
    """Does every program that runs the file make tensors elsewhere by default?"""
    PROGRAMS_OFFER_HOST = "programs-offer-host"
    """Does what runs the file, by importing it, leave the choice of the host?"""
    IS_IMPORTED = "is-imported"
    """Does another file, which is no test, import the file?"""
    CALLERS_DEMAND_CUDA = "callers-demand-cuda"
    """Do all programs that come to what the file defines under the name fail without CUDA?"""
    IS_NAMED_BY_IMPORTERS = "is-named-by-importers"
    """Does a file that imports the file, or its package, name what it defines under the name?"""
    IS_NAMED_ELSEWHERE = "is-named-elsewhere"
    """Does another file name what the file defines under the name?"""
    REACHES = "reaches"
    LOOKS_NAMES_UP = "looks-names-up"
    SERVES_READERS = "serves-readers"
    """Does something that may run use what the file defines under the name, however far away?"""
    REBINDS_ELSEWHERE = "rebinds-elsewhere"
    """`Class.attribute`: does another file than the class's give an object a value of its own?"""
    GIVES_ELSEWHERE = "gives-elsewhere"
    """`Class.attribute`: may another file than the class's give an object one?"""
    SETS_OPTION = "sets-option"
    """`fast=True`: does something set the option so?"""
    MOVES_DATA = "moves-data"
    """Does a data set move what it holds?"""
    IS_APPLICATION = "is-application"
    """Is the project run where it is, and installed by nobody?"""
    IS_FOR_CUDA = "is-for-cuda"
    """Do most files that place something demand CUDA?"""
    CHOOSES_CARD = "chooses-card"
    """Does a process of the project make a card its current one?"""
    SAVES_FROM_HOST = "saves-from-host"
    """Does the project bring all that it saves to the host first?"""


@dataclass(slots=True)
class Asked:
    """What was asked, and what the answer was. Paths are absolute.

    contents: the digest of a file, or why it cannot be read.
    sizes: of files that were too large to be loaded; -1 where there was none.
    files, directories: whether a directory has one of that name.
    settings: the modules of a directory that choose a default device, with their digests.
    answers: of the whole project, by question, file and name; "" where it is about none.
    """

    contents: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    files: dict[str, dict[str, bool]] = field(default_factory=dict)
    directories: dict[str, dict[str, bool]] = field(default_factory=dict)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    answers: dict[str, dict[str, dict[str, bool]]] = field(default_factory=dict)

    def about(self, question: Question, file: str) -> dict[str, bool]:
        """The answers to one question about a file, by name; those to come go in there."""
        return self.answers.setdefault(question.value, {}).setdefault(file, {})

    def each_answer(self) -> Iterator[tuple[str, str, str, bool]]:
        """Question, file, name and answer."""
        for question, files in self.answers.items():
            for file, names in files.items():
                for name, answer in names.items():
                    yield question, file, name, answer
