"""Where every value of a file is, and why: what `devlint infer`, hovers and inlay hints show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from devlint import knowledge
from devlint.check.resources import with_deep_stack
from devlint.config import Config
from devlint.findings import Assumption, Location, Related
from devlint.inference.api import places_in
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.domain.placement import Device, describe
from devlint.inference.facts import Placed, Site, ValueKind, Whereabouts
from devlint.positions import Layout, lay_out
from devlint.project.imports import Importer, Project
from devlint.project.python_text import in_cell
from devlint.project.source import ParsedFile, split_lines
from devlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Where:
    """One of the things that a value may be: on which device, and why.

    kind: "tensor", "module" or "device". device: as PyTorch names it; "" where the code leaves it
    open or nothing is known. place: the same in words. held: in a list, a tuple or a dict.
    """

    kind: str
    place: str
    device: str
    is_known: bool
    steps: tuple[Related, ...]
    assumptions: tuple[Assumption, ...]
    held: bool

    @property
    def is_guess(self) -> bool:
        """Of a name of which nothing is known: it may be a tensor, and that somewhere."""
        kinds = (assumption.kind for assumption in self.assumptions)
        return not self.is_known and AssumptionKind.VALUE_IS_TENSOR in kinds

    def __str__(self) -> str:
        """In words; with a question mark, if something is assumed."""
        doubt = "?" if self.assumptions else ""
        if self.kind == ValueKind.DEVICE.value:
            return f"{self.place}{doubt}"
        return f"{self.kind}{'s' if self.held else ''} on {self.place}{doubt}"


@dataclass(frozen=True, slots=True)
class Placement:
    """A value with its places; `binds`: it gets its name there."""

    location: Location
    name: str
    where: tuple[Where, ...]
    binds: bool

    @property
    def is_known(self) -> bool:
        """Something is known of where it is."""
        return any(each.is_known for each in self.where)

    def __str__(self) -> str:
        return " or ".join(dict.fromkeys(map(str, self.where)))


@dataclass(frozen=True, slots=True)
class Placements:
    """A file, its lines, and its values in the order of their places.

    notes: where the inference gave up.
    """

    path: str
    lines: tuple[tuple[int, int, str], ...]  # cell (0: none), number, text
    values: tuple[Placement, ...]


def placements(
    file: Path,
    config: Config,
    contents: Mapping[Path, bytes] | None = None,
    interrupt: Callable[[], None] | None = None,
) -> Placements:
    """Infer one file (absolute). `contents`: what is to be taken for the content of some files.

    Raises SourceError for a file that cannot be read, KnowledgeError, and what `interrupt` raises,
    which is called at each statement.
    """
    project = Project(config.root, contents)
    known = knowledge.load(config.knowledge_files(), config.target_torch or "")

    def infer() -> Placements:
        parsed = project.parse(file)
        importer = Importer(project, project.search_path(file))
        importer.size += len(parsed.text)
        found = places_in(parsed, importer, known, interrupt)
        values = (_in_cells(each, project) for each in _located(found, parsed))
        ordered = sorted(values, key=lambda each: each.location)
        return Placements(parsed.path, tuple(_lines(parsed, project)), tuple(ordered))

    return with_deep_stack(infer)


def _in_cells(value: Placement, project: Project) -> Placement:
    """The same, by cell and line where its file is a notebook."""

    def at(place: Location) -> Location:
        return in_cell(place, project.cells.get(place.path, ()))

    def where(each: Where) -> Where:
        steps = tuple(replace(step, location=at(step.location)) for step in each.steps)
        assumed = tuple(replace(a, location=at(a.location)) for a in each.assumptions)
        return replace(each, steps=steps, assumptions=assumed)

    if not project.cells:
        return value
    return replace(value, location=at(value.location), where=tuple(map(where, value.where)))


def _lines(parsed: ParsedFile, project: Project) -> Iterator[tuple[int, int, str]]:
    cells = project.cells.get(parsed.path)
    if not cells:
        lines = split_lines(parsed.written or parsed.text)
        if lines and not lines[-1]:
            lines.pop()  # behind the last line end
        for number, text in enumerate(lines, 1):
            yield 0, number, text
        return
    for cell in cells:
        for number, text in enumerate(split_lines(cell.source), 1):
            yield cell.number, number, text


def _located(found: tuple[Placed, ...], parsed: ParsedFile) -> Iterator[Placement]:
    sites = [site for each in found for site in _sites(each)]
    layouts: dict[ParsedFile, Layout] = {}
    for source in dict.fromkeys(site.source for site in sites):
        if isinstance(source, ParsedFile):
            layouts[source] = lay_out(source, [s.node for s in sites if s.source is source])

    def place(site: Site) -> Location | None:
        layout = layouts.get(site.source) if isinstance(site.source, ParsedFile) else None
        span = layout.spans.get(site.node) if layout else None
        return span.location(site.source.path) if span else None

    def where(each: Whereabouts) -> Where:
        steps = ((place(step.site), step.text) for step in each.steps)
        assumed = ((place(a.site), a) for a in each.assumptions)
        is_device = isinstance(each.placement, Device)
        return Where(
            each.kind.value,
            describe(each.placement),
            str(each.placement) if is_device else "",
            each.placement is not None,
            tuple(Related(at, text) for at, text in steps if at is not None),
            tuple(Assumption(a.kind.value, at, a.message) for at, a in assumed if at is not None),
            each.held,
        )

    for each in found:
        location = place(each.site)
        if location is not None:
            yield Placement(location, each.name, tuple(map(where, each.whereabouts)), each.binds)


def _sites(placed: Placed) -> Iterator[Site]:
    yield placed.site
    for each in placed.whereabouts:
        yield from (step.site for step in each.steps)
        yield from (assumption.site for assumption in each.assumptions)
