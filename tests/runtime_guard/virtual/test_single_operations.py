"""Functions that are one operation: checked where they are called, unseen by the dispatch mode."""

from __future__ import annotations

import contextlib
import weakref
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from runtime_guard import DeviceGuard, virtual_devices  # noqa: E402
from runtime_guard.agreement.operators import base_name  # noqa: E402
from runtime_guard.core.torch_internals import without_dispatch_modes  # noqa: E402
from runtime_guard.virtual.dispatch_mode import DispatchMode  # noqa: E402
from runtime_guard.virtual.single_operations import (  # noqa: E402
    IN_CPP,
    _keeps_a_copy,
    _look_up,
    single_operation,
)

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture
def machine():
    with virtual_devices("cuda:2"):
        yield


@pytest.fixture
def seen(machine, monkeypatch):
    """The operations that the dispatch mode sees."""
    found: Counter[str] = Counter()
    dispatch = DispatchMode.__torch_dispatch__

    def noted(self, func, types, args=(), kwargs=None):
        found[base_name(func)] += 1
        return dispatch(self, func, types, args, kwargs)

    monkeypatch.setattr(DispatchMode, "__torch_dispatch__", noted)
    return found


class Seeing(TorchDispatchMode):
    """Holds what operations make, weakly."""

    @classmethod
    def _should_skip_dynamo(cls):  # else all of torch._dynamo is imported
        return False

    def __init__(self):
        super().__init__()
        self.made, self.names = [], []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func._schema.name)
        given = storages((args, kwargs))
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided:
                storage = tensor.untyped_storage()
                if storage._cdata not in given:
                    self.made.append(weakref.ref(storage))
        return result


def storages(values) -> set[int]:
    return {
        leaf.untyped_storage()._cdata
        for leaf in tree_leaves(values)
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
    }


NUMBERS = {"int": 0, "SymInt": 0, "float": 0.5, "number": 2, "Scalar": 2, "bool": False}


def arguments(overload, dtype):
    """Arguments that an operator may take, by its schema: small tensors, dimension 0."""
    for argument in overload._schema.arguments:
        if argument.has_default_value() or argument.kwarg_only:
            return
        kind = str(argument.type)
        tensor = torch.ones(2, 2, dtype=dtype, requires_grad=dtype.is_floating_point)
        if kind.startswith("List"):
            yield [tensor, tensor * 1] if "Tensor" in kind else [2, 2]
        elif "Tensor" in kind:
            yield tensor
        else:
            yield NUMBERS.get(kind.removeprefix("Optional[").removesuffix("]"))


def calls():
    """Functions of torch that are one operation, with arguments for each of their overloads."""
    homes = (torch.Tensor, torch, torch._C._nn)
    functions = {f for home in homes for f in vars(home).values() if type(f) in IN_CPP}
    for function in sorted(functions, key=lambda f: f.__name__):
        single = single_operation(function)
        packet = getattr(torch.ops.aten, function.__name__, None)
        if single is None or packet is None or function.__name__.startswith("_"):
            continue
        if function.__name__ == "native_channel_shuffle":
            continue  # of no groups, it ends the process before torch 2.9
        for name in packet.overloads():
            for dtype in (torch.float32, torch.int64):
                with contextlib.suppress(RuntimeError):  # TorchScript alone has it
                    yield function, single, tuple(arguments(getattr(packet, name), dtype))


