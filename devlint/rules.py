"""The rules there are: packs found by entry point, and devlint's own, about suppressions and bans.

A pack is a package whose modules each define one `RULE`; a module without is a helper. Its entry
point is in the group `devlint.rules`: ours is one of them, a user's own is found in the same way.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from devlint import ban_rule, reveal_rule
from devlint.entry_points import RULE_PACKS, EntryPoint, entry_points
from devlint.rule import Rule
from devlint.suppression import RULES as SUPPRESSION_RULES

OWN_RULES = (*SUPPRESSION_RULES, ban_rule.RULE, reveal_rule.RULE)  # those of no pack


class RulePackError(Exception):
    """A rule pack that cannot be used; the message names the pack and the cause."""


def load_rules(paths: Sequence[Path] = ()) -> tuple[Rule, ...]:
    """Every rule installed and those of the paths, by code. Raises RulePackError.

    paths: modules that define a `RULE`, and folders of such. They are run.
    """
    rules: dict[str, tuple[Rule, str]] = {rule.code: (rule, "devlint itself") for rule in OWN_RULES}
    names = {rule.name for rule in OWN_RULES}
    packs = {(entry.name, entry.value): entry for entry in entry_points(RULE_PACKS)}
    if not packs:
        raise RulePackError(
            f"no rule pack is installed (entry-point group {RULE_PACKS!r}); reinstall devlint"
        )
    found = [(f"rule pack {entry.name!r} ({entry.value})", entry) for entry in packs.values()]
    sources = [(pack, _modules_of(entry, pack)) for pack, entry in found]
    sources += [(f"rule path {path}", _modules_at(path)) for path in paths]
    for pack, modules in sources:
        for rule in _rules_of(modules, pack):
            if rule.code in rules:
                raise RulePackError(f"{pack} and {rules[rule.code][1]} both define {rule.code}")
            if rule.name in names:
                raise RulePackError(f"{pack} defines a second rule named {rule.name!r}")
            rules[rule.code] = rule, pack
            names.add(rule.name)
    return tuple(rules[code][0] for code in sorted(rules))


def find_rule(rules: Iterable[Rule], wanted: str) -> Rule | None:
    """The rule of a code or name, in whatever case."""
    return next((r for r in rules if wanted.lower() in (r.code.lower(), r.name.lower())), None)


def _rules_of(modules: Iterable[ModuleType], pack: str) -> list[Rule]:
    """The rules of a pack's modules, each once, also if another module imports it."""
    found: list[Rule] = []
    for module in modules:
        rule = getattr(module, "RULE", None)
        if rule is None:
            continue
        if not isinstance(rule, Rule):
            raise RulePackError(f"{pack}: {module.__name__}.RULE is not a devlint.rule.Rule")
        if not any(rule is other for other in found):
            found.append(rule)
    if not found:
        raise RulePackError(f"{pack}: no module there defines RULE")
    return found


def _modules_of(entry: EntryPoint, pack: str) -> Iterator[ModuleType]:
    try:
        package = entry.load()
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            yield importlib.import_module(info.name)
    except Exception as error:  # whatever a pack's import raises is that pack's failure
        raise RulePackError(f"{pack} cannot be loaded: {type(error).__name__}: {error}") from error


def _modules_at(path: Path) -> Iterator[ModuleType]:
    """The module in a file, or those in a folder, which may import one another relatively."""
    pack = f"rule path {path}"
    if not path.exists():
        raise RulePackError(f"{pack}: there is no such file or folder")
    package = f"devlint_rule_path_{zlib.crc32(os.fsencode(path.absolute()))}"
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]  # what the files say now counts
    importlib.invalidate_caches()
    if not path.is_dir():
        yield _run(package, path, pack)
        return
    files = {file.stem: file for file in sorted(path.glob("*.py"))}
    if initial := files.pop("__init__", None):
        yield _run(package, initial, pack, [str(path)])
    else:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__path__ = [str(path)]
    for stem, file in files.items():
        name = f"{package}.{stem}"
        yield sys.modules.get(name) or _run(name, file, pack)  # another may have imported it


def _run(name: str, file: Path, pack: str, places: list[str] | None = None) -> ModuleType:
    """Run a file as the module of a name; places: where the modules of a package lie."""
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
    if spec is None or spec.loader is None:
        raise RulePackError(f"{pack}: {file.name} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever its code raises is its failure
        raise RulePackError(
            f"{pack}: {file.name} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    return module
