"""Where an accelerator is known to be there, or nothing runs without one."""

import pytest
from given import given


def guarded(code, files=None):
    """For each mention, in the order of the source."""
    facts = given(code, files)
    found = {facts.source.text.index(m.text): m.guarded for m in facts.mentions}
    return [found[at] for at in sorted(found)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("assert torch.cuda.is_available()", True),
        ("if not torch.cuda.is_available(): return", True),
        ("if small:\n        assert torch.cuda.is_available()", False),
        ("if small:\n        if not torch.cuda.is_available(): raise ValueError", False),
        ("if small:\n        pass\n    else:\n        assert torch.cuda.is_available()", False),
        ("if not args.cuda:\n        pass\n    elif not torch.cuda.is_available(): return", True),
        ("if small:\n        pass\n    elif not torch.cuda.is_available(): return", False),
        ("if small:\n        assert x.device.type == 'cuda'", True),
        ("with small:\n        assert torch.cuda.is_available()", True),
        ("try: load()\n    except OSError: assert torch.cuda.is_available()", False),
    ],
)
def test_a_question_is_for_the_branch_that_it_is_in(question, found):
    code = f"""
def run(x, small, args):
    {question}
    return x.cuda()
"""
    assert guarded(code) == [found]


DEFINED = """
if {test}:
    def put(x):
        return x.cuda()
else:
    def put(x):
        return x

def putting(x):
    if {test}:
        def put(y):
            return y.cuda()
        return put(x)
    return x

taken = (lambda kept, place: kept.cuda()) if {test} else torch.device("cpu")
"""


@pytest.mark.parametrize(("test", "found"), [("torch.cuda.is_available()", True), ("small", False)])
def test_what_is_defined_where_an_accelerator_is_there_runs_only_there(test, found):
    assert guarded(DEFINED.format(test=test)) == [found] * 3


def test_what_follows_in_the_branch_is_guarded():
    code = """
        def run(x, fast):
            if fast:
                assert torch.cuda.is_available()
                y = x.cuda()
                for _ in range(3):
                    z = torch.ones(3, device="cuda")
            return x.to("cuda")
    """
    assert guarded(code) == [True, True, False]


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("assert torch.cuda.is_available()\n    step(x)", True),
        ("if fast:\n        assert torch.cuda.is_available()\n        step(x)", True),
        ("if fast:\n        assert torch.cuda.is_available()\n    step(x)", False),
    ],
)
def test_callers_have_asked_where_they_call(call, found):
    code = f"""
def step(x):
    return x.cuda()

def run(x, fast):
    {call}
"""
    assert guarded(code) == [found]


ENGINE = """
def {name}({args}):
    {question}
    join_group()

class Engine:
    def step(self, x):
        return x.cuda()
{last}
"""
NEEDS = "assert torch.cuda.is_available()"


@pytest.mark.parametrize(
    ("name", "question", "last", "found"),
    [
        ("initialize", NEEDS, "", True),
        ("setup_engine", "if not torch.cuda.is_available(): raise RuntimeError", "", True),
        ("main", "if not torch.cuda.is_available(): exit()", "", True),
        ("begin", NEEDS, "if __name__ == '__main__':\n    begin(1)", True),
        ("begin", NEEDS, "if fast:\n    begin(1)", True),
        ("begin", NEEDS, "", False),
        ("initialize", "if not torch.cuda.is_available(): return", "", False),
        ("initialize", "if args: assert torch.cuda.is_available()", "", False),
        ("initialize", "assert args or torch.cuda.is_available()", "", False),
        ("initialize", "assert not torch.cuda.is_available()", "", False),
    ],
)
def test_a_set_up_that_fails_without_cuda_makes_its_file_one_for_cuda(name, question, last, found):
    assert guarded(ENGINE.format(name=name, args="args", question=question, last=last)) == [found]


@pytest.mark.parametrize(
    ("question", "found"),
    [(NEEDS, True), (f"if fast: {NEEDS}", False), ("self.fast = fast", False)],
)
def test_objects_whose_constructor_fails_without_cuda(question, found):
    code = f"""
        class Engine:
            def __init__(self, fast):
                {question}

            def step(self, x):
                return x.cuda()
    """
    assert guarded(code) == [found]


