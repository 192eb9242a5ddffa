"""Contracts on real tensors: what is checked, what is said, and that nothing is left behind."""

from __future__ import annotations

import importlib
import sys
import threading
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import pytest

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402

from devlint.contracts import ContractError, On, SameDevice  # noqa: E402
from runtime_guard import (  # noqa: E402
    BrokenContract,
    DeviceGuard,
    DevicePolicyWarning,
    check_contracts,
    virtual_devices,
)
from runtime_guard.recording.events import Kind  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

Cuda = Annotated[Tensor, On("cuda")]
Cpu = Annotated[Tensor, On("cpu")]


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:2") as machine:
        yield machine


def attend(
    query: Cuda, mask: Annotated[Tensor | None, SameDevice("query")] = None
) -> Annotated[Tensor, SameDevice("query")]:
    return query.cpu() if mask is None else query


def commented(x, y):  # devlint: device[x=cuda, y=same(x), return=cpu]
    return x


def by_lines(
    x,  # devlint: device[cuda:1]
    *,
    y=None,  # devlint: device[same(x)]
):
    return x


class Pair(NamedTuple):
    left: Cuda
    right: Cpu


def split(x: Cuda, right: Tensor) -> tuple[Cuda, Cpu]:
    return x, right


def on(device: str) -> Tensor:
    return torch.ones(2, device=device)


class TestDecorator:
    def test_what_keeps_its_contract_passes(self):
        checked = check_contracts(attend)
        assert checked(on("cuda:1"), on("cuda:1")).device == torch.device("cuda:1")
        assert checked.__name__ == "attend" and checked.__wrapped__ is attend

    def test_an_argument_is_named_with_where_it_came_from(self):
        mask = on("cpu")
        with pytest.raises(BrokenContract) as raised:
            check_contracts(attend)(on("cuda"), mask)
        first, second = str(raised.value).splitlines()
        assert first == (
            "Expected parameter `mask` of `attend` to be on the same device as `query`, which is "
            "on cuda:0, but found it on cpu!"
        )
        assert "`mask`: made on cpu at" in second and "test_contracts.py" in second
        assert 'declared SameDevice("query") at' in second

    def test_a_device(self):
        with pytest.raises(BrokenContract, match=r"`query` of `attend` to be on cuda, but found"):
            check_contracts(attend)(on("cpu"))

    def test_a_result(self):
        with pytest.raises(BrokenContract, match="Expected the result of `attend` to be on the"):
            check_contracts(attend)(on("cuda"))

    def test_comments(self):
        with pytest.raises(BrokenContract, match="`y` of `commented`"):
            check_contracts(commented)(on("cuda"), on("cpu"))
        with pytest.raises(BrokenContract, match="the result of `commented` to be on cpu"):
            check_contracts(commented)(on("cuda"), on("cuda"))
        with pytest.raises(BrokenContract, match="`x` of `by_lines` to be on cuda:1"):
            check_contracts(by_lines)(on("cuda:0"))
        with pytest.raises(BrokenContract, match="`y` of `by_lines`"):
            check_contracts(by_lines)(on("cuda:1"), y=on("cuda:0"))
        assert check_contracts(by_lines)(on("cuda:1"), y=on("cuda:1")) is not None

    def test_parts_and_containers(self):
        split_checked = check_contracts(split)
        split_checked(on("cuda"), on("cpu"))
        with pytest.raises(BrokenContract, match="part 1 of the result of `split` to be on cpu"):
            split_checked(on("cuda"), on("cuda"))

        @check_contracts
        def total(tensors: dict[str, list[Cuda]]) -> None: ...

        total({"a": [on("cuda")]})
        with pytest.raises(BrokenContract):
            total({"a": [on("cuda"), on("cpu")]})

    def test_a_dataclass_and_its_attributes(self):
        @check_contracts
        @dataclass
        class Batch:
            tokens: Cuda
            mask: Annotated[Tensor, SameDevice("tokens")]

        batch = Batch(on("cuda"), on("cuda"))
        with pytest.raises(BrokenContract, match="`mask`"):
            Batch(on("cuda"), on("cpu"))
        with pytest.raises(BrokenContract, match="attribute `tokens` of `Batch`"):
            batch.tokens = on("cpu")
        batch.tokens = on("cuda:1")

    def test_a_module_and_its_own_device(self):
        @check_contracts
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(2, 2)

            def forward(self, x: Annotated[Tensor, SameDevice("self")]) -> Tensor:
                return self.proj(x)

        net = Net().cuda()
        net(on("cuda"))
        with pytest.raises(BrokenContract, match="`x` of `forward`"):
            net(on("cpu"))

    def test_a_name_that_comes_later(self):
        @check_contracts
        def early(x: Annotated[Tensor, On(LATER)]) -> None: ...  # noqa: F821

        globals()["LATER"] = "cuda"
        try:
            with pytest.raises(BrokenContract):
                early(on("cpu"))
        finally:
            del globals()["LATER"]

    def test_what_can_not_be_read_is_an_error(self):
        @check_contracts
        def unread(x: Annotated[Tensor, On(NOWHERE)]) -> None: ...  # noqa: F821

        @check_contracts
        def misspelt(x):  # devlint: device[z=cuda]
            return x

        with pytest.raises(ContractError, match="can't be evaluated"):
            unread(on("cuda"))
        with pytest.raises(ContractError, match="no parameter `z`"):
            misspelt(on("cuda"))
        with pytest.raises(TypeError, match="a function or a class"):
            check_contracts(3)

    def test_meta_tensors_keep_every_contract(self):
        check_contracts(commented)(torch.ones(2, device="meta"), on("cpu"))


