"""devlint: static analysis of device placement in PyTorch code. Never imports torch."""

# Nothing of the standard library is imported here: `python -m devlint` runs this file while the
# folder that is checked still comes first in `sys.path`.
from devlint.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


def reveal_device(value: "T") -> "T":
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
