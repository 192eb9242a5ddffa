"""DEV205: a module keeps a tensor as a plain attribute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import libcst as cst

from devlint.findings import Applicability, Confidence, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.domain.placement import Device
from devlint.inference.facts import Facts, Meeting, PlainAttribute, Site, StepKind
from devlint.inference.syntax.text import every, names_in
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume, assume_if, called
from devlint_rules.helpers.attributes import assignment, attribute_trace
from devlint_rules.helpers.blocks import path_to
from devlint_rules.helpers.causes import is_unregistered, uses_of
from devlint_rules.helpers.rewrites import argument, move_target, moves_to_host, text_of
from devlint_rules.helpers.wording import is_host


def _fix(facts: Facts, fact: PlainAttribute) -> tuple[Replacement, ...]:
    """`self.pe = value` becomes `self.register_buffer("pe", value, persistent=False)`."""
    statement = assignment(facts, fact)
    if statement is None or fact.method != "__init__" or fact.operand.is_parameter:
        return ()
    if _meets_host(facts, fact):
        return ()
    if fact.in_container or fact.is_trained:
        return ()
    if isinstance(statement.value, (cst.List, cst.ListComp, cst.Dict, cst.DictComp, cst.Tuple)):
        return ()  # a container of tensors is no buffer
    value = text_of(statement.value)
    call = f'self.register_buffer("{fact.attribute}", {value}, persistent=False)'
    return (Replacement(Site(facts.source, statement), call),)


def _advice(facts: Facts, fact: PlainAttribute) -> str:
    if fact.operand.is_parameter and not fact.is_computed:
        return "keep parameters in an `nn.ParameterList` or `nn.ParameterDict`"
    if fact.is_trained and fact.is_computed:
        return (
            "compute it where it is used: kept from the constructor, it has the values and the "
            "device that the parameter had there"
        )
    if fact.is_trained:
        kind = "ParameterList" if fact.in_container else "Parameter"
        return (
            f"register what is trained: `self.{fact.attribute} = nn.{kind}(…)`; what an optimizer "
            "gets besides has to be made on the module's device"
        )
    if fact.in_container:
        each = f'self.register_buffer("{fact.attribute}_0", …)'
        return (
            f"a list is no buffer: register each tensor of it by a name (`{each}`), or move it at "
            "its use"
        )
    if _meets_host(facts, fact):
        return (
            f"bring it to what it meets, at each use: `self.{fact.attribute}.to(….device)`; some "
            "of that was copied to the host, where a buffer would not follow"
        )
    later = ""
    if fact.is_late:
        later = (
            f"; `{fact.method}` may run once the module was moved: make it where that is by then, "
            "`device=next(self.parameters()).device`"
        )
    return (
        f'register it: `self.register_buffer("{fact.attribute}", …)`; '
        f"`persistent=False` keeps it out of the state_dict{later}"
    )


def _meets_host(facts: Facts, fact: PlainAttribute) -> bool:
    """A method that copies something to the host has it and the attribute in one statement:
    `self.weight = self.weight.cpu()`, and then `self.weight >> self.shifts`."""
    if "cpu" not in facts.source.text:
        return False
    around = path_to(facts.source.tree, fact.site.node)
    info = next((step for step in around if isinstance(step, cst.ClassDef)), None)
    return f"self.{fact.attribute}" in _beside_copies(facts.source.tree).get(info, ())


@lru_cache(maxsize=1)  # the file under check
def _beside_copies(tree: cst.Module) -> dict[cst.ClassDef | None, set[str]]:
    """By class: what its methods have in one statement with a copy on the host."""
    found: dict[cst.ClassDef | None, set[str]] = {}
    for info in every(tree, cst.ClassDef):
        for method in info.body.body:
            copied = _copied_to_host(method) if isinstance(method, cst.FunctionDef) else set()
            for line in every(method, cst.SimpleStatementLine) if copied else ():
                names = {*_paths_in(line)}
                if not copied.isdisjoint(names):
                    found.setdefault(info, set()).update(names - copied)
    return found


def _paths_in(node: cst.CSTNode) -> Iterator[str]:
    """`x` and `self.y` of `x + self.y.view(3)`."""
    for name in names_in(node):
        yield ".".join(name.split(".")[: 2 if name.startswith("self.") else 1])


def _copied_to_host(method: cst.FunctionDef) -> set[str]:
    """The names that a method binds to copies on the host."""
    return {
        text_of(target.target)
        for each in every(method.body, cst.Assign)
        if moves_to_host(each.value)
        for target in each.targets
    }


def _is_put_by_setting(facts: Facts, fact: PlainAttribute) -> bool:
    """`torch.eye(n).to(self.device)`, `torch.ones(3, device=args.device)`, or a global of the file:
    the object goes by a setting, as whoever moves its module does."""
    nodes = [step.site.node for step in fact.operand.steps]
    given = [argument(node, "device") for node in nodes if isinstance(node, cst.Call)]
    told = [move_target(node) or "" for node in nodes]
    told += [text_of(each.value) for each in given if each is not None]
    names = _globals_of(facts.source.tree)
    return any(text in names or _SETTING.fullmatch(text) is not None for text in told)


_SETTING = re.compile(r"(?!torch\b)\w+(\.\w+)+")


@lru_cache(maxsize=1)  # the file under check
def _globals_of(tree: cst.Module) -> frozenset[str]:
    """The names that the statements of a file itself bind."""
    lines = (each for each in tree.body if isinstance(each, cst.SimpleStatementLine))
    bound = (small for line in lines for small in line.body if isinstance(small, cst.Assign))
    return frozenset(text_of(target.target) for each in bound for target in each.targets)


def _is_put_on_current_card(facts: Facts, fact: PlainAttribute) -> bool:
    """`torch.ones(3).cuda()`, whatever a condition or a setting says: the constructor is for CUDA,
    and so is where its module goes."""
    put = [s.site.node for s in fact.operand.steps if s.kind is not StepKind.REGISTERED]
    guarded = {move.site.node for move in facts.moves if move.guarded}
    placement = fact.operand.placement
    is_current = isinstance(placement, Device) and placement.index is None
    return is_current and guarded.isdisjoint(put) and any(_names_cuda(facts, each) for each in put)


def _names_cuda(facts: Facts, node: cst.CSTNode) -> bool:
    """`x.cuda()`, `x.to("cuda")`, or `x.to(self.device)` below `self.device = "cuda"`."""
    target = move_target(node)
    if target is None:
        return isinstance(node, cst.Call) and "cuda" in text_of(node)
    if target.strip("\"'") == "cuda":
        return True
    return target in _names_of_cuda(facts.source.tree)


@lru_cache(maxsize=1)  # the file under check
def _names_of_cuda(tree: cst.Module) -> frozenset[str]:
    """The names that a file binds to `"cuda"`."""
    return frozenset(
        text_of(target.target)
        for each in every(tree, cst.Assign)
        if isinstance(each.value, cst.SimpleString) and each.value.evaluated_value == "cuda"
        for target in each.targets
    )


def _assumptions(fact: PlainAttribute, uses: Sequence[Meeting], is_shown: bool) -> Assumptions:
    """A meeting shows it; else the module has to be moved, and the tensor to be needed there."""
    if uses and (fact.was_given or uses[0].confidence is Confidence.CERTAIN):
        return uses[0].assumptions
    message = f"`{fact.class_name}` is moved, and then uses `self.{fact.attribute}`"
    meets = f"`self.{fact.attribute}` meets what is on the module's device"
    return assume(AssumptionKind.MODULE_IS_MOVED, fact.site, message) + assume_if(
        not is_shown, AssumptionKind.ATTRIBUTE_MEETS_DEVICE, fact.site, meets
    )


def _check(facts: Facts) -> Iterator[Claim]:
    parameters = {n.use_site.node for n in facts.non_leaves if n.use == "attribute" and n.use_site}
    for fact in facts.plain_attributes:
        if fact.site.node in parameters:
            continue  # a parameter moved before it was kept: DEV203 says so
        if not is_unregistered(fact):
            continue
        placement = fact.operand.placement
        fixed = isinstance(placement, Device) and placement.is_accelerator
        met = fact.used_at is not None
        uses = uses_of(facts, fact)
        seen = fixed or fact.read_at is not None
        is_shown = met or bool(uses) or (seen and not _is_put_by_setting(facts, fact))
        if not (is_shown or seen or fact.operand.by_default or is_host(placement)):
            continue
        if fact.was_given and not uses:
            continue  # nothing says that it was made on the host, or that it is to follow
        assumed = _assumptions(fact, uses, is_shown)
        assumed += assume_if(
            bool(fact.switch),
            AssumptionKind.KEPT_VALUE_IS_OF_BRANCH,
            fact.site,
            f"`{fact.switch}`, without which `self.{fact.attribute}` is neither made nor used, is "
            "on",
        )
        assumed += assume_if(
            fixed and not met and _is_put_on_current_card(facts, fact),
            AssumptionKind.CUDA_CODE_RUNS_ELSEWHERE,
            fact.site,
            f"`{fact.class_name}` is also on another device than the current card",
        )
        assumed += called(facts, fact.site) + assume_if(
            fact.in_host_script,
            AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR,
            fact.site,
            f"the script, which names no accelerator, moves its `{fact.class_name}` to one",
        )
        yield Claim(
            fact.site,
            Severity.ERROR if met and not fact.was_given else Severity.WARNING,
            confidence_of(assumed),
            f"`self.{fact.attribute}` is a plain tensor attribute of `{fact.class_name}`: "
            "`Module.to` and `state_dict` pass it by",
            advice=_advice(facts, fact),
            trace=attribute_trace(fact, [use.site for use in uses]),
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            given=fact.given or (uses[0].given if uses else None),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV205",
    name="unregistered-tensor",
    severity=Severity.ERROR,
    summary=("A module keeps a tensor as a plain attribute: `.to()` and `state_dict` pass it by."),
    what="""\
