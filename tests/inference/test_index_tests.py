"""Numbers of cards that are asked for their truth: of which it is known, and where it does harm."""

import pytest
from given import given

OPTION = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--gpu", {said})
args = parser.parse_args()
"""
CHOICE = 'device = f"cuda:{args.gpu}" if args.gpu else "cpu"\n'


def asked(code: str) -> list[str]:
    return [fact.text for fact in given(code).index_tests]


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("type=int", 1),
        ("type=int, default=None", 1),
        ("type=int, default=-1", 1),
        ("type=int, default=0", 0),
        ("type=int, default=1", 0),
        ("type=str", 0),
        ("default=None", 0),
        ("type=int, nargs='+'", 0),
        ("type=int, required=True", 0),
        ("type=int, help='0 is the CPU'", 0),
        ("action='store_true'", 0),
    ],
)
def test_an_option_is_a_number_or_nothing(said: str, count: int):
    assert len(asked(OPTION.format(said=said) + CHOICE)) == count


@pytest.mark.parametrize(
    ("parameter", "count"),
    [
        ("gpu: int | None = None", 1),
        ("gpu: Optional[int]", 1),
        ("gpu: 'typing.Optional[int]' = None", 1),
        ("gpu: int = -1", 1),
        ("gpu: int", 0),
        ("gpu: int = 0", 0),
        ("gpu: str | None = None", 0),
        ("gpu: list[int] | None = None", 0),
        ("gpu=None", 0),  # may be a text
        ("gpu", 0),
    ],
)
def test_a_parameter_is_a_number_or_nothing(parameter: str, count: int):
    code = f'def choose({parameter}):\n    return f"cuda:{{gpu}}" if gpu else "cpu"\n'
    assert len(asked(code)) == count


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ('torch.device("cuda", gpu)', 1),
        ('"cuda:%d" % gpu', 1),
        ('"cuda:" + str(gpu)', 1),
        ('"cuda:%s" % gpu', 0),
        ('"cuda:{}".format(gpu)', 0),
        ("torch.device(gpu)", 0),
    ],
)
def test_a_use_may_show_that_it_is_a_number(use: str, count: int):
    assert len(asked(f'def choose(gpu=None):\n    return {use} if gpu else "cpu"\n')) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("if gpu:\n    net = net.cuda(gpu)", 1),
        ("if gpu and len(net) > 3:\n    net.to(gpu)", 1),
        ("if gpu:\n    torch.cuda.set_device(gpu)\n    net.cuda()", 1),
        ("if gpu:\n    torch.cuda.set_device(gpu)", 0),  # card 0 is the current one
        ("net.cuda()\nif gpu:\n    net.cuda(gpu)", 0),
        ("if gpu:\n    net.cuda(gpu)\nelse:\n    net.cuda()", 0),
        ("if gpu or len(net) > 3:\n    net.cuda(gpu)", 0),
        ("if gpu is not None:\n    net.cuda(gpu)", 0),
        ("if gpu:\n    gpu -= 1\n    net.cuda(gpu)", 0),
        ("if gpu:\n    for i in range(gpu):\n        print(net.cuda(gpu))", 0),
        ("if gpu:\n    if gpu > 1:\n        net.cuda(gpu)", 0),
        ("if gpu:\n    def move():\n        net.cuda(gpu)", 0),  # whenever it is called
        ('d = "cpu"\nif gpu:\n    d = f"cuda:{gpu}"', 1),
        ('d = "cuda"\nif gpu:\n    d = f"cuda:{gpu}"', 0),
        ('if gpu:\n    d = f"cuda:{gpu}"\nprint(net)', 0),
        ('if gpu:\n    return f"cuda:{gpu}"\nreturn "cpu"', 1),
        ('if gpu:\n    return f"cuda:{gpu}"\nreturn "cuda"', 0),
        ('if gpu:\n    d = f"cuda:{gpu}"\nelif net:\n    d = "mps"\nelse:\n    d = "cpu"', 1),
        ('d = f"cuda:{gpu}" if gpu else None', 1),
        ("d = fallback() if not gpu else gpu", 0),
        ('d = f"cuda:{gpu}" if gpu else fallback()', 0),
    ],
)
def test_it_does_harm_where_the_first_card_is_not_used(body: str, count: int):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    assert len(asked(f"def place(net, gpu: int | None = None):\n{lines}")) == count


def test_a_local_name_is_an_option_and_an_attribute_what_the_constructor_is_given():
    local = 'gpu = args.gpu\ndevice = f"cuda:{gpu}" if gpu else "cpu"\n'
    assert asked(OPTION.format(said="type=int") + local) == ["gpu"]
    held = """
class Trainer:
    def __init__(self, gpu: int | None = None):
        self.gpu = gpu

    def place(self, net):
        return net.cuda(self.gpu) if self.gpu else net.to("cpu")
"""
    assert asked(held) == ["self.gpu"]
    assert asked(held + "\n    def choose(self, text):\n        self.gpu = text\n") == []


def test_what_becomes_a_text_is_true():
    text = "args.gpu = str(args.gpu)\n"
    assert asked(OPTION.format(said="type=int") + text + CHOICE) == []
    number = "args.gpu = int(args.gpu)\n"
    assert asked(OPTION.format(said="type=int") + number + CHOICE) == ["args.gpu"]
