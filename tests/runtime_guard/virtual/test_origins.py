"""Messages name the line of a host tensor that no factory of torch made."""

from __future__ import annotations

import io
import pickle
import sys
import threading

import pytest
import warm_python

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

from runtime_guard import virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


def loaded():
    file = io.BytesIO()
    torch.save({"w": torch.ones(3, device="cuda")}, file)
    file.seek(0)
    return torch.load(file, map_location="cpu")["w"]


MAKERS = {
    "from_numpy": lambda: torch.from_numpy(numpy.ones(3)),
    "of the same dtype": lambda: torch.from_numpy(numpy.ones(3, "f4")).float(),
    "frombuffer": lambda: torch.frombuffer(bytearray(12), dtype=torch.float32),
    "unpickled": lambda: pickle.loads(pickle.dumps(torch.ones(3))),
    "loaded": loaded,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_where_it_came_to_be(make):
    with virtual_devices("cuda:1"):
        weight = make()
        with pytest.raises(RuntimeError, match=r"`weight`: made on cpu at .*test_origins.py:\d+"):
            torch.ones(3, device="cuda") + weight


def test_a_tensor_that_is_loaded_onto_a_card_is_there():
    with virtual_devices("cuda:1"):
        file = io.BytesIO()
        torch.save(torch.ones(3), file)
        file.seek(0)
        assert torch.load(file, map_location="cuda").device.type == "cuda"


def test_what_a_future_calls_back_in_a_thread_of_its_own_is_on_the_machine():
    ran = []
    with virtual_devices("cuda:1"):
        future = torch.futures.Future()
        after = future.then(lambda done: ran.append((done.value() * 2).device.type))
        value = torch.ones(3, device="cuda")

        class Bare(threading.Thread):  # as one that C++ starts
            start = threading.Thread.__dict__["start"].__wrapped__

        thread = Bare(target=future.set_result, args=(value,))
        thread.start()
        thread.join()
        after.wait()
    assert ran == ["cuda"]


def test_a_future_that_names_its_cards():
    with virtual_devices("cuda:2"):
        future = torch.futures.Future(devices=["cuda:0", torch.device("cuda", 1)])
        future.set_result(torch.ones(3, device="cuda:1"))
        assert future.then(lambda done: done.value() * 2).wait().device.index == 1


def test_streams_say_their_priorities_and_where_external_ones_are():
    with virtual_devices("cuda:2"):
        assert torch.cuda.Stream.priority_range() == (0, -5)
        external = torch.cuda.ExternalStream(1234, device=1)
        assert external.device == torch.device("cuda", 1)


def test_to_say_where_a_tensor_was_computed_imports_no_compiler():
    program = """
import sys, torch
from runtime_guard import virtual_devices
with virtual_devices("cuda:1"):
    x = torch.ones(2, device="cuda") + 1
    try:
        x + torch.ones(2)
    except RuntimeError as error:
        print("computed on cuda:0 at" in str(error), "torch._inductor" in sys.modules)
"""
    command = [sys.executable, "-c", program]
    done = warm_python.run(command, capture_output=True, text=True)
    assert done.stdout == "True False\n", done.stderr
