"""The text of a call, and what is tried otherwise when it fails."""

from __future__ import annotations

import enum
import inspect
import os
import sys
import types
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
import torch

from runtime_guard.drive.arguments import candidates, slots_of
from runtime_guard.drive.examples import Call, Example
from runtime_guard.drive.files import missing_file
from runtime_guard.drive.objects import Gain, leave_group, module_with
from runtime_guard.drive.plan import Entry
from runtime_guard.drive.program import FILE, NotMade, Program, choices_of, write
from runtime_guard.drive.repair import Edit, Failure, Frame, edits
from runtime_guard.drive.values import Instance, Omitted, Options, Record, Several, Tensor, Text
from runtime_guard.virtual.context import virtual_devices

HERE: types.ModuleType = sys.modules[__name__]
X = ("arg", "x")


class Size(NamedTuple):
    width: int


class Net(torch.nn.Module):
    def __init__(self, dim: int, kind: Literal["a", "b"], bias: bool = True) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(dim, 16, bias)
        self.dim = dim

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.layer(x)


def of_config(config, device="cpu"):  # type: ignore[no-untyped-def]
    return torch.ones(config.width, device=device)


class Mode(enum.Enum):
    SLOW = 1
    FAST = 2


class Reduction(str, enum.Enum):
    SUM = "sum"


CENTRE = "centre"


def of_modes(mode: Mode, other, reduction="mean", where="left"):  # type: ignore[no-untyped-def]
    return other == Mode.FAST or reduction == Reduction.SUM or where == CENTRE


class Sign(torch.optim.Optimizer):
    def __init__(self, params: list[torch.nn.Parameter], lr: float = 0.1) -> None:
        super().__init__(params, {"lr": lr})

    def step(self) -> None:  # type: ignore[override]
        pass


def of_arguments(args):  # type: ignore[no-untyped-def]
    args.device = "cpu" if args.no_cuda and not args.slow else "cuda"
    return torch.zeros(args.horovod_size)


def of_pairs(loader):  # type: ignore[no-untyped-def]
    return [image.shape for image, label in loader]


def build(width: int) -> Net:
    return Net(width, "a")


def of_object(size: Size, tokens, lengths):  # type: ignore[no-untyped-def]
    return size, tokens.shape, lengths


def written(entry: Entry) -> str:
    return "\n".join(write(HERE, entry, {}).lines)


def test_a_module_is_made_put_on_the_card_and_called() -> None:
    assert written(Entry("Net", "forward")) == (
        f"receiver = {__name__}.Net(dim=8, kind='a').to(card)\n"
        "result = receiver(x=torch.rand(2, 8, 8, device=card))"
    )


def test_a_record_has_the_attributes_that_are_asked_of_it_and_a_device_is_the_card() -> None:
    assert written(Entry("", "of_config")) == (
        f"result = {__name__}.of_config(\n"
        "    config=types.SimpleNamespace(width=8),\n"
        "    device=torch.device(card),\n"
        ")"
    )


def test_what_has_an_attribute_that_no_tensor_has_is_no_tensor_and_what_is_only_tested_a_flag() -> (
    None
):
    text = written(Entry("", "of_arguments"))
    assert "no_cuda=False" in text
    assert "slow=False" in text
    assert "horovod_size=8" in text


def test_elements_that_a_loop_unpacks_are_tuples() -> None:
    pair = "(torch.rand(2, 8, device=card), torch.rand(2, 8, device=card),)"
    assert f"loader=[{pair}, {pair}]" in written(Entry("", "of_pairs"))


def test_a_module_that_a_function_builds_goes_to_the_card() -> None:
    lines = write(HERE, Entry("", "build"), {}, data="host until moved").lines
    assert lines[-1] == "    result.to(card)"
    assert "result.to(card)" not in written(Entry("", "build"))


def test_an_optimizer_has_gradients_to_step_with() -> None:
    assert "    parameter.grad = torch.rand_like(parameter)" in written(Entry("Sign", "step"))


def test_a_module_that_the_condition_asks_for_is_in_evaluation() -> None:
    chosen = {("receiver", "training"): Text("False")}
    lines = write(HERE, Entry("Net", "forward"), chosen).lines
    assert "receiver.eval()" in lines
    assert "receiver.eval()" not in written(Entry("Net", "forward"))


