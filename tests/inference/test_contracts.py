"""Contracts: trusted where they are declared, checked where a value is handed in or back."""

from __future__ import annotations

from textwrap import dedent

import pytest
from given import given, meetings, plain_attributes, revealed

IMPORTS = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Optional
from torch import Tensor
from devlint.contracts import On, SameDevice
Cuda = Annotated[Tensor, On("cuda")]
Cpu = Annotated[Tensor, On("cpu")]
"""


def broken(code: str, files: dict[str, str] | None = None) -> list[str]:
    """What breaks a contract: `m@cpu: parameter `x` of `f` (cuda) certain`."""
    facts = given(IMPORTS + dedent(code), files)
    return [
        f"{m.left.name}@{m.left.placement}: "
        f"{m.operation} ({m.right.placement}) {m.confidence.value}"
        for m in facts.meetings
        if m.kind.value == "contract"
    ]


def mixed(code: str) -> list[str]:
    """The contradictions that are no broken contract."""
    return [
        said for said in meetings(given(IMPORTS + dedent(code))) if not said.startswith("contract")
    ]


def unread(code: str) -> list[str]:
    return [found.message for found in given(IMPORTS + dedent(code)).unread_contracts]


def revealed_with(code: str, files: dict[str, str] | None = None) -> list[str]:
    return revealed(IMPORTS + dedent(code), files)


class TestTrusted:
    @pytest.mark.parametrize(
        "annotation",
        [
            'Annotated[Tensor, On("cuda")]',
            'Annotated[Tensor, "n 3", On("cuda")]',
            "Cuda",
            '"Cuda"',
            "Optional[Cuda]",
            '"Cuda | None"',
            "Cuda | None",
            'Annotated[Tensor, On("accelerator")]',
            'Annotated[Tensor | None, On("cuda")]',
            "torch.Tensor, /, y: Cuda",
        ],
    )
    def test_a_parameter_lives_where_it_is_declared(self, annotation):
        name = "y" if "y:" in annotation else "x"
        code = f"def f(x: {annotation}):\n    reveal({name})\n"
        assert revealed_with(code) == ["cuda"]

    def test_its_index_counts(self):
        code = 'def f(x: Annotated[Tensor, On("cuda:1")]):\n    reveal(x + 1)\n'
        assert revealed_with(code) == ["cuda:1"]

    def test_what_is_made_on_the_host_must_not_meet_it(self):
        code = "def f(x: Cuda, n: int):\n    return x + torch.zeros(n)\n"
        assert mixed(code) == ["torch.zeros(n)@cpu + x@cuda certain"]
        assert mixed(code.replace("zeros(n)", "zeros(n, device=x.device)")) == []

    def test_without_a_contract_the_caller_decides(self):
        code = "def f(x: Tensor, n: int):\n    return x + torch.zeros(n)\n"
        assert "certain" not in " ".join(mixed(code))

    def test_elements_of_containers(self):
        code = """
        def f(xs: list[Cuda], pair: tuple[Cuda, Cpu], named: dict[str, Cuda]):
            reveal(xs[0])
            for x in xs:
                reveal(x)
            reveal(pair[0])
            first, second = pair
            reveal(second)
            reveal(named["x"])
        """
        assert revealed_with(code) == ["cuda", "cuda", "cuda", "cpu", "cuda"]

    def test_parameters_on_one_device_meet(self):
        code = """
        def f(
            x: Tensor,
            y: Annotated[Tensor, SameDevice("x")],
            z: Annotated[Tensor, SameDevice("y")],
        ):
            reveal(z)
            return x + y + z
        """
        assert revealed_with(code) == ["δ(x)"]

    def test_on_the_device_of_one_that_is_declared(self):
        code = """
        def f(x: Annotated[Tensor, SameDevice["y"]], y: Cuda):
            reveal(x)
        """
        assert revealed_with(code) == ["cuda"]

    def test_a_circle_of_them(self):
        code = """
        def f(x: Annotated[Tensor, SameDevice("y")], y: Annotated[Tensor, SameDevice("x")]):
            return x + y
        f(torch.zeros(3), torch.zeros(3))
        """
        assert broken(code) == []

    def test_where_the_module_lives(self):
        code = """
        class Net(nn.Module):
            def forward(self, x: Annotated[Tensor, SameDevice("self")]):
                reveal(x)
                return x + torch.zeros(3)
        """
        assert revealed_with(code) == ["δ(self)"]
        assert mixed(code) == ["torch.zeros(3)@cpu + x@δ(self) certain"]

    def test_a_module_that_is_declared(self):
        code = """
        def f(model: Annotated[nn.Module, On("cuda")]):
            reveal(next(model.parameters()))
        """
        assert revealed_with(code) == ["cuda"]

    def test_a_result_that_nothing_else_is_known_of(self):
        code = """
        import somewhere
        def load(path: str) -> Cuda:
            return somewhere.read(path)
        class Source:
            def get(self) -> Cpu: ...
            def pair(self) -> tuple[Cpu, Cuda]:
                raise NotImplementedError
        reveal(load("a"))
        reveal(Source().get())
        reveal(Source().pair()[1])
        """
        assert revealed_with(code) == ["cuda", "cpu", "cuda"]

    def test_a_result_where_an_argument_is(self):
        code = """
        import somewhere
        def resize(image: Tensor, size: int) -> Annotated[Tensor, SameDevice("image")]:
            return somewhere.resize(image, size)
        reveal(resize(torch.zeros(3), 2))
        reveal(resize(torch.zeros(3).cuda(), 2))
        """
        assert revealed_with(code) == ["cpu", "cuda"]

    def test_a_result_on_a_device_that_is_handed_in(self):
        code = """
        import somewhere
        def read(path: str, device: torch.device) -> Annotated[Tensor, SameDevice("device")]:
            return somewhere.read(path)
        reveal(read("a", torch.device("cuda")))
        """
        assert revealed_with(code) == ["cuda"]

    def test_a_variable(self):
        code = """
        import somewhere
        x: Cuda = somewhere.read()
        reveal(x)
        y = somewhere.read()  # devlint: device[cpu]
        reveal(y)
        """
        assert revealed_with(code) == ["cuda", "cpu"]

    def test_a_function_that_calls_itself(self):
        code = """
        def walk(x: Cuda, n: int) -> Cuda:
            if n == 0:
                return x
            return walk(x, n - 1) + torch.zeros(3)
        """
        assert mixed(code) == ["torch.zeros(3)@cpu + walk(x, n - 1)@cuda certain"]


class TestComments:
    def test_behind_the_header(self):
        code = """
        def f(x, mask):  # devlint: device[x=cuda, mask=same(x), return=cpu]
            reveal(mask)
            return (x * mask).cpu()
        reveal(f(a, b))
        """
        assert revealed_with(code) == ["cuda", "cpu"]

    def test_on_the_parameters_own_lines(self):
        code = """
        def f(
            x,  # devlint: device[cuda]
            y: Tensor = None,
            *,
            z  # devlint: device[same(x)]
        ):
            reveal(z)
            reveal(y)
        """
        assert revealed_with(code) == ["cuda", "δ(y)"]

    def test_one_that_is_an_ordinary_remark(self):
        code = """
        def f(x, device):  # device: cuda or cpu
            return x  # on the device
        """
        assert unread(code) == []

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("def f(x):  # devlint: device[y=cuda]\n    pass\n", "no parameter `y`"),
            ("def f(x):  # devlint: device[cuda]\n    pass\n", "names no parameter"),
            ("def f(x):  # devlint: device[x=same(z)]\n    pass\n", "no parameter `z`"),
            ("def f(x):  # devlint: device[x=gpu]\n    pass\n", "'gpu' is no device"),
            ("x = 1  # devlint: device cuda\n", "not understood"),
            ("x = 1  # devlint: device[x=cuda]\n", "nothing is called `x`"),
            ("print(1)  # devlint: device[cuda]\n", "is of nothing"),
            ("# devlint: device[cuda]\nx = 1\n", "is of nothing"),
            ('def f(x: Annotated[Tensor, On("gpu")]): ...\n', "'gpu' is no device"),
            ('def f(x: Annotated[Tensor, SameDevice("z")]): ...\n', "no parameter `z`"),
        ],
    )
    def test_what_is_wrong_with_one_is_said_once(self, code, said):
        (message,) = unread(code)
        assert said in message


class TestArguments:
    def test_a_host_tensor_for_one_declared_elsewhere(self):
        code = """
        def f(x: Cuda): ...
        m = torch.zeros(3)
        f(m)
        f(x=torch.ones(3))
        f(torch.ones(3).cuda())
        f(torch.ones(3).cuda(1))
        f(unknown)
        """
        said = "parameter `x` of `f` (cuda) certain"
        assert broken(code) == [f"m@cpu: {said}", f"torch.ones(3)@cpu: {said}"]

    def test_another_index(self):
        code = """
        def f(x: Annotated[Tensor, On("cuda:1")]): ...
        f(torch.zeros(3, device="cuda:0"))
        f(torch.zeros(3, device="cuda:1"))
        """
        assert broken(code) == [
            'torch.zeros(3, device="cuda:0")@cuda:0: parameter `x` of `f` (cuda:1) certain'
        ]

    def test_none_for_an_optional_one(self):
        assert broken("def f(x: Optional[Cuda] = None): ...\nf()\nf(None)\n") == []

    def test_two_that_must_be_together(self):
        code = """
        def f(x: Tensor, y: Annotated[Tensor, SameDevice("x")]): ...
        a, b = torch.zeros(3).cuda(), torch.zeros(3)
        f(a, b)
        f(a, a)
        f(b, b)
        """
        assert broken(code) == ["b@cpu: parameter `y` of `f` (cuda) certain"]

    def test_in_a_list(self):
        code = "def f(xs: list[Cuda]): ...\nf([torch.zeros(3).cuda(), torch.zeros(3)])\n"
        assert len(broken(code)) == 1

    def test_a_method_of_a_module_and_the_modules_device(self):
        code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(3, 3)
            def forward(self, x: Annotated[Tensor, SameDevice("self")]):
                return x
        net = Net().cuda()
        net(torch.zeros(3))
        net(torch.zeros(3).cuda())
        """
        assert broken(code) == ["torch.zeros(3)@cpu: parameter `x` of `forward` (cuda) certain"]

    def test_handed_on_by_a_function_without_a_contract(self):
        code = """
        def f(x: Cuda): ...
        def g(y, z):
            f(y)
        def h(w):
            g(w, 3)
        h(torch.zeros(3))
        h(torch.zeros(3).cuda())
        """
        assert broken(code) == ["torch.zeros(3)@cpu: parameter `x` of `f` (cuda) likely"]

    def test_what_lives_with_the_module_for_a_host_parameter(self):
        code = """
        def save(x: Cpu): ...
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.zeros(3))
            def dump(self):
                save(self.weight)
                save(self.weight.cpu())
        """
        assert broken(code) == ["self.weight@δ(self): parameter `x` of `save` (cpu) likely"]

    def test_across_files(self):
        files = {"api.py": IMPORTS + "def f(x: Cuda) -> Cpu: ...\n"}
        code = """
        import api
        from api import Cpu as OnHost, f
        f(torch.zeros(3))
        def g(x: OnHost, y: api.Cuda):
            reveal(x)
            reveal(y)
            reveal(f(y))
        """
        assert len(broken(code, files)) == 1
        assert revealed_with(code, files) == ["cpu", "cuda", "cpu"]