class TestLaw:
    """What such a function leaves behind are its operands and its result."""

    def test_nothing_else_is_kept_for_backward_or_read(self):
        names = set()
        for function, single, args in calls():
            if (single.writes and args[0].requires_grad) or (
                single.multiplies and _keeps_a_copy(args)
            ):
                continue  # the dispatch mode sees these
            with Seeing() as seeing:
                try:
                    result = function(*args)
                except (RuntimeError, TypeError, ValueError, IndexError):
                    continue  # not with these arguments
            known = storages((args, result))
            left = [kept() for kept in seeing.made if kept() is not None]
            assert all(storage._cdata in known for storage in left), function
            assert "aten::_local_scalar_dense" not in seeing.names or single.reads, function
            names.add(function.__name__)
        assert len(names) > 200, len(names)

    def test_overloads_that_demand_a_text_do_not_count(self, monkeypatch):
        """Torch 2.9 has such ones, for dimensions that have names: no text is ever passed by."""
        sums = torch.ops.aten.sum
        library = torch.library.Library("aten", "FRAGMENT")
        try:
            library.define("sum.of_names(Tensor self, str[1] dim) -> Tensor")
            library.impl("sum.of_names", lambda self, dim: self, "CompositeImplicitAutograd")
            monkeypatch.setattr(sums, "_overload_names", [*sums.overloads(), "of_names"])
            assert _look_up(torch.Tensor.sum) is not None
        finally:
            library._destroy()

    @pytest.mark.parametrize(
        "function",
        [
            torch.layer_norm,  # keeps the mean
            torch.dropout,  # the mask
            torch.nn.functional.max_pool2d,
            torch.clamp,  # of a number and a tensor, the tensor is read
            torch.Tensor.narrow,  # reads where to start
            torch.Tensor.nonzero,
            torch.Tensor.index_put_,
            torch.zeros,
            torch.take_along_dim,  # keeps indices that it has put in order
            torch.std_mean,
        ],
    )
    def test_these_are_none(self, function):
        assert single_operation(function) is None


class TestPassedBy:
    @pytest.mark.parametrize(
        "call",
        [
            lambda x, y: x + y,
            lambda x, y: x.view(4),
            lambda x, y: x.transpose(0, 1),
            lambda x, y: torch.cat([x, y]),
            lambda x, y: x[:, 1:],
            lambda x, y: x[0, ..., None],
            lambda x, y: x @ y,
            lambda x, y: F.linear(x, y),
            lambda x, y: x.mul_(2),
            lambda x, y: x.to(torch.float64),
            lambda x, y: torch.where(x > 0, x, y).softmax(-1).sum(dim=0, keepdim=True),
        ],
    )
    def test_results_are_where_operands_are(self, machine, call):
        x, y = torch.ones(2, 2, device="cuda:1"), torch.ones(2, 2, device="cuda:1")
        assert call(x, y).device == torch.device("cuda:1")
        assert torch.equal(call(x, y).cpu(), call(x.cpu(), y.cpu())) or call(x, y) is x

    def test_one_look_is_enough(self, seen):
        x = torch.ones(2, 2, device="cuda")
        seen.clear()
        ((x + x).view(4)[1:] * 2).sum().add_(1)
        assert not seen

    def test_the_line_is_known(self, machine):
        made = torch.ones(2, device="cuda") * 2
        with pytest.raises(RuntimeError, match=r"`made`: computed on cuda:0 at .*test_single_op"):
            made + torch.ones(2)

    def test_memory_is_counted(self, machine):
        x = torch.ones(256, device="cuda")
        before = torch.cuda.memory_allocated()
        y = x + x
        assert torch.cuda.memory_allocated() == before + 1024
        del y
        assert torch.cuda.memory_allocated() == before

    def test_a_card_that_is_full(self):
        with virtual_devices("cuda", memory="4 KiB"):
            x = torch.ones(768, device="cuda")
            with pytest.raises(torch.OutOfMemoryError):
                x + x

    def test_what_follows_an_error_is_seen(self, seen):
        x = torch.ones(2, 3, device="cuda")
        with pytest.raises(RuntimeError, match="must match the size"):
            x + torch.ones(2, 2, device="cuda")
        with pytest.raises(RuntimeError, match="two devices"):
            x + torch.ones(2, 3)


