"""The cache: a check with it says what one without it says, and what has not changed is not
inferred again."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes import Tree

from devlint import engine
from devlint.check import answers, cache, code, entries, groups
from devlint.check.session import Session
from devlint.config import Config
from devlint.findings import Confidence
from devlint.report import Report
from devlint.rules import load_rules

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
RULES = load_rules()


def check(root: Path, *names: str, cached: bool = True, **options: object) -> Report:
    config = Config(root, min_confidence=Confidence.POSSIBLE, **options)  # type: ignore[arg-type]
    paths = [root / name for name in names] or [root]
    folder = root / ".devlint_cache" if cached else None
    return replace(engine.check(paths, config, RULES, cache=folder), seconds={})


@pytest.fixture
def inferred(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are checked, as they are."""
    seen: list[str] = []
    check_file = Session.check_file

    def noted(self: Session, file: Path) -> None:
        seen.append(file.name)
        check_file(self, file)

    monkeypatch.setattr(Session, "check_file", noted)
    return seen


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group for each folder."""
    monkeypatch.setattr(groups, "ALONE", 0)
    monkeypatch.setattr(groups, "LEAST", 1)


MODEL = """\
import torch


def scale(x):
    return x * torch.ones(3)
"""
USE = """\
import torch
from lib.model import scale

y = scale(torch.ones(3, device="cuda"))
"""
APART = "import torch\n\nz = torch.ones(3).cuda() + torch.ones(3)\n"
MAIN = "import torch\nimport apart\n\ntorch.set_default_device('cuda')\n"
PROJECT = {"lib/__init__.py": "", "lib/model.py": MODEL, "app/use.py": USE, "other/apart.py": APART}


def test_what_has_not_changed_is_not_checked_again(tree: Tree, inferred: list[str]) -> None:
    root = tree(PROJECT)
    first = check(root)
    assert first.findings and sorted(inferred) == ["__init__.py", "apart.py", "model.py", "use.py"]
    inferred.clear()
    assert check(root) == first
    assert inferred == []


def test_what_was_said_of_the_same_paths_is_said_again(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No group is looked up for it."""
    root = tree(PROJECT)
    first = check(root)
    alone = check(root, "lib/model.py")
    monkeypatch.setattr(cache.Outcomes, "find", lambda *arguments: 1 // 0)
    assert check(root) == first
    assert check(root, "lib/model.py") == alone
    with pytest.raises(ZeroDivisionError):
        check(root, "app")


def test_a_new_file_is_found(tree: Tree) -> None:
    root = tree(PROJECT)
    check(root)
    tree({"other/second.py": APART})
    assert check(root) == check(root, cached=False)
    tree({".gitignore": "second.py\n"})
    assert check(root) == check(root, cached=False)


def test_a_caller_that_comes_is_seen_by_the_check_of_one_file(tree: Tree) -> None:
    root = tree({"read.py": "def read(rows):\n    return rows.numpy()\n"})
    first = check(root, "read.py")
    call = "import torch\nfrom read import read\n\nread(torch.ones(4).cuda())\n"
    tree({"use.py": call})
    after = check(root, "read.py")
    assert after == check(root, "read.py", cached=False)
    assert [each.confidence for each in (*first.findings, *after.findings)] == [
        Confidence.POSSIBLE,
        Confidence.LIKELY,
    ]


def test_the_findings_of_fewer_rules_are_not_those_of_all(tree: Tree) -> None:
    root = tree(PROJECT)
    folder = root / ".devlint_cache"
    for rules in (RULES, (), RULES[:5], RULES):
        found = engine.check([root], Config(root), rules, cache=folder)
        assert found.findings == engine.check([root], Config(root), rules).findings


def test_a_baseline_is_another_check(tree: Tree) -> None:
    root = tree(PROJECT)
    folder = root / ".devlint_cache"
    prints = [each.fingerprint for each in engine.check([root], Config(root), RULES).findings]
    for known in (None, frozenset(prints), frozenset(prints[:1]), frozenset(), None):
        config = Config(root, known=known)
        found = engine.check([root], config, RULES, cache=folder)
        assert replace(found, seconds={}) == replace(
            engine.check([root], config, RULES), seconds={}
        )


def test_an_edit_is_checked_with_all_that_rests_on_it(tree: Tree, inferred: list[str]) -> None:
    root = tree(PROJECT)
    before = check(root)
    inferred.clear()
    tree({"lib/model.py": MODEL.replace("torch.ones(3)", "torch.ones(3, device=x.device)")})
    after = check(root)
    assert "apart.py" not in inferred
    assert {"model.py", "use.py"} <= set(inferred)
    assert len(after.findings) < len(before.findings)
    assert after == check(root, cached=False)


def test_an_edit_that_keeps_size_and_time_is_seen(tree: Tree) -> None:
    root = tree(PROJECT)
    file = root / "other/apart.py"
    long_ago = time.time_ns() - 10**12
    os.utime(file, ns=(long_ago, long_ago))
    check(root)
    file.write_text(APART.replace("cuda()", "cpu() "))
    os.utime(file, ns=(long_ago, long_ago))
    assert check(root) == check(root, cached=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"lib/model.py": MODEL}),
        ({"lib/model.py": MODEL}, {"app/lib/__init__.py": "", "app/lib/model.py": "scale = print"}),
        ({"lib/model.py": MODEL}, {"app/__init__.py": ""}),
        ({}, {"main.py": MAIN}),
        ({"main.py": MAIN}, {"main.py": ""}),
    ],
    ids=["was missing", "is hidden", "becomes a package", "setting appears", "setting goes"],
)
def test_files_that_come_and_go_are_seen(
    tree: Tree, before: dict[str, str], after: dict[str, str]
) -> None:
    root = tree({"app/use.py": USE, "other/apart.py": APART, **before})
    first = check(root)
    tree(after)
    assert check(root) == check(root, cached=False)
    for name in after:
        (root / name).unlink()
    tree(before)
    assert check(root).findings == first.findings