def test_classes_are_called_likewise_and_names_say_what_is_a_whole_number() -> None:
    text = written(Entry("", "of_object"))
    assert f"size={__name__}.Size(width=8)" in text
    assert "tokens=torch.randint(0, 4, (2, 8), device=card)" in text
    assert "lengths=torch.randint(0, 8, (2,), device=card)" in text


def test_a_part_of_torch_is_imported_without_a_name() -> None:
    """In the script, which has it in a function, `import torch.utils.data` would hide `torch`."""
    choices = {X: Text("torch.utils.data.Dataset()", ("torch.utils.data",))}
    text = write(HERE, Entry("Net", "forward"), choices).text
    assert 'import_module("torch.utils.data")' in text
    assert "import torch" not in text


def test_what_a_value_is_compared_with_is_tried_and_each_member_of_an_enumeration() -> None:
    mode, other, reduction, where = slots_of(of_modes, ("arg",))
    fast = Text(f"{__name__}.Mode.FAST", (__name__,))
    assert candidates(mode)[:2] == [Text(f"{__name__}.Mode.SLOW", (__name__,)), fast]
    assert candidates(other)[0] == fast
    assert candidates(reduction)[:2] == [Omitted(), Text("'sum'")]
    assert candidates(where)[:2] == [Omitted(), Text("'centre'")]


def test_a_name_of_a_device_is_tried_too() -> None:
    program = write(HERE, Entry("", "of_config"), {})
    failure = Failure("TypeError", "argument of type 'torch.device' is not iterable")
    assert (("arg", "device"), Text("card")) in proposed(failure, program)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("TypeError", "'NoneType' object is not subscriptable"),
        ("TypeError", "unsupported operand type(s) for *: 'Tensor' and 'NoneType'"),
        ("AttributeError", "'NoneType' object has no attribute 'shape'"),
    ],
)
def test_an_error_of_nothing_asks_first_for_what_was_left_out(
    program: Program, kind: str, text: str
) -> None:
    (address, value), *_ = proposed(Failure(kind, text), program)
    assert (address, value) == (("arg", "mask"), Tensor("bool", (2, 8)))


def test_what_is_not_there_at_run_time_cannot_be_called() -> None:
    with pytest.raises(NotMade, match="no missing"):
        write(HERE, Entry("", "missing"), {})


@pytest.fixture
def program() -> Program:
    return write(HERE, Entry("Net", "forward"), {X: Tensor("float", (2, 8))})


def proposed(failure: Failure | None, program: Program, line: int = 1) -> list[Edit]:
    return list(edits(failure, program, Frame(__file__, line, 1)))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (2x8 and 16x32)", (2, 16)),
        ("not enough values to unpack (expected 3, got 2)", (2, 8, 8)),
        ("Expected 3D (unbatched) or 4D (batched) input to conv2d", (2, 3, 32, 32)),
        ("Dimension out of range (expected to be in range of [-2, 1], but got 2)", (2, 8, 8)),
        ("not enough values to unpack (expected 7, got 6)", (2, 8, 8)),
        ("einsum(): the number of subscripts in the equation (3) does not match", (2, 8, 8)),
        (
            "output with shape [2, 8] doesn't match the broadcast shape [1, 3, 2, 8]",
            (1, 3, 2, 8),
        ),
    ],
)
def test_an_error_says_which_shape_it_takes(
    program: Program, text: str, shape: tuple[int, ...]
) -> None:
    kind = "ValueError" if "unpack" in text else "RuntimeError"
    assert (X, Tensor("float", shape)) in proposed(Failure(kind, text), program)


def test_a_loaders_samples_lack_the_dimension_of_the_batch() -> None:
    loader = Text("DataLoader([torch.rand(8)] * 4, batch_size=2)")
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): loader})
    text = "output with shape [2, 8] doesn't match the broadcast shape [1, 3, 2, 8]"
    other = Text("DataLoader([torch.rand(3, 2, 8)] * 4, batch_size=2)")
    assert (("arg", "model"), other) in proposed(Failure("RuntimeError", text), program)


def test_a_legacy_constructor_takes_data_of_the_host(program: Program) -> None:
    text = "expected TensorOptions(dtype=float, device=cpu) (got TensorOptions(device=cuda:0))"
    assert (X, Text("torch.rand((2, 8)).tolist()")) in proposed(Failure("TypeError", text), program)


def test_who_is_asked_only_what_tensors_and_modules_have_in_common_is_one_of_them() -> None:
    (anchors,) = slots_of(of_moved, ("arg",))
    assert candidates(anchors)[:2] == [Tensor("float", (2, 8)), Record(("to",))]


