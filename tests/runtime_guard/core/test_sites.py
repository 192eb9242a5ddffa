"""Whose code a frame is: what runs tests is nobody's program."""

import sys
import sysconfig
from types import SimpleNamespace

import pytest

import devlint
from runtime_guard.commands import program
from runtime_guard.core import programs
from runtime_guard.core.sites import Site, _rank_of_file, is_users, nearest, user_frames


@pytest.mark.parametrize(
    ("file", "users"),
    [
        ("/home/ann/train.py", True),
        ("/venv/lib/python3.11/site-packages/kornia/filters.py", True),
        ("/venv/lib/python3.11/site-packages/_pytest/runner.py", False),
        ("/venv/lib/python3.11/site-packages/xdist/remote.py", False),
        ("/venv/lib/python3.11/site-packages/execnet/gateway_base.py", False),
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


@pytest.fixture
def forgotten(monkeypatch):
    """Which program was started is asked anew, and as before behind the test."""
    monkeypatch.setattr(programs, "_program", None)


def test_the_program_is_not_what_reads_its_command_line(forgotten):
    stack = tuple(site(f"{PACKAGES}/{file}") for file in ("timm/layers.py", "app/train.py"))
    outermost = site(f"{PACKAGES}/any_cli_library/core.py")
    programs.started("app.train", as_module=True)
    assert nearest((*stack, outermost)) == stack[1]
    programs.started("/home/ann/train.py", as_module=False)
    assert nearest((*stack, outermost)) == outermost  # the program is none of them


def test_a_console_script_is_the_program_of_its_entry_point(forgotten):
    script = f"{sysconfig.get_path('scripts')}/torchrun"
    programs.started(script, as_module=False)
    assert programs.package_of_program() == "torch"
    programs.started("/home/ann/torchrun", as_module=False)
    assert programs.package_of_program() == ""


@pytest.mark.parametrize(
    ("spec", "package"), [(SimpleNamespace(name="app.train"), "app"), (None, "")]
)
def test_where_nobody_said_what_was_started_python_knows(forgotten, monkeypatch, spec, package):
    main = SimpleNamespace(__spec__=spec, __file__="/home/ann/train.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert programs.package_of_program() == package


def test_outside_of_what_starts_the_program_nothing_is_the_programs(tmp_path):
    file = tmp_path / "asks.py"
    file.write_text("from runtime_guard.core.sites import user_frames\nframes = user_frames()\n")
    main = program.run_program(program.Program("script", str(file), ())).main
    assert [frame.f_code.co_filename for frame in main.frames] == [str(file)]
    assert len(user_frames()) > 0  # of this test


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
