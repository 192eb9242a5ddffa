"""DEV403: a data-loading worker touches the accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, WorkerAccess
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume, assume_if


def _assumptions(access: WorkerAccess) -> Assumptions:
    """With workers in sight it fails; with none in sight it depends on who builds the loader. What
    is pinned fails in either case."""
    if access.pinned:
        return assume(
            AssumptionKind.CALL_REACHES_OPERATION,
            access.site,
            "what is brought there is a part of the batch",
        )
    unseen = access.workers == 0 or (access.chosen and not access.workers)
    return assume(
        AssumptionKind.WORKERS_RUN, access.site, "worker processes come here, and are forked"
    ) + assume_if(
        unseen, AssumptionKind.LOADER_HAS_WORKERS, access.site, "the DataLoader has workers"
    )


def _check(facts: Facts) -> Iterator[Claim]:
    for access in facts.worker_accesses:
        assumed = _assumptions(access)
        yield Claim(
            access.site,
            Severity.ERROR if access.pinned else Severity.WARNING,
            confidence_of(assumed),
            f"`{access.text}` in {access.where}: "
            + (
                "`pin_memory=True` refuses what is on an accelerator"
                if access.pinned
                else "in a worker process it touches the accelerator"
            ),
            advice=(
                "return host tensors, let the DataLoader pin them (`pin_memory=True`), and move "
                "the batch in the training loop"
            ),
            assumptions=assumed,
        )


RULE = Rule(
    code="DEV403",
    name="accelerator-in-worker",
    severity=Severity.WARNING,
    summary=("`Dataset.__getitem__`, `collate_fn` or a forked worker touches the accelerator."),
    what="""\
Reports moves to an accelerator, and tensors made there, in what a `DataLoader` runs in its worker
processes: `Dataset.__getitem__`, `IterableDataset.__iter__`, a `collate_fn`, a
`worker_init_fn`. That is an error where the DataLoader pins what its `collate_fn` makes.""",
    why="""\
CUDA cannot be used again in a forked process: with `num_workers > 0` the first access raises
`RuntimeError: Cannot re-initialize CUDA in forked subprocess`. PyTorch advises against returning
CUDA tensors from workers in any case, for the subtleties of sharing them. And
`pin_memory=True` takes tensors of the host alone, with workers or without: `RuntimeError: cannot
pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned`.""",
    reference="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
    bad=(
        """\
import torch
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(self.rows[index]).cuda()
""",
        """\
import torch
from torch.utils.data import DataLoader


def collate(samples):
    return torch.stack(samples).to("cuda")


def loader(dataset):
    return DataLoader(dataset, batch_size=4, num_workers=2, collate_fn=collate)
""",
        """\
import torch
from torch.utils.data import Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Noise(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return torch.randn(3, device=device)
""",
    ),
    good=(
        """\
import torch
from torch.utils.data import Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(self.rows[index])
""",
        """\
import torch
from torch.utils.data import DataLoader


def collate(samples):
    return torch.stack(samples)


def batches(dataset, device):
    for batch in DataLoader(dataset, num_workers=2, collate_fn=collate, pin_memory=True):
        yield batch.to(device, non_blocking=True)
""",
        """\
import torch


class Table:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return torch.tensor(self.rows[index]).cuda()  # no Dataset: nobody forks it
""",
    ),
    check=_check,
    twin="The guard sees a forked worker fail for its use of the accelerator.",
    limits="""\
With `num_workers=0`, or workers that are spawned, the access works: whoever builds the DataLoader
decides that. Where the DataLoaders in sight start no workers, or where the device is handed in or
asked for first (`if self.device.type == "cuda":`), it is a `possible` finding.""",
)
