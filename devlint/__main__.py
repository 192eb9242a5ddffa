"""The command line as a process of its own: `devlint`, or `python -m devlint`."""

import gc
import os
import sys


def _leave_folder() -> None:
    """`python -m` looks for modules in the folder it is called in first. That folder is what is
    checked, and nothing in it may run: no `click.py`, no pack of rules."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    if sys.path[:1] == [here]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_folder()


def program() -> None:
    """Run a command. After `check` the process ends without freeing what was read, which takes a
    tenth of the time of the check; mypy ends in the same way. Nor does it look for cycles: what it
    loads has none to speak of, and `devlint.check` collects those of the inference itself."""
    if sys.argv[1:2] == ["check"]:
        gc.disable()
    from devlint.cli import main  # after the folder that is checked has left `sys.path`

    try:
        main(prog_name="devlint")
    except SystemExit as done:
        if sys.argv[1:2] == ["check"] and isinstance(done.code, int):
            _leave(done.code)
        raise


def _leave(code: int) -> None:
    """End the process; where its output can't be delivered, Python itself says so."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return
    os._exit(code)


if __name__ == "__main__":
    program()
