"""Who may import whom, read from the syntax trees: layers, no circle, no hidden import."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RULES = tuple(sorted(path.stem for path in ROOT.glob("rules/devlint_rules/dev*.py")))


@dataclass(frozen=True)
class Import:
    """One import of a module of the package that the importing file belongs to, or of another."""

    module: str
    """The importing module, such as `runtime_guard.core.sites`."""
    imported: str
    line: int
    inside: bool
    """Does it stand in a function?"""


@dataclass(frozen=True)
class Package:
    """The layers of a package."""

    name: str
    layers: tuple[str, ...]
    """Sub-packages and modules, lowest first: each may import those that stand before it."""
    outside: tuple[str, ...] = ()
    """Modules of our other packages that it may import."""
    exceptions: frozenset[tuple[str, str]] = frozenset()
    """(module, imported): arrows that run up today.  May only shrink."""
    root: Path = ROOT


PACKAGES = [
    Package(
        "runtime_guard",
        (
            "core",
            "agreement",
            "recording",
            "virtual",
            "contracts",
            "guard",
            "conformance",
            "reports",
            "commands",
            "drive",
            "pytest_plugin",
            "startup",
        ),
        outside=("devlint.contracts", "devlint.findings"),
    ),
    Package(
        "devlint.inference",
        (
            "domain",
            "conventions",
            "syntax",
            "confidence",
            "call_contexts",
            "facts",
            "program",
            "models",
            "interpreter",
            "summaries",
            "collect",
            "api",
        ),
        outside=(
            "devlint.contracts",
            "devlint.findings",
            "devlint.knowledge",
            "devlint.nodes",
            "devlint.records",
        ),
    ),
    Package(
        "devlint",
        (
            "version",
            "records",
            "nodes",
            "findings",
            "terminal",
            "atomic_files",
            "knowledge",
            "contracts",
            "report",
            "inference",
            "project",
            "facts",
            "statistics",
            "baseline",
            "positions",
            "rule",
            "suggestions",
            "entry_points",
            "ban_rule",
            "reveal_rule",
            "suppression",
            "reporters",
            "rules",
            "selection",
            "config",
            "schema",
            "project_setup",
            "check",
            "engine",
            "merge",
            "watch",
            "placements",
            "graphs",
            "flake8_plugin",
            "testing",
            "fixes",
            "comparison",
            "suppression_comments",
            "ipython",
            "server",
            "commands",
            "cli",
            "__main__",
        ),
    ),
    Package(
        "devlint_rules",
        ("helpers", *RULES),
        outside=("devlint.inference", "devlint.findings", "devlint.rule"),
        root=ROOT / "rules",
    ),
]
OURS = ("devlint", "devlint_rules", "runtime_guard")
by_name = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


def modules(package: Package) -> dict[str, Path]:
    """The files of a package by module name; a folder's `__init__` has the folder's name."""
    found = {}
    for path in sorted(package.root.joinpath(*package.name.split(".")).rglob("*.py")):
        parts = path.relative_to(package.root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(package: Package, types: bool = False) -> Iterator[Import]:
    """Every import of one of our modules. `types`: those, too, that only a type checker sees."""
    known = modules(package)
    for module, path in known.items():
        for node, inside in statements(path, types):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                assert node.level == 0, f"{path}:{node.lineno}: imports here are absolute"
                base = node.module or ""
                inner = [f"{base}.{alias.name}" for alias in node.names]
                names = [name if name in known else base for name in inner]
            for name in dict.fromkeys(names):
                if name.split(".")[0] in OURS:
                    yield Import(module, name, node.lineno, inside)


@functools.cache
def statements(
    path: Path, types: bool = False
) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """The import statements of a file, each with whether it stands in a function."""
    return tuple(_imports_in(_parsed(path), False, types))


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


_NESTING = (ast.stmt, ast.excepthandler, ast.match_case)  # no expression holds a statement


def _imports_in(
    node: ast.AST, inside: bool, types: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield node, inside
        return
    test = node.test if isinstance(node, ast.If) else None
    is_for_types = isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"
    if is_for_types and not types:
        return
    inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _NESTING):
            yield from _imports_in(child, inside, types)


def layer(package: Package, module: str) -> int | None:
    """The floor of a module; None for the package's own `__init__`."""
    _, inside, part = module.partition(f"{package.name}.")
    return package.layers.index(part.split(".")[0]) if inside else None


@by_name
def test_every_part_of_a_package_has_its_layer(package: Package) -> None:
    inside = [name.removeprefix(package.name)[1:] for name in modules(package)]
    parts = {name.split(".")[0] for name in inside if name}
    assert parts == set(package.layers)


@by_name
def test_imports_run_down_the_layers(package: Package) -> None:
    up = set()
    for arrow in imports(package):
        if not f"{arrow.imported}.".startswith(f"{package.name}."):
            continue
        below, above = layer(package, arrow.imported), layer(package, arrow.module)
        if above is not None and (below is None or below > above):
            up.add((arrow.module, arrow.imported))
    assert up == package.exceptions


@by_name
def test_no_circle_among_the_files(package: Package) -> None:
    """Not even through what is imported for a type checker alone."""
    graph: dict[str, set[str]] = {name: set() for name in modules(package)}
    for arrow in imports(package, types=True):
        if arrow.imported in graph and (arrow.module, arrow.imported) not in package.exceptions:
            graph[arrow.module].add(arrow.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import circle: {' -> '.join(error.args[1])}")


@by_name
def test_our_other_packages_are_imported_where_it_is_allowed_only(package: Package) -> None:
    found = {
        (arrow.module, arrow.imported)
        for arrow in imports(package)
        if not f"{arrow.imported}.".startswith((f"{package.name}.", *package.outside))
    }
    assert not found


@by_name
def test_an_import_inside_a_function_says_why(package: Package) -> None:
    """An optional dependency or start-up time; in a comment on the line or right above it."""
    silent = []
    for module, path in modules(package).items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node, inside in statements(path):
            if not inside:
                continue
            own = "".join(lines[node.lineno - 1 : node.end_lineno])
            if "#" not in own and not lines[node.lineno - 2].lstrip().startswith("#"):
                silent.append(f"{module}:{node.lineno}")
    assert not silent


def test_no_rule_knows_another() -> None:
    rules = next(package for package in PACKAGES if package.name == "devlint_rules")
    assert not [
        (arrow.module, arrow.imported)
        for arrow in imports(rules)
        if arrow.imported.rpartition(".")[2] in RULES
    ]
