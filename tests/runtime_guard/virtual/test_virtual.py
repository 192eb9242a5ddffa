"""virtual_devices: a program sees a machine with accelerators; values are those of the CPU."""

from __future__ import annotations

import copy
import io
import pickle
import threading

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from runtime_guard import DeviceGuard, UnsupportedVirtually, virtual_devices  # noqa: E402
from runtime_guard.virtual import compilers  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2") as machine:
        yield machine


CUDA0, CUDA1, CPU = torch.device("cuda:0"), torch.device("cuda:1"), torch.device("cpu")


class TestWhatAProgramSees:
    def test_the_machine_has_two_cuda_devices(self):
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 2
        assert torch.cuda.current_device() == 0
        assert "virtual" in torch.cuda.get_device_name(1)

    @pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="came with torch 2.6")
    def test_the_accelerator_is_the_machines(self):
        assert torch.accelerator.current_accelerator().type == "cuda"
        assert torch.accelerator.device_count() == 2

    def test_an_index_the_machine_lacks_is_refused_as_cuda_does(self):
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            torch.zeros(1, device="cuda:2")

    def test_current_device_decides_what_cuda_means(self):
        with torch.cuda.device(1):
            assert torch.zeros(1, device="cuda").device == CUDA1
        torch.cuda.set_device(1)
        assert torch.zeros(1).cuda().device == CUDA1
        torch.cuda.set_device(0)

    def test_devices_are_real_torch_devices(self):
        assert torch.device(1) == CUDA1
        assert isinstance(CUDA0, torch.device)
        assert pickle.loads(pickle.dumps(torch.zeros(1).cuda().device)) == CUDA0

    def test_repr_names_the_device(self):
        assert repr(torch.ones(2, device="cuda:1")) == "tensor([1., 1.], device='cuda:1')"
        assert f"{torch.ones((), device='cuda'):.1f}" == "1.0"

    @pytest.mark.parametrize("spec", ["tpu", "cuda:0", "cuda:x", "mps:2", ""])
    def test_a_machine_that_cannot_be_is_refused(self, spec):
        with pytest.raises(ValueError, match="virtual devices"):
            virtual_devices(spec)

    def test_other_machines(self):
        with virtual_devices("mps"):
            assert torch.backends.mps.is_available()
            assert torch.ones(2, device="mps").device.type == "mps"
        with virtual_devices("xpu:1,cuda:1"):
            assert torch.xpu.is_available()
            assert torch.zeros(1).xpu().is_xpu
        assert torch.cuda.device_count() == 2

    def test_devices_that_it_does_not_have_are_refused_as_pytorch_does(self):
        for ask in (
            lambda: torch.ones(1, device="xpu"),
            lambda: torch.ones(1).to("mps"),
            lambda: torch.ones(1, device="cuda").to("xpu:0"),
            lambda: nn.Linear(1, 1).to("cuda:7"),
            lambda: torch.ones(1).xpu(),
        ):
            with pytest.raises((RuntimeError, AssertionError)), DeviceGuard() as guard:
                ask()
            assert {event.kind.value for event in guard.problems} <= {"unavailable-device"}
        with DeviceGuard() as guard, pytest.raises(AssertionError, match="XPU"):
            torch.zeros(1, device="xpu")
        (event,) = guard.problems
        assert (event.kind.value, event.target) == ("unavailable-device", "xpu")


class TestMemory:
    def test_it_follows_the_live_storages_of_each_device(self):
        assert torch.cuda.memory_allocated() == 0
        x = torch.ones(1000, device="cuda")  # 4000 bytes, in blocks of 512
        view, kept = x[10:], x.detach()
        assert torch.cuda.memory_allocated() == torch.cuda.memory_reserved() == 4096
        assert torch.cuda.memory_allocated("cuda:1") == 0
        y = (x * 2).to("cuda:1")
        assert torch.cuda.memory_allocated(1) == 4096
        assert torch.cuda.memory_allocated(0) == 4096  # the product died
        assert torch.cuda.max_memory_allocated(0) == 8192
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == 4096
        x.mul_(2)
        assert torch.cuda.max_memory_allocated() == 4096
        del x, view
        assert torch.cuda.memory_allocated() == 4096
        del kept, y
        assert torch.cuda.memory_allocated(0) == torch.cuda.memory_allocated(1) == 0

    def test_modules_and_gradients(self):
        layer = nn.Linear(128, 128, bias=False).cuda()
        assert torch.cuda.memory_allocated() == 128 * 128 * 4
        layer(torch.ones(1, 128, device="cuda")).sum().backward()
        assert torch.cuda.memory_allocated() == 2 * 128 * 128 * 4
        layer.zero_grad()
        layer.cpu()
        assert torch.cuda.memory_allocated() == 0

    @pytest.mark.skipif(
        not hasattr(getattr(torch, "accelerator", None), "memory_allocated"),
        reason="torch.accelerator has none in this release",
    )
    def test_the_accelerators_is_the_same(self):
        x = torch.ones(1000, device="cuda:1")
        assert torch.accelerator.memory_allocated(1) == torch.cuda.memory_allocated(1) == 4096
        assert torch.accelerator.memory_allocated(0) == 0
        del x

    def test_what_is_free(self):
        x = torch.ones(1024, device="cuda")
        free, total = torch.cuda.mem_get_info()
        assert (free, total) == (total - 4096, torch.cuda.get_device_properties(0).total_memory)
        assert torch.cuda.memory_stats()["allocated_bytes.all.current"] == 4096
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            torch.cuda.memory_allocated(7)
        del x

    def test_each_block_counts_for_itself(self):
        kept = torch.ones(128, device="cuda")
        with virtual_devices("cuda:1,xpu:1"):
            assert torch.cuda.memory_allocated() == 0
            x = torch.ones(128, device="xpu")
            if hasattr(torch.xpu, "memory_allocated"):  # since torch 2.6
                assert torch.xpu.memory_allocated() == 512
            assert torch.cuda.memory_allocated() == 0
        assert torch.cuda.memory_allocated() == 512
        del kept, x
        assert torch.cuda.memory_allocated() == 0


