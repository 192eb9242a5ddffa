"""Batches of a tokenizer or processor out of sight: `tok(text, return_tensors="pt")`.

Whoever asks for tensors of PyTorch by this name has one of transformers, which makes them by
`torch.tensor`: on the host, or on the default device.
"""

from __future__ import annotations

import libcst as cst

from devlint.inference.domain.host import Const
from devlint.inference.domain.tensors import DEFAULT, LOADED, Tensor
from devlint.inference.domain.value import Value
from devlint.inference.models.library_functions import apply_call
from devlint.inference.program.frames import Frame
from devlint.inference.program.functions import Arguments
from devlint.inference.syntax.text import shorten

_TOKENIZER = "transformers.PreTrainedTokenizerBase"


def tokenized(frame: Frame, node: cst.Call, name: str, arguments: Arguments) -> Value | None:
    """The batch that a call gives, which is asked for tensors; None if it is not."""
    asked = arguments.keywords.get("return_tensors")
    if asked is None or type(asked[0]) is not Const or asked[0].value != "pt":
        return None
    if "device" in arguments.keywords:
        return None
    knowledge = frame.unit.context.knowledge
    knowledge.ensure("transformers")
    known = knowledge.method_of(_TOKENIZER, name) or knowledge.method_of(_TOKENIZER, "__call__")
    if known is None:
        return None
    batch = apply_call(frame, node, shorten(node.func), known, arguments)
    if type(batch) is Tensor:  # no factory could make it anywhere else
        return batch.with_place(batch.place, batch.origin, drop=DEFAULT, add=LOADED)
    return batch
