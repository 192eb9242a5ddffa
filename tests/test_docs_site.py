"""The documentation: the site builds without a warning, and what its pages show is what happens."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from enum import Enum
from pathlib import Path

import generate_captures
import generate_reference_docs
import pytest
import yaml

from devlint import facts
from devlint.inference.facts import Facts

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "first-five-minutes" / "index.html").read_text(encoding="utf-8")
    assert "mixed-device-operation" in page or "DEV102" in page
    fetched = re.findall(r'(?:src|href)="(https?://[^"]+)"', page)
    assert not [url for url in fetched if url.endswith((".css", ".js", ".woff2"))]


def test_every_page_is_in_the_navigation() -> None:
    """But for those of single rules, which their index lists."""

    def pages(part: object) -> list[str]:
        if isinstance(part, str):
            return [part]
        inside = part.values() if isinstance(part, dict) else part
        assert not isinstance(inside, int)
        return [page for each in inside for page in pages(each)]

    listed = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    there = [path.name for path in DOCS.glob("*.md")]
    assert sorted(set(listed)) == sorted(listed)
    assert sorted(there) == sorted(page for page in listed if "/" not in page)
    index = (DOCS / "rules" / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in DOCS.glob("rules/DEV*.md") if f"({p.name})" not in index] == []


@pytest.mark.parametrize("page", generate_captures.PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    """`scripts/generate_captures.py` writes it there."""
    text = page.read_text(encoding="utf-8")
    assert generate_captures.COMMAND.search(text)
    assert generate_captures.filled(text) == text


def test_the_reference_is_current() -> None:
    """`scripts/generate_reference_docs.py` writes it, and the page of facts."""
    assert generate_reference_docs.main(["--check"]) == 0


def test_the_pictures_show_what_the_commands_print() -> None:
    """`scripts/generate_captures.py` writes them."""
    pytest.importorskip("torch")
    for name, svg in generate_captures.pictures().items():
        assert (DOCS / "images" / name).read_text(encoding="utf-8") == svg, name


def test_what_is_promised_of_facts_is_there() -> None:
    """What the page lists has its name and its type; more may have come since."""
    sections = re.split(r"^## `(\w+)`$", (DOCS / "facts.md").read_text("utf-8"), flags=re.M)[1:]
    promised = dict(zip(sections[::2], sections[1::2], strict=True))
    assert set(promised) == set(facts.__all__)
    assert set(re.findall(r"^## `(\w+)`$", generate_reference_docs.facts_page(), re.M)) == set(
        promised
    )
    for name, text in promised.items():
        owner = getattr(facts, name)
        for field, rest in re.findall(r"^\| `(\w+)` \|(.*)\|$", text, re.M):
            if issubclass(owner, Enum):
                assert field in owner.__members__
            else:
                said = rest.split("`")[1].replace("\\|", "|")
                assert generate_reference_docs.annotation(owner, field) == said
    assert {"syncs", "meetings", "moves"} <= {field.name for field in dataclasses.fields(Facts)}