def of_moved(anchors):  # type: ignore[no-untyped-def]
    return anchors.to("cuda")


def test_an_error_says_which_type_it_takes(program: Program) -> None:
    text = "tensors used as indices must be long, int, byte or bool tensors"
    assert (X, Tensor("long", (2, 8))) in proposed(Failure("IndexError", text), program)


@pytest.mark.parametrize(
    ("missing", "made"),
    [
        ("runs/last.pt", ["runs/last.pt"]),
        (os.path.abspath("last.pt"), ["last.pt"]),
        ("data/test/", [f"data/test{os.sep}"]),
        (os.path.abspath("../last.pt"), []),
    ],
)
def test_a_file_that_is_missing_below_the_current_folder_is_made(
    program: Program, missing: str, made: list[str]
) -> None:
    failure = Failure("FileNotFoundError", f"[Errno 2] No such file or directory: {missing!r}")
    found = [a for a, _ in edits(failure, program, Frame(__file__, 1, 1)) if a[0] == FILE]
    assert found == [(FILE, path) for path in made]
    text = write(HERE, Entry("", "of_config"), {(FILE, path): Text("") for path in made}).text
    assert text.count("missing_file(") == len(made)


def test_the_line_that_raised_says_whose_fault_it_may_be(program: Program) -> None:
    first = inspect.getsourcelines(Net.forward)[1]
    failure = Failure("AssertionError", "", (Frame(__file__, first + 1, first),))
    blamed = proposed(failure, program)[0][0]
    assert blamed == X  # `return self.layer(x)`


def test_what_is_optional_is_given_when_its_line_was_not_reached(program: Program) -> None:
    found = proposed(None, program)
    assert (("arg", "mask"), Tensor("bool", (2, 8))) in found
    assert (("self", "bias"), Text("False")) in found
    assert not any(isinstance(value, Omitted) for _, value in found)


class Shell(torch.nn.Module):
    def __init__(self, inner: Net, weight: torch.Tensor) -> None:
        super().__init__()
        self.inner = [inner]
        self.weight = weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def test_what_is_about_to_be_moved_is_on_the_host() -> None:
    program = write(HERE, Entry("Shell", "forward"), {}, data="host")
    assert program.lines[-1] == "result = receiver(x=torch.rand(2, 8, 8))"
    assert ".to(card)" in program.lines[0]


def test_a_module_is_moved_once_it_has_what_it_keeps() -> None:
    program = write(HERE, Entry("Shell", "forward"), {}, data="host until moved")
    made = "".join(line.strip() for line in program.lines[0].splitlines())
    assert made == (
        f"receiver = {__name__}.Shell(inner={__name__}.Net(dim=8, kind='a'),"
        "weight=torch.rand(2, 8),).to(card)"
    )
    assert program.lines[-1] == "result = receiver(x=torch.rand(2, 8, 8, device=card))"


def test_a_module_behind_a_function_of_its_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    package, inner = types.ModuleType("hiding"), types.ModuleType("hiding.auroc")
    inner.auroc = package.auroc = lambda: 1  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hiding", package)
    monkeypatch.setitem(sys.modules, "hiding.auroc", inner)
    assert write(inner, Entry("", "auroc"), {}).text == (
        "from importlib import import_module\n"
        'hiding_auroc = import_module("hiding.auroc")\n'
        "result = hiding_auroc.auroc()\n"
    )


def padded(x: torch.Tensor, first: torch.Tensor, weight: torch.Tensor | None = None):  # type: ignore[no-untyped-def]
    y = x + first
    return y if weight is None else y * weight


def test_what_its_line_speaks_of_and_was_left_out_is_given_first() -> None:
    line = inspect.getsourcelines(padded)[1] + 2
    program = write(HERE, Entry("", "padded"), {})
    assert proposed(None, program, line)[0] == (("arg", "weight"), Tensor("float", (2, 8)))


def of_model(model, other):  # type: ignore[no-untyped-def]
    start = next(model.parameters())
    return other(start, model.strides[0])


def of_training(loader, optimizer):  # type: ignore[no-untyped-def]
    for image, label in loader:
        optimizer.zero_grad()
        optimizer.step(image - label, loader.dataset)


def of_checkpoint(weights, kind="x"):  # type: ignore[no-untyped-def]
    if weights.endswith(".pth"):
        return torch.load(weights), torch.load(kind)
    return None


