"""Annotations: what they say of a value that somebody out of sight hands in."""

import pytest
from given import given, host_reads, met, revealed

HEAD = "from typing import Optional, Union\nfrom elsewhere import Patch\n"


def said(annotation: str, asked: str, head: str = "") -> list[str]:
    code = f"{HEAD}{head}\ndef run(p: {annotation}):\n    reveal({asked})\n"
    return [each.removeprefix("δ(p)") or "tensor" for each in revealed(code)]


PAIR = "tuple[list[tuple[Patch, float]], torch.Tensor]"


@pytest.mark.parametrize(
    ("annotation", "head"),
    [
        (PAIR, ""),
        (f'"{PAIR}"', ""),
        (f"Optional[{PAIR}]", ""),
        (f"{PAIR} | None", ""),
        (f"Union[{PAIR}, None]", ""),
        ("Pair", f"Pair = {PAIR}\n"),
        ("Other", f"Pair = {PAIR}\nOther = Optional[Pair]\n"),
    ],
)
@pytest.mark.parametrize(
    ("asked", "is_tensor"), [("p[1]", True), ("p[0][0][1]", False), ("len(p[0])", False)]
)
def test_each_part_is_what_is_declared_in_its_place(annotation, head, asked, is_tensor):
    assert (said(annotation, asked, head) == ["tensor"]) == is_tensor


@pytest.mark.parametrize(
    ("annotation", "asked"),
    [
        ("list[torch.Tensor]", "p[0]"),
        ("tuple[torch.Tensor, ...]", "p[3]"),
        ("dict[str, list[torch.Tensor]]", 'p["rows"][2]'),
        ("list[dict[str, torch.Tensor]]", 'p[0]["rows"]'),
        ("list[tuple[int, torch.Tensor]]", "p[0][1]"),
    ],
)
def test_containers_hold_what_is_declared(annotation, asked):
    assert said(annotation, asked) == ["tensor"]


@pytest.mark.parametrize(
    ("imported", "annotation"),
    [
        ("import torch as th", "th.Tensor"),
        ("import torch as th", "Optional[th.nn.Parameter]"),
        ("from torch import Tensor as T", "T"),
        ("from torch.nn import Parameter", "Parameter"),
        ("from jaxtyping import Float", 'Float[torch.Tensor, "batch n"]'),
        ("import jaxtyping as jt", 'jt.Int[torch.Tensor, "batch n"] | None'),
        ("from jaxtyping import Float\nRows = Float[torch.Tensor, 'n d']", "Rows"),
        ("from jaxtyping import Float", "\"Float[torch.Tensor, 'n d']\""),
        ("from torchtyping import TensorType", 'TensorType[..., "n"]'),
        ("from torchtyping import TensorType", "TensorType"),
    ],
)
def test_a_tensor_is_declared_under_any_name_and_with_its_shape(imported, annotation):
    code = f"""
    from typing import Optional
    import torch
    {{imported}}

    def scaled(rows: {annotation}, n: int):
        return rows[..., None] * torch.linspace(0, 1, n)
    """.replace("{imported}", imported.replace("\n", "\n    "))
    (found,) = met(code)
    assert found.endswith("likely")


@pytest.mark.parametrize(
    ("parameter", "used"),
    [
        ("rows: t.Optional[torch.Tensor]", "rows"),
        ("rows: t.Annotated[torch.Tensor, 3]", "rows"),
        ('rows: t.List["torch.Tensor"]', "rows[0]"),
        ("rows: t.Iterator[torch.Tensor]", "next(rows)"),
        ("rows: abc.Collection[torch.Tensor]", "list(rows)[0]"),
        ("*rows: torch.Tensor", "rows[0]"),
        ("**rows: torch.Tensor", 'rows["a"]'),
        ("rows: Batch", "rows.images"),  # of a data class
        ("rows: Pair", "rows.images"),  # of a named tuple
        ("rows", "t.cast(torch.Tensor, rows)"),
        ("rows", "made(rows)"),  # by the annotation of what the function returns
        (
            "rows",
            "rows.net.made(rows)",
        ),
    ],
)
def test_what_is_declared_is_followed(parameter, used):
    code = f"""
    import typing as t
    from collections import abc
    from dataclasses import dataclass
    import elsewhere
    import torch

    @dataclass
    class Batch:
        images: torch.Tensor
        name: str = ""

    class Pair(t.NamedTuple):
        images: torch.Tensor
        name: str

    class Net(torch.nn.Module):
        def embed(self, rows) -> torch.Tensor:
            raise NotImplementedError

    def made(rows) -> torch.Tensor:
        return elsewhere.made(rows)

    def scaled({parameter}):
        return {used} * torch.linspace(0, 1, 3)
    """
    found = met(code)
    assert any(each.endswith("likely") for each in found) == ("rows.net" not in used)