def test_a_stream_is_one_demand_and_what_is_made_beside_it_no_other():
    code = """
        class Feeder:
            def __init__(self, loader):
                self.side = torch.cuda.Stream()
                self.shift = torch.ones(3).cuda()

            def feed(self, x):
                with torch.cuda.stream(self.side):
                    return x.to("cuda")

        def other(x):
            return x.to("cuda:0")
    """
    assert guarded(code) == [False, True, True, False]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("self.side = torch.cuda.Stream()", True),
        ("if fast: self.side = torch.cuda.Stream()", False),
    ],
)
def test_an_object_may_do_without_its_stream(made, found):
    code = f"""
        class Feeder:
            def __init__(self, fast):
                {made}

            def feed(self, x):
                return x.to("cuda")
    """
    assert guarded(code)[-1] is found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("current = torch.cuda.current_stream(); current.wait_stream(side)", True),
        ("x.record_stream(torch.cuda.current_stream())", True),
        ("print(torch.cuda.current_stream())", False),
    ],
)
def test_a_function_that_works_with_streams(use, found):
    code = f"""
        def land(x, side):
            if x.numel():
                with torch.cuda.device(1):
                    {use}
    """
    assert guarded(code) == [found, found]


@pytest.mark.parametrize(
    ("given_to_it", "before", "serves_host"),
    [
        ("loader", "", [False, False]),
        ("loader", "fast = torch.cuda.is_available()", [False, True]),
        ("loader", "many = torch.distributed.is_available()", [False, False]),
        ("device", "", [True, False]),
    ],
)
def test_an_object_with_a_stream_is_for_cuda_unless_it_is_given_its_device(
    given_to_it, before, serves_host
):
    code = f"""
        {before}

        class Feeder:
            def __init__(self, {given_to_it}):
                self.side = torch.cuda.Stream()

        def timed(run):
            side = torch.cuda.Stream()
            run()
    """
    assert [m.serves_host for m in given(code).mentions] == serves_host


def test_streams_in_another_branch_say_nothing():
    code = """
        def land(x, side):
            if side is not None:
                x.record_stream(side)
            return x.cuda()
    """
    assert guarded(code) == [False]


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        ("multi_tensor_applier(l2norm, flag, [xs])", True),
        ("crop_cuda.forward(flag, xs)", True),
        ("print(flag, xs)", False),
    ],
)
def test_what_is_made_for_a_kernel_of_cuda(kernel, found):
    code = f"""
        try:
            from apex.multi_tensor_apply import multi_tensor_applier
            from amp_C import l2norm
            from shapes import crop_cuda
        except ImportError:
            fused = False

        def norm(xs):
            flag = torch.cuda.IntTensor([0])
            return {kernel}

        def other(xs):
            return torch.cuda.LongTensor([0])
    """
    assert guarded(code) == [found, False]


@pytest.mark.parametrize(
    ("mine", "found"), [("torch.tensor(size).cuda()", True), ("torch.tensor(size)", False)]
)
def test_tensors_of_a_card_go_through_nccl(mine, found):
    code = f"""
        import torch.distributed as dist

        def gather(size, many):
            if many:
                mine = {mine}
                torch.cuda.synchronize()
                dist.all_reduce(mine)
            torch.cuda.get_device_name()
    """
    facts = given(code)
    backend = [m.guarded for m in facts.mentions if m.kind == "backend"]
    assert backend == [found, False]


HOST_TYPES = """
class Tally:
    def __init__(self, n):
        self.seen = torch.zeros(n)

    def update(self, labels: torch.Tensor):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "moves"),
    [
        ("self.seen.scatter_(0, labels.type(torch.LongTensor), 1)", False),
        ("self.seen.scatter_(0, labels.view(-1).type(torch.LongTensor).squeeze(), 1)", False),
        ("rows = labels.type(torch.LongTensor); rows = rows + 1; self.seen[2:] + rows", False),
        ("torch.equal(self.seen, labels.type(torch.FloatTensor))", False),
        ("torch.equal(labels, labels.type(torch.FloatTensor))", True),
        ("return labels.type(torch.FloatTensor)", True),
        ("self.seen.add_(labels); return labels.type(torch.FloatTensor)", True),
        ("labels.type(torch.FloatTensor) * labels.type(torch.FloatTensor)", True),
    ],
)
def test_a_type_of_the_host_for_what_meets_the_host(line, moves):
    found = [m.moves for m in given(HOST_TYPES.format(line=line)).mentions]
    assert set(found) == {moves}


STARTS = """
    import torch.distributed as dist

    def connect(rank):
        {demand}
        dist.init_process_group("nccl")

    class Context:
        def __init__(self, size):
            if not dist.is_initialized():
                connect(size)
            self.size = size
