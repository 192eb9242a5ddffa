"""How long an editor waits for `devlint server`, in a project of 100,000 lines.

    python benchmarks/editor_latency.py [--lines N] [--edits N] [--json FILE]

The project is torch's own Python code, as much of it as makes that many lines, copied aside under
the name of a package. A client opens files of about 100, 500 and 1,500 lines in it and edits each,
one key at a time, waiting for the answer. The server waits for no pause here (`delay` is 0); an
editor adds that to each figure, 200 ms unless it is set otherwise.

Milliseconds of CPU that the server spends (Linux only), so that others on the machine do not count;
with `--wall` the time that passes, for a machine with nothing else to do.

start    from the start of the process to the answer to `initialize`
open     from opening the file to its diagnostics
edit     from a key to the diagnostics of the text with it: median and the slowest tenth
hover    from the question to the answer, for a text that was just edited
stale    from the last of ten keys sent at once to the diagnostics of the text with all of them
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

SIZES = (100, 500, 1500)  # lines of the files that are opened
PATIENCE = 120


@dataclass
class File:
    """Milliseconds, of one file."""

    path: str
    lines: int
    open: float
    edit: float
    edit_slowest_tenth: float
    hover: float
    stale: float


class Client:
    """A client that measures."""

    def __init__(self, wall: bool) -> None:
        self.client = LanguageClient("editor-latency", "1")
        self.wall = wall
        self.version = 0
        self.shown: dict[str, int | None] = {}
        self.news = asyncio.Condition()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def published(params: types.PublishDiagnosticsParams) -> None:
            async with self.news:
                self.shown[params.uri] = params.version
                self.news.notify_all()

    async def start(self, root: Path) -> None:
        await self.client.start_io(sys.executable, "-m", "devlint", "server", cwd=str(root))
        await self.client.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(),
                root_uri=root.as_uri(),
                initialization_options={"delay": 0},
            )
        )
        self.client.initialized(types.InitializedParams())

    def now(self) -> float:
        """Milliseconds."""
        server = getattr(self.client, "_server", None)
        if self.wall or server is None:
            return time.perf_counter() * 1000 if self.wall else 0.0
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    async def timed(self, work: Awaitable[None]) -> float:
        start = self.now()
        await work
        return self.now() - start

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    async def checked(self, uri: str) -> None:
        async with self.news:
            met = self.news.wait_for(lambda: self.shown.get(uri) == self.version)
            await asyncio.wait_for(met, PATIENCE)

    def open(self, uri: str, text: str) -> None:
        self.version += 1
        item = types.TextDocumentItem(uri, "python", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, uri: str, key: str) -> None:
        """At the end of the first line, where a comment is."""
        self.version += 1
        end = types.Position(0, 10_000)
        change = types.TextDocumentContentChangePartial(types.Range(end, end), key)
        document = types.VersionedTextDocumentIdentifier(self.version, uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def hover(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        await self.client.text_document_hover_async(
            types.HoverParams(document, types.Position(0, 0))
        )


async def measured(client: Client, file: Path, edits: int, root: Path) -> File:
    uri, text = file.as_uri(), "# \n" + file.read_text(encoding="utf-8")
    client.open(uri, text)
    opened = await client.timed(client.checked(uri))
    times, hovers = [], []
    for number in range(edits):
        client.type(uri, "x")
        times.append(await client.timed(client.checked(uri)))
        if number % 5 == 0:
            client.type(uri, "y")
            hovers.append(await client.timed(client.hover(uri)))
            await client.checked(uri)
    for _ in range(10):
        client.type(uri, "z")
    stale = await client.timed(client.checked(uri))
    slow = statistics.quantiles(times, n=10)[-1] if len(times) > 1 else times[0]
    median = statistics.median
    lines = text.count("\n")
    path = str(file.relative_to(root))
    return File(path, lines, opened, median(times), slow, median(hovers), stale)


def project(folder: Path, wanted: int) -> tuple[int, list[Path]]:
    """Copy torch's code until there are so many lines; the lines, and the files to be opened."""
    found = importlib.util.find_spec("torch")
    assert found is not None and found.origin is not None, "torch is not installed"
    source = Path(found.origin).parent
    (folder / "pyproject.toml").write_text("[tool.devlint]\n")
    lines = 0
    copies: dict[Path, int] = {}
    for file in _modules(source):
        text = file.read_text(encoding="utf-8", errors="replace")
        copy = folder / "library" / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        copies[copy] = text.count("\n")
        lines += copies[copy]
        if lines >= wanted:
            break
    opened = [min(copies, key=lambda file: (abs(copies[file] - size), file)) for size in SIZES]
    return lines, opened


def _modules(source: Path) -> Iterator[Path]:
    """The files of torch: those about modules and tensors first."""
    for part in ("nn", "optim", "distributions", "utils", "distributed", "."):
        files = sorted((source / part).rglob("*.py"))
        yield from (file for file in files if "torchgen" not in file.parts)


async def main(lines: int, edits: int, wall: bool, output: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="devlint-editor-") as name:
        root = Path(name).resolve()
        count, files = project(root, lines)
        client = Client(wall)
        start = await client.timed(client.start(root))
        print(f"{count:,} lines; {'wall' if wall else 'CPU'} ms; start {start:,.0f}")
        columns = ("open", "edit", "slow", "hover", "stale")
        print(f"{'file':40} {'lines':>6}" + "".join(f" {column:>7}" for column in columns))
        results = []
        for file in files:
            one = await measured(client, file, edits, root)
            results.append(one)
            figures = (one.open, one.edit, one.edit_slowest_tenth, one.hover, one.stale)
            print(f"{one.path[-40:]:40} {one.lines:>6}" + "".join(f" {f:>7,.0f}" for f in figures))
        await client.stop()
    if output is not None:
        document = {"lines": count, "start": start, "files": [asdict(each) for each in results]}
        output.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    asyncio.run(main(given.lines, given.edits, given.wall, given.json))
