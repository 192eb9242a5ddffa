"""Noting where the code names an accelerator, and what is around it."""

from __future__ import annotations

import libcst as cst

from devlint.inference.collect import availability_guards
from devlint.inference.program.accelerator_notes import MentionNote, Mentions
from devlint.inference.program.frames import Frame
from devlint.inference.syntax.text import shorten


def note(
    frame: Frame, node: cst.CSTNode, kind: str, index: int | None = None, *, bare: bool = False
) -> MentionNote:
    """Note a mention: what else is known of it the caller adds."""
    notes = frame.unit.kept(Mentions).notes
    if isinstance(node, cst.Call):
        for argument in node.args:  # `.to(torch.device("cuda"))`: one mention
            inner = notes.pop(argument.value, None)
            if inner is not None and inner.kind != kind and kind != "legacy-type":
                notes[argument.value] = inner
    around = frame.control
    guarded = around.guarded or around.caught or availability_guards.is_asked(frame, node)
    guarded = guarded or (around.retold and kind != "load")  # it says itself what is missing
    noted = notes[node] = MentionNote(
        node, kind, shorten(node), index, guarded, frame.function, frame.in_module, bare
    )
    return noted
