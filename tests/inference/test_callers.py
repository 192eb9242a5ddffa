"""What callers in sight say of a parameter: that it is on an accelerator, or on the host."""

import pytest
from given import given, host_reads, met, settled

RUNNER = """
class Runner:
    def __init__(self, net):
        self.net = net.cuda()

    def run(self, xs):
        found = []
        for x in xs:
            found.append({result})
        return self.finish(found)

    def finish(self, found):
        return torch.cat(found, dim=0).numpy()
"""


@pytest.mark.parametrize(
    ("result", "confidence"),
    [("self.net(x.cuda()).cpu()", "possible"), ("x.cuda() * 2", "likely")],
)
def test_a_host_read_of_a_parameter_is_as_sure_as_its_callers_make_it(result, confidence):
    [read] = host_reads(settled(RUNNER.format(result=result)))
    assert read.endswith(confidence)


@pytest.mark.parametrize(
    ("parameter", "call", "confidence"),
    [
        ("x: torch.Tensor", "", "likely"),
        ("x: Dict[str, Tensor]", "", "likely"),
        ("x", "", "possible"),
        ("x: Union[np.ndarray, Tensor]", "", "possible"),
        ("x: torch.Tensor", "spectrum(torch.from_numpy(np.load('a.npy')))", "possible"),
        ("x: torch.Tensor", "spectrum(torch.ones(3).cuda())", "likely"),
    ],
)
def test_who_declares_a_tensor_takes_one_from_any_device(parameter, call, confidence):
    item = "['power']" if "Dict" in parameter else ""
    use = f"x{item}.numpy()"
    body = f"import numpy as np\nfrom torch import Tensor\ndef spectrum({parameter}):\n    "
    [read] = host_reads(settled(f"{body}return {use}\n\ndef main():\n    {call or 'pass'}\n"))
    assert read.endswith(confidence)


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        ("def rows(x: Tensor):\n    return x.numpy()", "likely"),
        ("def plot_rows(x: Tensor):\n    return x.numpy()", "possible"),
        ("class Rows:\n    def add(self, x: Tensor):\n        return x.numpy()", "possible"),
        ("def rows(x: tuple[Tensor, Tensor]):\n    a, b = x\n    return b.numpy()", "possible"),
    ],
)
def test_only_a_function_that_stands_for_itself_promises_that(code, confidence):
    """What a method gets is its object's business; parts of a tuple are of one kind."""
    [read] = host_reads(given("from torch import Tensor\n" + code))
    assert read.endswith(confidence)


PRIVATE = """
from torch import Tensor

def _rows(x: Tensor):
    return x.numpy()
"""


@pytest.mark.parametrize(
    ("rest", "confidence"),
    [
        ("", "possible"),
        ("def rows(x: Tensor):\n    return _rows(x)\n", "likely"),  # as public as its caller
        ("def _inner(x: Tensor):\n    return _rows(x)\n", "possible"),
        (
            "class Silhouette(Metric):\n    def __init__(self):\n        super().__init__(_rows)\n",
            "likely",
        ),
        ("def main():\n    run(_rows)\n\nif __name__ == '__main__':\n    main()\n", "possible"),
    ],
)
def test_a_private_function_serves_whom_it_is_called_or_handed_to_by(rest, confidence):
    [read] = host_reads(settled(PRIVATE + rest))
    assert read.endswith(confidence)


def test_a_lambda_is_called_who_knows_where():
    code = "def hook(add, model):\n    model.cuda()\n    add(lambda m: m['pred'].tensor.numpy())"
    [read] = host_reads(given(code))
    assert read.endswith("possible")


NESTED = """
def window(freq: torch.Tensor, width: int):
    def joined(x):  # what is joined stays joined
        return torch.cat([x[:3], torch.ones(1), x[4:]])
    freq.cuda()
    return {use}
"""


def test_a_function_within_a_function_gets_what_that_hands_it():
    assert [m for m in met(NESTED.format(use="joined(torch.arange(9))")) if "likely" in m] == []
    assert [m for m in met(NESTED.format(use="joined(freq * 2)")) if "likely" in m] != []


def test_one_that_is_handed_on_is_called_who_knows_with_what():
    found = met(NESTED.format(use="torch.vmap(joined)(torch.arange(9))"))
    assert [m for m in found if "likely" in m] != []
