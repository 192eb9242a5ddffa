"""devlint.contracts: the typed API and the comments, importable without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, get_type_hints

import pytest

from devlint.contracts import ContractError, On, SameDevice, parse_comment, requirement_in


class TestOn:
    def test_a_type_accepts_every_index_and_an_index_one(self):
        assert On("cuda").accepts("cuda", None) and On("cuda").accepts("cuda", 3)
        assert On("cuda:1").accepts("cuda", 1)
        assert not On("cuda:1").accepts("cuda", 0)
        assert On("cuda:0").accepts("cuda", None)
        assert not On("cuda").accepts("cpu", None)

    def test_accelerator_is_whatever_is_not_the_host(self):
        assert On("accelerator").accepts("mps", 0) and On("accelerator").accepts("cuda", 1)
        assert not On("accelerator").accepts("cpu", None)

    @pytest.mark.parametrize("wrong", ["", "cudda", "cuda:", "cuda:x", "cuda 1", "CPU", 0, None])
    def test_what_is_no_device_is_refused(self, wrong):
        with pytest.raises(ContractError):
            On(wrong)

    def test_a_misspelt_device_is_told_the_right_one(self):
        with pytest.raises(ContractError, match="did you mean 'cuda'"):
            On("cudda")


class TestSameDevice:
    def test_both_spellings_are_one(self):
        assert SameDevice("x", "y") == SameDevice["x", "y"]
        assert SameDevice("x") == SameDevice["x"]
        assert len({SameDevice("x"), SameDevice["x"]}) == 1

    @pytest.mark.parametrize("wrong", [(), ("",), ("a b",), ("1",), (1,)])
    def test_what_names_no_parameter_is_refused(self, wrong):
        with pytest.raises(ContractError):
            SameDevice(*wrong)


def test_annotations_keep_the_contract():
    def attend(query: Annotated[object, "shape", On("cuda")]) -> None: ...

    hint = get_type_hints(attend, include_extras=True, localns=locals() | globals())["query"]
    assert requirement_in(hint.__metadata__) == On("cuda")
    assert requirement_in(["shape"]) is None


class TestComments:
    def test_names_and_requirements(self):
        assert parse_comment("# devlint: device[x=cuda:1, mask=same(x, y), return=cpu]") == {
            "x": On("cuda:1"),
            "mask": SameDevice("x", "y"),
            "return": On("cpu"),
        }

    @pytest.mark.parametrize(
        "comment",
        [
            "# devlint: device[cpu]",
            "#devlint:device[ cpu ]",
            "# type: ignore  # devlint: device[cpu]",
            "# devlint: device[cpu] -- the table is large",
            "# devlint: device[cpu]  # noqa: E501",
        ],
    )
    def test_one_without_a_name(self, comment):
        assert parse_comment(comment) == {"": On("cpu")}

    @pytest.mark.parametrize(
        ("comment", "said"),
        [
            ("# devlint: device cuda", "write"),
            ("# devlint: device[cuda", "write"),
            ("# devlint: device[]", "no device"),
            ("# devlint: device[x=]", "no contract"),
            ("# devlint: device[x==cuda]", "no contract"),
            ("# devlint: device[x=cuda, x=cpu]", "two contracts"),
            ("# devlint: device[x=graphics]", "is no device"),
            ("# devlint: device[x=same()]", "no parameter"),
            ("# devlint: device[cuda] for now", "write"),
        ],
    )
    def test_what_is_not_understood_is_said(self, comment, said):
        with pytest.raises(ContractError, match=said):
            parse_comment(comment)


def test_it_imports_neither_torch_nor_libcst():
    program = (
        "import sys, devlint.contracts; "
        "print(sorted({'torch', 'libcst', 'click', 'devlint.inference'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"


def test_type_checkers_are_content(tmp_path: Path):
    """`Annotated` may hold both, and both may have a name of their own."""
    program = tmp_path / "program.py"
    program.write_text(
        "from typing import Annotated\n"
        "from devlint.contracts import On, SameDevice\n"
        "class Tensor: ...\n"
        'ON_CARD = On("cuda")\n'
        "Card = Annotated[Tensor, ON_CARD]\n"
        'def f(x: Card, y: Annotated[Tensor, SameDevice["x"]]) -> Annotated[Tensor, On("cpu")]:\n'
        "    return x\n"
        "kept: Card = f(Tensor(), Tensor())\n"
        'same: SameDevice = SameDevice("x", "y")\n'
    )
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(program)]
    ran = subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"],
        cwd=tmp_path,
        env={"MYPYPATH": str(root), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
