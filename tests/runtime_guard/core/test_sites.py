"""Whose code a frame is: what runs tests is nobody's program."""

import sys
import sysconfig

import pytest

import devlint
from runtime_guard.core.sites import Site, _rank_of_file, is_users, nearest


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("/home/ann/train.py", True),
        ("/venv/lib/python3.11/site-packages/kornia/filters.py", True),
        ("/venv/lib/python3.11/site-packages/_pytest/runner.py", False),
        ("/venv/lib/python3.11/site-packages/xdist/remote.py", False),
        ("/venv/lib/python3.11/site-packages/execnet/gateway_base.py", False),
        ("/venv/lib/python3.11/site-packages/click/core.py", False),
        (devlint.__file__, False),
        ("<frozen importlib._bootstrap>", False),
    ],
)
def test_whose_code_it_is(file, users):
    assert is_users(file) is users


def site(file: str) -> Site:
    return Site(file, 1, 1, "f")


PACKAGES = "/venv/lib/python3.11/site-packages"


def test_the_line_of_an_installed_program_is_its_own_and_not_that_of_a_library():
    train, helper = site(f"{PACKAGES}/app/train.py"), site(f"{PACKAGES}/app/helper.py")
    library = site(f"{PACKAGES}/timm/layers.py")
    assert nearest((library, helper, train)) == helper
    assert nearest((library, site("/home/ann/train.py"), train)) == site("/home/ann/train.py")


def test_a_console_script_is_nobodys_program():
    assert not is_users(f"{sysconfig.get_path('scripts')}/app")


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("import train; train.main()", True),
        ("from multiprocessing.spawn import spawn_main; spawn_main()", False),
    ],
)
def test_the_text_that_starts_a_process_is_nobodys_line(monkeypatch, text, users):
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, "-c", text])
    assert (_rank_of_file.__wrapped__("<string>") == 0) is users