Reports a tensor that an `nn.Module` keeps under a plain attribute (or in a plain list or dict). It
is an error where a method brings it together with the module's parameters or with an input, and a
warning where no such use was seen, or only one beside a value of which no more is known, or where
the constructor was given the tensor or the device that it is on.""",
    why="""\
`Module.to`, `cuda`, `state_dict` and `DataParallel` see only parameters, buffers and submodules. A
plain attribute stays on the device where it was made, so that `forward` raises as soon as the
module lives on an accelerator.""",
    reference=(
        "https://docs.pytorch.org/docs/stable/generated/"
        "torch.nn.Module.html#torch.nn.Module.register_buffer"
    ),
    bad=(
        """\
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.485, 0.456, 0.406])

    def forward(self, image):
        return image - self.mean.view(1, 3, 1, 1)
""",
        """\
import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.embed = nn.Embedding(length, dim)
        self.index = torch.arange(length)

    def forward(self, x):
        return x + self.embed(self.index)
""",
        """\
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weights = torch.full((width,), 1.0 / width)

    def forward(self, experts: torch.Tensor) -> torch.Tensor:
        return experts @ self.weights
""",
        """\
import torch
import torch.nn.functional as F
from torch import nn


class Sharpen(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.kernel = torch.full((1, 1, 3, 3), -1.0, device=device)

    def forward(self, image):
        return F.conv2d(image, self.kernel, padding=1)
""",
    ),
    good=(
        """\
import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))

    def forward(self, image):
        return image - self.mean.view(1, 3, 1, 1)
