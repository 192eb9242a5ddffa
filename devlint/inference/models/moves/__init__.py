"""Moves: `.to` in all its overloads, `.cuda`, `.cpu`, `.type`, `type_as`, and `Module.to`.

Its modules:

    targets: where a move goes
    in_place: a statement that moves something and does nothing else
    copies: which copies to the host wait
    sources: a move says where its source is not
    round_trips: moved away and back
    notes: what rules read of a move
    objects: moves of modules, and of objects that hold tensors
    tensors: moves of tensors, and of values that may be one
"""
