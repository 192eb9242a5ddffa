"""A definition runs if something that runs uses it, however far away."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from devlint.project.reachability import MOST, Reaching

HELPERS = """\
def norms(rows):
    return [norms(row) for row in rows]

def clip(rows):
    return norms(rows)

class Scaler:
    def scale(self, rows):
        return clip(rows)

def mean(rows):
    return sum(rows)
"""


def reaches(name: str, is_installed: bool = True, **others: str) -> bool:
    texts = {Path("helpers.py"): HELPERS.encode()}
    for file, text in others.items():
        texts[Path(file.replace("_dot_", ".").replace("__", "/"))] = text.encode()
    return Reaching(Path(), texts, is_installed).reaches(name, Path("helpers.py"))


USED = "from helpers import mean\nmean([1])\n"


def test_what_only_unused_definitions_use_is_not_reached():
    for name in ("norms", "clip", "Scaler"):
        assert not reaches(name, train_dot_py=USED)
    assert reaches("mean", train_dot_py=USED)


@pytest.mark.parametrize("use", ["Scaler()", "clip([1])", "import helpers as h\nh.Scaler"])
def test_a_use_that_runs_reaches_all_behind_it(use):
    code = f"from helpers import Scaler, clip, mean\nmean([1])\n{use}"
    assert reaches("norms", train_dot_py=code)


@pytest.mark.parametrize(
    ("function", "reached"),
    [
        ("def run():\n    Scaler()\n", False),
        ("def run():\n    Scaler()\nrun()\n", True),
        ("@main\ndef run():\n    Scaler()\n", True),
        ("def run():\n    walk()\n    Scaler()\ndef walk():\n    run()\n", False),
    ],
)
def test_users_have_to_run_themselves(function, reached):
    code = (
        f"from helpers import Scaler, mean\n{function}\nif __name__ == '__main__':\n    mean([1])"
    )
    assert reaches("norms", train_dot_py=code) is reached


def test_of_a_file_that_nobody_uses_nothing_is_known():
    assert reaches("norms", train_dot_py="print()")


@pytest.mark.parametrize(
    ("code", "reached"),
    [
        ("print()", False),
        ("net.eval()", False),
        ("importlib.import_module('helpers')", True),
        ("eval(name)(rows)", True),
    ],
)
def test_what_nobody_names_of_what_nobody_installs_is_left_over(code, reached):
    assert reaches("norms", is_installed=False, train_dot_py=code) is reached


def test_what_has_a_front_is_offered_to_others():
    texts = {Path("helpers.py"): HELPERS.encode(), Path("part/__init__.py"): b"from . import net"}
    assert Reaching(Path(), texts, is_installed=False).reaches("norms", Path("helpers.py"))
    texts[Path("part/__init__.py")] = b""
    assert not Reaching(Path(), texts, is_installed=False).reaches("norms", Path("helpers.py"))


@pytest.mark.parametrize("file", ["run_dot_yaml", "package____init___dot_py"])
def test_a_configuration_or_the_front_of_a_package_may_use_all_that_it_names(file):
    assert reaches("norms", train_dot_py=USED, **{file: "from helpers import Scaler"})


def test_a_user_out_of_sight_may_call_what_stands_alone_in_its_file():
    other = "from helpers import Scaler\ndef scaled(rows):\n    return Scaler().scale(rows)\n"
    assert reaches("norms", train_dot_py=USED, extra_dot_py=other)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("getattr(helpers, 'mea' + 'n')", True),
        ("LOSSES = [name for name in dir(helpers)]", True),
        ("print(helpers.__dict__)", True),
        ("getattr(helpers.mean, 'name')", False),
    ],
)
def test_a_module_in_which_names_are_looked_up_is_reached(search, found):
    assert reaches("norms", train_dot_py=f"import helpers\nhelpers.mean([1])\n{search}\n") is found


FILE = Path("work.py")


def chain(length: int, end: str = "") -> Reaching:
    """Of functions, each of which is used by the next one; and `other`, which runs."""
    ways = [f"def f{n}(): f{n - 1}()" for n in range(1, length)]
    text = "\n".join(["def f0(): pass", *ways, "def other(): pass", "other()", end])
    return Reaching(Path(), {FILE: text.encode()}, is_installed=False)


def answers(reaching: Reaching, numbers: Iterable[int]) -> dict[int, bool]:
    return {n: reaching.reaches(f"f{n}", FILE) for n in numbers}


@pytest.mark.parametrize("length", [5, MOST, MOST + 5])
@pytest.mark.parametrize("end", ["", "f3()", "def f3(): f4()"])
def test_answers_do_not_go_by_what_was_asked_before(length: int, end: str):
    alone = {n: chain(length, end).reaches(f"f{n}", FILE) for n in range(length)}
    assert answers(chain(length, end), range(length)) == alone
    assert answers(chain(length, end), reversed(range(length))) == alone


def test_what_is_known_of_the_way_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    users = Reaching._using
    monkeypatch.setattr(
        Reaching, "_using", lambda self, file, name: asked.append(name) or users(self, file, name)
    )
    for end in ("", "f19()"):
        asked.clear()
        answers(chain(20, end), range(20))
        assert len(asked) < 50


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("from helpers import Scaler\nScaler()", True),
        ("from fast import Scaler\nScaler()", False),  # which defines one, too
        ("from front import Scaler\nScaler()", True),  # it may be handed on there
        ("from pack import Scaler\nScaler()", False),  # it is, from another
        ("from fast import Fast as Scaler\nScaler()", False),
        ("from helpers import mean as Scaler\nScaler()", False),
        ("from fast import (\n    Fast,  # the other\n    Scaler,\n)\nScaler()", False),
        ("from fast import Scaler\nScaler()\nimport helpers\nhelpers.Scaler()", True),
        ("from fast import Scaler\nfrom helpers import Scaler\nScaler()", True),
        ('def scale():\n    """As Scaler does."""\nscale()', False),
        (
            "from helpers import Scaler\n"
            'def scale(\n    rows,\n):\n    """As Scaler does."""\n    Scaler()\nscale()',
            True,
        ),
        ("import fast\nfast.Scaler()", False),
        ("import helpers as h\nh.Scaler()", True),
        ("from . import helpers\nhelpers.Scaler()", True),
        ("import library\nlibrary.Scaler()", False),  # of somebody else
        ("from library import Scaler\nScaler()", False),
        ("from library import *\nScaler()", False),
        ("from front import *\nScaler()", True),
        ("from helpers import mean, \\\n    Scaler\nScaler()", True),
        ("def scale(Scaler): Scaler()\nscale(1)", False),  # a name of its own
        ("scale(Scaler=1)", False),
        ("rows.Scaler()", False),  # no function of a module is asked of an object
        ("importlib.import_module('helpers').Scaler()", True),
        ("module = importlib.import_module('helpers')\nmodule.Scaler()", True),
        ("registry['Scaler']()", True),
        ("from lazy import Scaler\nScaler()", True),
    ],
)
def test_an_import_says_whose_name_it_is(use, reached):
    code = f"from helpers import mean\n{use}\nmean([1])"
    fast = "class Scaler: pass\nclass Fast: pass"
    texts = {
        "helpers.py": HELPERS,
        "train.py": code,
        "fast.py": fast,
        "front.py": "from helpers import *",
        "pack/__init__.py": "from .fast import Scaler",
        "lazy.py": "def __getattr__(name): return getattr(import_module('helpers'), name)",
    }
    files = {Path(file): text.encode() for file, text in texts.items()}
    assert Reaching(Path(), files, True).reaches("Scaler", Path("helpers.py")) is reached


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("Scaler().scale(rows)", True),
        ("rows.scale()", True),  # of what, is open
        ("rows.scale", True),
        ("scale(rows)", False),  # a method is called by no bare name
        ("import numpy\nnumpy.scale(rows)", False),
        ("import helpers\nhelpers.default.scale(rows)", True),
    ],
)
def test_a_method_may_be_asked_of_any_object(use, reached):
    files = {
        Path("helpers.py"): HELPERS.encode(),
        Path("train.py"): f"from helpers import Scaler, mean\nmean([1])\n{use}".encode(),
    }
    assert Reaching(Path(), files, True).reaches("scale", Path("helpers.py")) is reached


@pytest.mark.parametrize(
    ("use", "reached"),
    [
        ("from models.losses import Dice", False),  # the one beside it
        ("from .models.losses import Dice", False),
        ("from old.models.losses import Dice", True),
        ("from trained.models.losses import Dice", False),  # there is none
        ("from losses import Dice", True),  # somebody's path leads there
    ],
)
def test_of_two_copies_a_folder_around_the_import_says_which(use, reached):
    loss = b"class Dice: pass\ndef other(): pass\n"
    files = {
        Path("old/models/losses.py"): loss,
        Path("old/run.py"): b"from models.losses import other\nother()",
        Path("new/models/losses.py"): loss,
        Path("new/run.py"): f"{use}\nDice()".encode(),
    }
    assert Reaching(Path(), files, True).reaches("Dice", Path("old/models/losses.py")) is reached


@pytest.mark.parametrize(
    ("others", "may"),
    [
        ({"train.py": "import helpers\nhelpers.mean([1])"}, False),
        ({"train.py": "import helpers\ngetattr(helpers, name)([1])"}, True),
        ({"train.py": "import helpers\neval(name)([1])"}, True),
        ({"other.py": "eval(name)([1])"}, False),  # it has none of these names
        ({"__init__.py": "from .helpers import *"}, True),
        ({"train.py": "importlib.import_module(name)"}, True),
        ({"train.py": "importlib.import_module(name)", "run.yaml": "net: helpers.mean"}, False),
    ],
)
def test_code_that_makes_names_up_may_take_what_no_text_names(others, may):
    texts = {Path(file): text.encode() for file, text in others.items()}
    reaching = Reaching(Path(), {Path("helpers.py"): HELPERS.encode(), **texts}, False)
    assert reaching.looks_names_up(Path("helpers.py")) is may


@pytest.mark.parametrize(
    ("code", "serves"),
    [
        ("def plot_means(rows):\n    return mean(rows)", True),
        ("class VisualizationMixin:\n    def step(self, rows):\n        return mean(rows)", True),
        ("def train(rows):\n    return mean(rows)", False),
        ("def plot_means(rows):\n    return mean(rows)\nprint(mean([1]))", False),
        ("", False),
    ],
)
def test_what_only_shows_something_serves_a_reader(code, serves):
    texts = {
        Path("helpers.py"): HELPERS.encode(),
        Path("use.py"): f"from helpers import mean\n{code}".encode(),
        Path("test_helpers.py"): b"from helpers import mean\nmean([1])\n",
    }
    assert Reaching(Path(), texts, False).serves_readers("mean", Path("helpers.py")) is serves
