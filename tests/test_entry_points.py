"""`devlint.entry_points` finds what `importlib.metadata` finds."""

from __future__ import annotations

import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from devlint.entry_points import EntryPoint, entry_points

GROUPS = sorted({"devlint.rules", "no.such.group", *metadata.entry_points().groups})


def install(folder: Path, name: str, text: str) -> None:
    """Put the metadata of a distribution into a folder."""
    there = folder / name
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Name: {name.partition('-')[0]}\nVersion: 1.0\n")
    (there / "entry_points.txt").write_text(text)


def found_by_python(group: str) -> set[tuple[str, str]]:
    return {(each.name, each.value) for each in metadata.entry_points(group=group)}


def found(group: str) -> set[tuple[str, str]]:
    return {(each.name, each.value) for each in entry_points(group)}


@pytest.mark.parametrize("group", GROUPS)
def test_all_that_is_installed_here_is_found(group: str) -> None:
    assert found(group) == found_by_python(group)


def test_our_own_rules_are_a_pack() -> None:
    ours = [each for each in entry_points("devlint.rules") if each.name == "devlint"]
    assert {each.load().__name__ for each in ours} == {"devlint_rules"}


def test_the_first_of_two_distributions_of_a_name_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "one", "User_Pack-2.0.dist-info", "[a.group]\nuser = new\n")
    install(tmp_path / "two", "user.pack-1.0.dist-info", "[a.group]\nuser = old\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "one"), str(tmp_path / "two"), *sys.path])
    assert found("a.group") == {("user", "new")} == found_by_python("a.group")


def test_comments_other_groups_and_extras_are_no_part_of_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        tmp_path,
        "pack-1.0.dist-info",
        "[other]\nx = y\n[a.group]\n# user = old\nuser=os.path:join [fast]\n[a.group.more]\nz=z\n",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert found("a.group") == found_by_python("a.group") == {("user", "os.path:join [fast]")}
    (entry,) = entry_points("a.group")
    assert entry.load()("a", "b") == str(Path("a", "b"))


def test_what_is_in_an_archive_is_found_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "packs.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("pack-1.0.dist-info/METADATA", "Name: pack\nVersion: 1.0\n")
        written.writestr("pack-1.0.dist-info/entry_points.txt", "[a.group]\nuser = zipped\n")
    monkeypatch.setattr(sys, "path", [str(archive), *sys.path])
    assert entry_points("a.group") == (EntryPoint("user", "zipped"),)
