"""DEV304: made on the CPU only to be moved."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.conventions import holds
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import may_be_accelerator
from devlint.inference.facts import DataCopy, DataKind, Facts, Hotness, Move
from devlint.inference.syntax.text import every
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume_if, time_matters, warm_code
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.causes import habits
from devlint_rules.helpers.compiled import UNCOMPILED, is_compiled
from devlint_rules.helpers.legacy_types import meaning, of_sizes
from devlint_rules.helpers.queues import Counted
from devlint_rules.helpers.repetition import (
    goes_through_host,
    is_copied_each_step,
    is_kept_for_later,
    is_set_up,
    serves_a_loop,
    stands_for_nothing,
)
from devlint_rules.helpers.rewrites import (
    argument,
    in_file,
    is_path,
    move_target,
    parsed,
    receiver,
    short,
    takes_device,
    text_of,
    with_argument,
)
from devlint_rules.helpers.scopes import function_around
from devlint_rules.helpers.sizes import makes_few
from devlint_rules.helpers.sync_costs import busy_at, repeated
from devlint_rules.helpers.wording import loop_note

# These draw other numbers on an accelerator than on the host, from the same seed.
_RANDOM = ("rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli")
# These share memory with what they are given, or convert it: the transfer is the only copy of the
# tensor either way.
_SHARING = ("from_numpy", "as_tensor", "asarray", "frombuffer", "from_dlpack", "to_tensor")
# These have a twin that works beside another tensor: `x.new_zeros`.
_LIKE = ("zeros", "ones", "empty", "full")
# These copy Python's data, which is on the host: only the tensor in between is saved.
_COPYING = re.compile(r"tensor|\w*Tensor")
# What these return is one number.
_NUMBERS = frozenset({"float", "int", "bool", "len"})
# With these it is made there already, or has to be made on the host.
_TIED = ("device", "generator", "pin_memory")
_CONTAINERS = (cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.GeneratorExp)


def _is_written(factory: cst.Call) -> bool:
    """The data are written out in the code: `torch.tensor([0.1, 0.2])`."""
    return bool(factory.args) and isinstance(factory.args[0].value, (cst.List, cst.Tuple))


def _factory(move: Move) -> cst.Call | None:
    """The factory call that the move follows, where `device=` would have done instead."""
    if move.creation is None or move.discarded or move.subject.pinned or _is_data(move):
        return None
    call = move.creation.node
    if not isinstance(call, cst.Call) or _name(call).removeprefix("pil_") in _SHARING:
        return None
    legacy = meaning(call.func)
    if legacy is not None and legacy[0] != "cpu":
        return None
    copies = _COPYING.fullmatch(_name(call)) and of_sizes(call) is None
    if copies and (move.apart or not (_is_written(call) or _is_number(move, call))):
        return None
    if isinstance(call.func, cst.Call):  # `ToTensor()(image)`
        return None
    if any(argument(call, name) for name in _TIED):
        return None
    grad = argument(call, "requires_grad")
    if grad is not None and text_of(grad.value) != "False":
        return None  # moved, it is no leaf; made there it is one, which nobody may write to
    return call if may_be_accelerator(move.target) else None


def _name(call: cst.Call) -> str:
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else short(func)


def _is_number(move: Move, factory: cst.Call) -> bool:
    """A number that is written out, or that a name may hold."""
    return _is_literal(factory) or (_number(factory) is not None and move.subject.scalar)


def _is_literal(factory: cst.Call) -> bool:
    return isinstance(_number(factory), (cst.BaseNumber, cst.UnaryOperation))


def _number(factory: cst.Call) -> cst.BaseExpression | None:
    """`v` of `torch.tensor(v)`, where it is no list: a kernel can fill that in."""
    if text_of(factory.func).rpartition(".")[2] != "tensor" or not factory.args:
        return None
    first, *others = factory.args
    value = first.value
    keywords = all(arg.keyword is not None for arg in others)
    is_one = not isinstance(value, _CONTAINERS) and not first.star and first.keyword is None
    return value if keywords and is_one else None


def _is_surely_number(value: cst.BaseExpression) -> bool:
    """`0.5`, `float(coefficient)`, `2 * len(batch)`: no name, which may hold an array."""
    if isinstance(value, cst.BinaryOperation):
        return _is_surely_number(value.left) and _is_surely_number(value.right)
    if isinstance(value, cst.UnaryOperation):
        return _is_surely_number(value.expression)
    if isinstance(value, cst.Call):
        return text_of(value.func) in _NUMBERS
    return isinstance(value, cst.BaseNumber)


def _made_there(move: Move, factory: cst.Call) -> str | None:
    device = move_target(move.site.node)
    legacy = of_sizes(factory)
    if legacy is not None:
        there = parsed(legacy)
        assert isinstance(there, cst.Call)
        if device is None or move.to_tensor:
            return None
        return with_argument(there, f"device={device}")
    if device is None or move.creation is None or not takes_device(move.subject, move.creation):
        return None
    if move.to_tensor and not holds("device-name", device.rpartition(".")[2]):
        return _made_like(factory, device)
    number = _number(factory)
    if number is not None and _is_surely_number(number):
        factory = _filled(factory)
    return with_argument(factory, f"device={device}")


def _filled(factory: cst.Call) -> cst.Call:
    """`torch.full((), v)` for `torch.tensor(v)`."""
    called = text_of(factory.func)
    text = text_of(factory).replace(f"{called}(", f"{called.removesuffix('tensor')}full((), ", 1)
    call = parsed(text)
    assert isinstance(call, cst.Call)
    return call


def _told(move: Move, factory: cst.Call) -> str | None:
    """The factory where the tensor is needed, for a reader: a dtype of the move goes along."""
    text, call = _made_there(move, factory), move.site.node
    if text is not None or move.creation is None or not takes_device(move.subject, move.creation):
        return text
    if move.method == "type_as" and isinstance(call, cst.Call) and len(call.args) == 1:
        return _made_like(factory, text_of(call.args[0].value))
    given = list(_asked_for(call)) if isinstance(call, cst.Call) else []
    made: cst.BaseExpression = factory
    for name, value in given:
        text = with_argument(made, f"{name}={value}") if isinstance(made, cst.Call) else None
        if text is None or argument(factory, name):
            return None
        made = parsed(text)
    return text


def _told_behind_condition(facts: Facts, move: Move, factory: cst.Call) -> str | None:
    """The factory where it stands, ahead of the condition that moves its result: `device=x.device`
    for `if x.is_cuda: mask = mask.cuda()`. None where the condition names no tensor."""
    around = path_to(facts.source.tree, move.site.node)
    tests = (step.test for step in around if isinstance(step, cst.If))
    asked = [a for test in tests for a in every(test, cst.Attribute) if a.attr.value == "is_cuda"]
    if not asked or move.creation is None or not takes_device(move.subject, move.creation):
        return None
    return with_argument(factory, f"device={text_of(asked[0].value)}.device")


def _asked_for(call: cst.Call) -> Iterator[tuple[str, str]]:
    """`device=` and `dtype=` of `.to(device, dtype)`; nothing where something else is asked for."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "to":
        return
    names = iter(("device", "dtype"))
    given = {arg.keyword.value if arg.keyword else next(names, ""): arg for arg in call.args}
    given.pop("non_blocking", None)
    if set(given) == {"device", "dtype"} and not any(arg.star for arg in given.values()):
        yield from ((name, text_of(given[name].value)) for name in ("device", "dtype"))