class TestFactories:
    @pytest.mark.parametrize(
        "make",
        [
            lambda d: torch.zeros(2, device=d),
            lambda d: torch.rand(2, device=d),
            lambda d: torch.arange(3, device=d),
            lambda d: torch.tensor([1, 2], device=d),
            lambda d: torch.as_tensor([1, 2], device=d),
            lambda d: torch.full((2,), 1.0, device=d),
            lambda d: torch.eye(2, device=d),
            lambda d: torch.empty(2, device=d),
            lambda d: torch.zeros(2).new_ones(2, device=d),
            lambda d: torch.zeros_like(torch.zeros(2), device=d),
            lambda d: torch.randint(0, 2, (2,), device=d),
            lambda d: torch.hann_window(4, device=d),
        ],
    )
    def test_device_keyword(self, make):
        assert make("cuda:1").device == CUDA1
        assert make(torch.device("cuda")).device == CUDA0
        assert make(1).device == CUDA1
        assert make("cpu").device == CPU

    def test_default_device(self):
        with torch.device("cuda:1"):
            assert torch.zeros(1).device == CUDA1
            assert nn.Linear(2, 2).weight.device == CUDA1
            assert torch.zeros(1, device="cpu").device == CPU
        assert torch.zeros(1).device == CPU
        torch.set_default_device("cuda")
        assert torch.zeros(1).device == CUDA0
        torch.set_default_device(None)

    def test_default_device_is_of_its_thread(self):
        def set_there():
            torch.set_default_device("cuda:1")
            found.append(torch.zeros(1).device)

        found = []
        torch.set_default_device("cuda")
        for work in (lambda: found.append(torch.zeros(1).device), set_there):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        found.append(torch.zeros(1).device)
        torch.set_default_device(None)
        found.append(torch.zeros(1).device)
        assert found == [CPU, CUDA1, CUDA0, CPU]

    def test_like_and_new_follow_their_tensor(self):
        x = torch.zeros(2, device="cuda:1")
        assert torch.ones_like(x).device == CUDA1
        assert x.new_zeros(3).device == CUDA1
        assert x.new_tensor([1.0]).device == CUDA1
        assert x.new(3).device == CUDA1

    def test_composites_allocate_beside_their_argument(self):
        labels = torch.tensor([0, 1], device="cuda")
        assert F.one_hot(labels).device == CUDA0
        output, (h, c) = nn.LSTM(2, 3).cuda()(torch.zeros(1, 1, 2, device="cuda"))
        assert {output.device, h.device, c.device} == {CUDA0}

    def test_a_factory_with_a_cuda_scalar_stays_on_the_host(self):
        n = torch.tensor(3, device="cuda")
        assert torch.arange(n).device == CPU

    def test_a_tensor_made_from_a_tensor_keeps_its_device(self):
        x = torch.ones(2, device="cuda:1")
        assert torch.tensor(x.detach()).device == CUDA1
        assert torch.as_tensor(x) is x or torch.as_tensor(x).device == CUDA1
        assert torch.tensor([x[0].item()]).device == CPU

    def test_out_decides_where_the_result_is(self):
        out = torch.empty(3, device="cuda:1")
        assert torch.zeros(3, out=out) is out
        assert out.device == CUDA1
        with pytest.raises(RuntimeError, match="does not match device type of out parameter"):
            torch.zeros(3, out=torch.empty(3), device="cuda")
        with pytest.raises(RuntimeError, match="at least two devices, cuda:1 and cpu"):
            torch.add(out, 1, out=torch.empty(3))

    def test_numpy_memory_is_not_shared_across_devices(self):
        np = pytest.importorskip("numpy")
        array = np.zeros(2, dtype=np.float32)
        there = torch.as_tensor(array, device="cuda")
        array[0] = 5
        assert there.tolist() == [0, 0]

    def test_the_default_tensor_type(self):
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
        assert torch.Tensor([1]).device == torch.zeros(1).device == CUDA0
        torch.set_default_tensor_type(torch.FloatTensor)
        assert torch.Tensor([1]).device == torch.zeros(1).device == CPU

    def test_pooling_that_draws_its_own_samples(self):
        x = torch.rand(1, 1, 8, 8, device="cuda")
        assert F.fractional_max_pool2d(x, 2, output_size=4).device == CUDA0
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        assert values.device == indices.device == CUDA0

    def test_legacy_types(self):
        x = torch.ones(2).cuda()
        assert x.type() == "torch.cuda.FloatTensor"
        assert isinstance(x, torch.cuda.FloatTensor)
        assert not isinstance(x, torch.FloatTensor)
        assert torch.cuda.LongTensor([1, 2]).device == CUDA0
        assert x.type(torch.LongTensor).device == CPU
        assert x.type("torch.cuda.DoubleTensor").dtype == torch.float64
        assert torch.ones(2).type(torch.cuda.FloatTensor).device == CUDA0
        with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
            torch.LongTensor([1], device="cuda")

    def test_what_is_copied_from_a_subclass_is_plain(self):
        class Noted(torch.Tensor):
            pass

        host = torch.ones(2).as_subclass(Noted)
        there = torch.ones(2, device="cuda").as_subclass(Noted)
        assert type(torch.as_tensor(host)) is Noted  # the very same
        assert type(torch.as_tensor(there, device="cuda")) is Noted
        copies = [
            torch.as_tensor(host, device="cuda:0"),
            torch.as_tensor(there, dtype=torch.int64),
            torch.asarray(there, dtype=torch.int64),
            torch.tensor(there),
            torch.tensor(host, device="cuda:0"),
        ]
        assert [(type(copy), copy.device) for copy in copies] == [(torch.Tensor, CUDA0)] * 5
        assert type(there + host.cuda()) is Noted


