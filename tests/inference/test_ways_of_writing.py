"""The same bug is found however it is written: a tensor of the host meets a caller's."""

import pytest
from given import met

HEAD = """
import functools, math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import einsum, rearrange, repeat
"""


def is_found(code: str) -> bool:
    return any("possible" not in each for each in met(HEAD + code))


@pytest.mark.parametrize(
    "size",
    [
        *("n = x.shape[0]", "n = x.size(0)", "n = len(x)", "n, d = x.shape", "n, *rest = x.shape"),
        *("(n, d) = x.shape[:2]", "n = list(x.shape)[0]", "sizes = x.shape; n = sizes[-1]"),
        *("n = x.shape[0] + 1", "n = x.shape[0] // 2", "n = x.size(0) ** 2", "n = x.numel()"),
        *("n = int(x.shape[0] * 2)", "n = round(x.shape[0] * 0.5)", "n = abs(-x.shape[0])"),
        *("n = math.ceil(x.shape[0] / 2)", "n = math.prod(x.shape)", "n = int(np.prod(x.shape))"),
        *("n = max(x.shape)", "n = max(x.shape[0], 3)", "n = min(3, x.size(0))"),
        *("n = sum(x.shape)", "n = pow(x.size(0), 2)", "n, r = divmod(x.size(0), 2)"),
        *("n: int = x.shape[0]", "n = x.shape[0] if wide else 3", "n = [s for s in x.shape][0]"),
    ],
)
def test_a_number_of_a_shape(size):
    assert is_found(f"""
def pair(x: torch.Tensor, wide):
    {size}
    return torch.zeros(n, 3), x * 2
""")


@pytest.mark.parametrize(
    "made",
    [
        *("torch.zeros(3)", "torch.full((3,), 1.0)", "torch.randint(0, 3, (3,))", "torch.eye(3)"),
        *(
            "torch.arange(3)",
            "torch.tensor([1, 2])",
            "torch.Tensor([1, 2])",
            "torch.LongTensor([1])",
        ),
        *("torch.from_numpy(np.ones(3))", "torch.as_tensor(np.ones(3))", "torch.hann_window(3)"),
        *("torch.empty(3).uniform_()", "torch.normal(0, 1, (3,))", "torch.fft.fftfreq(3)"),
        *("torch.ones(3, 3).tril()", "torch.meshgrid(torch.arange(3), torch.arange(3))[0]"),
        *("F.one_hot(torch.arange(3))", "torch.distributions.Normal(0.0, 1.0).sample((3,))"),
        *("torch.cat([torch.ones(1) * i for i in range(3)])", "torch.sort(torch.randn(3))[0]"),
        *('repeat(torch.arange(3), "n -> b n", b=2)', "torch.autograd.Variable(torch.zeros(3))"),
        *("torch.arange(3).expand(2, 3).float()", "torch.randn(3).topk(2).values"),
        *("torch.linalg.svd(torch.randn(3, 3))[0]", "F.pad(torch.ones(3), (1, 1))"),
    ],
)
def test_a_tensor_of_the_host(made):
    assert is_found(f"""
def scaled(x: torch.Tensor):
    y = {made}
    return x * y
""")


@pytest.mark.parametrize(
    "operation",
    [
        *(
            "x + y",
            "y + x",
            "x @ y",
            "x ** y",
            "x % y",
            "x < y",
            "(x == y).sum()",
            "(x > 0) & (y > 0)",
        ),
        *("torch.mm(x, y)", "x.add_(y)", "torch.cat([x, y])", "torch.stack((x, y))", "sum([x, y])"),
        *("torch.where(x > 0, x, y)", "torch.max(x, y)", 'torch.einsum("ij,jk->ik", x, y)'),
        *('einsum(x, y, "i j, j k -> i k")', "torch.cdist(x, y)", "F.mse_loss(x, y)"),
        *("F.cross_entropy(x, y)", "x.gather(1, y)", "x.scatter(1, y, 1.0)", "F.embedding(x, y)"),
        *("torch.index_select(x, 0, y)", "x.masked_fill(y, 0)", "torch.lerp(x, y, 0.5)"),
        *(
            "F.conv1d(x, y)",
            "F.grid_sample(x, y)",
            "x.index_add_(0, y, x)",
            "torch.bucketize(x, y)",
        ),
        *("F.scaled_dot_product_attention(x, x, x, attn_mask=y)", "torch.linalg.solve(x, y)"),
        *("torch.clamp(x, min=y)", "F.batch_norm(x, y, y)", "torch.mul(*[x, y])"),
        *("torch.mul(input=x, other=y)", "functools.partial(torch.mul, x)(y)"),
    ],
)
def test_an_operation(operation):
    assert is_found(f"""
def run(x: torch.Tensor):
    y = torch.zeros(3, 3)
    return {operation}
""")


