"""Values that may be tensors or numbers: what they decide beside a tensor, and what they do not."""

import pytest
from given import given, met, revealed

NET = """
class Table(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.proj = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor):
        h = self.proj(x)
"""


def in_forward(*lines):
    return NET + "".join(f"        {line}\n" for line in lines)


def test_an_attribute_of_unknown_type_does_not_decide_where_a_result_is():
    lines = ("steps = torch.arange(3)", "freqs = torch.arange(0, 3) / self.unseen")
    assert met(in_forward(*lines, "return torch.sin(steps * freqs).to(x.device) + h")) == []


def test_what_is_made_beside_it_still_meets_the_module():
    lines = ("freqs = torch.arange(0, 3) / self.unseen", "return h * freqs")
    assert met(in_forward(*lines)) == ["freqs@cpu * h@δ(self) certain"]


def test_a_zero_dim_tensor_goes_where_its_companion_is():
    code = """
    def pulse(t: torch.Tensor, width):
        scale = 1.0 / (torch.sqrt(torch.tensor(2.0)) * width)
        decay = torch.exp(t * width.unsqueeze(1))
        return scale.unsqueeze(1) * decay.to(width.device)
    """
    assert met(code) == []


def test_a_zero_dim_tensor_beside_a_number_is_no_tensor_of_the_callers():
    code = """
    def pulse(t: torch.Tensor, width):
        scale = torch.tensor(2.0) * width
        reveal(torch.zeros(3) + scale)
    """
    assert revealed(code) == ["cpu"]


@pytest.mark.parametrize("callee", ["load_models", "build.of"])
def test_what_an_unknown_callee_made_of_an_object_is_not_taken_for_a_tensor(callee):
    code = f"""
    from somewhere import build, load_models

    class Task:
        def __init__(self, kind):
            self.kind = kind

    def setup(kind, task=None):
        return task if task is not None else Task(kind).kind.made(kind)

    def main(paths, config):
        models, rest = {callee}(setup(config.kind))
        for model in models:
            model.cuda()
    """
    assert [m for m in given(code).moves if m.discarded and not m.of_module] == []


def test_what_is_computed_from_a_tensor_is_one_at_the_call():
    code = """
    def double(path, tensor):
        return tensor * 2

    def main(path):
        x = double(path, torch.zeros(3))
        x.cuda()
    """
    assert len([m for m in given(code).moves if m.discarded and not m.of_module]) == 1


@pytest.mark.parametrize(
    ("use", "discarded"),
    [
        ("parts[i].rate", 0),
        ("parts[i].spoken(out)", 0),
        ("part.rate", 0),
        ("isinstance(part, Head) and 1", 0),
        ("isinstance(part, nn.Linear) and 1", 0),
        ("part.decode(out)", 0),
        ("isinstance(part, str) and 1", 1),
        ("part + out", 1),
        ("part.sum()", 1),
        ("part.T", 1),
        ("out", 1),
    ],
)
def test_what_has_attributes_that_no_tensor_has_is_moved_in_place(use, discarded):
    code = f"""
    class Head(nn.Module):
        pass

    def run(parts, out):
        for i in range(len(parts)):
            part = parts[i]
            part.cuda()
            if {use}:
                out = out + 1
        return out
    """
    assert len([m for m in given(code).moves if m.discarded and not m.of_module]) == discarded


@pytest.mark.parametrize(
    ("path", "method", "discarded"),
    [("tests/test_odd.py", "to", 0), ("tests/test_odd.py", "fill", 1), ("odd.py", "to", 1)],
)
def test_a_class_that_a_test_made_for_itself_moves_as_it_likes(path, method, discarded):
    code = f"""
    class Held:
        def __init__(self, x: torch.Tensor):
            self.x = x

        def {method}(self, device):
            self.x.to(device)
    """
    moved = given(code, path=path).moves
    assert len([m for m in moved if m.discarded and not m.of_module]) == discarded