"""


@pytest.mark.parametrize(
    ("demand", "found"),
    [
        ("if not torch.cuda.is_available(): raise OSError('no CUDA')", True),
        ("if torch.cuda.is_available(): print(rank)\n        else: raise OSError", True),
        ("torch.cuda.set_device(rank)", True),
        ("if torch.cuda.is_available(): torch.cuda.set_device(rank)", False),
        ("print(rank)", False),
    ],
)
def test_what_another_file_does_not_start_without(demand, found):
    code = """
    from starts import Context

    def convert(x):
        context = Context(2)
        return x.cuda(), context

    def show(y):
        return y.cuda()

    class Trainer:
        def __init__(self):
            self.context = Context(2)

        def step(self, z):
            return z.cuda()
    """
    assert guarded(code, {"starts.py": STARTS.format(demand=demand)}) == [found, False, found]


def test_the_objects_of_a_class_whose_base_does_not_start_without():
    base = """
    class Trainer:
        def __init__(self):
            assert torch.cuda.is_available()
    """
    code = """
    from trainers import Trainer

    class Mine({base}):
        def step(self, x):
            return x.cuda()
    """
    assert guarded(code.format(base="Trainer"), {"trainers.py": base}) == [True]
    assert guarded(code.format(base="object"), {"trainers.py": base}) == [False]


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("torch.backends.mps.is_available()", False),
        ("torch.backends.mps.is_available() and half", False),
        ("torch.backends.mps.is_available() or half", True),
        ("not torch.cuda.is_available()", True),
    ],
)
def test_who_leaves_where_an_accelerator_is_there_has_asked_for_none(test, found):
    code = f"""
        def run(x, half):
            if {test}:
                raise ValueError
            return x.cuda()
    """
    assert guarded(code) == [found]


@pytest.mark.parametrize(
    ("line", "handler", "found"),
    [
        ("net.load_state_dict(torch.load(path))", "raise OSError(path) from error", False),
        ("net.load_state_dict(torch.load(path))", "return None", True),
        ("net.cuda()", "raise OSError('a card is needed') from error", True),
        ("net.cuda()", "print('on the host')", True),
    ],
)
def test_an_error_that_is_told_in_other_words_is_hidden_from_nobody(line, handler, found):
    code = f"""
        def run(net, path):
            try:
                {line}
            except RuntimeError as error:
                {handler}
    """
    assert guarded(code) == [found]


@pytest.mark.parametrize(
    ("target", "found"),
    [("x.device", [False]), ("x.get_device()", []), ("card", []), ("args.device", [])],
)
def test_the_device_of_an_input_may_be_the_host(target, found):
    code = f"""
        def order(x: torch.Tensor, card, args):
            return x.sort().indices.cpu().flip(0).cuda({target})
    """
    assert guarded(code) == found


def test_who_has_asked_whether_an_input_is_on_a_card_may_go_back_there():
    code = """
        def order(x: torch.Tensor):
            if x.is_cuda:
                return x.cpu().flip(0).cuda(x.device)
            return x.flip(0)
    """
    assert guarded(code) == [True]


def test_a_loop_over_the_cards_has_no_turn_without_any():
    code = """
        def show(index):
            for i in range(torch.cuda.device_count()):
                print(torch.cuda.get_device_name(i))
            print(torch.cuda.get_device_name(index))
    """
    backend = [m.guarded for m in given(code).mentions if m.kind == "backend"]
    assert backend == [True, False]


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("torch.cuda.is_available() and not args.cuda", False),  # what follows runs without, too
        ("not torch.cuda.is_available()", True),
    ],
)
def test_advice_where_an_accelerator_is_there_asks_for_none(test, found):
    code = f"""
        if {test}:
            print("you could run it with --cuda")
        weights = torch.load("weights.pth")
    """
    assert guarded(code) == [found]


@pytest.mark.parametrize("card", ["torch.device(0)", 'torch.device("cuda:0")'])
def test_a_number_is_that_of_a_card(card):
    assert guarded(f"HOME = {card}") == [False]


@pytest.mark.parametrize("flag", ["wanted and torch.cuda.is_available()", "wanted"])
def test_a_flag_that_a_base_class_has_set_asks(flag):
    code = f"""
        class Base:
            def __init__(self, wanted):
                self.pins = {flag}

        class Copies(Base):
            def run(self, x):
                if self.pins:
                    return torch.cuda.current_device()
    """
    backend = [m.guarded for m in given(code).mentions if m.kind == "backend"]
    assert backend == ["is_available" in flag]
