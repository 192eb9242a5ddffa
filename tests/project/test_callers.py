"""The files that may call a function are found by its name, the nearest first."""

from devlint.project.callers import files_that_mention


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def test_whole_words_the_nearest_first(tmp_path):
    write(
        tmp_path,
        {
            "a/b/use.py": b"shift(x)",
            "a/near.py": b"from b import shift\n",
            "far.py": b"mod.shift(x)",
            "other.py": b"shifted(x)",
            "latin.py": b"# \xe9\nshift(x)",
        },
    )
    files = [*tmp_path.rglob("*.py"), tmp_path / "gone.py"]
    found = files_that_mention({"shift", "turn"}, files, [tmp_path / "a" / "b" / "shift.py"])
    names = [file.relative_to(tmp_path).as_posix() for file in found]
    assert names == ["a/b/use.py", "a/near.py", "far.py", "latin.py"]
