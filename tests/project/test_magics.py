"""Magics, shell lines and help in cells: what is not Python is masked in place."""

from __future__ import annotations

import ast

import pytest

from devlint.project.magics import python_of, python_of_script


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "0                 \nx = 1"),
        ("!pip install a \\\n  b\nx = 1\n", "0               \n   \nx = 1\n"),
        ("!!ls\n", "0   \n"),
        ("?x\nx?\nx.y??\n[1][0]?\n", "0 \n0 \n0    \n0      \n"),
        ("/f x\n,f a b\n;f a b\n", "0   \n0     \n0     \n"),
        ("files = !ls\n", "files = _  \n"),
        ("a, d['k'] = %env HOME\n", "a, d['k'] = _        \n"),
        ("if x:\n    !ls\n", "if x:\n    0  \n"),
        ("%time y = f(x)\n", "0;    y = f(x)\n"),
        ("    %timeit -n 10 -r 3 f(x)\n", None),  # IPython would strip the indent
        ("%timeit -n 10 -r 3 f(x)\n", "0;                 f(x)\n"),
        ("%time for x in y: f(x)\n", "0                     \n"),
        ("%%time\nx = 1\n", "      \nx = 1\n"),
        ("\n%%capture out\n%%timeit\n!ls\n", "\n             \n        \n0  \n"),
        ("x\r%time\r\ny?", "x\r0    \r\n0 "),
        ("!", "0"),
        ("%time\\", "0     "),
    ],
)
def test_what_is_no_python_is_masked(cell: str, python: str | None) -> None:
    found = python_of(cell)
    if python is not None:
        assert found == python
        ast.parse(python)
    assert found is None or len(found) == len(cell)


@pytest.mark.parametrize(
    "cell",
    [
        "s = '''\n%time\n!ls\n'''\n",
        "x = (a\n% b)\n",
        "x = a \\\n% b\n",
        "# is it?\n",
        "s = 'really?'\n",
        "x = a % b\ny = f'{a!r}'\nz = a != b\n",
        "await x\n",
    ],
)
def test_python_stays_as_it_is(cell: str) -> None:
    assert python_of(cell) == cell
    assert python_of(f"{cell}!ls\n") == f"{cell}0  \n"


@pytest.mark.parametrize(
    "cell",
    ["%%bash\nls", "%%html\n<p>", "%%writefile x.py\nx = 1", "%sql select *\nfrom t", "%md\n**x**"],
)
def test_a_cell_in_another_language_has_no_python(cell: str) -> None:
    assert python_of(cell) is None


def test_in_a_script_of_cells_each_cell_is_read_for_itself() -> None:
    script = "# %% one\n!ls\n# %%\n%%bash\nls -l\n# %% [markdown]\n# text\n#%%\nx = 1\n"
    assert python_of_script(script) == (
        "# %% one\n0  \n# %%\n      \n     \n               \n# text\n#%%\nx = 1\n"
    )


@pytest.mark.parametrize("text", ["!ls\n", "x = (a\n# %%\n% b)\n", "# %%\nx = (\n"])
def test_other_scripts_are_read_as_they_are(text: str) -> None:
    assert python_of_script(text) == text
