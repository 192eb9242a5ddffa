"""What API calls do to devices, as data: torch (generated from torch itself), other libraries and
a user's own files. docs/knowledge.md describes the format."""

from devlint.knowledge.accelerators import Accelerators, StandIn
from devlint.knowledge.bans import Ban, Bans
from devlint.knowledge.entries import KnowledgeError
from devlint.knowledge.model import Agreement, Call, ClassInfo, ModuleClass, Result
from devlint.knowledge.tables import Knowledge, Table, load

__all__ = [
    "Accelerators",
    "Agreement",
    "Ban",
    "Bans",
    "Call",
    "ClassInfo",
    "Knowledge",
    "KnowledgeError",
    "ModuleClass",
    "Result",
    "StandIn",
    "Table",
    "load",
]
