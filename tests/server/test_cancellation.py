"""A check that an edit has made stale ends where it is, in the middle of a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from threading import Event

import pytest
import pytest_asyncio
from editor import BUG, CLEAN, PATIENCE, Editor, editing
from fakes import Tree

from devlint.server import places
from devlint.server.actions import fix_all
from devlint.server.document_check import Stale, check
from devlint.server.documents import Snapshot
from devlint.server.settings import Settings, configured

ENDLESS = """\
from pathlib import Path

from devlint.findings import Confidence, Severity
from devlint.rule import Claim, Rule


def check(facts):
    begun = Path(__file__).with_name("begun")
    for meeting in facts.meetings:
        begun.touch()
        while True:  # a rule as slow as can be
            yield Claim(meeting.site, Severity.WARNING, Confidence.CERTAIN, "met")


RULE = Rule("SLOW1", "never-ends", Severity.WARNING, "S.", "", "", "", (), (), check)
"""


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a rule pack, installed there, whose rule never ends once devices meet."""
    folder = tmp_path_factory.mktemp("packs")
    files = {
        "slow_pack/__init__.py": "",
        "slow_pack/endless.py": ENDLESS,
        "slow_pack-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: slow-pack\nVersion: 1\n",
        "slow_pack-1.0.dist-info/entry_points.txt": "[devlint.rules]\nslow = slow_pack\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest_asyncio.fixture(loop_scope="function")
async def editor(tree: Tree, packs: Path) -> AsyncIterator[Editor]:
    (packs / "slow_pack" / "begun").unlink(missing_ok=True)
    async with editing(tree({"head.py": ""}), packs=packs) as one:
        yield one


async def begun(packs: Path) -> None:
    """Wait until the rule that never ends runs."""

    async def look() -> None:
        while not (packs / "slow_pack" / "begun").exists():
            await asyncio.sleep(0.05)

    await asyncio.wait_for(look(), PATIENCE)


@pytest.mark.asyncio
async def test_the_next_text_is_checked_while_a_rule_of_the_last_one_runs(
    editor: Editor, packs: Path, tmp_path: Path
) -> None:
    uri = (tmp_path / "head.py").as_uri()
    editor.open(uri, BUG)
    await begun(packs)
    editor.replace(uri, "x = 1\n")
    assert await editor.diagnostics(uri) == []


@pytest.mark.asyncio
async def test_another_document_is_checked_once_the_endless_one_is_closed(
    editor: Editor, packs: Path, tmp_path: Path
) -> None:
    endless, other = ((tmp_path / name).as_uri() for name in ("head.py", "other.py"))
    editor.open(endless, BUG)
    await begun(packs)
    editor.open(other, "def f(:\n")
    editor.close(endless)
    (found,) = await editor.diagnostics(other)
    assert found.message.startswith("not checked")


class Later(Event):
    """An event that is set when it is asked for the nth time."""

    def __init__(self, asked: int) -> None:
        super().__init__()
        self.left = asked

    def is_set(self) -> bool:
        self.left -= 1
        if self.left <= 0:
            self.set()
        return super().is_set()


LOOPS = """\
import torch

def f(x):
    y = x + torch.ones(3)
    return [y.cuda() for _ in range(3)]

class Net(torch.nn.Module):
    def forward(self, x):
        for _ in range(9):
            x = f(x) + torch.zeros(3)
        return x
"""


def the_check(file: Path, snapshot: Snapshot, cancelled: Event) -> object:
    return check(file, snapshot, configured(file, Settings(), ()), cancelled)


def the_values(file: Path, snapshot: Snapshot, cancelled: Event) -> object:
    return places.infer(file, snapshot, configured(file, Settings(), ()), cancelled)


def the_fix_of_all(file: Path, snapshot: Snapshot, cancelled: Event) -> object:
    checked = check(file, snapshot, configured(file, Settings(), ()), Event())
    return fix_all(checked, "utf-16", cancelled)


@pytest.mark.parametrize("work", [the_check, the_values, the_fix_of_all])
@pytest.mark.parametrize("asked", [1, 2, 5, 9])
def test_work_ends_at_the_step_at_which_it_is_cancelled(
    work: Callable[[Path, Snapshot, Event], object], asked: int, tree: Tree
) -> None:
    file = tree({"net.py": LOOPS}) / "net.py"
    cancelled = Later(asked)
    with pytest.raises(Stale):
        work(file, Snapshot({file: LOOPS.encode()}, {file: [file.as_uri()]}, {}), cancelled)
    assert cancelled.left == 0  # it is not asked again


@pytest.mark.parametrize("work", [the_check, the_values])
def test_every_statement_that_is_inferred_is_such_a_step(
    work: Callable[[Path, Snapshot, Event], object], tree: Tree
) -> None:
    def steps(text: str) -> int:
        file = tree({"net.py": text}) / "net.py"
        cancelled = Later(10**9)
        work(file, Snapshot({file: text.encode()}, {file: [file.as_uri()]}, {}), cancelled)
        return 10**9 - cancelled.left

    longer = CLEAN + "\n".join(f"x{n} = {n}" for n in range(50))
    assert steps(longer) >= steps(CLEAN) + 50
