"""The heap: containers live at addresses, and a state keeps what each holds now.

    batch = {"a": cpu}
    if flag:
        batch["a"] = cuda     # another content at the address, in the state of this branch
    else:
        batch["a"]            # still the one on the CPU

A container is an immutable snapshot of a content, and knows its address. Whoever writes to it puts
another snapshot at the address in the current state, which all names of the container see. A state
has no entry for a container that nobody has written to: its content is the one it was made with.
"""

from __future__ import annotations

from collections.abc import Callable

from devlint.inference.domain.containers import Address, Container
from devlint.inference.domain.value import MAX_DEPTH, Value, join, union

Find = Callable[[Address], Value | None]  # the content at an address, if another was put there


def current(value: Value, find: Find, depth: int = MAX_DEPTH) -> Value:
    """The value with the contents that it, and each part of it, has now."""
    if isinstance(value, Container):
        found = [content for content in map(find, value.addresses) if content is not None]
        if found and len(found) < len(value.addresses):
            found.append(value)
        if found:
            value = union(found) if len(found) > 1 else found[0]
    if not depth:
        return value
    return value.map(lambda part: current(part, find, depth - 1))


def latest(value: Value) -> Value:
    """The value with what functions that are done left in it, outside of any state."""
    return current(value, lambda address: address.left)


def written(base: Container, content: Container, find: Find) -> dict[Address, Value]:
    """The entries of a state in which a container holds this from now on. One that may be several
    holds it, or what it held before."""
    found: dict[Address, Value] = {}
    for address in base.addresses:
        if address.first is None:
            address.first = base
        if len(base.addresses) == 1:
            found[address] = content
        else:
            found[address] = join(find(address) or base, content)
    return found


def leave(address: Address, content: Value) -> None:
    """A function that is done left this at an address: others may find it there."""
    before = address.left or address.first
    address.left = content if before is None else join(before, content)