@pytest.mark.parametrize(
    ("line", "is_tensor"),
    [
        ("rows (Tensor): which of them", True),
        ("rows (torch.FloatTensor, optional): which of them", True),
        (":type rows: torch.Tensor", True),
        ("rows : torch.Tensor", True),
        ("rows (Tensor | ndarray): which of them", False),
        ("rows (list[Tensor]): which of them", False),
        ("other_rows (Tensor): which of them", False),
    ],
)
def test_a_docstring_declares_a_tensor(line, is_tensor):
    code = f"""
    def scaled(rows, other_rows):
        \"\"\"Scaled.

        {line}
        \"\"\"
        return rows * torch.linspace(0, 1, 3)
    """
    assert bool(met(code)) == is_tensor


def test_a_name_is_declared_where_it_is_bound():
    code = """
    import elsewhere
    import torch

    def scaled(rows):
        {name} = elsewhere.made(rows)
        return made * torch.linspace(0, 1, 3)
    """
    (found,) = met(code.replace("{name}", "made: torch.Tensor"))
    assert found.endswith("likely")
    assert met(code.replace("{name}", "made")) == []


def test_the_shape_of_an_array_declares_no_tensor():
    code = """
    import numpy as np
    import torch
    from jaxtyping import Float

    def scaled(rows: Float[np.ndarray, "batch n"], n: int):
        return torch.linspace(0, 1, n) * rows[..., None]
    """
    assert met(code) == []


FOREIGN = """
    import tensorflow as tf
    import numpy as np

    class Pipe:
        def __init__(self, model):
            self.model = model.to("cuda")

        def run(self, rows):
            given = {given}
            self.model(given)[0].numpy()
"""


@pytest.mark.parametrize(
    ("handed", "found"),
    [
        ("torch.ones(3).cuda()", 1),
        ('{"rows": torch.ones(3).cuda()}', 1),
        ("tf.constant(rows)", 0),
        ('{"rows": tf.constant(rows)}', 0),
        ("[tf.constant(each) for each in rows]", 0),
        ("torch.from_numpy(tf.constant(rows).numpy()).cuda()", 1),
    ],
)
def test_what_takes_values_of_another_framework_gives_no_tensor(handed, found):
    assert len(host_reads(given(FOREIGN.replace("{given}", handed)))) == found


LAYERS = {
    "layers.py": """
import torch
from torch import nn

class Shift(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return x + self.by

class Plain:
    def __call__(self, x):
        return x
"""
}


@pytest.mark.parametrize(
    ("declared", "reported"),
    [
        ("nn.Embedding", True),
        ("Optional[torch.nn.Linear]", True),
        ("Linear", True),
        ('"nn.Module"', True),
        ("layers.Shift", True),
        ("nn.ReLU", False),
        ("nn.ModuleList", False),
        ("layers.Plain", False),
        ("nn.SomethingNew", False),
    ],
)
def test_a_module_that_a_constructor_keeps_is_where_its_own_is(declared, reported):
    code = f"""
    import layers
    from torch.nn import Linear
    from typing import Optional

    class Block(nn.Module):
        def __init__(self, part: {declared}):
            super().__init__()
            self.part = part
        def forward(self, x):
            return self.part(torch.arange(3))
    """
    found = met(code, LAYERS)
    assert len(found) == reported
    assert all("torch.arange(3)@cpu self.part self.part@δ(self)" in each for each in found)


def test_what_a_function_makes_for_a_layer_is_for_where_that_is():
    code = """
    def quantize(layer: nn.Linear, steps):
        scale = torch.zeros(3)
        return layer.weight / scale
    """
    assert met(code) == ["scale@cpu / layer.weight@δ(layer) likely"]
