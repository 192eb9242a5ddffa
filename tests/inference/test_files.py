"""Imports across files: relative ones, re-exports, packages, stars, circles."""

import libcst as cst
import pytest
from given import Files, met, parsed, revealed

from devlint.inference.api import infer_file
from devlint.project.source import ParsedFile

OPS = """
TABLE = torch.zeros(3)


def make(device):
    return torch.zeros(3, device=device)


def add(a, b):
    return a + b


def double(x):
    return x * 2
"""
PACKAGE = {
    "lib/__init__.py": "from .ops import double as twice\nfrom . import ops\n",
    "lib/ops.py": OPS,
}


def test_every_form_of_import_finds_the_function():
    assert revealed(
        """
        from lib.ops import make
        from lib import ops
        import lib.ops as short
        import lib.ops
        reveal(make("cuda:0"))
        reveal(ops.make("cuda:1"))
        reveal(short.make("cuda:2"))
        reveal(lib.ops.make("cuda:3"))
        """,
        PACKAGE,
    ) == ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]


def test_a_package_exports_what_it_imports_under_its_name_there():
    code = "from lib import twice\nreveal(twice(torch.zeros(3).cuda()))"
    assert revealed(code, PACKAGE) == ["cuda"]


def test_a_tensor_of_another_file_is_where_that_file_made_it():
    assert met("from lib.ops import TABLE\nTABLE + torch.zeros(3).cuda()", PACKAGE) == [
        "TABLE@cpu + torch.zeros(3).cuda()@cuda certain"
    ]


def test_a_meeting_in_another_file_is_told_at_the_call():
    code = "from lib.ops import add\nadd(torch.zeros(3), torch.ones(3).cuda())"
    assert met(code, PACKAGE) == [
        "torch.zeros(3)@cpu + torch.ones(3).cuda()@cuda likely inside a + b"
    ]


def test_a_relative_import_counts_from_the_importing_file():
    files = {
        "a/__init__.py": "",
        "a/b/__init__.py": "",
        "a/b/up.py": "from ..base import T\n",
        "a/base.py": "T = torch.zeros(3).cuda()\n",
    }
    assert revealed("from a.b.up import T\nreveal(T)", files) == ["cuda"]


def test_a_relative_import_that_leaves_the_project_finds_nothing():
    files = {"a.py": "from ....nowhere import T\n"}
    assert revealed("from a import T\nreveal(T)", files) == ["no tensor"]


def test_a_star_imports_public_names():
    files = {"names.py": "T = torch.zeros(3).cuda()\n_hidden = torch.zeros(3)\n"}
    assert revealed("from names import *\nreveal(T)\nreveal(_hidden)", files) == [
        "cuda",
        "no tensor",
    ]


def test_files_that_import_each_other():
    files = {"other.py": "from main import *\nT = torch.zeros(3).cuda()\ndef g():\n    return T\n"}
    assert revealed("from other import g\nreveal(g())", files) == ["cuda"]


def test_a_file_that_imports_itself():
    assert revealed("from main import x\nx = torch.zeros(3).cuda()\nreveal(x)") == ["cuda"]


def test_a_module_whose_base_is_in_another_file():
    files = {
        "base.py": """
            class Base(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.proj = nn.Linear(1, 1)
            """,
        "net.py": """
            from base import Base

            class Net(Base):
                def forward(self, x):
                    return self.proj(x)
            """,
    }
    code = """
    from net import Net
    net = Net().cuda()
    reveal(net.proj.weight)
    reveal(net(torch.zeros(1)))
    """
    assert revealed(code, files) == ["cuda", "cuda"]
    [meeting] = met(code, files)
    assert meeting.startswith("input: torch.zeros(1)@cpu net ")


def test_the_facts_of_an_imported_file_are_its_own():
    files = {"bad.py": "T = torch.zeros(3).cuda() + torch.ones(3)\n"}
    assert met("from bad import T", files) == []


def test_a_library_that_is_not_there_is_unknown():
    assert revealed("from nowhere import thing\nreveal(thing())") == ["no tensor"]


def test_only_the_imports_that_are_used_are_followed():
    asked = []

    class Watched(Files):
        def load(self, dotted):
            asked.append(dotted)
            return super().load(dotted)

    files = {
        "lib/__init__.py": "from .heavy import train\nfrom .ops import make\n",
        "lib/heavy.py": "from .deeper import nothing\n\ndef train():\n    nothing()\n",
        "lib/deeper.py": "def nothing():\n    pass\n",
        "lib/ops.py": OPS,
    }
    importer = Watched({path: parsed(path, code) for path, code in files.items()})
    code = "from lib import make, train\nx = make('cuda')\nx + torch.zeros(3)\n"
    facts = infer_file(parsed("main.py", code), importer)
    assert len(facts.meetings) == 1
    assert "lib.ops" in asked
    assert "lib.heavy" not in asked and "lib.deeper" not in asked


def test_two_modules_that_import_from_each_other():
    files = {
        "left.py": "from right import move\n\n\ndef make():\n    return torch.zeros(3)\n",
        "right.py": "from left import make\n\n\ndef move():\n    return make().cuda()\n",
    }
    assert revealed("from left import move\nreveal(move())", files) == ["cuda"]


