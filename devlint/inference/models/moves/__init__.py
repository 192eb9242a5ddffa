"""Moves: `.to` in all its overloads, `.cuda`, `.cpu`, `.type`, `type_as`, and `Module.to`.

Its modules:

    targets: where a move goes
    in_place: a statement that moves something and does nothing else
    copies: which copies to the host wait
    notes: what rules read of a move, and of one away and back
    objects: moves of modules, and of objects that hold tensors
    tensors: moves of tensors, and of values that may be one, which say where their source is not
"""
