"""Groups of files that are inferred together: neighbours, however many files there are."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from devlint.check.groups import ALONE, GROUP_ALLOWANCE, LEAST, MOST, Group, groups_of

names = st.tuples(st.sampled_from("abcd"), st.integers(0, 60)).map(lambda t: Path(*map(str, t)))
sized = st.dictionaries(names, st.integers(0, MOST * 2), max_size=60).map(
    lambda sizes: sorted(sizes.items())
)


@given(sized)
def test_each_file_is_in_one_group_in_the_order_of_the_files(files: list[tuple[Path, int]]) -> None:
    grouped = [file for group in groups_of(files) for file in group.files]
    assert grouped == [file for file, _ in files]


@given(sized)
def test_no_group_is_larger_than_it_may_be_but_for_a_single_file(
    files: list[tuple[Path, int]],
) -> None:
    sizes = dict(files)
    for group in groups_of(files):
        assert len(group.files) == 1 or sum(sizes[file] for file in group.files) <= max(MOST, ALONE)


def test_a_small_project_is_one_group_and_may_parse_as_a_single_file_may() -> None:
    files = [Path("a/x.py"), Path("b/y.py")]
    assert groups_of((file, ALONE // 2) for file in files) == [Group(tuple(files))]


def test_a_group_ends_with_its_folder_once_it_is_large_enough() -> None:
    files = [(Path("a/1.py"), LEAST), (Path("a/2.py"), 10), (Path("b/1.py"), LEAST)]
    first, second = groups_of(files)
    assert first == Group((Path("a/1.py"), Path("a/2.py")), GROUP_ALLOWANCE)
    assert second.files == (Path("b/1.py"),)


def test_a_line_more_in_one_file_moves_no_group() -> None:
    files = [(Path(f"{folder}/{n}.py"), 30_000) for folder in "abcdefgh" for n in range(10)]
    before = groups_of(files)
    assert len(before) > 2
    for place, (file, size) in enumerate(files):
        assert groups_of([*files[:place], (file, size + 80), *files[place + 1 :]]) == before


def test_no_files_are_no_group() -> None:
    assert groups_of([]) == []