def _made_like(factory: cst.Call, other: str) -> str | None:
    """`torch.zeros(n).to(x)` takes the device and the dtype of `x`: `x.new_zeros(n)`."""
    if not is_path(other) or argument(factory, "dtype") or argument(factory, "requires_grad"):
        return None
    name, called = _name(factory), text_of(factory.func)
    number = _number(factory) if len(factory.args) == 1 else None
    if number is not None:
        is_zero = isinstance(number, cst.BaseNumber) and not float(text_of(number) or 1)
        return f"{other}.new_zeros(())" if is_zero else f"{other}.new_full((), {text_of(number)})"
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


def _assumptions(facts: Facts, move: Move, factory: cst.Call, hot: bool) -> Assumptions:
    """Code that runs once may make its tensors as it likes."""
    site = move.site
    trains = move.loop is not None and move.loop.trains
    hot = hot and (move.function is not None or trains)
    runs = hot or move.in_step or move.function is not None
    copies = _COPYING.fullmatch(_name(factory)) and of_sizes(factory) is None
    written = copies and not _is_literal(factory)
    often = hot or bool(move.in_step)
    once = (not often and _is_paid_once(facts, move, factory)) or stands_for_nothing(
        facts, site.node
    )
    few = makes_few(facts, factory)
    once = once or (few and _is_in_evaluation(move))
    on_host = not trains and goes_through_host(facts, move.loop)
    return (
        time_matters(facts, site)
        + warm_code(on_host, site, "the loop has to be quick, though it works on the host as well")
        + warm_code(bool(written) and not hot, site, "the copy of what Python holds is worth it")
        + assume_if(
            bool(written) and _is_changing(factory),
            AssumptionKind.HOST_CAN_DO_WITHOUT,
            site,
            "what Python holds can be made on the device",
        )
        + busy_at(
            facts,
            site,
            repeated(move.loop, move.function),
            Counted.ANY if few else Counted.NEEDED,
            sized=_is_number(move, factory),
        )
        + warm_code(
            not runs or once or move.cold or (move.apart and not often),
            site,
            "what runs once or seldom has to be quick, too",
        )
    )


