"""A legacy constructor of the host, given one tensor, demands that it is there."""

import pytest
from rule_check import check_text, said

PRELUDE = "import numpy as np\nimport torch\n\n\n"
TAKEN = "def taken(x, labels: torch.Tensor, net, device):\n    {before}\n    return {made}\n"
CUDA = "x = torch.zeros(3, device='cuda')"


@pytest.mark.parametrize(
    ("before", "made", "shown"),
    [
        (CUDA, "torch.FloatTensor(x)", "x.to(torch.float32)"),
        ("", "torch.LongTensor(labels)", "labels.to(torch.int64)"),
        ("y = [labels == n for n in x]", "torch.ByteTensor(torch.cat(y))", ".to(torch.uint8)"),
        ("x = net(x.cuda()).argmax(1)", "torch.LongTensor(x).cpu()", "x.to(torch.int64)"),
    ],
)
def test_it_refuses_one_of_an_accelerator(before, made, shown):
    code = PRELUDE + TAKEN.format(before=before, made=made)
    (found,) = (each for each in check_text(code) if each.rule == "DEV401")
    assert "refuses a tensor that is not on the host" in found.message
    assert shown in (found.advice or "")


@pytest.mark.parametrize(
    ("before", "made"),
    [
        # every dtype and device: the very tensor
        (CUDA, "torch.Tensor(x)"),
        # its numbers, one by one
        (CUDA, "torch.FloatTensor([x[0], x[1]])"),
        (CUDA, "torch.FloatTensor(list(x))"),
        # on the host
        (CUDA, "torch.FloatTensor(x.cpu())"),
        (CUDA, "torch.FloatTensor(x.tolist())"),
        (CUDA, "torch.FloatTensor(x.cpu().numpy())"),
        ("x = torch.arange(3)", "torch.LongTensor(x)"),
        # sizes
        (CUDA, "torch.FloatTensor(x.size(0))"),
        (CUDA, "torch.FloatTensor(x.size())"),
        (CUDA, "torch.FloatTensor(*x.shape)"),
        # of unknown data: a list, an array
        ("", "torch.FloatTensor(x)"),
        ("x = np.asarray(x)", "torch.FloatTensor(x)"),
        # of CUDA
        (CUDA, "torch.cuda.FloatTensor(x)"),
    ],
)
def test_nothing_is_said_of_other_data(before, made):
    assert not said(TAKEN.format(before=before, made=made), "DEV401")


def test_no_copy_is_read_early():
    """It keeps the tensor that is still under way to the host, and reads none of it."""
    code = f"def taken():\n    {CUDA}\n    x = x.to('cpu', non_blocking=True)\n"
    code += "    x = torch.FloatTensor(x)\n    torch.cuda.synchronize()\n    return x.numpy()\n"
    assert not said(code, "DEV402")
