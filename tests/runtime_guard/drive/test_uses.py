"""What a function's body says of its parameters."""

from __future__ import annotations

import ast

import pytest
import torch

from runtime_guard.drive.uses import Uses, assigned_attributes, uses_in


def uses(body: str, name: str = "x") -> Uses:
    return uses_in(ast.parse(body))[name]


@pytest.mark.parametrize(
    ("body", "rank"),
    [
        ("b, n, _ = x.shape", 3),
        ("b, c, h, w = x.size()", 4),
        ("n = x.shape[2]", 3),
        ("n = x.size(-1)", 1),
        ("y = x.permute(0, 2, 1)", 3),
        ("y = x[:, None, :, 0]", 3),
        ("y = rearrange(x, 'b c (h p) (w q) -> b (h w) (p q c)')", 4),
    ],
)
def test_dimensions(body: str, rank: int) -> None:
    assert rank in uses(body).ranks


def test_an_ellipsis_says_nothing_of_the_number_of_dimensions() -> None:
    assert not uses("y = x[..., 0]").ranks
    assert not uses("y = rearrange(x, '... d -> d ...')").ranks


def test_attributes_have_uses_of_their_own() -> None:
    found = uses_in(
        ast.parse("layer = nn.Linear(config.width, config.width)\nif config.gated: pass")
    )
    assert set(found["config"].attributes) == {"width", "gated"}
    assert found["config.width"].number == 2


def test_strings_that_a_value_is_compared_with_and_keys() -> None:
    assert list(uses("if x == 'mean' or x in ('sum', 'none'): pass").strings) == [
        "mean",
        "sum",
        "none",
    ]
    assert list(uses("y = x['ids'] + x['mask']").keys) == ["ids", "mask"]


def test_what_a_class_keeps_of_its_arguments() -> None:
    body = "self.dim = dim\nself.inner = 2 * width"
    assert assigned_attributes(ast.parse(body)) == {"dim": {"dim"}, "inner": {"width"}}


@pytest.mark.parametrize(
    ("body", "container"),
    [
        ("for box in boxes:\n    y = box.view(-1)", "boxes[]"),
        ("for i, box in enumerate(self.boxes):\n    y = box.view(-1)", "self.boxes[]"),
        ("y = [box.view(-1) for label, box in zip(labels, boxes)]", "boxes[]"),
    ],
)
def test_what_a_loop_takes_out_is_an_element(body: str, container: str) -> None:
    assert uses(body, container).tensor


def test_a_container_of_numbers_has_no_tensors() -> None:
    assert "sizes[]" not in uses_in(ast.parse("for size in sizes:\n    print(1)"))


def test_what_is_made_a_whole_number_is_a_number() -> None:
    assert uses("n = int(self.size * x)").number
    assert uses("n = int(self.size * x)", "self.size").number


@pytest.mark.parametrize("body", ["if type(x) == np.ndarray: pass", "isinstance(x, np.ndarray)"])
def test_classes_that_a_value_is_tested_for(body: str) -> None:
    assert list(uses(body).classes) == ["np.ndarray"]


def test_the_schemas_of_torch_say_which_arguments_are_tensors() -> None:
    uses = uses_in(
        ast.parse("torch.stft(x, n_fft, hop)\ntorch.where(mask, x, y)\ntorch.ones(b, n)")
    )
    assert all(uses[name].tensor for name in ("x", "mask", "y"))
    assert all(uses[name].number and not uses[name].tensor for name in ("n_fft", "hop", "b", "n"))


@pytest.mark.parametrize("body", ["if x: pass", "y = a if not x else b", "y = x and b", "assert x"])
def test_what_is_only_asked_whether_it_is_true_is_a_flag(body: str) -> None:
    assert uses(body).is_flag


@pytest.mark.parametrize("body", ["if x: y = x.mean()", "if x: y = x + x.width", "y = x"])
def test_what_is_used_otherwise_is_none(body: str) -> None:
    assert not uses_in(ast.parse(body)).get("x", Uses()).is_flag


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("y = x.topk(3) + x.amax()", torch.Tensor),
        ("n = sum(p.numel() for p in x.parameters()); x.eval()", torch.nn.Module),
        ("if x.startswith('s3'): pass", str),
        ("y = x.horovod_size + x.scale_up", object),
        ("y = x.horovod_size; x.state_dict()", None),
        ("y = x", None),
    ],
)
def test_attributes_say_what_has_them(body: str, kind: type | None) -> None:
    assert uses_in(ast.parse(body)).get("x", Uses()).kind is kind


def test_into_what_a_loop_unpacks_each_element() -> None:
    found = uses_in(ast.parse("for image, label in loader: pass"))
    assert found["loader"].iterated
    assert found["loader[]"].parts == 2


def test_names_that_a_value_is_compared_with() -> None:
    found = uses_in(ast.parse("if mode == Mode.FAST or mode in (SLOW, 'x') or mode is None: pass"))
    assert list(found["mode"].compared) == ["Mode.FAST", "SLOW"]
    assert list(found["mode"].strings) == ["x"]


def test_another_name_of_a_value_is_used_as_the_value_is() -> None:
    found = uses_in(ast.parse("h = model.hyp\ny = h['box'] + h.scale.width"))
    assert list(found["model.hyp"].keys) == ["box"]
    assert list(found["model.hyp.scale"].attributes) == ["width"]
    assert "model.hyp.scale" not in uses_in(ast.parse("h = model.hyp\nh = 1\ny = h.scale.width"))


@pytest.mark.parametrize(
    "loop", ["enumerate(loader)", "tqdm(loader)", "tqdm.tqdm(enumerate(loader), leave=False)"]
)
def test_into_what_a_counted_loop_unpacks_each_element(loop: str) -> None:
    target = "i, (image, label)" if "enumerate" in loop else "image, label"
    found = uses_in(ast.parse(f"for {target} in {loop}: pass"))
    assert found["loader"].iterated
    assert found["loader[]"].parts == 2


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("x.zero_grad(); x.step()", torch.optim.Optimizer),
        ("x.step(); y = x.get_last_lr()", torch.optim.lr_scheduler.LRScheduler),
        ("y = x.pin_memory, x.dataset", torch.utils.data.DataLoader),
    ],
)
def test_attributes_say_what_a_training_loop_is_given(body: str, kind: type) -> None:
    assert uses(body).kind is kind


def test_what_is_opened_is_a_path_and_may_have_to_end_so() -> None:
    found = uses("y = torch.load(x) if x.endswith(('.pt', '.pth')) else open(x)")
    assert found.path
    assert not found.tensor
    assert list(found.ends) == [".pt", ".pth"]
    assert not uses("y = self.load(x)").path


def test_how_a_value_is_called() -> None:
    assert uses("y = next(x())").asked
    assert uses("y = next(x.parts())", "x.parts").asked
    assert not uses("y = x(a)").several
    assert uses("y = x(a, scale=b)").several