def test_a_file_that_was_too_large_to_be_loaded_is_seen_when_it_is_not(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "GROUP_ALLOWANCE", 5 * len(MODEL))
    root = tree({**PROJECT, "lib/model.py": MODEL + "# a line\n" * 100})
    before = check(root)
    tree({"lib/model.py": MODEL})
    after = check(root)
    assert before.notes and not after.notes, "it is followed now"
    assert after == check(root, cached=False)


def test_a_file_that_is_gone_is_seen(tree: Tree) -> None:
    root = tree(PROJECT)
    check(root)
    (root / "lib/model.py").unlink()
    assert check(root) == check(root, cached=False)


def test_an_extension_for_cuda_that_comes_is_seen(tree: Tree) -> None:
    root = tree(
        {"ops.py": "import fast_kernels\n" + APART.replace("import torch\n", "import torch")}
    )
    check(root)
    tree(
        {"setup.py": 'setup(ext_modules=[CUDAExtension(name="fast_kernels", sources=["a.cu"])])\n'}
    )
    assert check(root, "ops.py") == check(root, "ops.py", cached=False)
    assert check(root) == check(root, cached=False)


def test_what_other_files_hand_in_is_looked_up_when_they_change(tree: Tree) -> None:
    shift = "import torch\n\n\ndef shift(rows: torch.Tensor):\n    return rows + torch.arange(4)\n"
    use = "import torch\nfrom shift import shift\n\nshift({})\n"
    root = tree({"shift.py": shift, "use.py": use.format("torch.ones(4)")})
    for argument in ("torch.ones(4)", "torch.ones(4).cuda()", "torch.load('x', 'cpu')"):
        tree({"use.py": use.format(argument)})
        for _ in range(2):
            assert check(root, "shift.py") == check(root, "shift.py", cached=False), argument


@pytest.mark.parametrize(
    "options",
    [
        {"min_confidence": Confidence.CERTAIN},
        {"ignore": ("DEV101",)},
        {"require_suppression_reason": True, "extend_select": ("DEV002",)},
        {"knowledge": ("known.toml",)},
    ],
)
def test_another_configuration_is_another_check(tree: Tree, options: dict[str, object]) -> None:
    banned = '[functions]\n"torch.ones" = { banned = "too many" }\n'
    root = tree({**PROJECT, "known.toml": banned, "s.py": APART[:-1] + "  # devlint: ignore\n"})
    rules = RULES
    for chosen in ({}, options, {}):
        config = Config(root, **chosen)  # type: ignore[arg-type]
        folder = root / ".devlint_cache"
        with_it = engine.check([root], config, rules, cache=folder)
        without = engine.check([root], config, rules)
        assert replace(with_it, seconds={}) == replace(without, seconds={})


