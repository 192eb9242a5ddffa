"""Whose code a frame is: what runs tests is nobody's program."""

import pytest

from runtime_guard.core.sites import is_users


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("/home/ann/train.py", True),
        ("/venv/lib/python3.11/site-packages/kornia/filters.py", True),
        ("/venv/lib/python3.11/site-packages/_pytest/runner.py", False),
        ("/venv/lib/python3.11/site-packages/xdist/remote.py", False),
        ("/venv/lib/python3.11/site-packages/execnet/gateway_base.py", False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_whose_code_it_is(file, users):
    assert is_users(file) is users
