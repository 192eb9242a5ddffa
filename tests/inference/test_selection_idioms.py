"""How programs choose their device, and the one world that is analysed: the accelerated one."""

import pytest
from given import met, revealed


@pytest.mark.parametrize(
    ("device", "place"),
    [
        ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', "cuda"),
        ('"cuda:0" if torch.cuda.is_available() else "cpu"', "cuda:0"),
        ('torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")', "cuda"),
        ('torch.cuda.is_available() and "cuda" or "cpu"', "cuda"),
        ('["cpu", "cuda"][torch.cuda.is_available()]', "cuda"),
        ('"cpu" if not torch.cuda.is_available() else "cuda"', "cuda"),
        (
            '"cuda" if torch.cuda.is_available() '
            'else "mps" if torch.backends.mps.is_available() else "cpu"',
            "cuda",
        ),
        ('"mps" if torch.backends.mps.is_available() else "cpu"', "mps"),
        ('torch.device("xpu" if torch.xpu.is_available() else "cpu")', "xpu"),
        (
            "torch.accelerator.current_accelerator() "
            'if torch.accelerator.is_available() else "cpu"',
            "cuda",
        ),
        (
            "torch.accelerator.current_accelerator().type "
            'if torch.accelerator.is_available() else "cpu"',
            "cuda",
        ),
    ],
)
def test_an_expression_that_chooses_gives_the_accelerator(device, place):
    assert revealed(f"device = {device}\nreveal(torch.zeros(3, device=device))") == [place]


def test_an_if_chain_takes_cuda_where_it_offers_it():
    assert revealed(
        """
        if torch.backends.mps.is_available():
            device = torch.device("mps")
        elif torch.cuda.is_available():
            device = torch.device("cuda")
        else:
            device = torch.device("cpu")
        reveal(torch.zeros(3, device=device))
        """
    ) == ["cuda"]


def test_an_if_that_only_overwrites_the_cpu():
    assert revealed(
        """
        device = "cpu"
        if torch.cuda.is_available():
            device = "cuda"
        reveal(torch.zeros(3, device=device))
        """
    ) == ["cuda"]


def test_availability_kept_in_a_name():
    assert revealed(
        """
        use_cuda = torch.cuda.is_available()
        device = torch.device("cuda" if use_cuda else "cpu")
        reveal(torch.zeros(3).to(device))
        """
    ) == ["cuda"]


ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--device", default="cuda")
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    "choice",
    [
        'device = torch.device("cpu" if args.no_cuda else "cuda")',
        "use_cuda = not args.no_cuda and torch.cuda.is_available()\n"
        'device = torch.device("cuda" if use_cuda else "cpu")',
        "args.cuda = not args.no_cuda and torch.cuda.is_available()\n"
        'device = "cuda" if args.cuda else "cpu"',
    ],
)
def test_flags_of_the_command_line_ask_for_the_accelerator(choice):
    assert revealed(f"{ARGPARSE}{choice}\nreveal(torch.zeros(3).to(device))") == ["cuda"]


def test_a_device_of_the_command_line_is_what_the_user_says():
    code = f"{ARGPARSE}reveal(torch.zeros(3).to(args.device))"
    assert revealed(code) == ["δ(args.device)"]


@pytest.mark.parametrize(
    "condition",
    [
        "torch.cuda.is_available()",
        "use_gpu",
        "args.cuda",
        "not no_cuda",
        "use_gpu and torch.cuda.is_available()",
        "config.use_cuda",
    ],
)
def test_the_world_is_accelerated(condition):
    assert revealed(
        f"""
        if {condition}:
            x = torch.zeros(3).cuda()
        else:
            x = torch.zeros(3)
        reveal(x)
        """
    ) == ["cuda"]


def test_what_only_a_machine_without_accelerator_runs_is_not_looked_at():
    assert (
        met(
            """
            if not torch.cuda.is_available():
                torch.zeros(3).cuda() + torch.ones(3)
            """
        )
        == []
    )


def test_conditions_on_the_same_flag_agree():
    assert (
        met(
            """
            net = nn.Linear(3, 3)
            x = torch.zeros(3)
            if args.cuda:
                net.cuda()
            if args.cuda:
                x = x.cuda()
            net(x)
            """
        )
        == []
    )


def test_a_function_that_returns_early_without_accelerator_goes_on():
    assert met(
        """
        def main():
            if not torch.cuda.is_available():
                return
            x = torch.zeros(3).cuda()
            x + torch.ones(3)
        """
    ) == ["torch.ones(3)@cpu + x@cuda certain"]


def test_an_unconditional_cpu_stays_on_the_cpu():
    assert revealed('device = torch.device("cpu")\nreveal(torch.zeros(3, device=device))') == [
        "cpu"
    ]


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('x.device.type in ("ipu", "xla")', 0),
        ('x.device.type not in ["cpu", "cuda"]', 0),
        ('x.device.type in ("cuda", "xpu")', 1),
        ('x.device.type not in ("cpu", "mps")', 1),
        ("x.device.type in others", 1),
    ],
)
def test_the_type_of_a_device_is_one_of_several(test, found):
    code = f"""
def dense(x: torch.Tensor, others):
    x = x.cuda()
    if {test}:
        return x + torch.ones(3)
    return x
"""
    assert len(met(code)) == found
