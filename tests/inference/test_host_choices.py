"""Choices of the host that code leaves, whatever it calls them."""

from __future__ import annotations

import libcst as cst
import pytest

from devlint.inference.syntax.host_choices import HostChoices


def choices(code: str) -> tuple[bool, bool]:
    """Whether those who run a file choose, and those who call what is in it."""
    found = HostChoices(cst.parse_module(code), code)
    return found.to_runner, found.to_caller


@pytest.mark.parametrize(
    "option",
    [
        'parser.add_argument("--cuda", action="store_true", help="use CUDA (if it is there)")',
        'parser.add_argument("-gpu", type=bool, default=True)',
        'parser.add_argument("--use-gpu", type=str2bool)',
        'parser.add_argument("--gpu", default=False)',
        'parser.add_argument("--cuda", action=argparse.BooleanOptionalAction)',
        'click.option("--gpu/--no-gpu", is_flag=True)',
        'flags.DEFINE_bool("gpu", True, "use a card")',
    ],
)
def test_a_switch_leaves_the_choice_to_whoever_runs_the_file(option: str):
    assert choices(option) == (True, True)


@pytest.mark.parametrize(
    "option",
    [
        'parser.add_argument("--gpu", type=int, default=0)',  # the number of a card
        'parser.add_argument("--gpu_ids", default="0,1")',
        'parser.add_argument("--multi-gpu", action="store_true")',
        'parser.add_argument("--cudnn-benchmark", action="store_true")',
        'parser.add_argument("--verbose", action="store_true")',
        'print("--cuda", True)',
    ],
)
def test_another_option_leaves_none(option: str):
    assert choices(option) == (False, False)


@pytest.mark.parametrize(
    "choice",
    [
        'device = torch.device("cuda:{}".format(ids[0])) if ids else torch.device("cpu")',
        'device = f"cuda:{gpu}" if gpu >= 0 else "cpu"',
        'device = torch.device("cpu") if slow else torch.device("cuda")',
        'if fast:\n    device = "cuda"\nelse:\n    device = "cpu"',
        "if args.cuda:\n    x = x.cuda()",
        "if gpu >= 0 and x.ndim:\n    x = x.cuda(gpu)",
        "if len(opt.gpu_ids) > 0:\n    net.cuda()",
        "if opt.gpus[0] >= 0:\n    net.cuda()",
        "if not args.cpu:\n    net.cuda()",
        'if options["cuda"]:\n    net.to("cuda")',
    ],
)
def test_a_condition_with_an_arm_for_the_host(choice: str):
    assert choices(choice) == (True, True)
    inside = "def run(args):\n" + "".join(f"    {line}\n" for line in choice.splitlines())
    assert choices(inside) == (False, True)


@pytest.mark.parametrize(
    "code",
    [
        "if args.gpu is not None:\n    net.cuda(args.gpu)\nelse:\n    DataParallel(net).cuda()",
        "if args.gpu is not None:\n    net.cuda(args.gpu)\nelse:\n    DataParallel(net).cuda()\n"
        "if args.gpu is not None:\n    x = x.cuda(args.gpu)",  # the same condition
        "if mask is not None:\n    mask = mask.cuda()",
        "if torch.is_tensor(x):\n    x = x.cuda()",
        "if gpus > 1:\n    net = DataParallel(net).cuda()",
        "if multi_gpu:\n    net.cuda()",
        "if rank == 0:\n    net.cuda()",
        "if args.cuda:\n    print(1)",
        "mean = x.mean().cuda() if on_card else x.cpu().mean()",  # what the host computes
        'first = "cpu" if "cpu" in parts else "cuda:0"',  # of one run
        'device = torch.device("cpu") if backend == "gloo" else torch.device("cuda")',
        'x = y.to("cuda") if not self.training else y.to("cpu")',
    ],
)
def test_a_condition_that_leaves_no_choice(code: str):
    assert choices(code) == (False, False)