class TestGuard:
    def test_without_a_policy_only_decorated_functions_are_checked(self):
        with DeviceGuard() as guard:
            attend(on("cpu"))
        assert guard.problems == []

    def test_every_function_is_checked_and_recorded(self):
        with DeviceGuard(on_contract="record") as guard:
            attend(on("cpu"), on("cpu"))
            commented(on("cuda"), on("cpu"))

            def nested(x: Cuda):
                return x

            nested(on("cpu"))
        assert [event.what for event in guard.problems] == [
            "parameter `query` of `attend`",
            "parameter `y` of `commented`",
            "the result of `commented`",
            "parameter `x` of `nested`",
        ]
        assert {event.kind for event in guard.problems} == {Kind.CONTRACT}
        assert all(event.site.file == __file__ for event in guard.problems)

    @pytest.mark.parametrize(
        ("imports", "annotation"),
        [
            ("from kinds import Gpu", "Gpu"),
            ("from kinds import Gpu", "'Gpu | None'"),
            ("import kinds", "kinds.Gpu"),
            ("from kinds import Kinds", "Kinds.gpu"),
        ],
    )
    def test_a_contract_under_an_imported_name(self, tmp_path, monkeypatch, imports, annotation):
        kinds = (
            "from typing import Annotated\nfrom torch import Tensor\n"
            "from devlint.contracts import On\n"
            "Gpu = Annotated[Tensor, On('cuda')]\nclass Kinds:\n    gpu = Gpu\n"
        )
        (tmp_path / "kinds.py").write_text(kinds)
        (tmp_path / "uses.py").write_text(f"{imports}\ndef use(x: {annotation}): return x\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        try:
            with DeviceGuard(on_contract="record") as guard:
                importlib.import_module("uses").use(on("cpu"))
        finally:
            for name in ("kinds", "uses"):
                sys.modules.pop(name, None)
        assert [event.what for event in guard.problems] == ["parameter `x` of `use`"]

    def test_no_file_is_parsed_where_nothing_can_be_declared(self, tmp_path, monkeypatch):
        (tmp_path / "plain.py").write_text("def use(x: int): return x\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        parsed = []
        monkeypatch.setattr("runtime_guard.contracts.declarations._definitions", parsed.append)
        try:
            with DeviceGuard(on_contract="record"):
                importlib.import_module("plain").use(1)
        finally:
            sys.modules.pop("plain", None)
        assert parsed == []

    def test_it_raises(self):
        with DeviceGuard(on_contract="raise"), pytest.raises(BrokenContract, match="`query`"):
            attend(on("cpu"))
        attend(on("cpu"))

    def test_it_warns(self):
        with DeviceGuard(on_contract="warn"), pytest.warns(DevicePolicyWarning, match="`query`"):
            attend(on("cpu"), on("cpu"))

    def test_a_decorated_function_follows_the_guard(self):
        with DeviceGuard(on_contract="record") as guard:
            check_contracts(attend)(on("cpu"), on("cpu"))
        assert guard.problems

    def test_a_contract_that_can_not_be_read_is_a_warning(self):
        def misspelt(x):  # devlint: device[z=cuda]
            return x

        with DeviceGuard(on_contract="raise"), pytest.warns(DevicePolicyWarning, match="`z`"):
            misspelt(on("cpu"))

    def test_generators_are_left_alone(self):
        def several(x: Cuda):
            yield x

        with DeviceGuard(on_contract="raise"):
            assert len(list(several(on("cpu")))) == 1

    def test_threads_that_start_inside_are_watched(self):
        with DeviceGuard(on_contract="record") as guard:
            thread = threading.Thread(target=lambda: commented(on("cpu"), on("cpu")))
            thread.start()
            thread.join()
        assert guard.problems

    def test_the_profile_hook_is_put_back(self):
        before = sys.getprofile()

        def hook(*_):
            return None

        sys.setprofile(hook)
        try:
            with DeviceGuard(on_contract="record"):
                assert sys.getprofile() is not hook
            assert sys.getprofile() is hook
        finally:
            sys.setprofile(before)

    def test_a_policy_that_does_not_exist(self):
        with pytest.raises(ValueError, match="on_contract"):
            DeviceGuard(on_contract="ignore")
