"""Texts of files: what one says as a whole, before anything of it is walked.

A file that names a device or a move is `accelerated`, one below `tests` `is_test`.
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from devlint.inference.conventions import holds, without
from devlint.inference.program.sources import Importer, Parsed
from devlint.inference.syntax.text import called_name, code, dotted, every
from devlint.inference.syntax.words import demonstration


def _runs_itself(text: str, tree: cst.Module) -> bool:
    """The file runs itself, or trains without a class for others to use."""
    trains_alone = ".backward(" in text and not any(type(e) is cst.ClassDef for e in tree.body)
    return trains_alone or holds("script-text", text)


def _defines_modules(tree: cst.Module) -> bool:
    """By its `forward`, a class of the file is a module."""
    return any(
        type(each) is cst.FunctionDef and each.name.value == "forward"
        for node in tree.body
        if type(node) is cst.ClassDef
        for each in node.body.body
    )


def _only_shows_modules(text: str, tree: cst.Module) -> bool:
    """All that makes it run itself is a main part that shows the modules of the file."""
    shown = demonstration(tree) if _defines_modules(tree) else None
    return shown is not None and not _runs_itself(text.replace(code(shown).strip(), ""), tree)


_SET_UP = frozenset({"setUpModule", "setup_module", "setup_function"})


def _runs_before_tests(function: cst.FunctionDef) -> bool:
    """A fixture of pytest's that nobody has to ask for, or a hook for a module's tests."""
    return function.name.value in _SET_UP or any(
        dotted(argument.keyword) == "autouse" and dotted(argument.value) == "True"
        for decorator in function.decorators
        if isinstance(decorator.decorator, cst.Call)
        for argument in decorator.decorator.args
        if argument.keyword is not None
    )


class FileText:
    """The text of one file, with its tree and its path."""

    def __init__(self, parsed: Parsed, importer: Importer | None) -> None:
        self.source = parsed
        self.tree = parsed.tree
        self._importer = importer
        self._rebound: set[str] | None = None
        self._contained: dict[str, bool] = {}

    def contains(self, written: str) -> bool:
        """This stands in the text."""
        found = self._contained.get(written)
        if found is None:
            found = self._contained[written] = written in self.source.text
        return found

    @cached_property
    def accelerated(self) -> bool:
        """The file names devices or moves."""
        return holds("accelerated-text", self.source.text)

    @cached_property
    def is_foreign(self) -> bool:
        """The file is about another framework's tensors: neither it nor a file of the project that
        it imports imports torch."""
        text = self.source.text
        if not holds("other-framework-import", text) or holds("torch-import", text):
            return False
        names = {a.evaluated_name for i in every(self.tree, cst.Import) for a in i.names} | {
            self.absolute(
                dotted(each.module) if each.module is not None else "", len(each.relative)
            )
            for each in every(self.tree, cst.ImportFrom)
        }
        importer = self._importer
        found = [importer.load(name) for name in sorted(names) if name] if importer else []
        return not any(holds("torch-import", parsed.text) for parsed in found if parsed is not None)

    @cached_property
    def knows_arrays(self) -> bool:
        """The file imports NumPy, or a library whose images or tables are arrays: what has a shape
        there need not be a tensor."""
        return holds("array-import", self.source.text)

    @cached_property
    def moves_batches(self) -> bool:
        """A framework is used whose loaders move their batches."""
        return holds("batch-moving-text", self.source.text)

    @cached_property
    def makers(self) -> dict[str, set[str]]:
        """By name, the classes of which the file makes what it binds: `loader = Stream(3)`."""
        makers: dict[str, set[str]] = {}
        for each in every(self.tree, cst.Assign):
            name = dotted(each.targets[0].target).removeprefix("self.")
            maker = dotted(each.value.func) if isinstance(each.value, cst.Call) else ""
            maker = maker.rpartition(".")[2]
            if name and maker[:1].isupper():
                makers.setdefault(name, set()).add(maker)
        return makers

    @cached_property
    def keeps_to_host(self) -> bool:
        """A test that asks for no accelerator."""
        return self.is_test and not self.accelerated

    @cached_property
    def sets_default_device(self) -> bool:
        """By `torch.set_default_device`, which does not reach `torch.Tensor([…])` and its like."""
        text = self.source.text
        return "set_default_device(" in text and "set_default_tensor_type(" not in text

    @cached_property
    def default_is_set_elsewhere(self) -> bool:
        """A file that imports this one makes tensors on another device by default, or what a test
        framework runs before each test of it."""
        if self.set_up_chooses_default:
            return True
        importer, name = self._importer, self.source.module_name.rpartition(".")[2]
        found = importer.settings(self.source.path) if importer is not None and name else {}
        return ("conftest" in found and self.is_test) or any(
            holds("import-of", text, name) for text in found.values()
        )

    @cached_property
    def set_up_chooses_default(self) -> bool:
        """`@pytest.fixture(autouse=True)` or `setup_module` with a `set_default_device`."""
        if not (
            self.contains(".set_default_device(") or self.contains(".set_default_tensor_type(")
        ):
            return False
        return any(
            called_name(call).startswith("set_default_")
            for function in every(self.tree, cst.FunctionDef)
            if _runs_before_tests(function)
            for call in every(function.body, cst.Call)
        )

    @cached_property
    def freezes(self) -> bool:
        """Somewhere in the file parameters are frozen, or gradients turned off by a call."""
        return holds("freezing-text", self.source.text)

    @cached_property
    def host_script(self) -> bool:
        """A script that never leaves the host, or that says so."""
        text = self.source.text
        if self.exports_on_host:
            return True
        if not self.is_script:
            return False
        if not self.accelerated:
            return not self.moves_batches  # such a framework runs it where it puts its batches
        rest = without("pinned-text", text)
        return (
            rest != text
            and not holds("other-device-text", rest)
            and not holds("device-option-text", text)
        )

    @cached_property
    def exports_on_host(self) -> bool:
        """A script that exports a model, or by its path a file of models that are only made to be
        exported; and nothing in it is put on a device."""
        text = self.source.text
        exports = holds("export-path", self.source.path)
        exports = exports or (self.runs_itself and "onnx.export(" in text)
        return exports and not holds("placing-text", text)

    @cached_property
    def is_script(self) -> bool:
        """It runs itself, and is not there for who imports it, as one is that defines modules, and
        only shows them where it is run: `print(Net()(torch.rand(2, 3)).shape)`."""
        return self.runs_itself and not _only_shows_modules(self.source.text, self.tree)

    @cached_property
    def runs_itself(self) -> bool:
        path, text = self.source.path, self.source.text
        return path.endswith(".ipynb") or _runs_itself(text, self.tree)

    @cached_property
    def feeds_host(self) -> bool:
        """By its path, the file prepares data."""
        return holds("data-path", self.source.path)

    @cached_property
    def is_test(self) -> bool:
        return holds("test-path", self.purpose)

    @cached_property
    def purpose(self) -> str:
        """Its path, as far as that tells what it is for: a program with a command line that is
        called `test.py` tries a model, and tests no code."""
        folder, slash, name = self.source.path.rpartition("/")
        tries = holds("test-path", name) and holds("command-line-text", self.source.text)
        if tries and self.is_script:
            name = name.replace("test", "try")
        return f"{folder}{slash}{name}"

    @property
    def rebound(self) -> set[str]:
        """The globals that some function rebinds: None until then."""
        if self._rebound is None:
            statements = every(self.tree, cst.Global) if "global " in self.source.text else ()
            self._rebound = {each.name.value for one in statements for each in one.names}
        return self._rebound

    def absolute(self, base: str, level: int) -> str:
        """The absolute name of a relative import; "" for one that leaves the project."""
        if level == 0:
            return base
        parts = self.source.module_name.split(".") if self.source.module_name else []
        if not self.source.is_package:
            parts = parts[:-1]
        up = level - 1
        if up > len(parts):
            return ""
        parts = parts[: len(parts) - up]
        return ".".join([*parts, base] if base else parts)
