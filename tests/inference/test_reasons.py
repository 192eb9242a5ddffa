"""Reasons that code gives for an accelerator, or asks by way of a name."""

import pytest
from given import given


def guarded(code):
    """For each mention, in the order of the source."""
    facts = given(code)
    found = {facts.source.text.index(m.text): m.guarded for m in facts.mentions}
    return [found[at] for at in sorted(found)]


@pytest.mark.parametrize(
    ("flag", "test", "found"),
    [
        ("there = device.type == 'cuda'", "there", True),
        ("there = device.type == 'cuda'", "there and ready", True),
        ("there = device.type == 'cuda'", "there or ready", False),
        ("there = torch.cuda.is_available()", "there", True),
        ("on = device.type == 'cuda'; there = side is not None and on", "there", True),
        ("on = device.type == 'cuda'; there = side is not None or on", "there", False),
        ("there = side is not None", "there", False),
        ("there = device.type == 'cuda'; there = ready", "there", False),
        ("there = True", "there", False),
    ],
)
def test_a_flag_has_asked(flag, test, found):
    code = f"""
        def take(data, device, side, ready):
            {flag}
            return torch.cuda.current_stream() if {test} else None
    """
    assert guarded(code) == [found]


def test_a_flag_of_the_object_or_of_the_module_has_asked():
    code = """
        FAST = torch.cuda.is_available() and not DEBUG
        class Feed:
            def __init__(self, device, late):
                self.there = device.type == "cuda"
                self.late = late is not None
            def first(self):
                if self.there: torch.cuda.synchronize()
            def second(self):
                if self.late: torch.cuda.current_device()
            def third(self):
                if FAST: torch.cuda.current_stream()
            def fourth(self, FAST):
                if FAST: torch.cuda.default_stream()
    """
    assert guarded(code) == [True, False, True, False]


def test_what_stands_beside_the_host_is_compared_with_it():
    code = """
        def compare(x: torch.Tensor):
            for device in ("cpu", torch.device("cuda")):
                time_of(x, device)
            for device in (torch.device("cuda:0"), torch.device("cuda:1")):
                time_of(x, device)
    """
    assert guarded(code) == [True, False, False]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("with profile(activities=[torch.profiler.ProfilerActivity.CUDA]): step(x)", True),
        ("with profile(activities=[torch.profiler.ProfilerActivity.CPU]): step(x)", False),
        ("start = torch.cuda.Event(enable_timing=True)", True),
        ("if verbose: start = torch.cuda.Event(enable_timing=True)", False),
        ("torch.cuda.synchronize(); t = time.time(); step(x); torch.cuda.synchronize()", True),
        ("torch.cuda.synchronize(); step(x); torch.cuda.synchronize()", False),
        ("t = time.time(); step(x)", False),
    ],
)
def test_what_measures_kernels_is_for_the_card(lines, found):
    code = f"""
        import time
        def show(x, verbose):
            y = x.cuda()
            {lines}
    """
    assert guarded(code)[0] is found


def test_a_clock_alone_may_serve_the_host_too():
    code = """
        import time
        def timed(step, x, device):
            torch.cuda.synchronize()
            start = time.perf_counter()
            step(x.to(device))
            torch.cuda.synchronize()
            return time.perf_counter() - start
    """
    assert guarded(code) == [False]


def test_the_default_of_an_option_is_configuration():
    code = """
        def run(x: torch.Tensor, args, **options):
            device = options.get("device", torch.device("cuda"))
            other = getattr(args, "device", torch.device("cuda:0"))
            parser.add_argument("--device", default=torch.device("cuda:1"))
            return options.get("x", x.cuda())
    """
    assert guarded(code) == [False]


@pytest.mark.parametrize(
    ("other", "found"), [('HOST = torch.device("cpu")', True), ("pass", False)]
)
def test_a_module_has_a_name_for_each_device(other, found):
    code = f"""
    {other}
    CARD = torch.device("cuda")
    """
    assert [m.guarded for m in given(code).mentions] == [found]
