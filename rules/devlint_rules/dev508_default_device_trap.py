"""DEV508: samplers, splits and workers under a default device that they were not made for."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import DefaultDeviceTrap, Facts, Trap
from devlint.rule import Claim, Note, Replacement, Rule
from devlint_rules.helpers.assumptions import assume
from devlint_rules.helpers.rewrites import add_argument, argument, in_file

_GENERATOR = "torch.Generator(torch.get_default_device())"
_RAISES = "draws on the default device, `{default}`, with a generator of the host, and raises"
_MESSAGES = {
    Trap.SHUFFLE: f"`{{text}}` with `shuffle=True` {_RAISES}",
    Trap.SAMPLER: f"`{{text}}` {_RAISES}",
    Trap.DISTRIBUTED: f"`{{text}}` shuffles: it {_RAISES}",
    Trap.SPLIT: f"`{{text}}` {_RAISES}",
    Trap.WORKER: "workers make tensors on the default device, `{default}`, which a forked process "
    "can't start",
}
_OWN = f"give it one of that device: `generator={_GENERATOR}`"
_ADVICE = {
    Trap.SHUFFLE: _OWN,
    Trap.SAMPLER: _OWN,
    Trap.SPLIT: _OWN,
    Trap.DISTRIBUTED: "it takes no generator: move batches with `.to(device)`, and set no default",
    Trap.WORKER: 'pass `device="cpu"` there, and move the batches in the loop',
}


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.default_device_traps:
        trace = (Note(fact.made, f"`{fact.text}` in the worker"),) if fact.made else ()
        assumed = assume(
            AssumptionKind.CALL_REACHES_OPERATION, fact.site, "this runs under that default device"
        )
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            _MESSAGES[fact.trap].format(text=fact.text, default=fact.default),
            advice=_ADVICE[fact.trap],
            trace=trace,
            fix=_fix(facts, fact),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _fix(facts: Facts, fact: DefaultDeviceTrap) -> tuple[Replacement, ...]:
    if fact.trap in (Trap.DISTRIBUTED, Trap.WORKER) or not in_file(facts, fact.site):
        return ()
    if argument(fact.site.node, "generator"):  # type: ignore[arg-type]
        return ()
    return add_argument(fact.site, f"generator={_GENERATOR}")


RULE = Rule(
    code="DEV508",
    name="default-device-trap",
    severity=Severity.ERROR,
    summary="A sampler, a split or a worker under a default device of an accelerator.",
    what="""\
Reports, where `torch.set_default_device("cuda")` or `torch.set_default_tensor_type(…)` has made an
accelerator the default, a `DataLoader` with `shuffle=True`, a `RandomSampler` or a `random_split`
without a generator of that device, a `DistributedSampler` that shuffles, and a `DataLoader` with
workers whose data set makes tensors.""",
    why="""\
The default device reaches what is not one's own code. `torch.utils.data` draws permutations with
`torch.randperm`, which makes them on the default device, and passes a generator of the host:
`RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'`. A worker that makes a
tensor starts CUDA in a forked process: `RuntimeError: Cannot re-initialize CUDA in forked
subprocess`. It does not reach everything, either: `torch.Tensor([…])`, `torch.from_numpy` and other
threads stay on the host, and what meets their tensors is DEV101.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html",
    bad=(
        """\
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda")
rows = TensorDataset(torch.ones(8, 2))
for (row,) in DataLoader(rows, batch_size=4, shuffle=True):
    print(row.sum())
""",
        """\
import torch
from torch.utils.data import TensorDataset, random_split

torch.set_default_device("cuda")
train, test = random_split(TensorDataset(torch.ones(8, 2)), [6, 2])
""",
        """\
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([index])


torch.set_default_device("cuda")
for batch in DataLoader(Numbers(), num_workers=2):
    print(batch)
""",
    ),
    good=(
        """\
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda")
rows = TensorDataset(torch.ones(8, 2))
generator = torch.Generator("cuda")
for (row,) in DataLoader(rows, batch_size=4, shuffle=True, generator=generator):
    print(row.sum())
""",
        """\
import torch
from torch.utils.data import DataLoader, TensorDataset

rows = TensorDataset(torch.ones(8, 2))
for (row,) in DataLoader(rows, batch_size=4, shuffle=True):
    print(row.cuda().sum())
""",
        """\
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([index], device="cpu")


torch.set_default_device("cuda")
for batch in DataLoader(Numbers(), num_workers=2):
    print(batch.cuda())
""",
    ),
    check=_check,
    fix="""\
Gives the loader, the sampler or the split a generator of the default device,
`torch.Generator(torch.get_default_device())`. It is an unsafe fix: other numbers are drawn, and
`torch.get_default_device` came with PyTorch 2.3.""",
    twin="""\
A run shows the generator on the wrong device, or the worker that touched the accelerator, where the
loader is iterated or the split is made.""",
    limits="""\
The default has to be set in the same file or by what it calls, and before. Data sets are looked at
as far as their own `__getitem__` goes; workers that are spawned are left out, as those have no
default device but the one that their modules set. The rule is in preview: 249 repositories gave
five findings (November 2026), all right, which is too few to tell.""",
    preview=True,
)
