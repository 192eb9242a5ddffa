"""What stands where a device belongs, and is none."""

import pytest
from given import given, revealed

from devlint.inference.facts import Mistake


def mistakes(code):
    """Those that need no call to show them."""
    return [fact.mistake for fact in given(code).mistaken_devices if fact.given is None]


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ('"cuda"', [Mistake.NO_INDEX]),
        ('torch.device("cuda")', [Mistake.NO_INDEX]),
        ('"cuda" if torch.cuda.is_available() else "cpu"', [Mistake.NO_INDEX]),
        ('"cuda:0"', []),
        ('torch.device("cuda", rank)', []),
        ("torch.device(where)", []),
        ('f"cuda:{rank}"', []),
        ("rank", []),
        ("where", []),
        ("torch.cuda.current_device()", []),
        ('torch.zeros(1, device="cuda").device', []),  # where it is has a number
    ],
)
def test_a_card_is_chosen_by_its_index(device, found):
    code = f"""
    def start(rank, where):
        device = {device}
        torch.cuda.set_device(device)
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("net.cuda(0, non_blocking=True)", [Mistake.KEYWORD]),
        ("net.cuda(device=0)", []),
        ("net.to(0, non_blocking=True)", []),
        ("torch.zeros(1).cuda(0, non_blocking=True)", []),
        ("own.cuda(blocking=True)", []),
    ],
)
def test_a_modules_own_moves_take_a_device_and_no_more(call, found):
    code = f"""
    class Own(nn.Module):
        def cuda(self, device=None, blocking=False):
            return super().cuda(device)

    net, own = nn.Linear(2, 2), Own()
    {call}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("torch.zeros(2).to(card)", [Mistake.CONTEXT]),
        ("torch.zeros(2).cuda(card)", [Mistake.CONTEXT]),
        ("torch.zeros(2, device=card)", [Mistake.CONTEXT]),
        ("torch.cuda.synchronize(device=card)", [Mistake.OLD_CONTEXT]),
        ("torch.cuda.synchronize(device=1)", []),
    ],
)
def test_a_context_manager_is_no_device_but_means_its_index_to_torch_cuda(call, found):
    assert mistakes(f"card = torch.cuda.device(1)\n{call}") == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('device == "gpu"', [Mistake.NO_SUCH_TYPE]),
        ('device != "GPU"', [Mistake.NO_SUCH_TYPE]),
        ('torch.zeros(1, device="cuda").device.type == "gpu"', [Mistake.NO_SUCH_TYPE]),
        ('device == "cuda"', []),
        ('wanted == "gpu"', []),  # the user's own word
        ('default == "gpu"', []),
    ],
)
def test_no_device_is_called_gpu(test, found):
    code = f"""
    def choose(wanted, default="cuda"):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return 0 if {test} else 1
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        ('device or "cuda" if torch.cuda.is_available() else "cpu"', [Mistake.PRECEDENCE]),
        (
            'device or torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")',
            [Mistake.PRECEDENCE],
        ),
        ('device or ("cuda" if torch.cuda.is_available() else "cpu")', []),
        ('(device or "cuda") if torch.cuda.is_available() else "cpu"', []),  # so it is meant
        ('device or "cuda" if torch.cuda.is_available() else device', []),
        ('device or "cuda" if self.may else "cpu"', []),
    ],
)
def test_an_or_binds_closer_than_a_choice(choice, found):
    code = f"""
    class Scorer:
        def __init__(self, device=None):
            self.device = {choice}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("y.to(x.get_device())", [Mistake.MINUS_ONE]),
        ("torch.zeros(3, device=x.get_device())", [Mistake.MINUS_ONE]),
        ("y.to(x.get_device()) if x.is_cuda else y", []),
        ("y.to(x.device)", []),
        ('y.to(torch.zeros(1, device="cuda").get_device())', []),
        ("y.to(x.cuda(card).get_device())", []),  # whichever card that is
        ("y.to(self.get_device())", []),
    ],
)
def test_minus_one_is_no_device(line, found):
    code = f"""
    class Mask(nn.Module):
        def get_device(self):
            return list(self.parameters())[0].device

        def apply(self, x: torch.Tensor, y: torch.Tensor):
            return {line}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("index", "found"),
    [
        ("x.device.index or -1", [Mistake.FIRST_CARD]),
        ("self.model._dev.index or -1", [Mistake.FIRST_CARD]),
        ("torch.device(where).index or 1", [Mistake.FIRST_CARD]),
        ("x.device.index or 0", []),  # the first card, said twice
        ("x.device.index or torch.cuda.current_device()", []),
        ("self.rows.index or -1", []),
        ("-1 if x.device.index is None else x.device.index", []),
    ],
)
def test_the_first_card_is_as_false_as_none(index, found):
    code = f"""
    class Server:
        def put(self, x: torch.Tensor, where):
            self.card = {index}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("Record", []),  # it may make a `torch.device` of what it is given
        ("object", [Mistake.NEVER_EQUAL]),
    ],
)
def test_what_a_base_out_of_sight_makes_of_its_arguments(base, found):
    code = f"""
    from dataclasses import dataclass
    from records import Record

    {"@dataclass" if base == "object" else ""}
    class State({base}):
        x: torch.Tensor
        {"device: str" if base == "object" else ""}

    state = State(x=torch.zeros(3), device="cpu")
    assert state.device == torch.device("cpu")
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("test", "use", "found"),
    [
        ('x.device == "cuda"', "x.log_softmax(-1)", [Mistake.NEVER_EQUAL]),
        ('x.device != "cpu"', "x.log_softmax(-1)", [Mistake.ALWAYS_UNEQUAL]),
        ('x.device == y.device == "cuda"', "x.log_softmax(-1)", [Mistake.NEVER_EQUAL]),
        ('y.device == x.device == "cuda"', "x.log_softmax(-1)", [Mistake.NEVER_EQUAL]),
        ('x.device == "cuda"', "y.log_softmax(-1)", []),  # `x` may be an object of any kind
        ('x.device == "cuda"', "x.to(0)", []),  # as above: modules have that method, too
        ('x.device.type == "cuda"', "x.log_softmax(-1)", []),
        ("x.device == y.device", "x.log_softmax(-1)", []),
    ],
)
def test_what_has_methods_of_tensors_has_a_torch_device(test, use, found):
    code = f"""
    def run(x, y):
        if {test}:
            return {use}
        return {use}
    """
    assert mistakes(code) == found


def test_a_torch_device_equals_no_string_at_all():
    code = """
    def run(x: torch.Tensor, device="gpu"):
        return x.device == "gpu", device == "cuda"
    """
    assert mistakes(code) == [Mistake.NEVER_EQUAL]


def test_a_device_that_is_handed_in_may_be_a_string():
    assert (
        mistakes("""
    def encode(tokenizer, text, device):
        rows = tokenizer(text).to(device)
        rows["copy"] = rows["ids"].clone()
        if device == "xpu":
            return None
        return rows
    """)
        == []
    )


@pytest.mark.parametrize(
    ("card", "found"),
    [
        ("device.index or 0", 1),
        ("0 if device.index is None else device.index", 1),
        ("device.index if device.index is not None else 0", 1),
        ('torch.device("cuda", device or 0)', 1),
        ("torch.cuda.current_device() if device.index is None else device.index", 0),
        ("device.index or fallback", 0),
        ("x.device.index or 0", 0),  # a tensor on a card is on one with a number
        ("entry.index or 0", 0),  # any other index
        ('torch.device("cuda", entry or 0)', 0),
    ],
)
def test_no_index_is_the_current_card_and_not_the_first(card, found):
    code = f"""
    def number(device, x: torch.Tensor, entry, fallback=None):
        return {card}
    """
    assert mistakes(code) == [Mistake.NO_CARD] * found


def test_a_function_may_return_the_first_card_early():
    code = """
    def number(where):
        where = torch.device(where)
        if where.index is None:
            return 0
        return where.index
    """
    assert mistakes(code) == [Mistake.NO_CARD]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"cuda" in self.device', [Mistake.NO_TEXT]),
        ('"cuda" not in self.device', [Mistake.NO_TEXT]),
        ('self.device == "mps"', [Mistake.NEVER_EQUAL]),
        ('"cuda" in str(self.device)', []),
        ('"cuda" in self.device.type', []),
        ('"cuda" in self.options', []),
    ],
)
def test_a_torch_device_is_no_text_whichever_of_several_it_is(asked, found):
    code = f"""
    class Server:
        def __init__(self, options):
            self.options = options
            self.device = torch.device("cpu")
            if torch.cuda.is_available():
                self.device = torch.device("cuda")

        def clear(self):
            if {asked}:
                torch.cuda.empty_cache()
    """
    assert mistakes(code) == found


def test_a_device_that_may_be_a_text_may_contain_one():
    code = """
    def clear(device="cuda"):
        return "cuda" in device
    """
    assert mistakes(code) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('d = "cuda" if torch.cuda.is_available else "cpu"', [Mistake.UNCALLED]),
        ("if not torch.backends.mps.is_available: pass", [Mistake.UNCALLED]),
        ("assert torch.cuda.is_available", [Mistake.UNCALLED]),
        ("if wanted and torch.cuda.is_available: pass", [Mistake.UNCALLED]),
        ('d = "cuda" if torch.cuda.is_available() else "cpu"', []),
        ("ask = torch.cuda.is_available", []),  # handed on, to be called
        ("if torch.backends.cudnn.enabled: pass", []),  # no function
    ],
)
def test_a_question_that_is_not_called_is_always_answered_yes(line, found):
    assert mistakes(f"wanted = input()\n{line}") == found


def test_the_accelerated_world_takes_the_branch_of_such_a_question():
    code = """
    device = "cuda" if torch.cuda.is_available else "cpu"
    reveal(torch.ones(2, device=device))
    """
    assert revealed(code) == ["cuda"]


@pytest.mark.parametrize(
    ("parameter", "found"),
    [
        ("device: torch.device", [Mistake.NEVER_EQUAL]),
        ("device: torch.device = None", [Mistake.NEVER_EQUAL]),
        ('device: torch.device = "cuda"', []),
        ("device: torch.device | str", []),
        ("device", []),
    ],
)
def test_what_is_declared_a_torch_device_equals_no_string(parameter, found):
    code = f"""
    def name_of({parameter}):
        return "GPU" if device == "cuda" else "CPU"
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("otherwise", "found"),
    [('"cpu"', []), ('torch.device("cpu")', [Mistake.NEVER_EQUAL])],
)
def test_an_attribute_that_is_a_text_where_there_is_no_accelerator_equals_one(otherwise, found):
    code = f"""
    class Model:
        def __init__(self):
            if torch.cuda.is_available():
                self.device = torch.device("cuda")
            else:
                self.device = {otherwise}

        def predict(self, x):
            return x.float() if self.device == "cpu" else x
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('x.device == torch.device("cuda")', [Mistake.NEVER_BARE]),
        ('torch.device("xpu") == x.device', [Mistake.NEVER_BARE]),
        ('next(net.parameters()).device == torch.device("cuda")', [Mistake.NEVER_BARE]),
        # with an index it may be true, and the host has none
        ('x.device == torch.device("cuda:0")', []),
        ('x.device == torch.device("cuda", 0)', []),
        ('x.device == torch.device("cpu")', []),
        ('x.device.type == torch.device("cuda").type', []),
        ('x.device != torch.device("cuda")', [Mistake.ALWAYS_BARE]),
        # what a caller hands in may be just that
        ('device == torch.device("cuda")', []),
        ("x.device == y.device", []),
    ],
)
def test_where_a_tensor_is_a_card_has_an_index(test, found):
    code = f"""
    def step(net: nn.Module, x: torch.Tensor, y: torch.Tensor, device):
        z = y.to(device)
        if {test}:
            return net(x)
        return z
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('x.device == torch.device("cuda")', [Mistake.NEVER_BARE]),
        ('torch.device("mps") != x.device', [Mistake.ALWAYS_BARE]),
        ('next(net.parameters()).device == torch.device("cuda")', [Mistake.NEVER_BARE]),
        ("x.device == bare", [Mistake.NEVER_BARE]),
        ('x.device == torch.device("cuda:0")', []),
        ('x.device == torch.device("cuda", rank)', []),
        ('x.device == torch.device("cpu")', []),
        ('x.device == torch.device("meta")', []),
        ("x.device == chosen", []),  # which may have an index
        ("x.device == net_of.device", []),
        ('chosen == torch.device("cuda")', []),  # and may have none
        ('args.device == torch.device("cuda")', []),
        ('x.device.type == torch.device("cuda").type', []),
        ('x.cpu().device == torch.device("cuda")', []),
        (
            'torch.zeros(2, device="cuda").device == torch.device("cuda")',
            [Mistake.NEVER_BARE],
        ),
    ],
)
def test_a_device_without_an_index_is_not_where_a_tensor_is(test, found):
    code = f"""
    def serves(x: torch.Tensor, net: nn.Module, net_of, chosen: torch.device, args, rank):
        bare = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        made = torch.zeros(2, device="cuda")
        return {test}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("rows = held.unsqueeze(0) + 1", 1),
        ("rows = held.rows", 0),
        ("held.to('cuda')", 0),
        ("pass", 0),
    ],
)
def test_what_has_a_device_is_a_tensor_if_it_is_used_as_one(use, count):
    code = f"""
    def serves(held):
        {use}
        if held.device == torch.device("cuda"):
            print("there")
    """
    assert len(mistakes(code)) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("if x.device != torch.device('cuda'):\n    x = x.to('cuda')", 0),
        (
            "if not a or x.device != torch.device('cuda'):\n    x = x.cuda()\n    a = a.cuda()",
            0,
        ),
        ("x = x if x.device == torch.device('cuda') else x.cuda()", 0),
        ("if x.device != torch.device('cuda'):\n    raise ValueError", 1),
        ("if x.device != torch.device('cuda'):\n    x = x.cuda()\nelse:\n    print(x)", 1),
        ("x = x.half() if x.device == torch.device('cuda') else x", 1),
        ("assert x.device == torch.device('cuda')", 1),
    ],
)
def test_a_comparison_that_spares_a_move_makes_no_odds(body, count):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    assert len(mistakes(f"def place(x: torch.Tensor, a: torch.Tensor):\n{lines}")) == count


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ('if x.device != "cpu": x = x.detach().cpu()', 0),  # there already, or brought there
        ('x = x.cpu() if x.device != "cpu" else x', 0),
        ('if x.device == "cuda": x = x.cpu()', 1),  # never
        ('if x.device != "cpu": raise ValueError(x)', 1),
        ('if x.device != "cpu": x = x.cpu()\n    else: x = x * 2', 1),
    ],
)
def test_a_test_that_spares_a_move_of_what_is_there_makes_no_odds(body, count):
    facts = given(f"def show(x: torch.Tensor):\n    {body}\n    return x")
    assert len(facts.mistaken_devices) == count
