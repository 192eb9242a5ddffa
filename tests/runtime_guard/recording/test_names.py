"""What a message calls an operand: by a variable, what a variable holds, or what is written."""

from __future__ import annotations

import sys
import time
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from runtime_guard import virtual_devices  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="has a real CUDA device")

Pair = namedtuple("Pair", "left right")
needs_columns = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python does not say which expression of a line it is in"
)


@pytest.fixture(autouse=True)
def machine():
    with virtual_devices("cuda:1"):
        yield


@dataclass
class Batch:
    ids: torch.Tensor


class Trainer:
    def __init__(self) -> None:
        self.weights = torch.ones(3)
        self.model = nn.Linear(3, 3).cuda()
        self.options = {"scale": torch.ones(3)}

    def weigh(self, x: torch.Tensor) -> None:
        x.mul_(self.weights)

    def scale(self, x: torch.Tensor) -> None:
        x.mul_(self.options["scale"])

    def call(self, x: torch.Tensor) -> None:
        self.model(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.tables = [torch.ones(3)]

    def forward(self, x: torch.Tensor) -> None:
        x.mul_(self.tables[0])


def said(call, *arguments) -> str:
    """What stands below PyTorch's sentence."""
    with pytest.raises(RuntimeError) as raised:
        call(*arguments)
    return str(raised.value).splitlines()[1]


def there() -> torch.Tensor:
    return torch.ones(3, device="cuda")


class TestWhatAVariableHolds:
    def test_an_attribute_of_any_object(self):
        assert "`self.weights`: made on cpu" in said(Trainer().weigh, there())

    def test_a_field_of_a_dataclass_and_of_a_namespace(self):
        def meet(batch):
            there().mul_(batch.ids)

        assert "`batch.ids`: made on cpu" in said(meet, Batch(torch.ones(3)))
        assert "`batch.ids`: made on cpu" in said(meet, SimpleNamespace(ids=torch.ones(3)))

    def test_a_named_tuple_by_its_field(self):
        def meet(pair):
            there().mul_(pair.right)

        assert "`pair.right`: made on cpu" in said(meet, Pair(1, torch.ones(3)))

    def test_two_steps_down(self):
        assert "`self.options['scale']`: made on cpu" in said(Trainer().scale, there())
        assert "`self.tables[0]`: made on cpu" in said(Net().cuda(), there())

    def test_the_state_of_a_model_that_an_object_keeps(self):
        told = said(Trainer().call, torch.ones(2, 3))
        assert "`self.model.bias`: moved to cuda:0" in told

    def test_the_gradient_of_a_leaf(self):
        def step(weight, momentum):
            momentum.add_(weight.grad)

        weight = nn.Parameter(there())
        weight.sum().backward()
        assert "`weight.grad`: " in said(step, weight, torch.zeros(3))

    def test_no_code_of_an_objects_class_runs(self):
        class Loud:
            def __getattribute__(self, name):
                raise AssertionError(name)

        def meet(loud, x):
            there().mul_(x)

        assert "`x`: made on cpu" in said(meet, Loud(), torch.ones(3))

    def test_keys_that_are_no_text(self):
        class Key:
            def __repr__(self):
                raise AssertionError

        def meet(held):
            there().mul_(held[1, "a"])

        layer = nn.Linear(3, 3)
        held = {Key(): torch.ones(3), layer.weight: torch.ones(3), (1, "a"): torch.zeros(3)}
        assert "`held[(1, 'a')]`: made on cpu" in said(meet, held)

    def test_a_message_is_told_though_variables_hold_a_million_values(self):
        def meet(x, held):
            there().mul_(x.exp())

        held = [[object()] * 100 for _ in range(100)]
        start = time.process_time()
        assert "argument `other`: computed on cpu" in said(
            meet, torch.ones(3), SimpleNamespace(**{f"of{n}": held for n in range(99)})
        )
        assert time.process_time() - start < 5

    def test_a_short_name_comes_before_a_long_one(self):
        def meet(trainer):
            weights = trainer.weights
            there().mul_(weights)

        assert "`weights`: made on cpu" in said(meet, Trainer())


class TestInsideAComposite:
    """What it has made of its arguments says nothing to who called it: these are told."""

    def test_the_argument_that_it_was_made_of(self):
        def loss(logits, labels):
            nn.functional.binary_cross_entropy_with_logits(logits, labels)

        told = said(loss, there(), torch.ones(3))
        assert "`labels`: made on cpu" in told and "computed" not in told
        assert told.endswith("(devlint explain DEV102)")

    def test_one_without_a_name(self):
        def loss(logits):
            nn.functional.binary_cross_entropy_with_logits(logits, torch.ones(3))

        assert "an argument: made on cpu" in said(loss, there())

    def test_of_several_on_one_device_none_is_picked(self):
        def loss(logits, labels, weight):
            nn.functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)

        told = said(loss, there(), torch.ones(3), torch.ones(3))
        assert "argument `other`: computed on cpu" in told
        assert "`labels`" not in told and "`weight`" not in told

    def test_below_a_transform(self):
        def jacobian(weight, x):
            torch.func.jacrev(lambda x: weight @ x)(x)

        assert "`weight`: made on cpu" in said(jacobian, torch.ones(3, 3), there())


@needs_columns
class TestWhatIsWritten:
    """Of an operator's sides, where they have no name."""

    def test_both_sides(self):
        def meet(mask, x):
            return (x + 1) * mask.float()

        told = said(meet, torch.ones(3, dtype=torch.bool), there())
        assert "`x + 1`: computed on cuda:0" in told
        assert "`mask.float()`: computed on cpu" in told

    def test_over_several_lines_and_behind_letters_of_several_bytes(self):
        def meet(x):
            return (
                "größer" and x.exp()
                + torch.zeros(
                    3,
                )
            )  # fmt: skip

        told = said(meet, there())
        assert "`x.exp()`: " in told
        assert "`torch.zeros(3)`: made on cpu" in told

    def test_in_place_and_in_a_comparison(self):
        def add(x):
            x += torch.ones(3)

        def compare(x):
            return x < torch.ones(3)

        assert "`torch.ones(3)`: made on cpu" in said(add, there())
        assert "`torch.ones(3)`: made on cpu" in said(compare, there())

    def test_a_view_rather_than_a_variable_on_the_same_memory(self):
        def meet(whole, rows):
            return rows[0] * torch.ones(3)

        whole = torch.ones(2, 3, device="cuda")
        assert "`rows[0]`: made on cuda:0" in said(meet, whole, whole.view(2, 3))

    def test_of_a_call_a_variable_on_the_same_memory(self):
        def meet(rows):
            return torch.mul(rows[0], torch.ones(3))

        assert "`rows`: made on cuda:0" in said(meet, torch.ones(2, 3, device="cuda"))

    def test_not_in_a_product_of_matrices_whose_kernel_may_turn_them_round(self):
        def meet(x):
            return torch.ones(3, 3) @ x.exp()

        told = said(meet, torch.ones(2, 3, 3, device="cuda"))
        assert "argument `" in told and "torch.ones" not in told

    def test_not_of_an_operator_around_the_call_that_fails(self):
        def meet(x):
            return 1 + torch.mul(x.exp(), torch.ones(3))

        assert "argument `other`: made on cpu" in said(meet, there())

    def test_a_long_text_is_no_name(self):
        def meet(x):
            return x + torch.tensor([0.1, 0.2, 0.3]).exp().log().exp().log().exp().log().exp()

        assert "argument `other`: computed on cpu" in said(meet, there())
