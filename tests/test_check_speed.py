"""What `benchmarks/check_speed.py` measures, prints and stores; nothing here is timed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import check_speed
import measurement
import pytest
from check_speed import Row

ROWS = [
    Row("/src/kit", 10, 10_000, "parse", 0.5, 0.5, 40, 1.0),
    Row("/src/kit", 10, 10_000, "devlint", 1.0, 1.1, 60, 2.0),
    Row("/src/kit", 99, 100_000, "parse", 5.0, 5.0, 70, 1.0),
    Row("/src/kit", 99, 100_000, "devlint", 9.0, 9.4, 120, 1.8),
]
TWO = """
import subprocess, sys
own = bytearray(60 << 20)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"])
else:
    sys.stdin.read()
"""
LONG = 120.0  # seconds in which a busy machine comes to anything


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="read from /proc")
def test_the_memory_is_that_of_all_processes_together(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    command = [sys.executable, "two.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE) as process:
        together, end = 0.0, time.monotonic() + LONG
        while together < 120 and time.monotonic() < end:
            together = sum(map(measurement.share, measurement.family(process.pid)))
            time.sleep(0.02)
        assert len(measurement.family(process.pid)) == 2
    assert 120 <= together < 240
    assert measurement.family(process.pid) == [process.pid]


def test_a_run_is_ended_at_the_limit(tmp_path: Path) -> None:
    run = measurement.measured([sys.executable, "-c", "input()"], tmp_path, limit=60)
    assert run.returncode is not None, "it ends by itself, of an empty input"
    endless = measurement.measured([sys.executable, "-c", "while True: pass"], tmp_path, limit=0.2)
    assert endless.returncode is None


def test_as_many_files_are_taken_as_have_the_lines(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("x = 1\n" * 10)
    files, lines = check_speed.copy_python_files(tmp_path, tmp_path / "out", 15)
    assert ([Path(file).name for file in files], lines) == (["a.py", "b.py"], 20)
    assert [check_speed.size(text) for text in ("7", "10k", "1M")] == [7, 10_000, 1_000_000]


def test_the_table_has_a_row_for_each_program_and_size() -> None:
    rows = check_speed.table(ROWS).splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:3] for row in cells] == [
        ["10,000", "parse", "0.50"],
        ["", "devlint", "1.00"],
        ["100,000", "parse", "5.00"],
        ["", "devlint", "9.00"],
    ]


def test_the_picture_has_a_point_for_each_figure() -> None:
    svg = ElementTree.fromstring(check_speed.picture(ROWS))
    tags = [element.tag.rpartition("}")[2] for element in svg]
    assert tags.count("circle") == 6, "four of time, two of memory: parsing alone has none"
    assert tags.count("polyline") == 3


def test_only_the_part_between_the_marks_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{check_speed.BEGIN}old\n{check_speed.END}after\n")
    monkeypatch.setattr(check_speed, "PAGE", page)
    monkeypatch.setattr(check_speed, "PICTURE", tmp_path / "speed.svg")
    check_speed.store(ROWS)
    check_speed.store(ROWS)
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert "old" not in text and text.count("100,000") == 1
    assert "kit; " in text and "(images/speed.svg)" in text
