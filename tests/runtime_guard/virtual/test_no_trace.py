"""After the block torch is what it was: the very same objects, whatever happened inside."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import warm_python

torch = pytest.importorskip("torch")

from torch._subclasses import fake_tensor  # noqa: E402
from torch.overrides import _len_torch_function_stack  # noqa: E402
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

OWNERS = [
    torch,
    torch.Tensor,
    torch.UntypedStorage,
    torch.cuda,
    torch.cuda.random,
    torch.cuda.sparse,
    torch.cuda.memory,
    torch.cuda.nvtx,
    torch.cuda.profiler,
    torch.xpu,
    torch.mps,
    *([torch.accelerator] if hasattr(torch, "accelerator") else []),  # since torch 2.6
    torch.backends.cuda,
    torch.backends.cudnn,
    torch.backends.mps,
    torch.version,
    torch.jit,
    torch.nested,
    torch.nn.Module,
    torch.nn.parallel.comm,
    torch.nn.parallel._functions,
    torch.amp.autocast_mode.autocast,
    torch._C._nn,
    torch._C.ScriptFunction,
    torch._C.ScriptMethod,
    torch.autograd.profiler.profile,
    fake_tensor,
    torch.export,
    torch.onnx,
    threading.Thread,
]


def everything() -> list[dict[str, int]]:
    found = [{name: id(value) for name, value in vars(owner).items()} for owner in OWNERS]
    found.append({"finders": [id(finder) for finder in sys.meta_path]})
    found.append({"function modes": _len_torch_function_stack()})
    found.append({"dispatch modes": len(_get_current_dispatch_mode_stack())})
    found.append({"default device": torch.get_default_device(), "dtype": torch.get_default_dtype()})
    return found


@pytest.fixture(autouse=True)
def nothing_changes():
    torch.optim.Adam([torch.zeros(1)]).zero_grad()  # imports parts of torch on first use
    before = everything()
    yield
    assert everything() == before
    assert not torch.cuda.is_available()
    assert torch.zeros(1).device.type == "cpu"


def test_after_a_block():
    with virtual_devices("cuda:2,mps,xpu:1"):
        torch.ones(2, device="cuda") + 1


def test_after_a_guard():
    with DeviceGuard():
        torch.ones(2) + 1
    with DeviceGuard(), virtual_devices("cuda"):
        torch.ones(2).cuda()
    with virtual_devices("cuda"), DeviceGuard():
        torch.ones(2).cuda()


def test_streams_that_torch_keeps_for_each_card():
    """``DataParallel`` copies with them, by a list that is as long as there are cards."""
    for spec in ("cuda:1", "cuda:2"):
        with virtual_devices(spec):
            module = torch.nn.DataParallel(torch.nn.Linear(4, 2).cuda())
            assert module(torch.ones(8, 4)).shape == (8, 2)
    assert torch.nn.parallel._functions._streams is None


def test_a_guard_is_in_no_subclass_way():
    class Named(torch.Tensor):
        pass

    with DeviceGuard():
        named = torch.ones(2).as_subclass(Named)
        assert type(named) is type(named + 1) is Named


def test_after_an_exception():
    with pytest.raises(RuntimeError), virtual_devices("cuda"):
        torch.ones(2).cuda() + torch.ones(2)


def test_after_nesting_and_reentry():
    block = virtual_devices("cuda:1")
    with block:
        with virtual_devices("cuda:3"):
            assert torch.cuda.device_count() == 3
        assert torch.cuda.device_count() == 1
        with block:
            assert torch.ones(1).cuda().is_cuda
    with block:
        assert torch.cuda.is_available()


def test_as_a_decorator():
    @virtual_devices("cuda:2")
    def count() -> int:
        return torch.cuda.device_count()

    assert count() == count() == 2


def test_after_a_default_device_and_dtype_set_inside():
    with virtual_devices("cuda"):
        torch.set_default_device("cuda")
        torch.set_default_dtype(torch.float64)
    with virtual_devices("cuda"):
        torch.set_default_tensor_type("torch.cuda.FloatTensor")


def test_blocks_that_do_not_end_in_order():
    def suspended():
        with virtual_devices("cuda"):
            yield torch.ones(1, device="cuda")

    generator = suspended()
    x = next(generator)
    with torch.device("cpu"):
        assert (x + 1).is_cuda
    generator.close()

    outer = DeviceGuard()
    inner = virtual_devices("cuda")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert torch.ones(1).cuda().is_cuda
    inner.__exit__(None, None, None)


def test_threads_that_outlive_the_block():
    go, done = threading.Event(), []

    def work():
        go.wait(10)
        done.append(torch.ones(1).sum().item())

    with virtual_devices("cuda"):
        thread = threading.Thread(target=work)
        thread.start()
    go.set()
    thread.join()
    assert done == [1.0]


def test_a_part_of_torch_imported_inside_may_use_modes_of_its_own(tmp_path):
    """``torch._dynamo`` of torch 2.6 does, and any optimizer imports it."""
    source = """
        import torch
        from torch.overrides import TorchFunctionMode

        class Mode(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        seen, one = [], torch.ones(1)
        with Mode():
            one + one
    """
    (tmp_path / "with_a_mode.py").write_text(textwrap.dedent(source))
    torch.__path__.append(str(tmp_path))
    try:
        with virtual_devices("cuda"):
            from torch.with_a_mode import seen

            assert torch.ones(1, device="cuda").device.type == "cuda"
        assert seen == ["add"]
    finally:
        torch.__path__.pop()
        sys.modules.pop("torch.with_a_mode", None)
        vars(torch).pop("with_a_mode", None)


def test_torch_dynamo_imported_inside_is_the_real_one_and_what_it_compiled_follows_the_devices():
    """In a process of its own: it takes long to import, and has not to be there before."""
    program = """
        import torch
        from runtime_guard import virtual_devices
        with virtual_devices("cuda"):
            torch.optim.Adam([torch.zeros(1, device="cuda", requires_grad=True)])
        import torch._dynamo, torch._dynamo.trace_rules
        assert torch._dynamo.compiled_autograd
        print(torch.compile(lambda x: x * 2, backend="eager")(torch.ones(2)).tolist())

        seen = []
        def backend(graph, inputs):
            seen.append(graph)
            return graph.forward
        @torch.compile(backend=backend)
        def double(x):
            return x + torch.ones(2, device=x.device)
        with virtual_devices("cuda:1"):
            assert double(torch.ones(2, device="cuda")).device.type == "cuda"
        assert not seen
        assert double(torch.ones(2)).tolist() == [2, 2]
        assert len(seen) == 1
    """
    alone = {k: v for k, v in os.environ.items() if k != "DEVLINT_VIRTUAL_DEVICES"}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    run = warm_python.run(command, capture_output=True, text=True, env=alone)
    assert (run.stdout, run.returncode) == ("[2.0, 2.0]\n", 0), run.stderr


def test_a_part_of_torch_runs_as_a_program(monkeypatch):
    """As ``python -m torch.distributed.run`` does."""
    monkeypatch.delitem(sys.modules, "torch.utils.collect_env", raising=False)
    with virtual_devices("cuda:2"):
        ran = runpy.run_module("torch.utils.collect_env", run_name="__main__ of a program")
    assert ran["__name__"] == "__main__ of a program"
    assert callable(ran["main"])


def test_importing_the_package_does_not_import_torch():
    program = "import sys, runtime_guard.pytest_plugin; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_thread_that_outlives_the_block_is_on_no_virtual_machine():
    leave, seen = threading.Event(), []

    def work():
        seen.append(torch.zeros(1).cuda().is_cuda)
        leave.wait()
        try:
            torch.zeros(1).cuda()
        except (AssertionError, RuntimeError) as error:
            seen.append(str(error))
        seen.append((torch.ones(2) * 2).tolist())

    with virtual_devices("cuda:1"):
        thread = threading.Thread(target=work)
        thread.start()
        while not seen:
            time.sleep(0.01)
    leave.set()
    thread.join()
    assert seen[0] is True
    assert "not compiled with CUDA" in seen[1] or "Found no NVIDIA driver" in seen[1]
    assert seen[2] == [2.0, 2.0]