class TestResults:
    def test_each_return_is_checked(self):
        code = """
        def f(x: Cuda, flag) -> Cpu:
            if flag:
                return x.cpu()
            return x * 2
        """
        assert broken(code) == ["x * 2@cuda: the result of `f` (cpu) certain"]

    def test_where_an_argument_is(self):
        code = """
        def f(x: Tensor, n: int) -> Annotated[Tensor, SameDevice("x")]:
            if n == 0:
                return torch.zeros(1, 3)
            return x[:n]
        """
        assert broken(code) == ["torch.zeros(1, 3)@cpu: the result of `f` (δ(x)) certain"]

    def test_parts_of_a_tuple(self):
        code = """
        def f(x: Cuda) -> tuple[Cuda, Cpu]:
            return x, x.argmax()
        """
        assert broken(code) == ["x.argmax()@cuda: part 1 of the result of `f` (cpu) certain"]

    def test_none_and_numbers_keep_every_contract(self):
        code = """
        def f(x: Cuda) -> Optional[Cpu]:
            if x is unknown:
                return None
            return x.cpu()
        """
        assert broken(code) == []


class TestAttributes:
    def test_one_that_stays_on_the_host_is_no_attribute_left_behind(self):
        code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.table: Cpu = torch.zeros(10)
            def forward(self, ids):
                return self.table[ids.cpu()]
        """
        assert plain_attributes(given(IMPORTS + dedent(code))) == []
        plain = code.replace("table: Cpu", "table")
        assert plain_attributes(given(IMPORTS + dedent(plain))) == ["Net.table@cpu"]

    def test_it_is_trusted_in_other_methods_and_from_outside(self):
        code = """
        class Store:
            rows: Cuda
            def __init__(self, source):
                self.rows = source.read()
                self.ids = source.ids()  # devlint: device[cpu]
            def first(self):
                reveal(self.rows[0])
                return self.ids
        reveal(Store(source).rows)
        reveal(Store(source).ids)
        """
        assert revealed_with(code) == ["cuda", "cuda", "cpu"]

    def test_each_assignment_is_checked(self):
        code = """
        class Store:
            rows: Cuda
            def __init__(self):
                self.rows = torch.zeros(3)
            def renew(self, n):
                self.rows = torch.zeros(n, device="cuda")
        def outside(store: Store):
            store.rows = torch.ones(3)
        """
        assert broken(code) == [
            "torch.zeros(3)@cpu: `self.rows` (cuda) certain",
            "torch.ones(3)@cpu: `store.rows` (cuda) certain",
        ]

    def test_fields_of_a_dataclass(self):
        code = """
        @dataclass
        class Batch:
            tokens: Cuda
            mask: Annotated[Tensor, SameDevice("tokens")]
        x = torch.zeros(3)
        Batch(x.cuda(), mask=torch.ones(3))
        Batch(tokens=x, mask=x.cuda())
        Batch(x.cuda(), x.cuda())
        def f(batch: Batch):
            reveal(batch.tokens)
        """
        assert broken(code) == [
            "torch.ones(3)@cpu: `Batch.mask` (cuda) certain",
            "x@cpu: `Batch.tokens` (cuda) certain",
        ]
        assert revealed_with(code) == ["cuda"]

    def test_fields_of_a_named_tuple(self):
        code = """
        class Pair(NamedTuple):
            left: Cuda
            right: Cpu
        Pair(torch.zeros(3), torch.zeros(3))
        """
        assert broken(code) == ["torch.zeros(3)@cpu: `Pair.left` (cuda) certain"]

    def test_an_inherited_one(self):
        code = """
        class Base:
            rows: Cuda
        class Store(Base):
            def __init__(self):
                self.rows = torch.zeros(3)
        """
        assert broken(code) == ["torch.zeros(3)@cpu: `self.rows` (cuda) certain"]


def test_a_string_in_a_contract_is_no_hard_coded_device():
    facts = given(IMPORTS + 'def f(x: Annotated[Tensor, On("cuda:0")]): ...\nCARD = On("cuda")\n')
    assert facts.mentions == []
