"""`data_parallel`, the function, raises where no accelerator is; the class calls its module."""

import pytest
from rule_check import said

EPOCH = """
{imported}

def epoch(net, loader):
    use_gpu = torch.cuda.is_available()
    for x in loader:
        if use_gpu:
            x = x.cuda()
        {called}
"""


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("", "torch.nn.parallel.data_parallel(net, x)"),
        ("", "out = nn.parallel.data_parallel(net, (x,), range(2))"),
        ("from torch.nn.parallel import data_parallel", "out = data_parallel(net, x)"),
    ],
)
def test_the_function_raises(imported, called):
    (message,) = said(EPOCH.format(imported=imported, called=called), "DEV504")
    assert "data_parallel" in message


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("", "nn.DataParallel(net)(x)"),
        ("", "out = nn.parallel.data_parallel(net, x) if use_gpu else net(x)"),
        ("", "out = nn.parallel.data_parallel(net, x) if x.is_cuda else net(x)"),
        ("", "if torch.cuda.device_count() > 1:\n            nn.parallel.data_parallel(net, x)"),
        ("from mine import data_parallel", "out = data_parallel(net, x)"),
    ],
)
def test_the_class_a_guarded_call_and_another_function_do_not(imported, called):
    assert not said(EPOCH.format(imported=imported, called=called), "DEV504")