class TestMoves:
    @pytest.mark.parametrize(
        "move",
        [
            lambda x: x.to("cuda:1"),
            lambda x: x.to(1),
            lambda x: x.to(device=1),
            lambda x: x.to(torch.device("cuda", 1)),
            lambda x: x.to("cuda:1", torch.float32),
            lambda x: x.to("cuda:1", non_blocking=True),
            lambda x: x.to(torch.zeros(1, device="cuda:1")),
            lambda x: x.cuda(1),
            lambda x: x.cuda("cuda:1"),
            lambda x: x.type_as(torch.zeros(1, device="cuda:1")),
        ],
    )
    def test_every_way_to_move(self, move):
        x = torch.rand(3)
        y = move(x)
        assert y.device == CUDA1
        assert y.is_cuda and not y.is_cpu
        assert y.get_device() == 1
        assert torch.equal(y.cpu(), x)
        assert x.device == CPU

    def test_a_move_to_where_it_is_returns_the_tensor(self):
        x = torch.ones(2, device="cuda")
        assert x.to("cuda") is x
        assert x.cuda() is x
        assert x.to("cuda", copy=True) is not x
        y = torch.ones(2)
        assert y.cpu() is y

    def test_a_moved_tensor_is_a_copy(self):
        x = torch.zeros(2)
        y = x.cuda()
        y += 1
        assert x.tolist() == [0, 0]

    def test_dtype_moves_stay(self):
        x = torch.ones(2, device="cuda")
        assert x.double().device == CUDA0
        assert x.to(torch.float16).device == CUDA0

    def test_views_and_detached_tensors_share_the_device(self):
        x = torch.ones(4, device="cuda:1")
        for view in (x.view(2, 2), x[1:], x.detach(), x.data, x.t(), x.unbind()[0], x.real):
            assert view.device == CUDA1

    def test_modules_move_in_place_and_keep_their_parameters(self):
        module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        before = list(module.parameters())
        assert module.to("cuda:1") is module
        assert [a is b for a, b in zip(before, module.parameters(), strict=True)] == [True] * 4
        assert {t.device for t in module.state_dict().values()} == {CUDA1}
        module.to(0)
        assert module[1].running_mean.device == CUDA0
        module.to(device=1, dtype=torch.float64)
        assert (module[0].bias.device, module[0].bias.dtype) == (CUDA1, torch.float64)
        module.to(torch.zeros(1, device="cuda:0"))
        assert module[0].bias.device == CUDA0
        module.cpu()
        assert module[0].weight.device == CPU

    @pytest.mark.parametrize("kind", [float, int, bool, complex])
    def test_pythons_types_are_dtypes(self, kind):
        x = torch.ones(2, device="cuda")
        try:
            wanted = torch.ones(2, dtype=kind).dtype
        except TypeError:
            pytest.skip(f"this torch does not take {kind.__name__} for a dtype")
        assert x.to(kind).dtype is wanted and x.to(kind).is_cuda
        assert torch.ones(2).to("cuda:1", kind).dtype is wanted
        with pytest.raises(ValueError, match=f"invalid type: '{kind.__name__}'"):
            x.type(kind)

    def test_leaving_meta_needs_to_empty(self):
        module = nn.Linear(2, 2, device="meta")
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            module.to("cuda")
        assert module.to_empty(device="cuda").weight.device == CUDA0

    def test_a_moved_parameter_is_no_leaf(self):
        leaf = torch.rand(2, requires_grad=True)
        assert not leaf.cuda().is_leaf
        assert torch.rand(2).cuda().requires_grad_().is_leaf
        with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
            torch.optim.SGD([leaf.cuda()], lr=0.1)

    def test_slice_assignment_copies_across(self):
        x = torch.zeros(3, device="cuda")
        x[1:] = torch.ones(2)
        x[0] = torch.tensor(7.0)
        assert x.device == CUDA0
        assert x.tolist() == [7, 1, 1]

    def test_pinned_memory(self):
        x = torch.ones(2)
        assert not x.is_pinned()
        pinned = x.pin_memory()
        assert pinned.is_pinned() and pinned.device == CPU
        with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
            x.cuda().pin_memory()
        assert torch.zeros(2, pin_memory=True).is_pinned()

    def test_a_nonblocking_copy_to_the_host_is_pinned(self):
        x = torch.ones(2, device="cuda")
        assert x.to("cpu", non_blocking=True).is_pinned()
        assert not x.to("cpu").is_pinned()
        with pytest.raises(RuntimeError, match=r"cannot pin .* only dense"):
            x.pin_memory()
        with pytest.raises(RuntimeError, match="Only dense CPU tensors can be pinned"):
            torch.zeros(2, device="cuda", pin_memory=True)

    def test_tensors_that_wrap_others(self):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(
                    cls, inner.shape, dtype=inner.dtype, device=inner.device
                )

            def __init__(self, inner):
                self.inner = inner

            def __tensor_flatten__(self):
                return ["inner"], None

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                def inner(x):
                    return x.inner if isinstance(x, Wrapper) else x

                result = func(*map(inner, args), **(kwargs or {}))
                return Wrapper(result) if isinstance(result, torch.Tensor) else result

        x = Wrapper(torch.ones(2, device="cuda"))
        for y, device in ((x + x, CUDA0), (x.to("cuda:1"), CUDA1), (x.cpu(), CPU)):
            assert y.device == y.inner.device == device
        with pytest.raises(RuntimeError, match="same device"):
            x + Wrapper(torch.ones(2))

    def test_tensors_that_wrap_others_are_differentiated(self):
        """Autograd asks the device of the outer tensor for its stream: there is none."""
        layer = nn.Linear(3, 2).cuda()
        parts = [torch.ones(2, 3), torch.ones(4, 3)]
        for layout in (torch.jagged, torch.strided):
            x = torch.nested.nested_tensor(parts, layout=layout, device="cuda")
            layer.weight.grad = None
            y = layer(x)
            (y.values() if layout is torch.jagged else y.to_padded_tensor(0.0)).sum().backward()
            assert layer.weight.grad.tolist() == [[6.0] * 3] * 2
            assert layer.weight.grad.device == CUDA0

    def test_nested_tensors_have_kernels_of_their_own(self):
        x = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device="cuda")
        y = torch.matmul(x, x.transpose(1, 2))
        assert y.device == CUDA0
        assert y.to_padded_tensor(0.0).sum().item() == 3 * (4 + 16)
        with pytest.raises(RuntimeError, match="same device"):
            F.linear(x, torch.ones(2, 3))

    def test_subclasses_made_by_their_name(self):
        class Plain(torch.Tensor):
            pass

        class Named(torch.Tensor):
            def __new__(cls, data, name):
                made = super().__new__(cls, data)
                made.title = name
                return made

            def __init__(self, data, name):
                pass

        x, y = Plain([1.0, 2.0]), Named([1.0], "a")
        assert (type(x), x.tolist(), type(y), y.title) == (Plain, [1.0, 2.0], Named, "a")
        assert (x.to("cuda") + 1).device == CUDA0
        assert type(torch.Tensor(2)) is torch.Tensor

    def test_sparse_tensors(self):
        x = torch.eye(3).to_sparse().cuda()
        assert x.device == CUDA0
        assert x.coalesce().values().device == CUDA0
        assert x.to_dense().device == x.t().device == x.coalesce().t().device == CUDA0
        assert torch.sparse.mm(x.t(), torch.ones(3, 2, device="cuda")).device == CUDA0
        assert x.cpu().to_dense().device == CPU
        legacy = torch.cuda.sparse.FloatTensor(
            torch.tensor([[0, 1]]).cuda(), torch.ones(2).cuda(), (3,)
        )
        assert legacy.device == CUDA0 and legacy.is_sparse
        empty = torch.cuda.sparse.FloatTensor(2, 3)
        assert (empty.shape, empty._nnz(), empty.device) == ((2, 3), 0, CUDA0)
        made = torch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), device="cuda:1")
        assert made.device == CUDA1


