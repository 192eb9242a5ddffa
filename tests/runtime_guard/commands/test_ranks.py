"""Several processes: ranks keep their own ledgers, rank 0 merges them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import warm_python

torch = pytest.importorskip("torch")

from runtime_guard.commands.ranks import merge_files, rank_file, write_evidence  # noqa: E402
from runtime_guard.core.sites import Site  # noqa: E402
from runtime_guard.recording.events import Event, Kind  # noqa: E402
from runtime_guard.recording.evidence import Evidence  # noqa: E402

ROOT = Path(__file__).parents[3]


def test_files_are_merged_and_say_their_rank(tmp_path):
    event = Event(Kind.MIXED, (Site("a.py", 3, 3, "f"),), "add", "Expected all tensors")
    files = [rank_file(str(tmp_path / "out.html"), number) for number in range(2)]
    assert files[1].endswith("out.rank1.json")
    for file in files:
        write_evidence(file, Evidence((event,), "virtual cuda:2"))
    merged = merge_files(files)
    assert [e.detail for e in merged.events] == [
        "[rank 0] Expected all tensors",
        "[rank 1] Expected all tensors",
    ]
    assert merged.devices == "rank 0: virtual cuda:2, rank 1: virtual cuda:2"


PROGRAM = """\
import json, os, sys
import torch
import torch.distributed as dist
from torch import nn
from runtime_guard import DeviceGuard, virtual_devices
from runtime_guard.recording.evidence import Evidence, evidence_to_json
from runtime_guard.commands.ranks import gather

dist.init_process_group("gloo")
rank = dist.get_rank()
with virtual_devices("cuda:2"), DeviceGuard() as guard:
    torch.cuda.set_device(rank)
    model = nn.Linear(4, 2).cuda()
    x = torch.rand(3, 4).to("cuda:0")  # the bug: right on rank 0 only
    try:
        model(x)
    except RuntimeError as error:
        assert rank == 1, error
    else:
        assert rank == 0
    flat = torch.ones(2)
    dist.all_reduce(flat)
    assert flat.tolist() == [2, 2]
    parallel = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    loss = parallel(torch.full((3, 4), float(rank), device=f"cuda:{rank}")).sum()
    loss.backward()
    assert model.weight.grad.device == torch.device("cuda", rank)
    assert model.weight.grad[0, 0] == 1.5, model.weight.grad
merged = gather(Evidence(tuple(guard.ledger), "virtual cuda:2"))
if rank == 0:
    with open(sys.argv[1], "w") as file:
        json.dump(evidence_to_json(merged), file)
del parallel
dist.barrier()
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # gloo's threads sometimes abort the interpreter's teardown, after all is said
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")
@pytest.mark.skipif(not torch.distributed.is_available(), reason="no torch.distributed")
def test_two_ranks_with_gloo_find_a_bug_that_only_rank_1_has(tmp_path, monkeypatch):
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run = warm_python.run(
        [
            sys.executable,
            *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
            *("train.py", "merged.json"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    merged = json.loads((tmp_path / "merged.json").read_text())
    bugs = [event for event in merged["events"] if event["kind"] == "mixed-device"]
    assert len(bugs) == 1
    assert bugs[0]["detail"].startswith("[rank 1] Expected all tensors to be on the same device")
    assert (bugs[0]["stack"][0]["line"], {bugs[0]["source"], bugs[0]["target"]}) == (
        16,
        {"cuda:0", "cuda:1"},
    )