def of_points(points, labels):  # type: ignore[no-untyped-def]
    """Match points.

    Args:
        points: with shape (B, N, 2)
        labels: of shape (N,)
    """
    return points, labels


def of_settings(model):  # type: ignore[no-untyped-def]
    settings = model.settings
    return settings.width


def test_a_model_with_attributes_of_its_own_is_a_module() -> None:
    program = write(HERE, Entry("", "of_model"), {})
    model = "module_with(torch.nn.Linear(8, 8).to(card), strides=torch.rand(2, 8, device=card))"
    assert f"    model={model},\n" in program.lines[-1]
    assert "from runtime_guard.drive.objects import module_with\n" in program.text
    assert "other=lambda *given, **_: given[0]" in program.lines[-1]


def test_what_a_module_has_besides_goes_with_it() -> None:
    module = module_with(torch.nn.Identity(), scale=torch.ones(2), width=3)
    assert module.to(torch.float64).scale.dtype is torch.float64
    assert module.width == 3


def test_a_model_of_anything_gives_what_it_is_given() -> None:
    x = torch.rand(2, 3)
    assert torch.equal(Gain()(x, t=torch.ones(2)), x)
    assert Gain()(3).requires_grad


def test_loaders_and_optimizers_are_made() -> None:
    line = write(HERE, Entry("", "of_training"), {}).lines[-1]
    assert "loader=torch.utils.data.DataLoader(" in line
    assert "optimizer=torch.optim.SGD(" in line


def test_a_path_ends_as_it_is_asked_to() -> None:
    weights, kind = slots_of(of_checkpoint, ("arg",))
    assert candidates(weights)[0] == Text("'witness-file.pth'")
    assert Text('"witness-file"') in candidates(kind)


def test_a_docstring_says_the_shape() -> None:
    points, labels = slots_of(of_points, ("arg",))
    assert candidates(points)[0] == Tensor("float", (2, 8, 2))
    assert candidates(labels)[0] == Tensor("long", (8,))


def test_an_error_says_the_shape_by_letters(program: Program) -> None:
    failure = Failure("TypeError", "x shape must be [['N', '2', '2']]. Got torch.Size([2, 8])")
    assert (X, Tensor("float", (8, 2, 2))) in proposed(failure, program)


@pytest.mark.parametrize("kind", ["SimpleNamespace", "types.SimpleNamespace"])
def test_a_record_is_given_what_is_missing(kind: str) -> None:
    program = write(HERE, Entry("", "of_config"), {})
    failure = Failure("AttributeError", f"'{kind}' object has no attribute 'depth'")
    assert (("arg", "config"), Record(("width", "depth"))) in proposed(failure, program)


@pytest.mark.parametrize(
    "text",
    ["'Linear' object has no attribute 'config'", "_get_attr couldn't find attribute config"],
)
def test_a_model_is_given_the_attribute_that_is_missing(text: str) -> None:
    model = Text("torch.nn.Linear(8, 8).to(card)")
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): model})
    found = proposed(Failure("AttributeError", text), program)
    assert (("arg", "model"), Record(("config",), module=True)) in found


def test_a_part_of_what_the_line_speaks_of_may_be_at_fault() -> None:
    first = inspect.getsourcelines(of_settings)[1]
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): Record(("settings",))})
    program.slots[("arg", "model", ".settings")] = (
        program.slots[("arg", "model", ".settings")][0],
        Tensor("float", (2, 8)),
    )
    text = "'Tensor' object has no attribute 'width'"
    failure = Failure("AttributeError", text, (Frame(__file__, first + 2, first),))
    assert (("arg", "model", ".settings"), Record(("width",))) in proposed(failure, program)


@pytest.mark.parametrize(
    "text",
    [
        "Identity.forward() takes 2 positional arguments but 3 were given",
        "Identity.forward() got an unexpected keyword argument 'mask'",
    ],
)
def test_what_is_called_otherwise_takes_anything(text: str) -> None:
    model = Text("torch.nn.Identity()")
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): model})
    found = [value for _, value in proposed(Failure("TypeError", text), program)]
    assert Text("lambda *given, **_: given[0]") in found
    gain = next(v for v in found if isinstance(v, Text) and "Gain" in v.source)
    text = write(HERE, Entry("", "of_settings"), {("arg", "model"): gain}).text
    assert "import runtime_guard.drive.objects\n" in text