@pytest.mark.parametrize(
    "body",
    [
        "with torch.no_grad():\n        z = x * y",
        "try:\n        z = x * y\n    except ValueError:\n        z = x",
        "if k:\n        z = x * y\n    else:\n        z = x",
        "while k:\n        z = x * y\n        k -= 1",
        "match k:\n        case 1:\n            z = x * y\n        case _:\n            z = x",
        "scaled = lambda t: t * y\n    z = scaled(x)",
        "def scaled(t, by=y):\n        return t * by\n    z = scaled(x)",
        "z = [x * y for _ in range(3)]",
        "z = {i: x * y for i in range(3)}",
        "z = list(map(lambda t: t * y, [x]))",
        "z = [a * b for a, b in zip([x], [y])]",
        'd = {"x": x, "y": y}\n    z = d.get("x") * d["y"]',
        'd = {}\n    d.update(y=y)\n    z = x * d["y"]',
        'd = {"y": y}\n    for name, value in d.items():\n        z = x * value',
        "d = []\n    d.append(x)\n    d.append(y)\n    z = torch.stack(d)",
        "P = collections.namedtuple('P', 'x y')\n    p = P(x, y)\n    z = p.x * p.y",
        "a, b = [y, x]\n    z = a * b",
        "if (z := x * y) is not None:\n        pass",
        "yield x * y\n    z = x",
        "z = f'{x * y}'",
    ],
)
def test_a_construct(body):
    assert is_found(f"""
import collections

def run(x: torch.Tensor, k):
    y = torch.zeros(3)
    {body}
    return z
""")


@pytest.mark.parametrize(
    "decorator",
    [
        *("torch.no_grad()", "torch.inference_mode()", "torch.jit.script", "torch.compile"),
        *("functools.lru_cache(maxsize=None)", 'torch.autocast("cuda")', "torch.jit.export"),
        *("typechecked", "jaxtyped(typechecker=beartype)", 'REGISTRY.register("scale")'),
    ],
)
def test_a_decorator(decorator):
    assert is_found(f"""
@{decorator}
def run(x: torch.Tensor):
    return x * torch.zeros(3)
""")


MODEL = """
import copy
from torchvision import models

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x)
"""


@pytest.mark.parametrize(
    "brought",
    [
        *("model = Net().cuda()", 'model = Net().to("cuda")', "model = Net(); model.to(device)"),
        *("model = Net(); model = model.to(device)", "model = Net().to(device).eval()"),
        *("model = Net().half().cuda()", "model = nn.Sequential(Net(), nn.ReLU()).to(device)"),
        *("model = models.resnet18(pretrained=True).to(device)", "(model := Net()).to(device)"),
        *("model = Net()\n    if torch.cuda.is_available():\n        model.cuda()",),
        *("model = Net().cuda() if torch.cuda.is_available() else Net()",),
        *("model = torch.compile(Net().to(device))", "model = torch.jit.script(Net()).to(device)"),
        *(
            "model = copy.deepcopy(Net().to(device))",
            'nets = {"a": Net().to(device)}; model = nets["a"]',
        ),
        *(
            "model = [Net().to(device) for _ in range(3)][0]",
            "with torch.device(device): model = Net()",
        ),
        *('model = torch.jit.load("net.pt", map_location=device)',),
        *('model = torch.load("net.pt", map_location=device)',),
        *('model = torch.load("net.pt", map_location=device)["model"].eval()',),
    ],
)
def test_a_model_that_is_brought_there(brought):
    assert is_found(f"""{MODEL}
def run(device):
    {brought}
    return model(torch.zeros(1, 3))

run(torch.device("cuda"))
""")


@pytest.mark.parametrize(
    "fed",
    [
        *("model(torch.zeros(3))", "model(x=torch.zeros(3))", "model.forward(torch.zeros(3))"),
        *("[model(torch.zeros(3)) for _ in range(3)]", "model(*[torch.zeros(3)])"),
        *("functools.partial(model, torch.zeros(3))()", "list(map(model, [torch.zeros(3)]))"),
        *("[model(batch) for batch in torch.utils.data.DataLoader([torch.zeros(3)])]",),
        *("model(next(iter(torch.utils.data.DataLoader([torch.zeros(3)]))))",),
        *("torch.utils.checkpoint.checkpoint(model, torch.zeros(3), use_reentrant=False)",),
        *("torch.utils.checkpoint.checkpoint(lambda x: model(x), torch.zeros(3))",),
        *("torch.jit.trace(model, torch.zeros(3))", "torch.vmap(model)(torch.zeros(3, 3))"),
        *('torch.onnx.export(model, torch.zeros(3), "net.onnx")', "model.fc(torch.zeros(3))"),
    ],
)
def test_a_model_that_is_fed(fed):
    found = met(f"""{HEAD}{MODEL}
def run(device):
    model = Net().to(device)
    return {fed}

run(torch.device("cuda"))
""")
    assert any("possible" not in each for each in found)
    assert not any(name in each for each in found for name in ("checkpoint@", "map@", "trace@"))


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("return model(transform(Image.open(path)).unsqueeze(0))", True),
        ("image = np.array(Image.open(path)); return model(val_transforms(image)[None])", True),
        ("image = preprocess(Image.open(path))[None]; return model(image)", True),
        ("image = preprocess(Image.open(path))[None].to(device); return model(image)", False),
        ("return transform(Image.open(path)).unsqueeze(0)", False),
        ("return model(transform(torch.zeros(3).to(device)))", False),  # where its tensor is
        ("return model(transform_points(Image.open(path)))", False),
    ],
)
def test_what_a_transform_makes_of_an_image_is_on_the_host(use, found):
    assert (
        is_found(f"""{MODEL}
from PIL import Image
from elsewhere import preprocess, transform, transform_points, val_transforms

def run(path, device):
    model = Net().to(device)
    {use}

run("a.png", torch.device("cuda"))
""")
        == found
    )
