"""DEV304: made on the CPU only to be moved."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.facts import Facts, Hotness, Move
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.rewriting import (
    argument,
    in_file,
    is_path,
    move_target,
    parsed,
    short,
    takes_device,
    text_of,
    with_argument,
)
from devlint_rules.helpers.waiting import is_cold_file
from devlint_rules.helpers.wording import loop_note, may_be_accelerator

# These draw other numbers on an accelerator than on the host, from the same seed.
_RANDOM = ("rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli")
# These share memory with what they are given, or convert it: the transfer is the only copy of the
# tensor either way.
_SHARING = ("from_numpy", "as_tensor", "asarray", "frombuffer", "from_dlpack", "to_tensor")
# These have a twin that works beside another tensor: `x.new_zeros`.
_LIKE = ("zeros", "ones", "empty", "full", "tensor")
# These copy the data that they are given: the transfer is needed, only the host's copy is not.
_COPYING = re.compile(r"tensor|\w*Tensor")


def _is_filled(factory: cst.Call) -> bool:
    """Whether the values come from the factory itself, or are written out in the code."""
    if _COPYING.fullmatch(_name(factory)) is None:
        return True
    written = (cst.List, cst.Tuple, cst.BaseNumber, cst.UnaryOperation)
    return bool(factory.args) and isinstance(factory.args[0].value, written)


def _factory(move: Move) -> cst.Call | None:
    """The factory call that the move follows, where `device=` would have done instead."""
    if move.creation is None or move.discarded or move.subject.pinned:
        return None
    call = move.creation.node
    if not isinstance(call, cst.Call) or _name(call).removeprefix("pil_") in _SHARING:
        return None
    if isinstance(call.func, cst.Call):  # `ToTensor()(image)`
        return None
    if argument(call, "device") or argument(call, "generator") or argument(call, "pin_memory"):
        return None
    return call if may_be_accelerator(move.target) else None


def _name(call: cst.Call) -> str:
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else short(func)


def _made_there(move: Move, factory: cst.Call) -> str | None:
    device = move_target(move.site.node)
    if device is None or move.creation is None or not takes_device(move.creation):
        return None
    if move.to_tensor:
        return _made_like(factory, device)
    return with_argument(factory, f"device={device}")


def _made_like(factory: cst.Call, other: str) -> str | None:
    """`torch.zeros(n).to(x)` takes the device and the dtype of `x`: `x.new_zeros(n)`."""
    if not is_path(other) or argument(factory, "dtype") or argument(factory, "requires_grad"):
        return None
    name, called = _name(factory), text_of(factory.func)
    if name in _LIKE and called.startswith("torch."):
        return text_of(factory.with_changes(func=parsed(f"{other}.new_{name}")))
    there = with_argument(factory, f"device={other}.device")
    call = parsed(there) if there is not None else None
    return with_argument(call, f"dtype={other}.dtype") if isinstance(call, cst.Call) else None


def _fix(facts: Facts, move: Move, factory: cst.Call) -> tuple[Replacement, ...]:
    call = move.site.node
    follows = isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    text = _made_there(move, factory)
    if not follows or text is None or not in_file(facts, move.site):
        return ()
    assert isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute)
    return (Replacement(move.site, text),) if call.func.value is factory else ()


def _confidence(move: Move, factory: cst.Call, hot: bool) -> Confidence:
    """Code that runs once may make its tensors as it likes."""
    hot = hot and (move.function is not None or (move.loop is not None and move.loop.trains))
    again = hot or bool(move.in_step) or (move.function is not None and not move.cold)
    filled = _is_filled(factory) or (move.subject.scalar and (hot or bool(move.in_step)))
    return Confidence.LIKELY if again and filled else Confidence.POSSIBLE


def _check(facts: Facts) -> Iterator[Claim]:
    for move in facts.moves:
        factory = _factory(move)
        if factory is None:
            continue
        text = _made_there(move, factory)
        hot = move.loop is not None and move.loop.hotness is Hotness.HOT
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            Confidence.POSSIBLE if is_cold_file(facts) else _confidence(move, factory, hot),
            f"`{short(factory)}` is made on the CPU only to be moved",
            advice=(
                f"make it there: `{text}`"
                if text is not None and "\n" not in text
                else "make it there: by a factory that is given `device=`"
            ),
            trace=(loop_note(move.loop),) if hot and move.loop is not None else (),
            fix=_fix(facts, move, factory),
            applicability=(
                Applicability.UNSAFE if _name(factory) in _RANDOM else Applicability.SAFE
            ),
        )


RULE = Rule(
    code="DEV304",
    name="create-then-move",
    severity=Severity.PERFORMANCE,
    summary="Made on the CPU only to be moved: pass `device=`.",
    what="""\
Reports a factory call whose result is moved at once: `torch.zeros(n).to(device)`, and what is
computed of such tensors alone and then moved: `torch.triu(torch.ones(n, n)).to(device)`. Copies
that cannot be avoided (`torch.from_numpy(a).to(device)`) are no finding.""",
    why="""\
The tensor is allocated and filled on the host, then allocated again and copied over the bus, which
from pageable memory makes the host wait. `device=` fills it where it is needed.""",
    reference="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    bad=(
        """\
import torch


def start(batch, width, device):
    return torch.zeros(batch, width).to(device)
""",
        """\
import torch

if torch.cuda.is_available():
    steps = torch.arange(100).cuda()
""",
        """\
import torch


def add_noise(x: torch.Tensor) -> torch.Tensor:
    noise = torch.randn(x.shape).to(x.device)
    return x + noise
""",
        """\
import torch


def causal_mask(length, device):
    mask = torch.triu(torch.ones(length, length), diagonal=1) == 1
    return mask.to(device)
""",
    ),
    good=(
        """\
import torch


def start(batch, width, device):
    return torch.zeros(batch, width, device=device)
""",
        """\
import numpy as np
import torch


def load(array: np.ndarray, device):
    return torch.from_numpy(array).to(device)
""",
        """\
import torch


def draw(shape, seed, device):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(device)  # the same numbers everywhere
""",
    ),
    check=_check,
    fix="""\
Passes the move's device to the factory and drops the move; beside another tensor, whose dtype
counts too, `torch.zeros(n).to(x)` becomes `x.new_zeros(n)`. Unsafe for random factories, which draw
other numbers on an accelerator from the same seed.""",
    twin="The guard sees the transfer of what was made on the host.",
    limits="""\
A tensor that gets a name before it is moved is reported where the next line moves it and nothing
else reads it (`x = x.to(device)`, `return x.to(device)`). What is computed with a value that may be
a tensor of somebody else's is not.""",
)
