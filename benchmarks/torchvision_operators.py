"""torchvision's operators in C++ with the CPU build of torch.

The wheels on PyPI are built for torch with CUDA: ``torchvision/_C.so`` wants ``libc10_cuda.so``,
``libtorch_cuda.so`` and ``libcudart.so``, which are not there, and so ``nms`` and ``roi_align`` are
not there either, on the CPU as little as elsewhere.  Their kernels for the CPU are in that file all
the same.  With libraries in the place of the first two, whose functions do nothing (and that a
machine without a card never calls), and the third from the wheel itself, it can be loaded.
Needs ``cc``, ``nm`` and ``readelf``, on Linux.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

_WANTED = re.compile(r"NEEDED.*\[(lib(?:c10_cuda|torch_cuda|cudart)[^\]]*)\]")


def extension() -> Path | None:
    """The file of the operators; None without torchvision."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).with_name("_C.so")
    return file if file.exists() else None


def stand_in_for_cuda(file: Path, folder: Path) -> bool:
    """Load what ``file`` wants of CUDA, made in ``folder``; False where that cannot be made.

    Before torchvision is imported.
    """
    try:
        symbols = _output("nm", "-D", "--undefined-only", str(file))
        libraries = _WANTED.findall(_output("readelf", "-d", str(file)))
        names = {line.split()[-1].partition("@")[0] for line in symbols.splitlines()}
        source = folder / "stand_ins.c"
        source.write_text(
            "".join(
                f"long {name}(void) {{ return 0; }}\n"
                for name in sorted(names)
                if re.match(r"_ZNK?(3c10|2at)4cuda", name)
            )
        )
        for library in sorted(libraries, reverse=True):
            made = folder / library
            brought = [*file.parents[1].glob(f"torchvision.libs/{library.partition('.')[0]}.*")]
            if brought:  # the runtime of CUDA, which starts without a card
                shutil.copy(brought[0], made)
            else:
                options = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{library}"]
                _output("cc", *options, "-o", str(made), str(source))
            ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
