"""Cards by number where a list or a device belongs, and by name where numbers do."""

import pytest
from given import given

from devlint.inference.facts import Mistake


def mistakes(code):
    return [(fact.mistake, fact.inferred) for fact in given(code).mistaken_devices]


@pytest.mark.parametrize(
    ("cards", "found"),
    [
        ("0", [(Mistake.NO_LIST, False)]),
        ("torch.cuda.current_device()", [(Mistake.NO_LIST, False)]),
        ('torch.device("cuda", 1)', [(Mistake.NO_LIST, False)]),
        ("rank", [(Mistake.NO_LIST, True)]),
        ("args.local_rank", [(Mistake.NO_LIST, True)]),
        ("args.cards", [(Mistake.NO_LIST, True)]),
        ("args.some", [(Mistake.NO_LIST, True)]),  # where it is left out
        ("args.many", []),
        ("args.named", []),
        ("args.changed", []),
        ("self.cards", []),
        ("given", []),
        ("[0]", []),
        ("[rank]", []),
        ("range(2)", []),
        ("None", []),
        ("None if rank is None else [rank]", []),
    ],
)
def test_cards_are_a_sequence(cards, found):
    code = f"""
    import argparse
    from torch.nn.parallel import DistributedDataParallel as DDP

    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int)
    parser.add_argument("-s", "--some", nargs="+", default=0)
    parser.add_argument("--many", nargs="+", type=int)
    parser.add_argument("--named", default="0")
    parser.add_argument("--changed", type=int, default=0)
    args = parser.parse_args()
    args.changed = [args.changed]

    def wrapped(self, net, rank, given):
        return DDP(net, device_ids={cards})
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("test", "found"), [("type(args.cards) is list", 0), ("len(args.cards) > 1", 0), ("True", 1)]
)
def test_what_a_condition_asks_for_its_kind_is_of_that_kind(test, found):
    code = f"""
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", nargs="+", type=int, default=0)

    def wrapped(net, args):
        if {test}:
            net = nn.DataParallel(net, device_ids=args.cards)
        return net
    """
    assert len(mistakes(code)) == found


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("0", [(Mistake.CARD_NUMBER, False)]),
        ("torch.cuda.current_device()", [(Mistake.CARD_NUMBER, False)]),
        ("x.get_device()", [(Mistake.CARD_NUMBER, False)]),
        ("rank", [(Mistake.CARD_NUMBER, True)]),
        ('"cuda:0"', []),
        ("x.device", []),
        ('torch.device("cuda", torch.cuda.current_device())', []),
        ('{"cuda:0": "cuda:1"}', []),
        ("lambda storage, place: storage.cuda(rank)", []),
        ('f"cuda:{rank}"', []),
        ("where", []),
        ("None", []),
    ],
)
@pytest.mark.parametrize("load", ["torch.load(path, {})", "torch.jit.load(path, map_location={})"])
def test_a_load_takes_no_number(load, place, found):
    code = f"""
    def resumed(path, x: torch.Tensor, rank, where):
        return {load.format(place)}
    """
    assert mistakes(code) == found


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("torch.cuda.current_device()", [(Mistake.CARD_NUMBER, True)]),
        ('torch.device("cuda", torch.cuda.current_device())', []),
        ('"cuda"', []),
    ],
)
def test_nor_does_a_function_that_loads_there(device, found):
    code = f"""
    def resumed(path, device):
        return torch.load(path, map_location=device)

    def placed(path, device):
        return torch.zeros(2, device=device)

    def main(path):
        device = {device}
        return resumed(path, device), placed(path, device)
    """
    assert mistakes(code) == found


SHOWN = 'os.environ["CUDA_VISIBLE_DEVICES"] = device'


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (['os.environ["CUDA_VISIBLE_DEVICES"] = "cuda:1"'], [(Mistake.HIDES_CARDS, False)]),
        ([SHOWN], []),
        (['os.environ["CUDA_VISIBLE_DEVICES"] = "1"'], []),
        (['os.environ["CUDA_VISIBLE_DEVICES"] = ""'], []),
        (['os.environ["CUDA_VISIBLE_DEVICES"] = "cpu"'], []),  # no card is meant
        (['os.environ["OTHER"] = "cuda:1"'], []),
        ([SHOWN, "return torch.device(device)"], [(Mistake.HIDES_CARDS, True)]),
        ([SHOWN, "device = torch.device(device)"], [(Mistake.HIDES_CARDS, True)]),
        (["where = torch.device(device)", SHOWN], [(Mistake.HIDES_CARDS, True)]),
        (["where = torch.device(device)", 'device = device.strip("cud:")', SHOWN], []),
        ([f"if device.isdigit(): {SHOWN}", "else: return torch.device(device)"], []),
        ([SHOWN, 'return torch.device(f"cuda:{device}")'], []),
    ],
)
def test_visible_cards_are_numbers(lines, found):
    code = "import os\n\ndef chosen(device):\n" + "".join(f"    {line}\n" for line in lines)
    assert mistakes(code) == found
