"""Device contracts: what a signature promises about where its tensors live.

    from typing import Annotated
    from devlint.contracts import On, SameDevice

    def attend(
        query: Annotated[Tensor, On("cuda")],
        mask: Annotated[Tensor, SameDevice("query")],
    ) -> Annotated[Tensor, SameDevice("query")]: ...

`devlint check` trusts them inside the function and checks them at its calls and returns; the
runtime guard checks them on real tensors. This module needs nothing but the standard library and
does nothing by itself. Code that is not to depend on devlint says the same in a comment, which
`parse_comment` reads: `# devlint: device[query=cuda, mask=same(query), return=same(query)]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ContractError", "On", "Requirement", "SameDevice", "parse_comment"]

ACCELERATOR = "accelerator"
RETURN = "return"
SELF = "self"

# The device types that torch.device() takes, and those that extensions rename it to.
DEVICE_TYPES = frozenset(
    {"cpu", "cuda", "mps", "xpu", "hpu", "mtia", "meta", "xla", "vulkan", "ipu", "maia"}
    | {"lazy", "npu", "mlu", "musa", "tpu", "privateuseone"}
)
_DEVICE = re.compile(r"([a-z]+)(?::(\d+))?\Z")
_NAME = re.compile(r"[^\W\d]\w*\Z")


class ContractError(ValueError):
    """A contract that can't be understood; the message says why."""


@dataclass(frozen=True, slots=True)
class On:
    """The tensor is on this device.

    `cuda` means any CUDA device, `cuda:1` that one, `accelerator` any device that is not the CPU.
    """

    device: str

    def __post_init__(self) -> None:
        _check_device(self.device)

    @property
    def type(self) -> str:
        """`cuda` of `cuda:1`."""
        return self.device.partition(":")[0]

    @property
    def index(self) -> int | None:
        """1 of `cuda:1`, None of `cuda`."""
        index = self.device.partition(":")[2]
        return int(index) if index else None

    def accepts(self, type: str, index: int | None) -> bool:
        """Whether a tensor on the device of this type and index keeps the contract."""
        if self.device == ACCELERATOR:
            return type not in ("cpu", "meta")
        return type == self.type and (self.index is None or self.index == (index or 0))

    def __str__(self) -> str:
        return f'On("{self.device}")'


@dataclass(frozen=True, slots=True, init=False)
class SameDevice:
    """The tensor is on the same device as these parameters; `self` are a module's own parameters.

    `SameDevice("x", "y")` and `SameDevice["x", "y"]` are the same.
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        if not names:
            raise ContractError("SameDevice() names no parameter")
        for name in names:
            if not isinstance(name, str) or not _NAME.match(name):
                raise ContractError(f"SameDevice: {name!r} is no name of a parameter")
        object.__setattr__(self, "names", names)

    def __class_getitem__(cls, names: str | tuple[str, ...]) -> SameDevice:
        return cls(*names) if isinstance(names, tuple) else cls(names)

    def __str__(self) -> str:
        return f"SameDevice({', '.join(repr(name) for name in self.names)})".replace("'", '"')


Requirement: TypeAlias = On | SameDevice


def requirement_in(metadata: Iterable[object]) -> Requirement | None:
    """The contract among the metadata of an `Annotated` type; the first, if there are several."""
    return next((each for each in metadata if isinstance(each, (On, SameDevice))), None)


# ----------------------------------------------------------------- comments

COMMENT = re.compile(r"#\s*devlint\s*:\s*device\b", re.IGNORECASE)
_WHOLE = re.compile(
    r"#\s*devlint\s*:\s*device\s*\[(?P<inside>[^\]#]*)\]\s*(?:(?:--|—|–)[^#]*)?(?=#|\Z)",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(?:(?P<name>[^\W\d]\w*)\s*=\s*)?(?P<what>[^=]+?)\s*\Z")
_SAME = re.compile(r"same\s*\((?P<names>[^()]*)\)\Z")


def is_contract_comment(text: str) -> bool:
    """Whether a comment is meant as a contract, well written or not."""
    return COMMENT.search(text) is not None


def parse_comment(text: str) -> Mapping[str, Requirement]:
    """The contracts of a comment by the names of parameters, `return` for the result.

    One without a name (`# devlint: device[cpu]`: of the value assigned or the parameter on that
    line) is under "". Raises ContractError for one that is not understood.
    """
    match = _WHOLE.search(text)
    if match is None:
        raise ContractError("write `# devlint: device[x=cuda, mask=same(x), return=cpu]`")
    found: dict[str, Requirement] = {}
    for part in _split(match["inside"]):
        entry = _ENTRY.match(part)
        if entry is None:
            raise ContractError(f"`{part}` is no contract: write `x=cuda` or `x=same(y)`")
        name = entry["name"] or ""
        if name in found:
            raise ContractError(f"`{name}` has two contracts" if name else "two contracts at once")
        found[name] = _requirement(entry["what"])
    if not found:
        raise ContractError("it names no device")
    return found


def _split(text: str) -> list[str]:
    """The parts between commas that are in no parentheses."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def _requirement(text: str) -> Requirement:
    same = _SAME.match(text)
    if same is None:
        return On(text)
    return SameDevice(*(name.strip() for name in same["names"].split(",") if name.strip()))


def _check_device(device: object) -> None:
    if not isinstance(device, str):
        raise ContractError(f"a device is named by a string, not by {device!r}")
    if device == ACCELERATOR:
        return
    match = _DEVICE.match(device)
    if match is None or match[1] not in DEVICE_TYPES:
        import difflib  # nothing is wrong with most names

        known = [*DEVICE_TYPES, ACCELERATOR]
        close = difflib.get_close_matches(device.partition(":")[0], known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ContractError(f"{device!r} is no device{hint}")