""",
        """\
import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, length, dim):
        super().__init__()
        self.embed = nn.Embedding(length, dim)
        self.register_buffer("index", torch.arange(length), persistent=False)

    def forward(self, x):
        return x + self.embed(self.index)
""",
        """\
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weights = torch.full((width,), 1.0 / width)

    def forward(self, experts: torch.Tensor) -> torch.Tensor:
        return experts @ self.weights.to(experts.device)
""",
    ),
    check=_check,
    fix="""\
`self.register_buffer("mean", …, persistent=False)`. Unsafe: without `persistent=False` it changes
the `state_dict`, and with it an old checkpoint that kept the value some other way does not fill
it. None for a list or dict of tensors, since a buffer is one tensor, nor outside of `__init__`.""",
    twin="""\
After `Module.to` the guard looks for tensors in plain attributes that stayed where they were.""",
    limits="""\
An overridden `_apply` or `to` that may move it, or a `.to(x.device)` at the use, excuses the
attribute, and so does a helper that makes it on the accelerator behind a switch (`if USE_CUDA:`),
which moves the modules, too. A `to` that leaves the attribute alone does not. What each call
assigns before it reads it is no state of the module (where it meets what is elsewhere DEV102 says
so). One that begins empty, and whose length the class asks for before it uses what it put there
since, is a placeholder. What nothing in sight brings together with an input or with a part of the
module, host data that is kept on purpose perhaps, is a `possible` warning, unless it is fixed to a
card; so is what is put on the object's own device (`.to(self.device)`) and read beside values of
which no more is known.""",
)