def test_other_code_of_devlint_is_another_check(
    tree: Tree, inferred: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree(PROJECT)
    check(root)
    inferred.clear()
    monkeypatch.setattr(code, "package", lambda name, remembered: "changed")
    check(root)
    assert len(inferred) == 4


def test_texts_that_are_not_on_disk_are_not_kept(tree: Tree) -> None:
    root = tree(PROJECT)
    contents = {root / "other/apart.py": b"x = 1\n"}
    engine.check([root], Config(root), RULES, contents=contents, cache=root / ".devlint_cache")
    assert not (root / ".devlint_cache").exists()


def test_random_edits_of_a_project(tmp_path: Path) -> None:
    """Whatever is edited, removed, added and put back: with the cache or without, the same."""
    chance = random.Random(17)
    root = tmp_path / "project"
    shutil.copytree(FIXTURES / "projects/classifier", root / "classifier")
    shutil.copytree(FIXTURES / "teaching", root / "teaching")
    files = sorted(root.rglob("*.py"))
    originals = {file: file.read_text() for file in files}
    lines = [line for text in originals.values() for line in text.splitlines()]
    for _ in range(12):
        file = chance.choice(files)
        match chance.randrange(5):
            case 0:
                file.unlink(missing_ok=True)
            case 1:
                file.write_text(originals[file])
            case 2:
                kept = originals[file].splitlines()
                del kept[chance.randrange(len(kept) or 1) :]
                file.write_text("\n".join(kept) + "\n")
            case 3:
                file.write_text(originals[file].replace("cuda", "cpu"))
            case _:
                known = originals[file].splitlines()
                known.insert(chance.randrange(len(known) + 1), chance.choice(lines))
                file.write_text("\n".join(known) + "\n")
        assert check(root) == check(root, cached=False)


# --- what can go wrong with entries ------------------------------------------------------------


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


def packed(value: object) -> bytes:
    return zlib.compress(json.dumps(value).encode())


@pytest.mark.parametrize(
    "damage",
    [lambda data: b"", cut, flipped, lambda data: data + b"x", lambda data: data[16:]],
)
def test_a_damaged_entry_costs_time_only(tree: Tree, damage: Callable[[bytes], bytes]) -> None:
    root = tree(PROJECT)
    first = check(root)
    for file in (root / ".devlint_cache").glob("*.z"):
        file.write_bytes(damage(file.read_bytes()))
    assert check(root) == first
    assert check(root) == first


def test_an_entry_in_the_place_of_another_is_none(tree: Tree) -> None:
    root = tree(PROJECT)
    one, other = check(root, "lib"), check(root, "other")
    assert one != other
    files = sorted((root / ".devlint_cache").glob("*.z"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    assert check(root, "lib") == one
    assert check(root, "other") == other


@pytest.mark.parametrize(
    "content",
    [
        b"",
        zlib.compress(b"{"),
        zlib.compress(b"[" * 100_000),
        packed(None),
        packed({}),
        packed([]),
        packed([[], [], [], [], {}, [], [], {}, {}, [], 3]),
        packed(
            [[], [], [], [], {}, [], [], {"x": "no digest"}, {}, [{}, {}, {}, {}, {}, {}], True]
        ),
        packed(
            [[], [], [], [], {}, [], [], {}, {}, [{}, {}, {"\0": {"x": True}}, {}, {}, {}], True]
        ),
        packed({"/x.py": [1, 2, 3]}),
    ],
)
def test_an_entry_of_another_shape_costs_time_only(tree: Tree, content: bytes) -> None:
    root = tree(PROJECT)
    first = check(root)
    for file in (root / ".devlint_cache").glob("*.z"):
        file.write_bytes(entries.sealed(file.name.removesuffix(".json.z"), content))
    assert check(root) == first
    assert check(root) == first


def test_a_folder_that_cannot_be_written_to_is_no_error(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, inferred: list[str]
) -> None:
    """A disk that is full, or a tree that is read-only, says so in the same way."""

    def full(*arguments: object, **options: object) -> Iterator[None]:
        raise OSError(28, "No space left on device")

    root = tree(PROJECT)
    monkeypatch.setattr("tempfile.mkstemp", full)
    assert check(root) == check(root, cached=False)


def test_a_disk_that_is_full_in_the_middle_leaves_no_half_entry(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    root = tree(PROJECT)
    monkeypatch.setattr("os.replace", full)
    assert check(root) == check(root, cached=False)
    left = {file.name for file in (root / ".devlint_cache").iterdir()}
    assert left == {"CACHEDIR.TAG", ".gitignore"}


def test_a_link_is_not_followed(tree: Tree, tmp_path: Path) -> None:
    root = tree(PROJECT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / ".devlint_cache").symlink_to(elsewhere)
    check(root, "lib", "app")
    assert list(elsewhere.iterdir()) == []


def test_the_folder_says_what_it_is(tree: Tree) -> None:
    root = tree(PROJECT)
    check(root)
    folder = root / ".devlint_cache"
    tag = (folder / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (folder / ".gitignore").read_text() == "*\n"


def test_entries_used_last_are_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(PROJECT)
    check(root)
    folder = root / ".devlint_cache"
    old = folder / "0.json.z"
    old.write_bytes(b"x" * 100_000)
    os.utime(old, (1, 1))
    before = set(folder.iterdir())
    monkeypatch.setattr(entries, "MOST_BYTES", 90_000)
    check(root, "lib")
    assert old not in folder.iterdir()
    assert before - {old} <= set(folder.iterdir())


def test_a_defect_is_not_kept(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(PROJECT)
    with monkeypatch.context() as patched:
        patched.setattr(Session, "check_parsed", lambda *arguments: 1 // 0)
        assert check(root).errors
    assert check(root) == check(root, cached=False)


def test_a_file_that_was_just_written_is_read_again(tree: Tree) -> None:
    root = tree({"a.py": APART})
    remembered = answers.Remembered({})
    name = remembered.of(root / "a.py")
    assert remembered.files == {}, "its time stamp may be of another write, too"
    long_ago = time.time_ns() - 10**12
    os.utime(root / "a.py", ns=(long_ago, long_ago))
    remembered.started += 10**10
    remembered.of(root / "a.py")
    assert [known for _, known in remembered.files.values()] == [name]
    assert answers.Remembered.read(remembered.as_plain()).files == remembered.files
