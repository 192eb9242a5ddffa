"""Programs: what runs together by its imports, and which default device it runs under."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes import Tree

from devlint.project.imports import Project
from devlint.project.questions import Question

LAUNCHER = """\
import torch

def run(main, cuda=True):
    if cuda:
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
    main()
"""
MAIN = '\nif __name__ == "__main__":\n    run(main)\n'
TRAIN = f"from launcher import run\nfrom model import Model\n{MAIN}"
PROJECT = {
    "launcher.py": LAUNCHER,
    "train.py": TRAIN,
    "model.py": "import parts\n",
    "parts.py": "import torch\n",
    "alone.py": "import torch\n",
}


def choosing(root: Path, path: str) -> bool:
    return Project(root).answer(Question.PROGRAMS_CHOOSE_DEFAULT_DEVICE, root / path)


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("train.py", True),
        ("model.py", True),
        ("parts.py", True),  # however far away
        ("alone.py", False),  # a program of its own
        ("launcher.py", False),  # what it does itself, the inference sees
    ],
)
def test_what_a_program_imports_runs_under_its_default_device(
    tree: Tree, path: str, chosen: bool
) -> None:
    assert choosing(tree(PROJECT), path) is chosen


def test_a_module_that_chooses_is_there_for_all_programs(tree: Tree) -> None:
    assert choosing(tree(PROJECT | {"export.py": f"import model\n{MAIN}"}), "parts.py")


def test_what_lies_among_tests_chooses_for_these(tree: Tree) -> None:
    moved = {"launcher.py": "", "train.py": f"import model\nimport tests.common\n{MAIN}"}
    root = tree(PROJECT | moved | {"tests/common.py": LAUNCHER})
    assert not choosing(root, "parts.py")


def test_a_program_chooses_for_itself_alone(tree: Tree) -> None:
    chosen = {"train.py": f"import model\n{LAUNCHER}{MAIN}", "launcher.py": ""}
    root = tree(PROJECT | chosen)
    assert choosing(root, "parts.py")
    tree({"export.py": f"import model\n{MAIN}"})
    assert not choosing(root, "parts.py")


def test_a_test_is_no_program(tree: Tree) -> None:
    assert choosing(tree(PROJECT | {"test_model.py": "import model\n"}), "parts.py")
    root = tree({"test_model.py": f"import model\n{LAUNCHER}", "launcher.py": "run = None\n"})
    assert not choosing(root, "parts.py")


@pytest.mark.parametrize(
    "line", ["", 'torch.set_default_device("cpu")', "torch.set_num_threads(1)"]
)
def test_a_program_that_keeps_to_the_host_chooses_nothing(tree: Tree, line: str) -> None:
    root = tree(
        PROJECT | {"launcher.py": f"import torch\n\ndef run(main):\n    {line}\n    main()\n"}
    )
    assert not choosing(root, "parts.py")


def test_an_import_inside_of_a_function_counts(tree: Tree) -> None:
    lazily = f"def main():\n    from model import Model\n    from launcher import run\n{MAIN}"
    assert choosing(tree(PROJECT | {"train.py": lazily}), "parts.py")


def test_modules_of_a_package_are_found_by_relative_imports(tree: Tree) -> None:
    files = {
        "__init__.py": "",
        "run.py": f"from . import defaults\nfrom .nets.big import Big\n{MAIN}",
    }
    files |= {
        "defaults.py": LAUNCHER,
        "nets/__init__.py": "",
        "nets/big.py": "from .. import parts\n",
    }
    root = tree({f"pkg/{name}": text for name, text in (files | {"parts.py": ""}).items()})
    assert choosing(root, "pkg/parts.py")
    assert choosing(root, "pkg/nets/big.py")


def test_files_that_import_each_other_are_walked_once(tree: Tree) -> None:
    assert choosing(tree(PROJECT | {"parts.py": "import model\n"}), "parts.py")


NET = {"net.py": "import torch\n", "train.py": f"import net\n{MAIN}"}


def offering(root: Path, path: str) -> bool:
    return Project(root).answer(Question.PROGRAMS_OFFER_HOST, root / path)


@pytest.mark.parametrize(
    ("text", "offers"),
    [
        ('device = "cuda" if torch.cuda.is_available() else "cpu"', True),
        ("if torch.cuda.is_available():\n    model.cuda()", True),
        ('parser.add_argument("--no-cuda")', True),
        ('def main(device: str = "cpu"): ...', True),
        ("if torch.cuda.is_available():\n    print(torch.cuda.memory_allocated())", False),
        ("if torch.distributed.is_available():\n    model.cuda()", False),
        ("# runs with --no-cuda, too", False),
        ('parser.add_argument("--gpu",\n    action="store_true")', True),
        ('parser.add_argument("--gpu", type=int, default=0)', False),
        ("if args.cuda:\n    model.cuda()", True),
        ("if args.gpu:\n    print(torch.ones(3))\nmodel.cuda()", False),
        ("if not torch.cuda.is_available():\n    print('no device')\n    sys.exit(1)", False),
        ('model.cuda()\ntable = torch.load(path, map_location="cpu")', False),
    ],
)
def test_what_runs_a_file_leaves_the_choice_of_the_host(tree: Tree, text: str, offers: bool):
    root = tree(NET | {"train.py": f"import net\n{text}\n{MAIN}"})
    assert offering(root, "net.py") is offers


def test_the_choice_is_that_of_importers_however_far_away_and_of_no_test(tree: Tree) -> None:
    choice = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
    root = tree(NET | {"parts.py": "import torch\n", "net.py": "import parts\n"})
    assert not offering(root, "parts.py")
    tree({"test_parts.py": f"import parts\n{choice}", "helper.py": choice})
    assert not offering(root, "parts.py")
    tree({"train.py": f"import net\n{choice}{MAIN}"})
    assert offering(root, "parts.py")
    assert not offering(root, "train.py")  # what it chooses itself, the inference sees


def test_what_a_file_imports_says_nothing_of_who_runs_it(tree: Tree) -> None:
    choice = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
    root = tree({"net.py": "import helper\n", "helper.py": choice})
    assert not offering(root, "net.py")
