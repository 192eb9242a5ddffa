"""Types that a docstring gives, for parameters that have no annotation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from runtime_guard.drive.docstrings import shape_said, shapes_in, types_in

GOOGLE = """Sample some boxes.

Args:
    count (int): how many
    fraction (float, optional): of which
    masks (list[tensor]): one for each image
    boxes: (tensor) predictions, Shape: [num_priors, 4]
    names (Dict): what they are called

Returns:
    the boxes (all)
"""
NUMPY = """Sample some boxes.

Parameters
----------
scores : Tensor
labels : list of Tensor
verbose : bool, optional
"""
SPHINX = """Sample some boxes.

:param mask: which to keep
:type mask: torch.Tensor
:type batches: :class:`torch.utils.data.DataLoader`
:param int count: how many
"""


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        (GOOGLE, "count", int),
        (GOOGLE, "fraction", float),
        (GOOGLE, "masks", list[torch.Tensor]),
        (GOOGLE, "boxes", torch.Tensor),
        (NUMPY, "scores", torch.Tensor),
        (NUMPY, "labels", list[torch.Tensor]),
        (NUMPY, "verbose", bool),
        (SPHINX, "mask", torch.Tensor),
        (SPHINX, "batches", torch.utils.data.DataLoader),
    ],
)
def test_a_type_is_read(text: str, name: str, kind: Any) -> None:
    assert types_in(text)[name] == kind


@pytest.mark.parametrize("name", ["names", "boxes (all)", "the"])
def test_words_that_are_no_type_say_nothing(name: str) -> None:
    assert name not in types_in(GOOGLE)


def test_the_first_docstring_that_speaks_of_a_parameter_decides() -> None:
    assert types_in("x (int): a", None, "x (Tensor): b\ny (str): c") == {"x": int, "y": str}


SHAPED = """Match some points.

Args:
    left, right: points of both images with shape :math:`(B, N, 2)`.
    image (Tensor): an image of shape [*, 3, H, W],
        or several
    kernel: where to look.

    boxes (Tensor[N, 4]): the boxes
"""


def test_a_shape_is_read() -> None:
    assert shapes_in(SHAPED) == {
        "left": (2, 8, 2),
        "right": (2, 8, 2),
        "image": (3, 32, 32),
        "boxes": (8, 4),
    }
    assert shapes_in("No parameters at all.", None) == {}


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x shape must be [['N', '2', '2']].", (8, 2, 2)),
        ("Invalid input shape, we expect BxCxHxW.", (2, 3, 32, 32)),
        ("Input must have a shape of (*, 3, H, W).", (3, 32, 32)),
        ("shape mismatch (2 * n, 4)", ()),
        ("expected a tensor", ()),
    ],
)
def test_an_error_names_a_shape(text: str, shape: tuple[int, ...]) -> None:
    assert shape_said(text) == shape