class TestWhatIsRefused:
    def test_operands_on_two_devices(self):
        x, mask = torch.rand(3).cuda(), torch.ones(3)
        with pytest.raises(RuntimeError) as error:
            x * mask
        first, explanation = str(error.value).split("\n")
        assert first == (
            "Expected all tensors to be on the same device, but found at least two devices, "
            "cuda:0 and cpu!"
        )
        here = __file__.rpartition("/")[2]
        assert "`x`: moved to cuda:0 at" in explanation and "`mask`: made on cpu" in explanation
        assert explanation.count(here) == 2

    def test_what_a_library_moved_is_told_with_what_it_was_moved_to(self):
        """The line of the call is all that the user has of it: `samples` is their `images`."""
        library = {}
        source = """def add_noise(table, samples, noise):
            scale = table.to(samples.device)
            return scale * noise"""
        exec(compile(source, "/lib/site-packages/schedulers.py", "exec"), library)
        images = torch.ones(3, device="cuda:1")
        noise = torch.ones(3, device="cuda:0")
        with pytest.raises(RuntimeError) as error:
            library["add_noise"](torch.ones(3), images, noise)
        assert "`scale`: moved to cuda:1 at" in str(error.value)
        assert "(where `samples` is: made on cuda:1 at " in str(error.value)

    def test_the_legacy_constructor_is_remembered_too(self):
        quantiles = torch.Tensor([0.1, 0.9])
        with pytest.raises(RuntimeError, match=r"`quantiles`: made on cpu at .*test_virtual"):
            torch.rand(3, 2, device="cuda") * quantiles
        assert nn.Parameter(quantiles).device == torch.Tensor(2, 3).device == CPU

    def test_matrix_products_name_the_argument(self):
        with pytest.raises(RuntimeError, match=r"but got mat2 is on cpu, different from other"):
            torch.ones(2, 2, device="cuda") @ torch.ones(2, 2)

    def test_a_linear_layer_left_on_the_host(self):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            nn.Linear(2, 2)(torch.ones(1, 2, device="cuda"))

    def test_convolutions_speak_of_types(self):
        x, weight = torch.rand(1, 1, 4, 4), torch.rand(1, 1, 2, 2)
        refused = r"Input type \(torch.cuda.FloatTensor\) and weight type \(torch.FloatTensor\)"
        with pytest.raises(RuntimeError, match=refused):
            F.conv2d(x.cuda(), weight)
        with pytest.raises(RuntimeError, match="should be the same or input should be a MKLDNN"):
            F.conv2d(x, weight.cuda())
        with pytest.raises(RuntimeError, match="and bias type"):
            F.conv2d(x.cuda(), weight.cuda(), torch.zeros(1))

    def test_convolutions_under_autocast_speak_of_types_alone(self):
        """Autocast leaves the host's tensors as they are; it is devices all the same."""
        layer, image = nn.Conv2d(1, 2, 3).cuda(), torch.ones(1, 1, 4, 4)
        refused = r"Input type \(float\) and bias type \(c10::Half\) should be the same\n"
        with torch.autocast("cuda"), DeviceGuard() as guard:
            with pytest.raises(RuntimeError, match=refused) as error:
                layer(image)
            assert "`image`: made on cpu" in str(error.value)
            assert "`layer.bias`: moved to cuda:0" in str(error.value)
            assert layer(image.cuda()).device == CUDA0
        assert [(event.kind.value, event.rule) for event in guard.problems] == [
            ("mixed-device", "DEV102")
        ]
        with DeviceGuard() as guard, pytest.raises(RuntimeError, match=r"same$"):
            layer(image.cuda().half())  # types it is
        assert guard.problems == []

    def test_inference_mode_looks_into_composites(self):
        with torch.inference_mode(), pytest.raises(RuntimeError, match="same device"):
            F.linear(torch.ones(1, 2, device="cuda"), torch.ones(2, 2))

    def test_two_accelerators(self):
        with pytest.raises(RuntimeError, match="cuda:0 and cuda:1"):
            torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")

    def test_host_scalars_mix_in_pointwise_operations_only(self):
        x, scalar = torch.ones(2, device="cuda"), torch.tensor(2.0)
        assert (x * scalar).device == CUDA0
        assert (scalar * x).device == CUDA0
        assert torch.where(x > 0, x, scalar).device == CUDA0
        for refuse in (
            lambda: torch.stack([x[0], scalar]),
            lambda: torch.cat([x, scalar[None]]),
            lambda: torch.gather(x, 0, torch.tensor([0])),
            lambda: torch.index_select(x, 0, torch.tensor(0)),
            lambda: scalar.mul_(x[0]),
        ):
            with pytest.raises(RuntimeError, match="same device"):
                refuse()

    def test_a_generated_check_knows_no_host_scalars(self):
        """Point-wise, but torchgen checks around their CUDA kernels that all tensors agree."""
        x, scalar = torch.ones(2, device="cuda"), torch.tensor(0.5)
        refused = r"but got min is on cpu, different from other tensors on cuda:0 \(when checking "
        with pytest.raises(RuntimeError, match=refused + "argument in method wrapper_CUDA_clamp_T"):
            x.clamp(min=scalar)
        for refuse in (
            lambda: torch.logaddexp(x, scalar),
            lambda: torch.isin(x, scalar),
            lambda: F.huber_loss(x[0], scalar),
        ):
            with pytest.raises(RuntimeError, match="same device"):
                refuse()
        assert x.clamp(min=0.5).device == torch.maximum(x, scalar).device == CUDA0
        assert x.eq_(scalar).tolist() == [0, 0]

    def test_kernels_below_a_composite_are_called_by_their_own_names(self):
        x = torch.rand(2, device="cuda")
        with pytest.raises(RuntimeError, match=r"got tensors is on cpu, .* wrapper_CUDA_cat"):
            torch.stack([x, torch.rand(2)])
        query, mask = torch.ones(1, 2, 3, 4, device="cuda"), torch.ones(3, 3)
        with pytest.raises(RuntimeError, match="but got attn_bias is on cpu") as error:
            F.scaled_dot_product_attention(query, query, query, attn_mask=mask)
        assert "`mask`: made on cpu" in str(error.value)
        # a TensorIterator inside, and no check around it
        for pair in ((x, torch.rand(2)), (torch.rand(2), x)):
            with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
                F.binary_cross_entropy(*pair)

    def test_indices_of_a_sparse_tensor_are_where_its_values_are(self):
        ids, values = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
        ends, columns = torch.tensor([0, 1, 2]), torch.tensor([1, 0])
        with pytest.raises(RuntimeError, match=r"indices \(CPU\) must match .* values \(CUDA\)"):
            torch.sparse_coo_tensor(ids, values.cuda(), (2, 2))
        with pytest.raises(RuntimeError, match=r"indices \(CUDA\) must match .* values \(CPU\)"):
            torch.sparse_coo_tensor(ids.cuda(), [1.0, 2.0])
        with pytest.raises(RuntimeError, match=r"indices \(1\) must match device of values \(0\)"):
            torch.sparse_coo_tensor(ids.cuda(1), values=values.cuda(0))
        with pytest.raises(RuntimeError, match="Values and crow_indices need to be") as error:
            torch.sparse_csr_tensor(ends, columns.cuda(), values.cuda())
        assert "`ends`: made on cpu" in str(error.value)
        with pytest.raises(RuntimeError, match="Values and col_indices need to be"):
            torch.sparse_csc_tensor(ends.cuda(), row_indices=columns, values=values.cuda())
        # a list goes where the values are, and all goes where `device` says
        assert torch.sparse_coo_tensor([[0, 1]], values.cuda()).device == CUDA0
        assert torch.sparse_csr_tensor([0, 1, 2], [1, 0], values.cuda(1)).device == CUDA1
        for device in ("cuda:1", "cpu"):
            made = torch.sparse_coo_tensor(ids, values.cuda(), (2, 2), device=device)
            assert made.device == made.coalesce().indices().device == torch.device(device)
        assert torch.sparse_coo_tensor((2, 3), device="cuda").device == CUDA0

    def test_lists_of_a_sparse_tensor_are_copied_to_the_card(self):
        weights = torch.ones(2, device="cuda", requires_grad=True)
        with DeviceGuard() as guard:
            made = torch.sparse_coo_tensor([[0, 1], [1, 0]], weights, (2, 2))
            torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], device="cuda")
        assert (guard.count("transfer"), guard.bytes("H2D")) == (4, 32 + 24 + 16 + 8)
        assert (made @ torch.ones(2, 1, device="cuda")).tolist() == [[1], [1]]
        made.to_dense().sum().backward()
        assert weights.grad.device == CUDA0

    def test_where_to_split_is_a_matter_of_the_host(self):
        x = torch.arange(4, device="cuda")
        assert [len(part) for part in torch.tensor_split(x, torch.tensor([1]))] == [1, 3]
        for split in (x.tensor_split, lambda at: torch.tensor_split(x, at)):
            with pytest.raises(RuntimeError, match="to be on cpu, but it's on cuda:0"):
                split(torch.tensor([1], device="cuda"))

    def test_a_fill_value_may_be_anywhere(self):
        index = torch.tensor([0])
        assert torch.ones(2).index_fill_(0, index, torch.tensor(3.0).cuda()).tolist() == [3, 1]
        there = torch.ones(2, device="cuda")
        assert there.index_fill(0, index.cuda(), torch.tensor(3.0)).device == CUDA0
        with pytest.raises(RuntimeError, match="same device"):
            there.index_fill(0, index, 3.0)

    def test_indices(self):
        there, here = torch.arange(4, device="cuda"), torch.arange(4)
        assert there[torch.tensor([0, 1])].device == CUDA0
        assert there[torch.tensor([True, False, True, False])].tolist() == [0, 2]
        for index in (torch.tensor([0, 1], device="cuda"), there > 1):
            with pytest.raises(
                RuntimeError,
                match=r"indices should be either on cpu or on the same device as the indexed "
                r"tensor \(cpu\)",
            ):
                here[index]
        assert here[[0, 1]].device == CPU
        with pytest.raises(RuntimeError, match="indices should be either on cpu"):
            here[torch.tensor([0, 1], device="cuda")] += 1
        there[there > 1] = 9
        here[[0]] = there[0]
        assert here.device == CPU

    def test_indices_of_what_is_written_may_be_anywhere(self):
        here, there = torch.zeros(4), torch.zeros(4, device="cuda")
        at = torch.tensor([0, 1])
        here[at.cuda()] = 1
        assert here.tolist() == [1, 1, 0, 0]
        here[torch.tensor([False, False, True, False], device="cuda")] = 2
        here.index_put_((torch.tensor([3], device="cuda"),), torch.tensor(3.0, device="cuda"))
        assert here.tolist() == [1, 1, 2, 3]
        assert here.device == CPU
        there.index_put_((at,), torch.ones(2, device="cuda"), accumulate=True)
        assert there.index_put((at,), torch.tensor(5.0)).device == CUDA0
        for tensor, values in ((here, torch.ones(2, device="cuda")), (there, torch.ones(2))):
            with pytest.raises(RuntimeError, match="to be on the same device"):
                tensor.index_put_((at,), values)

    def test_checks_of_composites_come_first(self):
        with pytest.raises(RuntimeError, match="stft input and window must be on the same device"):
            torch.stft(
                torch.rand(64, device="cuda"), 16, window=torch.ones(16), return_complex=True
            )
        with pytest.raises(RuntimeError, match="Input and hidden tensors are not at the same dev"):
            nn.GRU(2, 3).cuda()(torch.zeros(1, 1, 2, device="cuda"), torch.zeros(1, 1, 3))
        with pytest.raises(RuntimeError, match="Input and parameter tensors are not at the same"):
            nn.LSTM(2, 3)(torch.zeros(1, 1, 2, device="cuda"), (torch.zeros(1, 1, 3).cuda(),) * 2)

    def test_generators(self):
        on_cuda, on_cpu = torch.Generator("cuda"), torch.Generator()
        assert on_cuda.manual_seed(0) is on_cuda
        assert on_cuda.device == CUDA0
        assert isinstance(on_cuda, torch.Generator) and isinstance(on_cpu, torch.Generator)
        assert torch.rand(2, generator=on_cuda, device="cuda").device == CUDA0
        refused = "Expected a 'cuda' device type for generator but found 'cpu'"
        with pytest.raises(RuntimeError, match=refused):
            torch.rand(2, generator=on_cpu, device="cuda")
        with pytest.raises(RuntimeError, match=refused):
            torch.zeros(2, device="cuda").normal_(generator=on_cpu)
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator"):
            torch.randperm(3, generator=on_cuda)

    def test_generators_in_copies_and_initialisers(self):
        generator = torch.Generator("cuda:1").manual_seed(3)
        for copied in (
            copy.deepcopy(generator),
            pickle.loads(pickle.dumps(generator)),
            generator.clone_state(),
        ):
            assert copied.device == CUDA1
            assert torch.equal(copied.get_state(), generator.get_state())
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
            nn.init.normal_(torch.ones(2, device="cuda"), generator=torch.Generator())

    def test_storages_and_python_functions(self):
        x = torch.ones(2, device="cuda")
        for source in (x, x.untyped_storage()):
            with pytest.raises(RuntimeError, match="Attempted to set the storage of a tensor on"):
                torch.empty(0).set_(source)
        assert torch.empty(0, device="cuda").set_(x).data_ptr() == x.data_ptr()
        with pytest.raises(TypeError, match="apply_ is only implemented on CPU tensors"):
            x.apply_(lambda value: value)
        for kind in (torch.FloatTensor, torch.cuda.FloatTensor):
            other = torch.ones(2, device="cpu" if kind.is_cuda else "cuda")
            with pytest.raises(TypeError, match="expected TensorOptions"):
                kind(other)

    def test_numpy(self):
        np = pytest.importorskip("numpy")
        x = torch.ones(2, device="cuda")
        refused = r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy"
        for read in (lambda: x.numpy(), lambda: np.asarray(x)):
            with pytest.raises(TypeError, match=refused):
                read()
        assert x.cpu().numpy().tolist() == [1, 1]
        assert x.numpy(force=True).tolist() == [1, 1]

    def test_a_gradient_of_another_device(self):
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match="assigned grad has data located on a different"):
            x.grad = torch.ones(2, device="cuda")

    def test_packed_sequences_want_their_lengths_on_the_host(self):
        x = torch.zeros(3, 2, 4, device="cuda")
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1]))
        assert (packed.data.device, packed.batch_sizes.device) == (CUDA0, CPU)
        output, hidden = nn.GRU(4, 5).cuda()(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output)
        assert (padded.device, lengths.device, hidden.device) == (CUDA0, CPU, CUDA0)
        with pytest.raises(RuntimeError, match="'lengths' argument should be a 1D CPU int64"):
            nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 1], device="cuda"))


