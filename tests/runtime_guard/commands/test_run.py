"""`devlint run`: a program under the guard, and its reports."""

from __future__ import annotations

import html
import json
import os
import sys
from html.parser import HTMLParser

import pytest
import warm_python

torch = pytest.importorskip("torch")

from runtime_guard.commands.program import CommandError  # noqa: E402
from runtime_guard.commands.run import ReportError, report_format, run_command  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

PROGRAM = """\
import sys
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2)).cuda()
model[1].cuda(1)
data = torch.rand(3, 4)
for _ in range(5):
    loss = model[0](data.cuda()).sum()  # <script>alert("&")</script>
    print(loss.item() < 1e9)
torch.ones(2).cuda()
sys.exit(3)
"""


@pytest.fixture(autouse=True)
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("html", ("html", None)),
        ("out.HTML", ("html", "out.HTML")),
        ("a/b.json", ("json", "a/b.json")),
        ("trace", ("trace", None)),
        ("x.trace.json", ("trace", "x.trace.json")),
        ("trace.json", ("trace", "trace.json")),
        ("notes.txt", ("text", "notes.txt")),
    ],
)
def test_formats(report, expected):
    assert report_format(report) == expected


def test_the_error_that_ends_the_program_is_summed_up(program, capsys):
    (program / "flag.py").write_text("import torch\ntorch.ones(2).cuda(True)\n")
    assert run_command(["flag.py"], virtual="cuda:1") == 1
    told = capsys.readouterr().err
    assert told.count("not-a-device: cuda(): argument 'device'") == 1
    assert "flag.py:2  not-a-device" in told


@pytest.mark.parametrize("report", ["text", "json", "trace", "html"])
def test_every_report_says_that_the_program_died(program, capsys, report):
    (program / "dies.py").write_text("def f():\n    return {}['x']\nf()\n")
    assert run_command(["dies.py"], virtual="1xcuda", report=report) == 1
    told = html.unescape(capsys.readouterr().out)
    assert "the program died" in told.lower() or report == "json"
    for part in ("Traceback (most recent call last)", "line 2, in f", "KeyError: 'x'"):
        assert part in told, part
    assert "runtime_guard" not in told


def test_a_report_of_a_run_that_went_well_speaks_of_no_death(capsys):
    run_command(["-c", "print(1)"], virtual="1xcuda", report="text")
    assert "died" not in capsys.readouterr().out


def test_what_cannot_be_run_or_written_is_said_before_the_program_starts(capsys):
    for words, report, error in (
        (["make"], None, CommandError),
        (["train.py"], "out.pdf", ReportError),
        (["train.py"], "missing/out.html", OSError),
    ):
        with pytest.raises(error):
            run_command(words, virtual="cuda:2", report=report)
    assert capsys.readouterr().out == ""


def test_the_exit_code_and_output_are_the_programs(capsys):
    assert run_command(["python", "train.py"], virtual="cuda:2") == 3
    shown = capsys.readouterr()
    assert shown.out == "True\n" * 5
    assert "12 transfers" in shown.err and "5 syncs" in shown.err
    assert "train.py:9  5x .cuda  240 B" in shown.err
    assert "train.py:11  discarded-move" in shown.err


def test_json(program):
    run_command(["train.py"], virtual="cuda:2", report="out.json")
    data = json.loads((program / "out.json").read_text())
    assert data["version"] == 1
    assert data["devices"] == "virtual cuda:2"
    assert data["totals"]["syncs"] == 5
    assert data["totals"]["problems"] == 1
    (loop,) = data["loops"]
    assert (loop["line"], loop["transfers"], loop["bytes"], loop["syncs"]) == (8, 5, 5 * 48, 5)
    moved = {row["path"]: row["devices"] for row in data["modules"][0]["rows"]}
    assert moved == {"0": ["cuda:0"], "1": ["cuda:1"]}


def test_trace(program):
    run_command(["train.py"], virtual="cuda:2", report="out.trace.json")
    events = json.loads((program / "out.trace.json").read_text())["traceEvents"]
    transfers = [e for e in events if e.get("cat") == "transfer"]
    assert [e["args"]["bytes"] for e in transfers[-2:]] == [48, 8]
    assert all({"ph", "pid", "name"} <= e.keys() for e in events)
    times = [e["ts"] for e in events if "ts" in e]
    assert times == sorted(times)


class Page(HTMLParser):
    """Checks that tags nest, and collects what they are."""

    VOID = frozenset({"meta", "!doctype"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_one_well_formed_file_without_anything_from_outside(program):
    run_command(["train.py"], virtual="cuda:2", report="out.html")
    page = Page()
    page.feed((program / "out.html").read_text())
    assert page.open == []
    tags = [tag for tag, _ in page.tags]
    assert "script" not in tags and "link" not in tags and "img" not in tags
    assert not any({"src", "href"} & attrs.keys() for _, attrs in page.tags)
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert ids == {"bugs", "lines", "loops", "timeline"}
    text = "".join(page.text)
    assert "train.py:9" in text and '<script>alert("&")</script>' in text
    assert text.index("train.py:9") < text.index("train.py:10")
    assert "cuda:1" in text


def test_a_run_without_any_accelerator(program, capsys):
    (program / "cpu.py").write_text("import torch; torch.ones(2).sum().item()")
    assert run_command(["cpu.py"], report="out.html") == 0
    assert "no accelerator" in (program / "out.html").read_text()
    assert run_command(["cpu.py"]) == 0
    assert "add `--virtual cuda:1`" in capsys.readouterr().err


def test_a_name_that_would_steer_the_terminal_is_shown_and_not_sent(program, capsys):
    name = "a\x1b[31m\x9bb.py"
    (program / name).write_text("import torch\ntorch.ones(2).cuda()\n")
    assert run_command([name], virtual="cuda:1") == 0
    said = capsys.readouterr().err
    assert "device guard: a␛[31m\ufffdb.py\n" in said and "  a␛[31m\ufffdb.py:2  1x .cuda" in said
    assert all(c.isprintable() or c == "\n" for c in said)


def test_a_program_that_is_installed_has_lines_of_its_own(tmp_path):
    package = tmp_path / "site-packages" / "app"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("from app.loop import epoch\n\nepoch()\n")
    (package / "loop.py").write_text(
        "import torch\n\n\ndef epoch():\n    torch.ones(2).cuda().sum().item()\n"
    )
    path = os.pathsep.join((str(package.parent), *sys.path))
    done = warm_python.run(
        [sys.executable, "-m", "devlint", "run", "--virtual", "cuda:1", "-m", "app"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    loop = os.path.join("site-packages", "app", "loop.py")
    assert f"{loop}:5  1x item" in done.stderr
    assert "run.py" not in done.stderr
