"""Where values are, in an editor: hovers and inlay hints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from lsprotocol import types
from pygls.uris import from_fs_path

from devlint.findings import Location
from devlint.knowledge import KnowledgeError
from devlint.placements import Placement, Placements, Where, placements
from devlint.project.source import SourceError
from devlint.reporters.wording import plain
from devlint.server.document_check import unless
from devlint.server.documents import Snapshot
from devlint.server.positions import lines_in, range_of
from devlint.server.settings import Configured, SettingsError


@dataclass(frozen=True, slots=True)
class Inferred:
    """The values of one document, and the texts that they are of."""

    file: Path
    snapshot: Snapshot
    root: Path
    found: Placements

    def range(self, place: Location, encoding: str) -> types.Range:
        return range_of(place, lines_in(self.snapshot.lines(self.file, place.cell)), encoding)

    def values(self, uri: str) -> Iterator[Placement]:
        """The places in one document: the text, or a cell of the notebook."""
        for value in self.found.values:
            if self.snapshot.uri(self.file, value.location.cell) == uri:
                yield value


def infer(
    file: Path, snapshot: Snapshot, configured: Configured, cancelled: Event
) -> Inferred | None:
    """Infer one document; None if its text cannot be parsed. Raises Stale soon after it was
    cancelled, and SettingsError."""
    try:
        found = placements(file, configured.config, snapshot.contents, unless(cancelled))
    except KnowledgeError as error:
        raise SettingsError(str(error)) from None
    except (SourceError, RecursionError):
        return None
    return Inferred(file, snapshot, configured.config.root, found)


def hover(
    inferred: Inferred, uri: str, position: types.Position, encoding: str
) -> types.Hover | None:
    """Where the value under the cursor is, and why."""
    best: tuple[tuple[int, int], Placement, types.Range] | None = None
    for value in inferred.values(uri):
        extent = inferred.range(value.location, encoding)
        if not _pair(extent.start) <= _pair(position) <= _pair(extent.end):
            continue
        size = (
            extent.end.line - extent.start.line,
            extent.end.character - extent.start.character,
        )
        if best is None or size < best[0]:
            best = size, value, extent
    if best is None:
        return None
    text = "\n".join(_explained(best[1], inferred))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), best[2])


def inlay_hints(
    inferred: Inferred, uri: str, wanted: types.Range, encoding: str
) -> Iterator[types.InlayHint]:
    """The device of each name that is bound, behind the name."""
    for value in inferred.values(uri):
        if not value.binds or not value.is_known or _goes_without_saying(value):
            continue
        end = inferred.range(value.location, encoding).end
        if not _pair(wanted.start) <= _pair(end) <= _pair(wanted.end):
            continue
        why = types.MarkupContent(types.MarkupKind.Markdown, "\n".join(_explained(value, inferred)))
        yield types.InlayHint(
            end,
            f": {' | '.join(dict.fromkeys(map(_short, value.where)))}",
            kind=types.InlayHintKind.Type,
            tooltip=why,
        )


def _goes_without_saying(value: Placement) -> bool:
    """A parameter is where its caller has it; a module that `__init__` makes is moved later."""
    own = f"the device of `{value.name}`"
    if all(where.place == own for where in value.where):
        return True
    return value.name.startswith("self.") and all(where.kind == "module" for where in value.where)


def _short(where: Where) -> str:
    place = where.place.removeprefix("the ") if where.is_known else "unknown"
    return f"{plain(place)}{'?' if where.assumptions else ''}"


def _explained(value: Placement, inferred: Inferred) -> Iterator[str]:
    yield f"{_code(value.name)}: {plain(str(value))}"
    for where in value.where:
        if where.steps or where.assumptions:
            yield ""
        for step in where.steps:
            yield f"- {_link(step.location, inferred)}: {plain(step.message)}"
        for message in dict.fromkeys(each.message for each in where.assumptions):
            yield f"- *assuming* {plain(message)}"


def _code(name: str) -> str:
    """A name as code, with as many backticks as it takes."""
    return f"`` {plain(name)} ``" if "`" in name else f"`{plain(name)}`"


def _link(place: Location, inferred: Inferred) -> str:
    """A place, to be gone to."""
    file = inferred.root / place.path
    if file == inferred.file:
        uri = inferred.snapshot.uri(file, place.cell)
        return f"[line {place.line}]({uri}#L{place.line})"
    uri = from_fs_path(str(file)) or file.as_uri()
    return f"[{plain(place.path)}:{place.line}]({uri}#L{place.line})"


def _pair(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
