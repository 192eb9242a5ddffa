#!/usr/bin/env python3
"""Write `docs/rules/`: a page for each of our rules, and an index. `--check` writes nothing.

With `--check` it exits with 1 and names the pages that are missing, stale or left over.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "rules"

sys.path[:0] = [str(ROOT), str(ROOT / "rules")]

import devlint_rules  # noqa: E402

from devlint.reporters.catalogue import explanation  # noqa: E402
from devlint.rule import Rule  # noqa: E402
from devlint.rules import OWN_RULES  # noqa: E402

FAMILIES = {
    "DEV0": "Suppressions and bans",
    "DEV1": "Operands on different devices",
    "DEV2": "Moves that do not do what they look like",
    "DEV3": "Performance",
    "DEV4": "Host and device",
    "DEV5": "Portability",
}


def rules() -> list[Rule]:
    """Our rules and devlint's own, by code."""
    modules = (
        importlib.import_module(f"devlint_rules.{info.name}")
        for info in pkgutil.iter_modules(devlint_rules.__path__)
    )
    found = [module.RULE for module in modules if hasattr(module, "RULE")]
    return sorted([*OWN_RULES, *found], key=lambda rule: rule.code)


def index(all_rules: list[Rule]) -> str:
    """The table of all rules, by family."""
    parts = [
        "# Rules",
        "Generated from `rules/devlint_rules/` by `scripts/generate_rule_docs.py`. "
        "`devlint explain CODE` prints a page.",
    ]
    for family, title in FAMILIES.items():
        rows = [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} "
            f"| {'yes' if rule.fix else ''} | {rule.summary} |"
            for rule in all_rules
            if rule.code.startswith(family)
        ]
        head = "| code | name | severity | fix | says |\n| --- | --- | --- | --- | --- |"
        parts.append("\n".join([f"## {family}: {title}", "", head, *rows]))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Every page by its file name."""
    all_rules = rules()
    explained = {f"{rule.code}.md": explanation(rule) for rule in all_rules}
    return {**explained, "README.md": index(all_rules)}


def stale_pages() -> list[str]:
    """The pages that are missing, differ from their rule, or belong to no rule."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    return sorted(name for name in wanted | there if wanted.get(name) != there.get(name))


def main() -> int:
    stale = stale_pages()
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/rules/{name} is stale: run scripts/generate_rule_docs.py")
        return 1 if stale else 0
    DOCS.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for name in stale:
        if name in wanted:
            (DOCS / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            (DOCS / name).unlink()
    print(f"{len(stale)} pages written, {len(wanted)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