def _is_paid_once(facts: Facts, move: Move, factory: cst.Call) -> bool:
    """What it is made for uses it again and again; a block is more to make than a loop may hide,
    where that trains."""
    node = move.site.node
    if is_set_up(facts, node) or is_kept_for_later(facts, node):
        return True
    return (move.evaluates or makes_few(facts, factory)) and serves_a_loop(facts, node)


def _is_in_evaluation(move: Move) -> bool:
    """Each turn of a loop that evaluates makes it: next to a whole pass a few numbers are cheap."""
    trains = move.loop is not None and move.loop.trains
    return move.evaluates and move.loop is not None and not (trains or move.in_step)


def _is_changing(factory: cst.Call) -> bool:
    """`torch.LongTensor([t])`: each call copies what Python has then, with `device=` as well."""
    data = factory.args[0].value
    return isinstance(data, (cst.List, cst.Tuple)) and next(every(data, cst.Name), None) is not None


def _is_data(move: Move) -> bool:
    """Random numbers that are moved as they are, under a name, mostly stand for data."""
    moved = receiver(move.site.node)
    made = move.creation.node if move.creation is not None else None
    is_random = isinstance(made, cst.Call) and _name(made) in _RANDOM
    return move.apart and is_random and isinstance(moved, cst.Name)


def _is_filled(copy: DataCopy) -> bool:
    """One number that a function copies to where its input is, or in every turn of a hot loop."""
    hot = copy.loop is not None and copy.loop.hotness is Hotness.HOT
    runs_often = bool(copy.in_step) or hot or (copy.of_tensor and copy.function is not None)
    is_one = copy.kind is DataKind.NUMBER and may_be_accelerator(copy.target)
    return is_one and runs_often and not copy.cold


