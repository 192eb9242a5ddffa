"""Files written at once: whoever reads one sees it as it was or as it is to be."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(file: Path, data: bytes) -> None:
    """Put the bytes in the place of a file, with its mode; a link stays one. Raises OSError.

    To a pipe or a terminal they are written as they come.
    """
    if file.exists() and not file.is_file():
        file.write_bytes(data)
        return
    import shutil  # most checks write no file
    import tempfile  # as above

    target = Path(os.path.realpath(file))
    handle, name = tempfile.mkstemp(
        dir=target.parent, prefix=f".{target.name[:100]}.", suffix=".tmp"
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if target.exists():
            shutil.copymode(target, name)
        else:
            os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