def test_code_that_wants_a_process_group_is_called_in_one(program: Program) -> None:
    text = "Default process group has not been initialized, please make sure to call init_…"
    (address, value), *_ = proposed(Failure("ValueError", text), program)
    text = write(HERE, Entry("", "build"), {address: value}).text
    assert "\nprocess_group()\nresult = " in text
    namespace: dict[str, object] = {"card": "cpu", "torch": torch}
    exec(text.partition("result")[0], namespace)
    assert torch.distributed.get_world_size() == 1
    leave_group()
    assert not torch.distributed.is_initialized()


def test_options_of_a_program_are_a_record_that_more_is_known_of() -> None:
    program = write(HERE, Entry("", "of_config"), {})
    known = Options((("width", Text("64")), ("depth", Text("3"))))
    choices = choices_of(program, Example(called=Call((known,))))
    assert choices[("arg", "config")] == Record(("width",))
    assert choices[("arg", "config", ".depth")] == Text("3")
    line = write(HERE, Entry("", "of_config"), choices).lines[-1]
    assert "config=types.SimpleNamespace(width=64)" in line


class Called(torch.nn.Module):
    def __call__(self, values, *more, **named):  # type: ignore[no-untyped-def]
        return super().__call__(values, *more, **named)

    def forward(self, x: torch.Tensor, scale: float = 1.0, bias: bool = False) -> torch.Tensor:
        return x


def test_a_call_that_names_its_arguments_otherwise_gets_them_by_position() -> None:
    choices = {("arg", "bias"): Text("True")}
    program = write(HERE, Entry("Called", "forward"), choices)
    assert program.lines[-1] == "result = receiver(torch.rand(2, 8, 8, device=card), bias=True)"


class Method:
    def __init__(self, width: int) -> None:
        self.width = width


class Integrated(Method):
    pass


class Smooth(Integrated):
    pass


def of_method(method: Method):  # type: ignore[no-untyped-def]
    return method.width


def test_what_is_of_a_class_may_be_of_one_that_inherits_it() -> None:
    (slot,) = slots_of(of_method, ("arg",))
    names = [value.name for value in candidates(slot) if isinstance(value, Instance)]
    assert names == ["Method", "Integrated", "Smooth"]


def test_an_error_asks_for_one_number(program: Program) -> None:
    failure = Failure("ValueError", "only one element tensors can be converted to Python scalars")
    assert (X, Text("0.5")) in proposed(failure, program)


def test_sizes_in_an_expression_of_the_project_are_changed_as_others_are() -> None:
    given = Text("{'a2': torch.rand(10, 2, device=card)}")
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): given})
    failure = Failure("ValueError", "it has a size of 2 but 160 or greater is required")
    wider = Text("{'a2': torch.rand(10, 160, device=card)}")
    assert (("arg", "model"), wider) in proposed(failure, program)


class Seeds(NamedTuple):
    width: int
    seed: int | None = None


def of_seeds(seeds: Seeds, x: torch.Tensor) -> torch.Tensor:
    generator = None
    if seeds.seed is not None:
        generator = torch.Generator()
    return torch.randn(x.shape, generator=generator, device=x.device)


def test_what_the_trace_of_a_finding_asks_for_is_given() -> None:
    first = inspect.getsourcelines(of_seeds)[1]
    program = write(HERE, Entry("", "of_seeds"), {})
    places = [Frame(__file__, first + line, first) for line in (4, 3)]
    found = list(edits(None, program, places[0], places[1:]))
    assert found[0] == (("arg", "seeds", "seed"), Text("0"))
    assert found[0] not in list(edits(None, program, places[0]))[:1]


def test_what_an_error_names_is_given(program: Program) -> None:
    failure = Failure("ValueError", "Either `mask` or `size` must be provided.")
    assert proposed(failure, program)[0] == (("arg", "mask"), Tensor("bool", (2, 8)))


def test_a_list_has_as_many_parts_as_are_taken_out_of_it() -> None:
    program = write(HERE, Entry("", "of_settings"), {("arg", "model"): Several(4)})
    failure = Failure("ValueError", "too many values to unpack (expected 3)")
    assert (("arg", "model"), Several(3)) in proposed(failure, program)


@pytest.mark.parametrize(("machine", "card"), [("cuda:1", "cuda:1"), ("cuda:2", "cuda:0")])
def test_a_checkpoint_is_of_a_card_that_a_machine_with_one_lacks(
    machine: str, card: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with virtual_devices(machine):
        missing_file("best.pt")
    assert card.encode() in Path("best.pt").read_bytes()
