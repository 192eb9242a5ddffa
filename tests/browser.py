"""A page in a real browser: what it shows at several widths, and what its console says.

Needs Chromium or Chrome.  Where ``DEVLINT_REQUIRE_BROWSER`` is set, as CI does, a missing one is a
failure.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--timeout=20000",
    "--dump-dom",
)
WIDTHS = (1280, 360)  # a desk's screen and a phone's

PROBE = """
<script>
addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const look = (frame, page) => { %s };
    const line = document.createElement("pre");
    line.className = "found";
    line.textContent = JSON.stringify(look(frame, page));
    document.body.append(line);
  }
});
</script>
"""


def find_browser() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        text = f"no browser: install one of {', '.join(NAMES)}"
        if os.environ.get("DEVLINT_REQUIRE_BROWSER"):
            pytest.fail(text)
        pytest.skip(text)
    return found


def look_at(page: str, probe: str, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The result of the probe at each width, and the lines of the console.

    probe: the body of a JavaScript function of `frame`, an iframe, and `page`, its document.
    """
    frames = "".join(
        f'<iframe width="{width}" height="800" style="border: 0" srcdoc="{html.escape(page)}">'
        "</iframe>"
        for width in WIDTHS
    )
    (folder / "frames.html").write_text(
        f"<!doctype html><meta charset='utf-8'><body>{frames}{PROBE % probe}</body>",
        encoding="utf-8",
    )
    command = [find_browser(), *OPTIONS, f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1800,1000", (folder / "frames.html").as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    found = re.findall(r'<pre class="found">(.*?)</pre>', result.stdout, re.DOTALL)
    console = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return [json.loads(html.unescape(text)) for text in found], console
