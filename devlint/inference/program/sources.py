"""Sources: what the inference needs of a project, its parsed files and who finds them.

`import helpers` asks the importer for the file of the module `helpers`.
"""

from __future__ import annotations

from collections import abc
from typing import Protocol

from devlint.inference.facts import ParsedSource


class Parsed(ParsedSource, Protocol):
    """A file as the inference needs it."""

    module_name: str
    is_package: bool


class Importer(Protocol):
    """Finds the files of the project by module name."""

    def load(self, dotted: str) -> Parsed | None:
        """The file of a module of the project, else None."""

    def find(self, dotted: str) -> object | None:
        """What stands for such a module, if the project has one; nothing is loaded."""

    def needs_cuda(self, path: str) -> bool:
        """Whether nothing but CUDA runs a file: the project builds what it needs for it."""

    def programs_choose_default_device(self, path: str) -> bool:
        """Whether every program that runs a file makes tensors elsewhere by default."""

    def programs_offer_host(self, path: str) -> bool:
        """Whether what runs a file, by importing it, leaves the choice of the host."""

    def is_imported(self, path: str) -> bool:
        """Whether another file of the project, which is no test, imports a file."""

    def callers_demand_cuda(self, name: str, path: str) -> bool:
        """Whether all programs of the project that come to what a file defines fail without
        CUDA."""

    def is_named_by_importers(self, name: str, path: str) -> bool:
        """Whether a file of the project that imports a file, or its package, names what that
        defines."""

    def is_named_elsewhere(self, name: str, path: str) -> bool:
        """Whether another file of the project names what a file defines."""

    def reaches(self, name: str, path: str) -> bool:
        """Whether something that may run uses what a file defines, however far away."""

    def looks_names_up(self, path: str) -> bool:
        """Whether code may take out of a file what nothing in the project names."""

    def serves_readers(self, name: str, path: str) -> bool:
        """Whether only code that shows something to a reader uses what a file defines."""

    def rebinds_elsewhere(self, attribute: str, path: str) -> bool:
        """Whether another file of the project gives an object of a class a value of its own under
        an attribute: `Class.attribute`, of a class of this file."""

    def gives_elsewhere(self, attribute: str, path: str) -> bool:
        """Whether another file of the project may give an object of a class an attribute:
        `Class.attribute`, of a class of this file."""

    def sets_option(self, option: str) -> bool:
        """Whether something in the project sets an option so: `fast=True`."""

    def moves_data(self) -> bool:
        """Whether a data set of the project moves what it holds."""

    def is_application(self) -> bool:
        """Whether the project is run where it is, and nobody installs it."""

    def is_for_cuda(self) -> bool:
        """Whether most files of the project that place something demand CUDA."""

    def chooses_card(self) -> bool:
        """Whether a process of the project makes a card its current one."""

    def saves_from_host(self) -> bool:
        """Whether the project brings all that it saves to the host first."""

    def settings(self, path: str) -> abc.Mapping[str, str]:
        """What may choose a default device for a file's program: their texts by name."""