@pytest.mark.parametrize(
    ("method", "reads"),
    [
        ("num_links()", 0),
        ("num_links('road')", 0),
        ("number_of_rows()", 0),
        ("sigmoid()", 1),
    ],
)
def test_a_method_that_counts_gives_a_number(method, reads):
    code = f"""
    import numpy as np

    def speed(loader, device, clock):
        rates = []
        for mesh, _ in loader:
            mesh = mesh.to(device)
            rates.append(mesh.{method} / clock())
        return np.mean(rates[3:])
    """
    assert len(given(code).host_reads) == reads


@pytest.mark.parametrize(
    ("repeats", "contradicts"),
    [
        ("copies", False),
        ("copies if len(kinds) == 1 else 2", False),
        ("kinds", True),
        ("copies.view(-1)", True),
    ],
)
def test_what_says_how_often_may_be_a_number(repeats, contradicts):
    code = f"""
    import numpy as np

    def several(images, copies, kinds: torch.Tensor):
        rows = torch.from_numpy(np.stack(images))
        return rows.repeat_interleave({repeats}, dim=0)
    """
    assert bool(met(code)) is contradicts


def test_an_iterator_is_no_tensor_of_its_owner():
    code = """
    def draw(params):
        batch = next(params["batches"])
        return torch.cat((batch["wav"], torch.zeros(3)))
    """
    assert met(code) == []


@pytest.mark.parametrize("made", ["torch.from_numpy(x)", "torch.tensor(x)", "torch.as_tensor(x)"])
def test_converting_what_is_no_tensor_has_no_device_to_follow(made):
    code = f"""
    def as_float(x):
        if isinstance(x, torch.Tensor):
            return x.float()
        return {made}.float()
    """
    assert met(code) == []


def test_a_constant_for_a_tensor_that_is_left_out_has_one():
    code = """
    def masked(x, mask=None):
        x = x.unsqueeze(0)
        if mask is None:
            return torch.ones(3)
        return x * mask.to(x.device)
    """
    assert met(code) == [
        "return: return torch.ones(3)@cpu return return x * mask.to(x.device)@δ(x) possible"
    ]


def test_what_is_looked_up_may_differ_from_key_to_key():
    code = """
    def gather(data: torch.Tensor, keys):
        kept = {}
        moved = {}
        for key in keys:
            kept[key] = torch.zeros(3)
            moved[key] = data * 2

        def of(key):
            if key in kept:
                return kept[key]
            return moved[key]

        return [of(key) for key in keys]
    """
    assert met(code) == []


@pytest.mark.parametrize(("default", "places"), [("(0, 255)", ["cpu"]), ("None", ["δ(bounds)"])])
def test_a_default_of_numbers_says_that_a_parameter_is_no_tensor(default, places):
    code = f"""
    def shown(image, bounds={default}):
        image = image.cpu() - bounds[0]
        reveal(torch.relu(image))
    """
    assert revealed(code) == places


MEMORY = """
    class Memory:
        def __init__(self, {name}):
            self.limit = {name}

        def shrink(self, i):
            return torch.relu({said} * 1.0)

        def choose(self, x: torch.Tensor):
            order = torch.zeros(x.shape[0])
            return order < self.limit + 1
"""


def test_a_number_by_its_name_stays_one_beside_what_is_unknown():
    beside = "(self.orders[i] < self.limit)"
    assert met(MEMORY.format(name="memory_size", said=beside)) == []
    assert len(met(MEMORY.format(name="limits", said=beside))) == 1
    assert len(met(MEMORY.format(name="memory_size", said="self.limit"))) == 1


