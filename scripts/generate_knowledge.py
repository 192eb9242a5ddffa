"""Generate devlint/knowledge/torch.json from the installed torch.

    python scripts/generate_knowledge.py           write the file
    python scripts/generate_knowledge.py --check   exit 1 if the file is not what would be written

The table says what torch's own registry says (torch_schemas.py), then what running the operators
showed (device_probe.py), then what is written by hand in torch_overrides.toml.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

import torch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import torch_schemas  # noqa: E402
from device_probe import Observation, observations  # noqa: E402

from devlint.knowledge.entries import check_entry, read_entry  # noqa: E402
from devlint.knowledge.model import Call, ClassInfo, ModuleClass  # noqa: E402

TABLE = ROOT / "devlint" / "knowledge" / "torch.json"
OVERRIDES = ROOT / "devlint" / "knowledge" / "torch_overrides.toml"
KINDS: dict[str, Any] = {
    "functions": Call,
    "methods": Call,
    "modules": ModuleClass,
    "classes": ClassInfo,
}

Tables = dict[str, dict[str, Any]]


def generate(observed: Iterable[Observation]) -> str:
    """The text of torch.json for the installed torch, with what was seen running its operators."""
    overrides = read_overrides()
    tables: Tables = {
        "functions": dict(torch_schemas.functions()),
        "methods": dict(torch_schemas.methods()),
        "modules": dict(torch_schemas.modules()),
        "classes": dict(torch_schemas.classes()),
        "attributes": dict(torch_schemas.attributes()),
    }
    apply_observations(tables, observed)
    apply_overrides(tables, overrides)
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


def apply_observations(tables: Tables, observed: Iterable[Observation]) -> None:
    """Correct what the schemas say of agreement and results by what running them showed."""
    by_name: dict[str, list[Observation]] = {}
    for observation in observed:
        by_name.setdefault(observation.name, []).append(observation)
    for name, runs in sorted(by_name.items()):
        method = name.removeprefix("torch.Tensor.")
        is_method = method != name
        entry = tables["methods"].get(method) if is_method else tables["functions"].get(name)
        if entry is not None:
            refine_agreement(entry, runs, is_method)
            refine_results(entry, runs)
    for name, in_place in tables["methods"].items():
        if not in_place.get("in_place") or name.removesuffix("_") == name:
            continue
        if f"torch.{name}" in tables["functions"] and f"torch.{name}" not in by_name:
            entry = tables["functions"][f"torch.{name}"]
            entry["agreement"] = in_place.get("agreement", "pointwise")


def refine_agreement(entry: dict[str, Any], runs: list[Observation], is_method: bool) -> None:
    """Which parameters must agree, and whether a 0-dim CPU tensor is exempt from it."""
    names = (["self"] if is_method else []) + entry["params"]
    refused: dict[bool, set[str]] = {True: set(), False: set()}  # by: is it 0-dim?
    accepted: dict[bool, set[str]] = {True: set(), False: set()}
    for run in runs:
        if run.on_cpu is not None:
            operand = run.operands[run.on_cpu]
            name = argument_name(names, operand.argument)
            (refused if run.refused else accepted)[operand.dimensions == 0].add(name)
    if not refused[False] and not accepted[False]:
        return  # nothing seen
    anywhere = accepted[False] - refused[False]
    entry["tensors"] = sorted(set(entry["tensors"]) - anywhere)
    involved = set(entry["tensors"]) | ({"self"} if is_method else set())
    if not refused[False]:
        entry["agreement"] = "free"
        return
    exempt = (accepted[True] - refused[True]) & involved
    if entry.get("in_place"):  # the first operand is never exempt
        involved.discard(names[0])
        refused[True].discard(names[0])
    strict = (refused[True] | involved) - exempt
    seen = refused[False] | refused[True] | accepted[True]
    if not strict & seen:
        entry["agreement"] = "pointwise"
        return
    entry["agreement"] = "strict"
    if exempt:
        entry["zero_dim"] = sorted(exempt)


def refine_results(entry: dict[str, Any], runs: list[Observation]) -> None:
    """How many tensors it returns, and whether they are 0-dim."""
    plain = [run for run in runs if run.on_cpu is None]
    counts = {run.results for run in plain}
    if len(counts) == 1 and not entry.get("results") and counts != {0}:
        entry["results"] = counts.pop()
    dimensions = {run.dimensions for run in plain}
    reduces = any(operand.dimensions for run in plain for operand in run.operands)
    if dimensions == {0} and reduces and len(plain) > 1 and not entry.get("scalar"):
        entry["scalar"] = "always"


def argument_name(names: list[str], argument: int | str) -> str:
    """The parameter that an argument is given to; surplus ones belong to the last."""
    if isinstance(argument, str):
        return argument
    return names[min(argument, len(names) - 1)] if names else ""


def read_overrides() -> list[dict[str, Any]]:
    """The overrides, once each is seen to have a reason and to name what torch has."""
    overrides: list[dict[str, Any]] = tomllib.loads(OVERRIDES.read_text())["override"]
    for override in overrides:
        unknown = override.keys() - KINDS.keys() - {"why", "set"}
        if unknown or not override.get("why") or "set" not in override:
            raise SystemExit(f"{OVERRIDES.name}: not an override: {override}")
    missing = [
        name
        for override in overrides
        for section in KINDS
        for name in override.get(section, ())
        if not exists(section, name)
    ]
    if missing:
        raise SystemExit(f"{OVERRIDES.name}: not in torch {torch.__version__}: {missing}")
    return overrides


def apply_overrides(tables: Tables, overrides: list[dict[str, Any]]) -> None:
    """Set the fields that the overrides set."""
    for override in overrides:
        for section in KINDS:
            for name in override.get(section, ()):
                known = tables[section].get(name, {})
                if not known and section == "functions":
                    known = {"params": torch_schemas.parameters(resolve(name))}
                known = {} if isinstance(known, str) else known
                tables[section][name] = {**known, **override["set"]}


def exists(section: str, name: str) -> bool:
    """Whether the installed torch has that name, or would with another package beside it."""
    if section == "methods":
        return hasattr(torch.Tensor, name)
    return resolve(name) is not None or needs_another_package(name.rpartition(".")[0])


def needs_another_package(module: str) -> bool:
    """A module of torch that can't be imported here: `torch.utils.tensorboard`."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        return error.name is not None and error.name.partition(".")[0] != "torch"
    return False


def resolve(name: str) -> Any:
    """The object of a dotted name, None when there is none."""
    value: Any = torch
    parts = name.split(".")
    for index, part in enumerate(parts[1:], start=2):
        if not hasattr(value, part):
            try:
                importlib.import_module(".".join(parts[:index]))
            except ImportError:
                return None
        value = getattr(value, part)
    return value


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
    text = generate(observations())
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