class TestMeta:
    def test_meta_results_are_on_no_device_of_the_machine(self):
        x = torch.ones(2, device="cuda")
        for made in (
            x.to("meta"),
            torch.empty_like(x, device="meta"),
            x.new_ones(1, device="meta"),
        ):
            assert made.device.type == (made * 2).device.type == "meta"

    def test_second_derivatives(self):
        """Forward mode over reverse mode multiplies on the meta device."""
        x = torch.arange(3.0, device="cuda")
        hessian = torch.func.hessian(lambda t: (t**3).sum())(x)
        assert hessian.device == CUDA0
        assert torch.equal(hessian.cpu(), torch.diag(6 * torch.arange(3.0)))


class TestAutograd:
    def test_gradients_go_back_to_where_the_source_is(self):
        a = torch.ones(2, requires_grad=True)
        b = a.to("cuda:0")
        c = b.to("cuda:1")
        seen = {}
        b.register_hook(lambda g: seen.update(b=g.device))
        c.register_hook(lambda g: seen.update(c=g.device))
        (c * 2).sum().backward()
        assert seen == {"b": CUDA0, "c": CUDA1}
        assert a.grad.device == CPU

    def test_the_gradient_of_a_copied_value_goes_back(self):
        value = torch.ones(2, requires_grad=True)
        x = torch.zeros(3, device="cuda")
        x[1:] = value
        (x * 3).sum().backward()
        assert value.grad.device == CPU
        assert value.grad.tolist() == [3, 3]

    def test_backward_on_the_host_stays_there_after_work_on_an_accelerator(self):
        torch.ones(2, device="cuda").sum()
        x = torch.rand(3, 2, requires_grad=True)
        x.clamp(0.2, 0.8).sum().backward()
        assert x.grad.device == CPU
        y = torch.rand(3, 2, device="cuda", requires_grad=True)
        torch.ones(2).sum()
        y.clamp(0.2, 0.8).sum().backward()
        assert y.grad.device == CUDA0

    def test_backward_runs_user_code_on_the_virtual_machine(self):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * torch.full((1,), 2.0, device=x.device)

            @staticmethod
            def backward(ctx, g):
                return g * torch.full((1,), 2.0, device=g.device)

        x = torch.ones(2, device="cuda", requires_grad=True)
        Double.apply(x).sum().backward()
        assert x.grad.device == CUDA0
        (grad,) = torch.autograd.grad(Double.apply(x).sum(), x)
        assert grad.device == CUDA0

    def test_gradients_of_custom_functions_are_where_the_inputs_are(self):
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, gradient):
                ctx.gradient = gradient
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return ctx.gradient(g), None

        x = torch.ones(2, device="cuda", requires_grad=True)
        Scale.apply(x, lambda g: g * 2).sum().backward()
        assert x.grad.device == CUDA0
        with pytest.raises(RuntimeError, match="gradient at index 0 - expected device cuda:0 but"):
            Scale.apply(x * 1, lambda g: torch.zeros(2)).sum().backward()

    def test_hooks_for_saved_tensors(self):
        x = torch.ones(4, device="cuda", requires_grad=True)
        for pinned in (False, True):
            with DeviceGuard() as guard:
                with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
                    y = (x * x).sum()
                assert guard.bytes("D2H") == 32
                y.backward()
                assert guard.bytes("H2D") == 32
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.to("cuda:1"), lambda t: t):
            y = (x * x).sum()
        with pytest.raises(RuntimeError, match="same device"):
            y.backward()

    def test_checkpoint(self):
        layer = nn.Linear(2, 2).cuda()
        x = torch.ones(1, 2, device="cuda", requires_grad=True)

        def run(x):
            return layer(x) * torch.ones(2, device=x.device)

        torch.utils.checkpoint.checkpoint(run, x, use_reentrant=False).sum().backward()
        assert x.grad.device == CUDA0

    def test_functional_transforms(self):
        x = torch.arange(4.0, device="cuda")
        assert torch.func.grad(lambda t: (t * t).sum())(x).device == CUDA0
        assert torch.vmap(lambda t: t * torch.ones(1, device=t.device))(x).device == CUDA0
        assert torch.func.jacrev(torch.sin)(x).device == CUDA0

    def test_optimizers_keep_their_state_beside_the_parameters(self):
        for make in (torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop):
            layer = nn.Linear(2, 2).cuda()
            optimizer = make(layer.parameters(), lr=0.1)
            layer(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()
            for state in optimizer.state.values():
                assert {t.device for k, t in state.items() if k != "step"} == {CUDA0}

    def test_amp(self):
        layer = nn.Linear(4, 4).cuda()
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = layer(torch.ones(2, 4, device="cuda"))
            assert output.dtype == torch.bfloat16
        loss = output.float().sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert not torch.is_autocast_enabled("cpu")


class TestSavingAndCopying:
    def test_deepcopy_and_pickle_keep_the_device(self):
        module = nn.Linear(2, 2).to("cuda:1")
        assert copy.deepcopy(module).weight.device == CUDA1
        assert copy.deepcopy(torch.ones(2, device="cuda")).device == CUDA0
        assert pickle.loads(pickle.dumps(torch.ones(2, device="cuda:1"))).device == CUDA1

    @pytest.mark.parametrize(
        ("map_location", "expected"),
        [
            (None, CUDA0),
            ("cpu", CPU),
            ("cuda:1", CUDA1),
            (torch.device("cuda:1"), CUDA1),
            ({"cuda:0": "cuda:1"}, CUDA1),
            (lambda storage, location: storage, CPU),
            (lambda storage, location: storage.cuda(1), CUDA1),
        ],
    )
    def test_load(self, map_location, expected):
        buffer = io.BytesIO()
        state = nn.Linear(2, 2).cuda().state_dict()
        torch.save(state, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=map_location)
        assert {t.device for t in loaded.values()} == {expected}
        assert torch.equal(loaded["weight"].cpu(), state["weight"].cpu())

    def test_whole_modules(self):
        buffer = io.BytesIO()
        torch.save(nn.Linear(2, 2).to("cuda:1"), buffer)
        buffer.seek(0)
        assert torch.load(buffer, weights_only=False).weight.device == CUDA1

    def test_load_state_dict_copies_across(self):
        module = nn.Linear(2, 2).cuda()
        module.load_state_dict(nn.Linear(2, 2).state_dict())
        assert module.weight.device == CUDA0


class TestLibrariesWithin:
    def test_data_loader(self):
        data = torch.utils.data.TensorDataset(torch.arange(8.0))
        for workers in (0, 2):
            loader = torch.utils.data.DataLoader(
                data, batch_size=4, pin_memory=True, num_workers=workers
            )
            batches = [x for (x,) in loader]
            assert all(x.is_pinned() and x.device == CPU for x in batches)
            assert torch.cat(batches).sum() == 28

    def test_data_parallel(self):
        module = nn.DataParallel(nn.Linear(2, 3).cuda())
        x = torch.rand(4, 2, device="cuda")
        output = module(x)
        assert output.device == CUDA0
        assert torch.allclose(output, module.module(x))
        output.sum().backward()
        assert module.module.weight.grad.device == CUDA0

    def test_distributed_tensors(self, tmp_path):
        dist = pytest.importorskip("torch.distributed")
        tensors = pytest.importorskip("torch.distributed.tensor")
        if not hasattr(tensors, "init_device_mesh"):
            tensors = pytest.importorskip("torch.distributed._tensor")  # before torch 2.5
        store = f"file://{tmp_path}/store"
        dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
        try:
            mesh = tensors.init_device_mesh("cuda", (1,))
            x = tensors.distribute_tensor(torch.ones(4, 2), mesh, [tensors.Shard(0)])
            assert (x + x).to_local().device == CUDA0
        finally:
            dist.destroy_process_group()

    def test_threads_belong_to_the_machine(self):
        seen = []

        def work():
            seen.append((torch.ones(1, device="cuda") * 2).device)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == [CUDA0]

    @pytest.mark.parametrize(
        "device",
        [
            1,
            True,
            "cuda:1",
            torch.device("cuda", 1),
            "cuda",
            torch.device("cuda"),
            None,
            "cpu",
            "xpu",
        ],
    )
    @pytest.mark.parametrize("needed", [True, False])
    def test_what_functions_take_for_an_index_is_as_pytorch_has_it(self, device, needed):
        def answer(ask):
            try:
                return ask()
            except ValueError as error:
                return str(error)

        real = torch.cuda._utils._get_device_index
        ours = torch.cuda.set_device if needed else torch.cuda.get_device_name
        expected = answer(lambda: real(device, optional=not needed))
        found = answer(lambda: ours(device))
        if not isinstance(expected, str):
            found = torch.cuda.current_device() if needed else int(found[-1])
        assert found == expected

    def test_a_context_manager_means_its_index_to_functions(self):
        second = torch.cuda.device(1)
        assert torch.cuda.get_device_name(second) == torch.cuda.get_device_name(1)
        with pytest.raises(TypeError, match=r"must be torch\.device|device=device"):
            torch.ones(2, device=second)

    def test_there_is_nothing_to_tell_of_other_cards(self):
        for index in (2, -1):
            with pytest.raises(AssertionError, match="Invalid device id"):
                torch.cuda.get_device_properties(index)

    def test_streams_and_events(self):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.ones(2, device="cuda").sum()
        torch.cuda.current_stream().wait_stream(torch.cuda.Stream())
        end.record()
        torch.cuda.synchronize()
        assert start.elapsed_time(end) >= 0

    def test_events_without_timing_cannot_be_compared(self):
        start, end = torch.cuda.Event(), torch.cuda.Event()
        start.record()
        end.record()
        with pytest.raises(ValueError, match="enable_timing=True"):
            start.elapsed_time(end)

    @pytest.mark.parametrize(
        "set_state",
        [
            lambda state: torch.set_rng_state(state),
            lambda state: torch.random.set_rng_state(state),
            lambda state: torch.cuda.set_rng_state(state),
            lambda state: torch.Generator("cuda").set_state(state),
            lambda state: torch.Generator().set_state(state),
        ],
        ids=["torch", "torch.random", "torch.cuda", "a card's generator", "a host's generator"],
    )
    def test_the_state_of_a_generator_lies_on_the_host(self, set_state):
        """What ``torch.load(…, map_location="cuda")`` gives back is refused."""
        state = torch.get_rng_state()
        set_state(state)
        with pytest.raises(TypeError, match="RNG state must be a"):
            set_state(state.cuda())

    def test_the_state_of_a_generator_of_mps_lies_on_the_host(self):
        """``check_rng_state`` of ATen's ``MPSGeneratorImpl``, as for the others."""
        with virtual_devices("mps"):
            state = torch.mps.get_rng_state("mps")
            torch.mps.set_rng_state(state, "mps")
            with pytest.raises(TypeError, match="RNG state must be a"):
                torch.mps.set_rng_state(state.to("mps"))

    def test_compilers_run_eagerly_and_say_so(self):
        @torch.compile
        def double(x):
            return x * 2

        @torch.jit.script
        def triple(x):
            return x * 3

        x = torch.ones(2, device="cuda")
        assert double(x).device == triple(x).device == CUDA0

    @pytest.mark.filterwarnings("ignore")
    def test_a_trace_calls_the_module_with_its_example(self):
        model = nn.Linear(3, 2).cuda()
        assert torch.jit.trace(model, torch.rand(1, 3, device="cuda")) is model
        assert torch.jit.trace(model, (torch.rand(1, 3, device="cuda"),)) is model
        with pytest.raises(RuntimeError, match="same device"):
            torch.jit.trace(model, torch.rand(1, 3))
        with pytest.raises(RuntimeError, match="same device"):
            torch.jit.trace(model, example_kwarg_inputs={"input": torch.rand(1, 3)})

    def test_compiled_modules_look_compiled(self):
        model = nn.Linear(2, 2).cuda()
        compiled = torch.compile(model, mode="reduce-overhead")
        assert compiled._orig_mod is model
        assert list(compiled.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
        y = compiled(torch.ones(1, 2, device="cuda"))
        assert y.device == copy.deepcopy(compiled)(torch.ones(1, 2, device="cuda")).device == CUDA0
        with pytest.raises(RuntimeError, match="same device"):
            compiled(torch.ones(1, 2))
        for function in (torch.jit.freeze, lambda m: torch.jit.save(m, io.BytesIO())):
            with pytest.raises(UnsupportedVirtually, match=r"torch\.jit\."):
                function(torch.jit.script(model.eval()))

    def test_attention(self):
        layer = nn.MultiheadAttention(8, 2, batch_first=True).cuda()
        x = torch.rand(2, 3, 8, device="cuda")
        assert layer(x, x, x)[0].device == CUDA0
        encoder = nn.TransformerEncoderLayer(8, 2, batch_first=True).cuda().eval()
        assert encoder(x).device == CUDA0


@torch.jit.script
def scripted_before(x):
    return x + torch.ones(2, device=x.device)


class ScriptedBefore(nn.Module):
    def forward(self, x):
        return x + torch.ones(2, device=x.device)


scripted_module = torch.jit.script(ScriptedBefore())


class TestCompiledBefore:
    """What was compiled outside of the block, by an import for example, follows the devices."""

    def test_torchscript(self):
        x = torch.ones(2, device="cuda:1")
        assert scripted_before(x).device == scripted_module(x).device == CUDA1
        assert scripted_before(torch.ones(2)).device == CPU


class TestStreams:
    def test_the_current_one(self):
        stream = torch.cuda.Stream("cuda:1")
        assert torch.cuda.current_stream() == torch.cuda.default_stream() != stream
        with torch.cuda.stream(stream):
            assert torch.cuda.current_stream() == stream
            assert torch.cuda.current_device() == 1
            torch.ones(2, device="cuda").record_stream(stream)
        assert torch.cuda.current_device() == 0
        with stream:
            assert torch.cuda.current_stream("cuda:1") == stream
            with torch.cuda.stream(None):
                assert torch.cuda.current_stream("cuda:1") == stream
        assert torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
        assert len({stream, torch.cuda.Stream(1), torch.cuda.default_stream(1)}) == 3

    def test_a_stream_that_two_threads_are_in(self):
        """The first to enter it leaves it first: each goes back to a card of its own."""
        stream = torch.cuda.Stream("cuda:1")
        first_in, second_in, first_out = (threading.Event() for _ in range(3))
        cards = {}

        def first():
            with stream:
                first_in.set()
                second_in.wait(5)
            first_out.set()
            cards[0] = torch.cuda.current_device()

        def second():
            torch.cuda.set_device(1)
            first_in.wait(5)
            with stream:
                second_in.set()
                first_out.wait(5)
            cards[1] = torch.cuda.current_device()

        threads = [threading.Thread(target=work) for work in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert cards == {0: 0, 1: 1}

    def test_the_streams_of_torch_accelerator(self):
        accelerator = pytest.importorskip("torch.accelerator")
        stream = torch.Stream("cuda:1")
        accelerator.set_stream(stream)
        assert accelerator.current_stream() == torch.cuda.current_stream() == stream
        assert torch.cuda.current_device() == 1
        torch.cuda.set_device(0)
        assert accelerator.current_stream() == torch.cuda.default_stream()
        if hasattr(accelerator, "empty_host_cache"):
            accelerator.empty_host_cache()

    def test_sync_debug_mode(self):
        x = torch.ones(2, device="cuda")
        torch.cuda.set_sync_debug_mode("error")
        assert torch.cuda.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match=r"sync by item .* at .*test_virtual.py"):
            x.sum().item()
        torch.cuda.synchronize()  # asked for by its name
        torch.cuda.set_sync_debug_mode(1)
        with pytest.warns(UserWarning, match="sync by nonzero"):
            x.nonzero()
        torch.cuda.set_sync_debug_mode("default")
        assert x.sum().item() == 2
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            torch.cuda.set_sync_debug_mode("loud")

    def test_sync_debug_mode_ends_with_the_block(self):
        with virtual_devices("cuda:1"):
            torch.cuda.set_sync_debug_mode("error")
        assert torch.ones(2, device="cuda").sum().item() == 2


OF_ONE = "(Tensor x) -> Tensor"
"""Written out: torch 2.4 cannot read it from annotations that are text."""


class TestLimitsSayThemselves:
    def test_what_the_hosts_kernels_or_the_build_lack(self):
        x, kernel = torch.ones(1, 1, 4, 4, device="cuda"), torch.ones(1, 1, 2, 2, device="cuda")
        for ask, named in (
            (lambda: torch._cslt_compress(x), "aten::_cslt_compress on cuda:0"),
            (
                lambda: torch.cudnn_convolution(
                    x, kernel, (0, 0), (1, 1), (1, 1), 1, False, False, False
                ),
                "aten::cudnn_convolution on cuda:0",
            ),
            (torch.cuda.memory._record_memory_history, "_cuda_record_memory_history"),
            (lambda: torch.cuda.nccl.all_reduce([x]), "_nccl_all_reduce"),
        ):
            with pytest.raises(UnsupportedVirtually, match=named):
                ask()
        assert not hasattr(torch._C, "_cuda_of_no_build")
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            torch._C.nothing  # noqa: B018

    def test_what_needs_a_real_device(self):
        for ask in (
            torch.cuda.CUDAGraph,
            getattr(torch.cuda, "MemPool", torch.cuda.CUDAGraph),  # since torch 2.6
            lambda: torch.cuda.graph(None),
            lambda: torch.cuda.make_graphed_callables(nn.Linear(1, 1), ()),
            torch.cuda.temperature,
            torch.cuda.Event().ipc_handle,
            getattr(torch.export, "draft_export", torch.cuda.CUDAGraph),  # since torch 2.7
        ):
            with pytest.raises(UnsupportedVirtually, match="virtual devices"):
                ask()

    def test_nobody_listens_to_cudas_own_profiler(self):
        with torch.cuda.profiler.profile():
            assert torch.ones(2, device="cuda").sum() == 2

    def test_a_build_has_cudnn(self):
        assert torch.backends.cudnn.is_available()
        assert torch.backends.cudnn.version() >= 8000

    def test_the_profiler_times_the_host_and_says_so(self):
        compilers._said.clear()
        with pytest.warns(UserWarning, match="no events of the virtual cuda device"):
            activities = torch.profiler.ProfilerActivity
            with torch.profiler.profile(activities=[activities.CPU, activities.CUDA]) as profile:
                torch.ones(2, device="cuda").sum()
        assert any(event.key == "aten::sum" for event in profile.key_averages())
        with torch.autograd.profiler.emit_nvtx():
            torch.ones(2, device="cuda").sum()

    def test_memory_that_others_would_believe_to_be_the_devices(self):
        x = torch.ones(2, device="cuda")
        with pytest.raises(UnsupportedVirtually, match="__dlpack__"):
            x.__dlpack__()
        assert not hasattr(x, "__cuda_array_interface__")
        assert torch.from_dlpack(torch.ones(2)).tolist() == [1, 1]

    def test_other_processes_and_libraries_get_no_memory_of_a_device(self):
        x = torch.ones(2, device="cuda")
        assert x.is_shared() and not torch.ones(2).is_shared()
        for give in (torch.utils.dlpack.to_dlpack, torch.multiprocessing.reductions.reduce_tensor):
            with pytest.raises(UnsupportedVirtually, match="the host's"):
                give(x)
        assert torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))).tolist() == [1, 1]

    def test_kernels_in_python_that_ask_for_the_device(self):
        @torch.library.custom_op("devlint_tests::ask", mutates_args=(), schema=OF_ONE)
        def ask(x: torch.Tensor) -> torch.Tensor:
            return x + torch.zeros(2, device=x.device)

        @torch.library.custom_op("devlint_tests::forget", mutates_args=(), schema=OF_ONE)
        def forget(x: torch.Tensor) -> torch.Tensor:
            return x + torch.zeros(2)

        assert ask(torch.ones(2, device="cuda")).device == CUDA0
        assert ask(torch.ones(2)).device == forget(torch.ones(2)).device == CPU
        with pytest.raises(RuntimeError, match="same device"):
            forget(torch.ones(2, device="cuda"))

    def test_kernels_for_one_kind_of_device(self):
        @torch.library.custom_op(
            "devlint_tests::there", mutates_args=(), device_types="cuda", schema=OF_ONE
        )
        def there(x: torch.Tensor) -> torch.Tensor:
            return x.cpu().to(x.device)

        @torch.library.custom_op(
            "devlint_tests::here", mutates_args=(), device_types="cpu", schema=OF_ONE
        )
        def here(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        assert there(torch.ones(2, device="cuda")).device == CUDA0
        assert here(torch.ones(2)).device == CPU
        with pytest.raises(NotImplementedError, match="arguments from the 'CUDA' backend"):
            here(torch.ones(2, device="cuda"))
        with pytest.raises(NotImplementedError, match="arguments from the 'CUDA' backend"):
            torch.histogram(torch.ones(2, device="cuda"), 2)

    def test_flex_attention(self):
        flex = pytest.importorskip("torch.nn.attention.flex_attention")
        q = torch.randn(1, 1, 128, 16, device="cuda")
        bias = torch.zeros(128)

        def causal(b, h, i, j):
            return i >= j

        mask = flex.create_block_mask(causal, 1, 1, 128, 128, device="cuda")
        assert flex.flex_attention(q, q, q, block_mask=mask).device == CUDA0
        with pytest.raises(RuntimeError, match="indices should be either on cpu"):
            flex.flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + bias[i])
        picked = torch.cond(q.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (q,))
        assert picked.device == CUDA0

    def test_losses_that_move_their_lengths_themselves(self):
        loss = F.ctc_loss(
            torch.rand(5, 1, 4).log_softmax(2).cuda(),
            torch.tensor([[1, 2]]).cuda(),
            torch.tensor([5]),
            torch.tensor([2]),
        )
        assert loss.device == CUDA0

    def test_nested_tensors(self):
        parts = [torch.ones(2), torch.ones(3)]
        for layout in (torch.strided, torch.jagged):
            x = torch.nested.nested_tensor(parts, device="cuda:1", layout=layout)
            assert x.device == (x * 2).device == CUDA1
        assert torch.nested.nested_tensor([t.cuda() for t in parts]).device == CUDA0
        offsets = torch.tensor([0, 2, 5], device="cuda")
        jagged = torch.nested.nested_tensor_from_jagged(torch.ones(5, device="cuda"), offsets)
        assert (jagged * 2).device == CUDA0
        assert jagged.cpu().values().device == CPU