@pytest.mark.parametrize(
    ("annotation", "count"),
    [("torch.Tensor | float", 0), ("Union[np.ndarray, torch.Tensor]", 0), ("list", 1)],
)
def test_what_may_be_a_tensor_stays_where_it_is_as_a_tensor(annotation, count):
    code = f"""
    class Truncated(nn.Module):
        def forward(self, x: torch.Tensor, mean: {annotation}):
            return torch.stack([x, torch.as_tensor(mean)])
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(("ratio", "count"), [("max(w / h, 1.0)", 0), ("h", 0), ("w", 1)])
def test_what_a_callee_uses_as_a_size_is_a_number(ratio, count):
    code = f"""
    class Bias(nn.Module):
        def forward(self, h, w):
            return (torch.arange(h) * {ratio}).sum().item()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = Bias()

        def forward(self, x):
            return x + self.bias(x.mean(0), x)
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("made", "confidences"),
    [
        ("torch.rand(n, 1, dtype=x.dtype)", ["likely"]),
        ("torch.rand([n, 1], dtype=x.dtype)", ["likely"]),
        ("torch.rand(n, 1, dtype=x.dtype, device=x.device)", []),
        ("torch.rand(n, 1)", []),  # `x` may be an array
        ("torch.rand(n, 1, dtype=other.dtype)", []),
        ("torch.rand(3, 1, dtype=x.dtype)", []),  # or a module, which has no shape
    ],
)
def test_what_has_a_dtype_of_torch_and_a_shape_is_a_tensor(made, confidences):
    code = f"""
    class Net(nn.Module):
        pass

    def thin_out(x, rate, other):
        n = x.shape[0]
        keep = 1 - rate
        mask = keep
        mask += {made}
        return x / keep * torch.floor(mask)
    """
    assert [m.rpartition(" ")[2] for m in met(code)] == confidences


@pytest.mark.parametrize(("asked", "count"), [("type()", 0), ("t()", 1)])
def test_a_type_is_a_name_also_of_what_may_be_no_tensor(asked, count):
    code = f"""
    def alike(a, b):
        return a.{asked} == b.{asked}

    alike(torch.zeros(3), torch.zeros(3, device="cuda"))
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("test", "count"), [("rates", 0), ("rates and deep", 0), ("rates is not None", 1)]
)
def test_what_has_a_truth_holds_numbers_perhaps(test, count):
    code = f"""
        class Net(nn.Module):
            def forward(self, x, deep=True, rates=None):
                if {test}:
                    return torch.rand(3) < rates[0]
                return x
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(
    ("how", "found"),
    [("dim=0", True), ("-1, keepdim=True", True), ("axis=0", False), ('dim="time"', False)],
)
def test_a_dimension_by_its_number_is_asked_of_a_tensor(how, found):
    code = f"""
    def centred(x):
        return x.mean({how}) - torch.arange(3)
    """
    assert bool(met(code)) is found


@pytest.mark.parametrize(
    ("test", "count"),
    [("keep == 1.0", 0), ("1 > keep", 1), ("keep > 0.5", 0), ("keep.mean() > 0.5", 1)],
)
def test_what_a_test_compares_with_a_number_is_rather_one(test, count):
    code = f"""
    class Drop(nn.Module):
        def forward(self, x, keep):
            if {test}:
                return x
            return (torch.rand(8) + keep).floor()
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(("asked", "count"), [("size", 0), ("shape", 1)])
def test_a_size_that_nobody_calls_is_no_tensors(asked, count):
    code = f"""
    class Shuffle(nn.Module):
        def check(self, kind):
            print(kind.{asked})
            return torch.zeros(3) + kind
    """
    assert len(met(code)) == count


@pytest.mark.parametrize(("other", "waits"), [('"-"', 0), ("4", 1)])
def test_what_compares_with_a_text_is_no_tensor(other, waits):
    facts = given(f"""
        class Rows:
            def __init__(self, **given):
                self.points = given["points"] if "points" in given else None
                self.kinds = given["kinds"] if "kinds" in given else None
                self.copy = torch.clone(self.points) if self.points is not None else None

            def _walk(self):
                for kind, row in zip(self.kinds, self.rows):
                    if kind == {other}:
                        continue
    """)
    assert len(facts.syncs) == waits