def _of_numbers(facts: Facts) -> Iterator[Claim]:
    """`torch.tensor(1.0, device=x.device)` makes it on the CPU all the same."""
    for copy in facts.data_copies:
        if not _is_filled(copy):
            continue
        node = copy.site.node
        assert isinstance(node, cst.Call)
        filled = _filled(node) if _name(node) == "tensor" else None
        in_one_line = filled is not None and "\n" not in text_of(filled)
        message = "one copy less is worth it where others are made beside it"
        assumed = (
            time_matters(facts, copy.site)
            + warm_code(_copies_others(facts, node), copy.site, message)
            + warm_code(is_compiled(facts, node), copy.site, UNCOMPILED)
            + busy_at(facts, copy.site, repeated(copy.loop, copy.function), Counted.ANY, sized=True)
        )
        yield Claim(
            copy.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{short(node)}` copies a number from the host, and the host waits for the copy",
            advice="let a kernel fill it in"
            + (f": `{text_of(filled)}`" if filled is not None and in_one_line else ""),
            assumptions=assumed,
        )


def _copies_others(facts: Facts, number: cst.Call) -> bool:
    """The function copies what Python holds to a device in any case, and waits for that:
    `torch.tensor(labels, device=x.device)`."""
    function = function_around(facts, number)
    unchanging = {copy.site.node for copy in facts.data_copies}  # which can be avoided, too
    return any(
        call not in unchanging
        and argument(call, "device") is not None
        and _COPYING.fullmatch(_name(call)) is not None
        and not _is_literal(call)
        for call in (every(function, cst.Call) if function is not None else ())
    )


def _advice(facts: Facts, move: Move, text: str | None) -> str:
    """Where several statements make it, several factories may have part in it."""
    if (move.apart or move.subject.mixed) and move.creation is not None:
        maker = function_around(facts, move.creation.node)
        outside = maker is not function_around(facts, move.site.node)
        name = maker.name.value if outside and isinstance(maker, cst.FunctionDef) else ""
        given = f"let `{name}` take the device, and pass" if name else "make it there: pass"
        return f"{given} `device=` to each factory that it comes of"
    if text is not None and (flat := _on_one_line(text)) is not None:
        return f"make it there: `{flat}`"
    return "make it there: by a factory that is given `device=`"


_LONGEST = 120


def _on_one_line(text: str) -> str | None:
    """Code of several lines on one; None where a comment ends a line of it, or it gets long."""
    if "\n" not in text:
        return text
    flat = " ".join(text.split()).replace("( ", "(").replace(", )", ")").replace(" )", ")")
    is_plain = "#" not in text and "\\" not in text and len(flat) <= _LONGEST
    return flat if is_plain else None


def _of_moves(facts: Facts) -> Iterator[Claim]:
    copied = {id(c.site.node) for c in facts.data_copies if is_copied_each_step(c)}  # DEV301's
    for move in facts.moves:
        factory = _factory(move)
        if factory is None or id(move.site.node) in copied:
            continue
        ahead = move.guarded and factory not in every(move.site.node, cst.Call)
        text = _told_behind_condition(facts, move, factory) if ahead else _told(move, factory)
        hot = move.loop is not None and move.loop.hotness is Hotness.HOT
        assumed = _assumptions(facts, move, factory, hot)
        yield Claim(
            move.site,
            Severity.PERFORMANCE,
            confidence_of(assumed),
            f"`{short(factory)}` is made on the CPU only to be moved",
            advice=_advice(facts, move, text),
            trace=(
                *((Note(move.creation, "made here"),) if move.apart and move.creation else ()),
                *((loop_note(move.loop),) if hot and move.loop is not None else ()),
            ),
            fix=_fix(facts, move, factory),
            applicability=(
                Applicability.UNSAFE if _name(factory) in _RANDOM else Applicability.SAFE
            ),
            assumptions=assumed,
        )


def _check(facts: Facts) -> Iterator[Claim]:
    yield from habits(facts, _of_numbers(facts))
    yield from habits(facts, _of_moves(facts))


RULE = Rule(
    code="DEV304",
    name="create-then-move",
    severity=Severity.PERFORMANCE,
    summary="Made on the CPU only to be moved: pass `device=`.",
    what="""\
Reports a factory call whose result is moved at once: `torch.zeros(n).to(device)`, and what is
computed of such tensors alone and then moved: `torch.triu(torch.ones(n, n)).to(device)`. It may
come by way of names, if all that reads them leads to moves to one device, and out of a function of
the file that makes all that it returns. Copies
that cannot be avoided are no finding: `torch.from_numpy(a).to(device)`, and a list that a name
holds, of which `torch.tensor(xs, device=device)` makes the same copies. One number a kernel can
fill in, `torch.full((), value, device=device)`, so it is reported with `device=`, too, where a
function does so for each input: `torch.tensor(1.0, device=x.device)`. One finding for each
function, with all places in its trace.""",
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
        """\
import torch


def invert(image: torch.Tensor) -> torch.Tensor:
    one = torch.tensor(1.0, device=image.device)
    return one - image
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
else reads it (`x = x.to(device)`, `return x.to(device)`); with other lines in between only in what
runs once per step or in a hot loop, and not where it is filled element by element, or random
numbers are moved as they are, which mostly stand for data. What is computed with a value that may
be a tensor of somebody else's is not. Python data that are written out are `possible` only outside
of a hot loop, but for one number, unless the function copies other data beside it. So is what a
script's function makes before its loops, and what a loop makes that works on the host in each
turn; a few numbers, one for each row of a batch at most, right beside any other wait, before a loop
that they serve, or in a loop that evaluates; and what an object keeps for later. So is one number
beside an operation whose result is as large as the values say, or in a function that is compiled,
where it is a fill kernel.""",
)
