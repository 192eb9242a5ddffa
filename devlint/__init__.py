"""devlint: static analysis of device placement in PyTorch code. Never imports torch."""

from typing import TypeVar

from devlint.version import __version__ as __version__

T = TypeVar("T")


def reveal_device(value: T) -> T:
    """Return the value. `devlint check` says where it is, and why (DEV004)."""
    return value


def load_ipython_extension(shell: object) -> None:
    """`%load_ext devlint`: what is wrong with each cell, when it has run."""
    from devlint.ipython import load  # only where IPython is

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext devlint`."""
    from devlint.ipython import unload  # only where IPython is

    unload(shell)