def plain(path: str, code: str) -> ParsedFile:
    """A file that imports what its code does, and no more."""
    return ParsedFile(path, path.removesuffix(".py"), False, code, cst.parse_module(code))


@pytest.mark.parametrize(
    ("first", "helper", "reads"),
    [
        ("import tensorflow as tf", "import numpy as np", 0),
        ("from mxnet import nd", "import numpy as np", 0),
        ("import tensorflow as tf", "import torch", 1),
        ("import tensorflow as tf, torch", "import numpy as np", 1),
        ("import tensorflow as tf\nfrom torchvision import models", "import numpy as np", 1),
        ("import math", "import numpy as np", 1),
    ],
)
def test_the_tensors_of_another_framework_are_none_of_torchs(first, helper, reads):
    code = f"""{first}
from helper import load

def shares(graph, device):
    graph = graph.to(device)
    return graph.weights.numpy().sum()
"""
    files = Files({"helper.py": plain("helper.py", f"{helper}\n\ndef load():\n    pass\n")})
    assert len(infer_file(plain("main.py", code), files).host_reads) == reads


def test_a_star_brings_what_a_package_defines_after_its_parts():
    """Of two files that import each other the one that is run first sees the other half done: what
    a third one gets of them does not depend on which was looked at first."""
    files = {
        "layers/__init__.py": """
            class Base(nn.Module):
                pass

            from layers.parts import *
            """,
        "layers/parts.py": """
            from layers import Base

            class Plain(Base):
                def forward(self, x):
                    return x * 2

            made = torch.zeros(3).cuda()
            """,
    }
    source = "from layers import made\nreveal(made)"
    assert revealed(f"import layers.parts as first\nfirst.Plain\n{source}", files) == ["cuda"]
    assert revealed(source, files) == ["cuda"]


BESIDE = {
    "pkg/__init__.py": "",
    "pkg/base.py": "T = torch.zeros(3).cuda()\ndef make():\n    return T\n",
}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from base import *", "T"),
        ("from base import T", "T"),
        ("from base import T as held", "held"),
        ("import base", "base.T"),
        ("import base as b", "b.make()"),
    ],
)
def test_an_absolute_import_falls_back_to_the_module_beside_the_file(line, name):
    files = {**BESIDE, "pkg/use.py": f"{line}\nheld_here = {name}\n"}
    assert revealed("from pkg.use import held_here\nreveal(held_here)", files) == ["cuda"]


@pytest.mark.parametrize(
    "more",
    [
        {"base.py": "T = torch.zeros(3)\n"},
        {"base/__init__.py": "T = torch.zeros(3)\n"},
    ],
)
def test_what_the_project_has_by_that_name_comes_first(more):
    files = {**BESIDE, **more, "pkg/use.py": "from base import T\n"}
    assert revealed("from pkg.use import T\nreveal(T)", files) == ["cpu"]


@pytest.mark.parametrize("name", ["logging", "transformers", "numpy"])
def test_an_installed_package_is_no_module_beside_the_file(name):
    files = {
        "pkg/__init__.py": "",
        f"pkg/{name}.py": "T = torch.zeros(3).cuda()\n",
        "pkg/use.py": f"from {name} import T\n",
    }
    assert revealed("from pkg.use import T\nreveal(T)", files) == ["no tensor"]


def test_a_module_beside_the_file_that_does_not_bind_the_name_is_not_meant():
    """`from datasets import load_dataset` beside a `datasets.py` of the project's own."""
    use = "from base import arrange\nT = arrange(torch.zeros(3).cuda())\n"
    files = {**BESIDE, "pkg/use.py": use}
    assert revealed("from pkg.use import T\nreveal(T)", files) == ["cuda"]


def test_a_file_is_no_module_beside_itself():
    files = {"pkg/__init__.py": "", "pkg/extra.py": "import extra\nT = torch.zeros(3).cuda()\n"}
    assert revealed("from pkg.extra import T\nreveal(T)", files) == ["cuda"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("from gone import *", "cpu"),
        ("from .gone import *", "cpu"),
        ("from seen import *", "no tensor"),  # what it brings is known
        ("from math import *", "no tensor"),
        ("from gone import other", "no tensor"),
    ],
)
def test_a_star_out_of_sight_brings_well_known_names(line, place):
    code = f"{line}\nreveal(Variable(torch.zeros(3)))\nreveal(mine(3))"
    assert revealed(code, {"seen.py": "x = 1\n"}) == [place, "no tensor"]


def test_a_star_of_a_file_with_a_star_out_of_sight():
    files = {"seen.py": "from gone import *\n"}
    code = "from seen import *\nreveal(Variable(torch.zeros(3)))\nreveal(np.zeros(3))"
    assert revealed(code, files) == ["cpu", "no tensor"]


def test_a_name_that_the_file_binds_itself_is_not_what_a_star_brings():
    code = "from gone import *\ndef Variable(x):\n    return x.cuda()\n"
    assert revealed(f"{code}reveal(Variable(torch.zeros(3)))") == ["cuda"]