class TestSeen:
    """In doubt the dispatch mode sees the operation."""

    def test_operands_of_two_devices(self, machine):
        x = torch.ones(2, device="cuda:0")
        with pytest.raises(RuntimeError, match="cuda:1, different from other tensors on cuda:0"):
            torch.cat([x, torch.ones(2, device="cuda:1")])
        with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
            x.mul_(torch.ones(2))
        assert (x * torch.tensor(2.0)).device == x.device

    def test_a_tensor_where_a_number_is_meant(self, machine):
        x, number = torch.ones(4, device="cuda"), torch.tensor(1, device="cuda")
        with DeviceGuard() as guard:
            x[number:]
            F.leaky_relu(x, number)
            x.narrow(0, number, 1)
            x.select(0, number)
        assert guard.count("sync") == 4

    def test_a_number_on_the_host_is_no_sync(self, seen):
        with DeviceGuard() as guard:
            torch.ones(1).item()
            assert not seen["_local_scalar_dense"]
            torch.ones(1, device="cuda").item()
        assert guard.count("sync") == 1

    def test_what_is_written_to_keeps_a_copy_for_backward(self, seen):
        x = (torch.ones(2, device="cuda", requires_grad=True) * 2).sin_()
        assert seen["clone"] == 1 and seen["sin_"] == 1
        x.sum().backward()

    def test_products_that_keep_a_copy(self, seen):
        x = torch.ones(2, 4, 3, device="cuda", requires_grad=True).transpose(1, 2)
        y = torch.ones(4, 5, device="cuda", requires_grad=True)
        (x @ y).sum().backward()
        assert seen["mm"]

    def test_a_padding_by_name(self, seen):
        x = torch.ones(1, 1, 4, 4, device="cuda")
        F.conv2d(x, torch.ones(1, 1, 2, 2, device="cuda"), padding="same")
        assert seen["constant_pad_nd"]

    def test_autocast_makes_copies(self, seen):
        x = torch.ones(2, 2, device="cuda", requires_grad=True)
        with torch.autocast("cuda"):
            y = x @ x
        assert seen["mm"]
        y.sum().backward()

    def test_what_packs_saved_tensors(self, machine):
        packed = []
        x = torch.ones(2, device="cuda", requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(t.device) or t, lambda t: t
        ):
            x.exp().sum().backward()
        assert packed == [torch.device("cuda:0")]

    def test_modes_of_the_programs_own(self, machine):
        class Functions(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                names.append(func.__name__)
                return func(*args, **(kwargs or {}))

        names: list[str] = []
        x = torch.ones(2, device="cuda")
        with Seeing() as seeing:
            x + x
        assert seeing.names == ["aten::add"]
        with Functions():
            F.dropout(x + x)
        assert names[:2] == ["add", "dropout"]

    def test_a_mode_instead_of_ours(self, machine):
        x = torch.ones(2, device="cuda")
        with without_dispatch_modes(), Seeing() as seeing:
            x + x
        assert seeing.names == ["aten::add"]

    def test_subclasses(self, machine):
        class Named(torch.Tensor):
            pass

        x = torch.ones(2, device="cuda").as_subclass(Named)
        assert type(x + x) is Named and (x + x).device == torch.device("cuda:0")

    def test_a_device_by_its_number(self, machine):
        assert torch.ones(1).new_ones(2, device=1).device == torch.device("cuda:1")

    def test_a_move_that_nobody_has_used_yet(self, machine):
        with DeviceGuard() as guard:
            x = torch.ones(2).cuda()
            x + x
            del x
        assert not guard.problems

    def test_a_copy_that_may_not_have_landed(self, machine):
        with DeviceGuard() as guard:
            host = torch.ones(2, device="cuda").to("cpu", non_blocking=True)
            host + 1
        assert len(guard.problems) == 1


class TestOverrideChecks:
    """Functions of torch in Python do not hand themselves over where nobody else would answer."""

    def test_what_they_call_is_answered(self, machine):
        x = torch.ones(2, 3, device="cuda")
        assert F.one_hot(torch.tensor([1], device="cuda")).device == x.device
        assert F.layer_norm(x, (3,)).device == x.device
        assert [part.device.type for part in torch.split(x, 1)] == ["cuda", "cuda"]
        assert torch.einsum("ij->ji", x).device == x.device
        with pytest.raises(RuntimeError, match="weight is on cpu"):
            F.layer_norm(x, (3,), torch.ones(3))

    def test_handlers_are_asked(self, machine):
        x = torch.ones(2, device="cuda")
        assert "cuda:0" in repr(x)
        assert not hasattr(x, "__cuda_array_interface__")
        with pytest.raises(RuntimeError, match="meshgrid expects all tensors"):
            torch.meshgrid(x, torch.ones(2), indexing="ij")

    def test_torch_has_its_own_afterwards(self):
        before = F.has_torch_function_unary, torch._tensor.has_torch_function
        with virtual_devices("cuda"):
            assert F.has_torch_function_unary is not before[0]
        assert (F.has_torch_function_unary, torch._tensor.has_torch_function) == before
