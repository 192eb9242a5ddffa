"""devlint: static analysis of device placement in PyTorch code. Never imports torch."""

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """`%load_ext devlint`: what is wrong with each cell, when it has run."""
    from devlint.ipython import load  # only where IPython is

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext devlint`."""
    from devlint.ipython import unload

    unload(shell)
