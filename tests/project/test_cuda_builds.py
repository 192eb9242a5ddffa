"""Which files nothing but CUDA runs: those that need an extension that is built for it alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.project.imports import Project
from devlint.project.questions import Question

SETUP = 'setup(ext_modules=[CUDAExtension(name="fast_kernels", sources=["a.cu"])])'


def project(root: Path, **files: str) -> Project:
    """Files by their paths, with `__` for `/`."""
    for name, text in {"setup": SETUP, **files}.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return Project(root)


def needs_cuda(built: Project, path: str) -> bool:
    return built.answer(Question.NEEDS_CUDA, built.root / path)


@pytest.mark.parametrize(
    "line",
    [
        "import fast_kernels",
        "import torch, fast_kernels as k",
        "from fast_kernels import gemm",
    ],
)
def test_a_file_that_imports_the_extension(tmp_path: Path, line: str):
    assert needs_cuda(project(tmp_path, ops=line), "ops.py")


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "try:\n    import fast_kernels\nexcept ImportError:\n    fast_kernels = None",
        "def run():\n    import fast_kernels",
        "import fast_kernels_of_another",
    ],
)
def test_a_file_that_does_without_it(tmp_path: Path, text: str):
    assert not needs_cuda(project(tmp_path, ops=text), "ops.py")


def test_a_script_whose_import_needs_it(tmp_path: Path):
    built = project(tmp_path, ops="import fast_kernels", model="import ops", run="import model")
    assert needs_cuda(built, "run.py")


def test_a_module_beside_the_package_s_own_import(tmp_path: Path):
    init = "from .ops import *"
    files = {"net____init__": "", "net__ops": "import fast_kernels", "net__loss": "import torch"}
    built = project(tmp_path, **files)
    (tmp_path / "net" / "__init__.py").write_text(init)
    assert needs_cuda(built, "net/loss.py")


APP = {"app__model": "import fast_kernels", "app__stream": "import torch"}


def test_a_module_that_only_such_files_import(tmp_path: Path):
    run = "from app import model\nfrom app.stream import tokens"
    assert needs_cuda(project(tmp_path, **APP, run=run), "app/stream.py")


def test_a_module_that_others_import_as_well(tmp_path: Path):
    run = "from app import model\nfrom app.stream import tokens"
    other = "from app.stream import tokens"
    assert not needs_cuda(project(tmp_path, **APP, run=run, other=other), "app/stream.py")


def test_a_module_that_nobody_imports(tmp_path: Path):
    assert not needs_cuda(project(tmp_path, **APP), "app/stream.py")


def test_modules_that_import_each_other(tmp_path: Path):
    built = project(tmp_path, a="import b", b="import a\nimport fast_kernels")
    assert needs_cuda(built, "a.py") and needs_cuda(built, "b.py")


def test_an_extension_that_is_built_for_the_host_too(tmp_path: Path):
    both = SETUP + '\nCppExtension("fast_kernels", ["a.cpp"])'
    assert not needs_cuda(project(tmp_path, setup=both, ops="import fast_kernels"), "ops.py")


def test_an_extension_inside_of_the_package(tmp_path: Path):
    setup = 'CUDAExtension("net._C", ["a.cu"])'
    files = {"net____init__": "from . import _C", "net__loss": "import torch"}
    built = project(tmp_path, setup=setup, **files)
    (tmp_path / "net" / "__init__.py").write_text("from . import _C\n")
    assert needs_cuda(built, "net/loss.py")


def test_a_setup_below_the_root(tmp_path: Path):
    built = project(tmp_path, setup="", kernels__setup=SETUP, ops="import fast_kernels")
    assert needs_cuda(built, "ops.py")


LOADS = "from torch.utils.cpp_extension import load\n"
COMPILED = (
    LOADS
    + """here = os.path.dirname(__file__)
fused = load(
    "fused",
    sources=[os.path.join(here, "fused.cpp"), os.path.join(here, "fused_kernel.cu")],
)
"""
)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (COMPILED, True),
        (LOADS + "fused = load(name='fused', sources=['fused.cu'])", True),
        (LOADS + "fused = load(name='fused', sources=['fused.cpp'])", False),
        (LOADS + "def fused():\n    return load(name='fused', sources=['fused.cu'])", False),
        (LOADS + "if torch.cuda.is_available():\n    f = load(sources=['fused.cu'])", False),
        ("from files import load\nfused = load('fused.cu')", False),
    ],
)
def test_a_file_that_compiles_kernels_when_it_is_imported(tmp_path: Path, text: str, needs: bool):
    found = project(tmp_path, setup="", ops=text, net="import ops")
    assert needs_cuda(found, "net.py") is needs
    assert needs_cuda(found, "ops.py") is needs
