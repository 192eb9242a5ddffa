"""Generate devlint/knowledge/torch.json from the installed torch.

    python scripts/generate_knowledge.py           write the file
    python scripts/generate_knowledge.py --check   exit 1 if the file is not what would be written

The table says what torch's own registry says (torch_schemas.py), then what running the operators
showed (device_probe.py), then what is written by hand in torch_overrides.toml.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
import tomllib
from typing import Any

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import torch_schemas  # noqa: E402

from devlint.knowledge.model import Call, ClassInfo, ModuleClass  # noqa: E402
from devlint.knowledge.reading import check_entry, read_entry  # noqa: E402

TABLE = ROOT / "devlint" / "knowledge" / "torch.json"
OVERRIDES = ROOT / "devlint" / "knowledge" / "torch_overrides.toml"
KINDS: dict[str, Any] = {
    "functions": Call,
    "methods": Call,
    "modules": ModuleClass,
    "classes": ClassInfo,
}

Tables = dict[str, dict[str, Any]]


def generate() -> str:
    """The text of torch.json for the installed torch."""
    tables: Tables = {
        "functions": dict(torch_schemas.functions()),
        "methods": dict(torch_schemas.methods()),
        "modules": dict(torch_schemas.modules()),
        "classes": {},
        "attributes": dict(torch_schemas.attributes()),
    }
    apply_overrides(tables)
    for section, kind in KINDS.items():
        for name, entry in tables[section].items():
            if not isinstance(entry, str):
                check_entry(kind, entry, f"{section}.{name}")
        tables[section] = {
            name: entry if isinstance(entry, str) else without_defaults(kind, entry)
            for name, entry in tables[section].items()
        }
    document = {"torch": torch.__version__.partition("+")[0], **tables}
    return (
        json.dumps(document, sort_keys=True, separators=(",", ":")).replace('},"', '},\n"') + "\n"
    )


def apply_overrides(tables: Tables) -> None:
    """Set the fields that torch_overrides.toml sets. Each override says why, and names real names."""
    for override in tomllib.loads(OVERRIDES.read_text())["override"]:
        if not override.get("why"):
            raise SystemExit(f"{OVERRIDES.name}: an override without a reason: {override}")
        for section in KINDS:
            for name in override.get(section, ()):
                if not exists(section, name):
                    raise SystemExit(
                        f"{OVERRIDES.name}: {name} is not in torch {torch.__version__}"
                    )
                known = tables[section].get(name, {})
                if isinstance(known, str):
                    known = {}
                tables[section][name] = {**known, **override["set"]}
        for name, target in override.get("aliases", {}).items():
            tables["functions"][name] = target


def exists(section: str, name: str) -> bool:
    """Whether the installed torch has that name."""
    if section == "methods":
        return hasattr(torch.Tensor, name)
    value: Any = None
    parts = name.split(".")
    for index, part in enumerate(parts):
        if value is None:
            value = __import__(part)
            continue
        if not hasattr(value, part):
            try:
                __import__(".".join(parts[: index + 1]))
            except ImportError:
                return False
        value = getattr(value, part)
    return True


def without_defaults(kind: type, entry: dict[str, Any]) -> dict[str, Any]:
    """The entry without the fields that are as the dataclass has them anyway."""
    default = kind()
    built = read_entry(kind, entry)  # type: ignore[type-var]
    return {
        field.name: entry[field.name]
        for field in dataclasses.fields(kind)
        if field.name in entry and getattr(built, field.name) != getattr(default, field.name)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    text = generate()
    if not arguments.check:
        TABLE.write_text(text)
        print(f"{TABLE.relative_to(ROOT)}: {len(text):,} bytes, torch {torch.__version__}")
        return 0
    if TABLE.read_text() != text:
        print(f"{TABLE.relative_to(ROOT)} is out of date: run this script without --check")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
