"""DEV401: something that reads host memory gets a tensor of an accelerator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.placement import Variable, VariableKind, may_be_accelerator
from devlint.inference.facts import Facts, HostRead, Operand
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import called, put_aside
from devlint_rules.helpers.causes import input_read, reads
from devlint_rules.helpers.legacy_types import kind_of
from devlint_rules.helpers.rewrites import append_to, is_path, name_as_atom
from devlint_rules.helpers.scopes import is_bound
from devlint_rules.helpers.wording import HIDDEN, MAX_TWINS, and_more, history, place_of

# NumPy calls the method of the same name, with arguments that a tensor does not know.
_DELEGATING = re.compile(r"(np|numpy)\.(sum|prod|max|min|amax|amin|any|all|mean|std|var)")
_TO_HOST = ".detach().cpu()"


def _suffix(read: HostRead) -> str:
    return ".cpu()" if read.operand.name.endswith(".detach()") else _TO_HOST


def _dtype(read: HostRead) -> str:
    """The dtype of the legacy constructor that refuses the operand; nothing of another reader."""
    found = kind_of(read.sink)
    return found[1] if found is not None else ""


def _advice(read: HostRead, others: list[HostRead]) -> str:
    if _dtype(read):
        written = f"{name_as_atom(read.operand)}.to({_dtype(read)})"
        return f"convert it where it is: `{written}`"
    whole = input_read(read.operand)
    if whole and any(other.operand.name != read.operand.name for other in others):
        return f"copy `{whole}` to the host first: `{whole} = {whole}{_TO_HOST}`"
    name, suffix = read.operand.name, _suffix(read)
    if not read.of_list:
        return f"copy it to the host first: `{name_as_atom(read.operand)}{suffix}`"
    if not is_path(name):
        return f"copy the tensors in it to the host first, each with `{suffix}`"
    return f"copy what it holds to the host first: `[each{suffix} for each in {name}]`"


def _wants(read: HostRead) -> str:
    """What a sink does with its argument: some of NumPy call the method of the same name."""
    if _dtype(read):
        return "refuses a tensor that is not on the host"
    return "takes arrays of the host" if _DELEGATING.fullmatch(read.sink) else "reads host memory"


def _place(operand: Operand) -> str:
    """Where the operand is: for an input that is read as it is, its own device says nothing."""
    place = operand.placement
    if type(place) is Variable and place.kind is VariableKind.INPUT and place.name == operand.name:
        return "where the caller has it, perhaps on an accelerator"
    return f"on {place_of(operand)}"


def _fix(facts: Facts, reads_of_value: list[HostRead]) -> tuple[Replacement, ...]:
    """A copy to the host wherever the value is read, or none at all."""
    fixes = [_fix_of(facts, read) for read in reads_of_value]
    return tuple(each for fix in fixes for each in fix) if all(fixes) else ()


def _fix_of(facts: Facts, read: HostRead) -> tuple[Replacement, ...]:
    if read.of_list:
        return ()
    if not _dtype(read):
        return append_to(facts, read.operand, _suffix(read))
    if not is_bound(facts, "torch", read.site.node):
        return ()
    converted = append_to(facts, read.operand, f".to({_dtype(read)})")
    return tuple(Replacement(read.site, each.text) for each in converted)


def _check(facts: Facts) -> Iterator[Claim]:
    for read, *others in reads(facts):
        operand = read.operand
        if not may_be_accelerator(operand.placement):
            continue
        assumed = read.assumptions + called(facts, read.site) + put_aside(facts, read.site)
        is_legacy = any(_dtype(each) for each in (read, *others))
        places = [Note(o.site, f"`{o.sink}` reads it here, too") for o in others[:MAX_TWINS]]
        yield Claim(
            read.site,
            Severity.ERROR,
            confidence_of(assumed),
            f"`{read.sink}` {_wants(read)}, and `{operand.name}` is {_place(operand)}"
            f"{and_more(len(others))}{HIDDEN if read.caught else ''}",
            advice=_advice(read, others),
            trace=(*history(operand), *places),
            fix=_fix(facts, [read, *others]),
            # whether the host was meant with its type, only the author knows
            applicability=Applicability.UNSAFE if is_legacy else Applicability.SAFE,
            given=read.given,
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV401",
    name="numpy-on-accelerator",
    severity=Severity.ERROR,
    summary=(
        "`.numpy()`, a NumPy function, PIL or matplotlib gets a tensor that may be on an "
        "accelerator."
    ),
    what="""\
Reports `.numpy()`, `np.asarray`, NumPy functions and other readers of host memory (PIL, matplotlib,
scikit-learn, SciPy, OpenCV, pandas, the index of an array, a row or a slice of one that is filled)
on a tensor that lives on an accelerator, or where the module or the caller put it; and legacy
constructors, `torch.LongTensor(t)`, given one. One finding for each value, with all its reads.""",
    why="""\
NumPy shares the tensor's memory, which it cannot do with an accelerator's: PyTorch raises
`TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to
host memory first.` On the CPU the same line works. `torch.LongTensor(t)` gives the very tensor,
which it demands on the host: `TypeError: expected TensorOptions(dtype=long int, device=cpu, …`.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html",
    bad=(
        """\
import torch

scores = torch.rand(8, device="cuda")
array = scores.numpy()
""",
        """\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
samples = torch.randn(100).to(device)
middle = np.median(samples)
""",
        """\
import numpy as np
import torch
from torch import nn


def embed(model: nn.Module, images: torch.Tensor) -> np.ndarray:
    model.cuda()
    with torch.no_grad():
        features = model(images.cuda())
    return np.asarray(features)
""",
        """\
import torch


def rows(labels: torch.Tensor) -> torch.Tensor:
    found = [torch.where(labels == each)[0] for each in torch.unique(labels)]
    return torch.LongTensor(torch.cat(found)).to(labels.device)
""",
    ),
    good=(
        """\
import torch

scores = torch.rand(8, device="cuda")
array = scores.cpu().numpy()
""",
        """\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
samples = torch.randn(100).to(device)
middle = np.median(samples.detach().cpu().numpy())
""",
        """\
import torch

samples = torch.randn(100)
array = samples.numpy()
""",
    ),
    check=_check,
    fix="""\
Puts `.detach().cpu()` behind the tensor. On the CPU both do nothing. For a legacy constructor it
writes the conversion, `t.to(torch.int64)`, which stays where the tensor is: unsafe, as the type
names the host.""",
    twin="The guard sees PyTorch refuse to convert an accelerator's tensor.",
    limits="""\
What may be an array, `plt.imshow(image)` of an input, is told where a call hands in a tensor from
an accelerator, and nowhere else. A read of an input is only `possible` unless it is declared a
tensor (`x: torch.Tensor`: the function takes one from any device), the function minds devices, or
calls hand in a tensor from one, and so is one of a list that may hold arrays as well; what the
method of an unknown object returns is open, and so is what an object that was moved makes of a
text: pipelines mostly end on the host. What nothing in the project calls, and what was put aside by
its path, is only `possible`. Lengths for `pack_padded_sequence` that `forward` counts in its input
are where that is: `likely`; so is a gradient of what a caller hands in that goes to a plot or to
NumPy, and so are lengths that come with a batch, of which the method of a module reads other
entries, too. `.numpy(force=True)` copies by itself and is right.""",
)
