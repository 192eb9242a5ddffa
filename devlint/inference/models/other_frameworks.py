"""Values of other frameworks: what TensorFlow makes is no tensor of PyTorch's.

    rows = {"ids": tf.constant(ids)}
    start = self.model(rows)[0]  # a model of TensorFlow's, whatever else `self.model` may be
    start.numpy()                # no tensor on a card

A module of PyTorch's takes none of them, so what is called with one is none.
"""

from __future__ import annotations

from devlint.inference.conventions import holds
from devlint.inference.domain.containers import Mapping, Sequence
from devlint.inference.domain.host import External
from devlint.inference.domain.value import Value, alternatives
from devlint.inference.program.functions import Arguments


def is_of_other_framework(name: str) -> bool:
    """By its dotted name, the root of which is a framework: `tensorflow.constant`."""
    return holds("other-framework", name)


def takes_other_framework(arguments: Arguments) -> bool:
    """A call is given what another framework has made, or a container of such."""
    return any(_holds(value) for value, _ in arguments.all())


def _holds(value: Value, depth: int = 3) -> bool:
    if depth == 0:
        return False
    if type(value) is External:
        return is_of_other_framework(value.name)
    if type(value) is Sequence or type(value) is Mapping:
        return _holds(value.any(), depth - 1)
    return any(_holds(each, depth - 1) for each in alternatives(value) if each is not value)
