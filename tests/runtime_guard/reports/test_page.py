"""The HTML report in a real browser: what it shows, and that it fits a desk's and a phone's screen.

Needs a browser: see `browsing`.
"""

from __future__ import annotations

import os

import pytest
from browser import look_at

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

from runtime_guard.commands.run import run_command  # noqa: E402

PROGRAM = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)
        self.mask = torch.ones(64)

    def forward(self, x):
        return self.layer(x) * self.mask

net = Net().to("cuda:1")
x = torch.ones(8, 64)
for _ in range(3):
    y = net.layer(x.to("cuda:1", non_blocking=True))
    print(y.sum().item())  # <b>&amp;</b> "quoted", and longer than any phone is wide
net(x.to("cuda:1"))
"""

PROBE = """
    const shown = (element) => {
      const box = element.getBoundingClientRect();
      return box.width > 0 && box.height > 0 && box.right <= frame.clientWidth + 1;
    };
    const cells = (row) => [...row.cells].map((cell) => cell.innerText.trim());
    const rows = (table) => [...page.querySelectorAll(table + " tbody tr")];
    const marks = [...page.querySelectorAll("#timeline rect")]
      .map((mark) => mark.getBoundingClientRect());
    const found = {
      width: frame.clientWidth,
      scrolls: page.documentElement.scrollWidth,
      heads: getComputedStyle(page.querySelector("thead")).display,
      hidden: rows("table").flatMap((row) => [...row.cells])
        .filter((cell) => cell.innerText.trim() && !shown(cell)).length,
      bugs: rows("#bugs").map(cells),
      lines: rows("#lines").map(cells),
      loops: rows("#loops").map(cells),
      modules: rows(".modules").map(cells),
      closed: page.querySelector("#lines details").clientHeight,
      marks: marks.filter((m) => m.width > 0 && m.height > 4).length,
      requests: frame.contentWindow.performance.getEntriesByType("resource").length,
    };
    page.querySelector("#lines details").open = true;
    found.opened = page.querySelector("#lines details").clientHeight;
    page.querySelector(".modules details").open = true;
    found.state = page.querySelector(".modules details").innerText;
    found.scrollsOpened = page.documentElement.scrollWidth;
    return found;
"""


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory):
    """What the browser says of the page at two widths, and what its console said."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "train.py").write_text(PROGRAM)
    before = os.getcwd()
    os.chdir(folder)
    try:
        assert run_command(["train.py"], virtual="cuda:2", report="out.html") == 1
    finally:
        os.chdir(before)
    return look_at((folder / "out.html").read_text(), PROBE, folder)


def test_the_console_is_silent_and_nothing_is_fetched(looked_at):
    views, console = looked_at
    assert [view["width"] for view in views] == [1280, 360]
    assert console == []
    assert [view["requests"] for view in views] == [0, 0]


def test_it_fits_the_screen(looked_at):
    for view in looked_at[0]:
        assert view["scrolls"] <= view["width"]
        assert view["scrollsOpened"] <= view["width"]
        assert view["hidden"] == 0
        assert view["marks"] >= 8
    wide, narrow = looked_at[0]
    assert (wide["heads"], narrow["heads"]) == ("table-header-group", "none")


def test_lines_are_sorted_by_cost_with_their_figures(looked_at):
    wide, narrow = looked_at[0]
    places = [(cells[0], *cells[2:]) for cells in wide["lines"]]
    assert places == [
        ("train.py:12", "2", "16.2 KiB", ""),
        ("train.py:15", "3", "6.0 KiB", ""),
        ("train.py:17", "1", "2.0 KiB", ""),
        ("train.py:16", "", "", "3"),
    ]
    assert wide["loops"] == [["train.py:14", "for _ in range(3):", "3", "6.0 KiB", "3"]]
    assert '<b>&amp;</b> "quoted"' in wide["lines"][3][1]
    assert wide["opened"] > wide["closed"]
    assert [cells[0] for cells in narrow["lines"]] == [place[0] for place in places]


def test_bugs_and_the_map_of_modules(looked_at):
    for view in looked_at[0]:
        assert [(cells[0], cells[1]) for cells in view["bugs"]] == [
            ("train.py:7", "left-behind"),
            ("train.py:10", "mixed-device"),
        ]
        assert "`self.mask`: made on cpu at train.py:7" in view["bugs"][1][3]
        (row,) = view["modules"]
        assert row[0] == "layer" and row[1] == "Linear" and row[4] == "cuda:1"
        assert "weight parameter float32[64, 64] on cuda:1" in view["state"]