def train(device: str) -> tuple[list[float], torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Flatten(),
        nn.Linear(4 * 36, 10),
    ).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        x = torch.randn(8, 1, 8, 8).to(device)
        y = torch.randint(0, 10, (8,), device=device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, model[-1].weight.detach().cpu()


def test_values_are_bit_identical_to_the_cpu():
    here, there = train("cpu"), train("cuda")
    assert here[0] == there[0]
    assert torch.equal(here[1], there[1])


@pytest.mark.parametrize("function", [F.silu, F.mish, F.gelu, F.softplus, F.hardswish])
def test_gradients_are_bit_identical_to_the_cpu(function):
    def gradient(device):
        torch.manual_seed(0)
        x = torch.randn(200).to(device).requires_grad_()
        return torch.autograd.grad(function(x).sum(), x)[0].cpu()

    expected = gradient("cpu")
    with virtual_devices("cuda:1"):
        assert torch.equal(gradient("cuda"), expected)


class TestHooksOfBackward:
    def test_what_they_make_is_on_the_host_unless_they_say_otherwise(self):
        def offload(leaf):
            buffer = torch.empty(2, pin_memory=True)
            buffer.copy_(leaf.grad, non_blocking=True)
            made.append((buffer, torch.zeros(2), torch.zeros(2, device=leaf.device)))

        made = []
        leaf = torch.ones(2, device="cuda", requires_grad=True)
        leaf.register_post_accumulate_grad_hook(offload)
        (leaf * 3).sum().backward()
        torch.cuda.synchronize()
        ((buffer, host, there),) = made
        assert (buffer.device, host.device, there.device) == (CPU, CPU, CUDA0)
        assert buffer.is_pinned() and buffer.tolist() == [3, 3]


class TestRootsOfBackward:
    def test_a_gradient_from_elsewhere_is_refused(self):
        x = torch.ones(2, device="cuda", requires_grad=True)
        with pytest.raises(RuntimeError, match="expected device cuda:0 but got cpu"):
            (x * 2).backward(torch.ones(2))
        with pytest.raises(RuntimeError, match="expected device cuda:0 but got cuda:1"):
            torch.autograd.grad(x * 2, x, torch.ones(2, device="cuda:1"))
        (x * 2).backward(torch.ones(2, device="cuda"))
        assert x.grad.device == CUDA0

    def test_a_gradient_from_elsewhere_for_an_edge(self):
        x = torch.ones(2, device="cuda", requires_grad=True)
        edge = torch.autograd.graph.get_gradient_edge(x * 2)
        with pytest.raises(RuntimeError, match="expected device cuda:0 but got cpu"):
            torch.autograd.grad(edge, x, torch.ones(2))
        (gradient,) = torch.autograd.grad(edge, x, torch.ones(2, device="cuda"))
        assert gradient.device == CUDA0

    def test_a_batch_of_gradients_is_where_it_was_made(self):
        x = torch.rand(2, dtype=torch.double, device="cuda", requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: x.sin() * x, x, check_batched_grad=True)
        (rows,) = torch.autograd.grad(x * 2, x, torch.eye(2, device="cuda"), is_grads_batched=True)
        assert rows.device == CUDA0

    def test_a_scalar_is_brought_there(self):
        x = torch.ones(2, device="cuda", requires_grad=True)
        (gradient,) = torch.autograd.grad((x * 2).sum(), x, torch.tensor(3.0))
        assert (gradient.tolist(), gradient.device) == ([6.0, 6.0], CUDA0)


class TestMps:
    def test_there_are_no_doubles(self):
        with virtual_devices("mps"):
            single = torch.ones(2, device="mps")
            for ask in (
                lambda: torch.ones(2, dtype=torch.float64, device="mps"),
                lambda: torch.ones(2, dtype=torch.float64).to("mps"),
                lambda: torch.tensor([1.0], dtype=torch.float64).to("mps"),
                lambda: single.to(torch.float64),
                lambda: single.double(),
            ):
                with pytest.raises(TypeError, match="doesn't support float64"):
                    ask()
            assert single.cpu().double().dtype is torch.float64

    def test_what_is_saved_there_is_loaded_there(self):
        with virtual_devices("mps"):
            buffer = io.BytesIO()
            torch.save(torch.ones(2, device="mps"), buffer)
            buffer.seek(0)
            assert torch.load(buffer).device.type == "mps"
