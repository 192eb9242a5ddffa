"""What the other files of a project name."""

from pathlib import Path

import pytest

from devlint.project import uses
from devlint.project.mentions import Mentions
from devlint.project.users import FEW
from devlint.project.uses import lines_with


def project(tmp_path: Path, **files: str) -> Mentions:
    for name, text in files.items():
        path = name.replace("__", "/").replace("_dot_", ".")
        file = tmp_path / path.replace("front", "__init__")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Mentions(tmp_path)


def test_another_file_has_to_name_it(tmp_path):
    found = project(
        tmp_path,
        a_dot_py="def step(): pass\nstep()",
        b_dot_py="from a import step\ndef other(): pass\nstep",
    )
    assert not found.elsewhere("other", tmp_path / "b.py")
    assert found.elsewhere("step", tmp_path / "a.py")


def test_a_name_is_a_whole_word(tmp_path):
    found = project(tmp_path, a_dot_py="def step(): pass", b_dot_py="steps = first_step")
    assert not found.elsewhere("step", tmp_path / "a.py")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("def step(): pass\nstep()", False),
        ("class Net:\n    def step(self): pass\n    def run(self): self.step()", False),
        ("from a import *\nclass Net:\n    def step(self): pass\n    def run(self): step()", True),
        ("from a import step\ndef run(): step()", True),
        (
            "from a import (\n    other,\n    step,\n)\n\nclass Net:\n    def step(self): step()",
            True,
        ),
        ("import a\ndef step(): a.step()", True),
        ("class Net(Base):\n    def step(self): super().step()", True),
        ("from a import *\nstep()", True),
        ("step()", False),
    ],
)
def test_a_file_that_defines_the_name_itself_means_its_own(tmp_path, text, named):
    found = project(tmp_path, a_dot_py="def step(): pass", b_dot_py=text)
    assert found.elsewhere("step", tmp_path / "a.py") is named


@pytest.mark.parametrize(
    ("file", "text", "used"),
    [
        ("b_dot_py", "from a import step", False),
        ("b_dot_py", "from a import (\n    other,\n    step,\n)\nother()", False),
        ("b_dot_py", "from a import step\nstep()", True),
        ("b_dot_py", "from a import step as epoch\nepoch()", True),
        ("front_dot_py", "from a import step", True),
        ("b_dot_py", "run()  # was: step()", False),
        ("b_dot_py", '# -*- coding: utf-8 -*-\n"""As step does."""\nrun()', False),
        ("b_dot_py", '"""As step does."""\nfrom a import step\nstep()', True),
        ("tests__run_dot_py", "from a import step\nstep()", False),
        ("test_a_dot_py", "from a import step\nstep()", False),
        ("latest__run_dot_py", "from a import step\nstep()", True),
    ],
)
def test_who_only_imports_or_tests_a_function_uses_it_for_nothing(tmp_path, file, text, used):
    found = project(tmp_path, a_dot_py="def step(): pass", **{file: text})
    assert found.elsewhere("step", tmp_path / "a.py") is used


@pytest.mark.parametrize("name", ["conf_dot_yaml", "README_dot_md", "show_dot_ipynb"])
def test_configuration_and_documentation_name_things_too(tmp_path, name):
    found = project(tmp_path, a_dot_py="class Net: pass", **{name: "target: a.Net"})
    assert found.elsewhere("Net", tmp_path / "a.py")


def test_what_belongs_to_others_is_not_looked_at(tmp_path):
    found = project(tmp_path, a_dot_py="class Net: pass", venv__b_dot_py="Net")
    assert not found.elsewhere("Net", tmp_path / "a.py")


@pytest.mark.parametrize(("limit", "most"), [("MOST", 10), ("MOST_DIRECTORIES", 1)])
def test_where_there_is_too_much_to_look_at_all_is_taken_to_be_named(
    tmp_path, monkeypatch, limit, most
):
    files = {"a_dot_py": "class Net: pass", "inner__b_dot_py": "x = 1"}
    assert not project(tmp_path, **files).elsewhere("Net", tmp_path / "a.py")
    monkeypatch.setattr(uses, limit, most)
    assert project(tmp_path, **files).elsewhere("Net", tmp_path / "a.py")


EACH = "{k: v.to(device) for k, v in x.items()}"


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("class Rows(Dataset):\n    def one(self, i):\n        return self.rows[i].cuda()\n", True),
        ("class Rows(data.Dataset):\n\n    def one(self):\n        return x.to(device)\n", True),
        ("class Rows(Dataset):\n    def one(self, i):\n        return self.rows[i]\n", False),
        ("class Rows(Dataset):\n    rows = 3\n\ndef train(x):\n    return x.cuda()\n", False),
        ("class Rows(Dataset):\n    def one(self):\n        return x.to(torch.long)\n", False),
        ("class Net(Module):\n    def one(self):\n        return x.cuda()\n", False),
        (f"def load(x, device):\n    x = {EACH}\n    return DataLoader(Rows(x))\n", True),
        (f"def run(x, device):\n    for x in DataLoader(x):\n        x = {EACH}\n", False),
        (f"def load(x, device):\n    return {EACH}\n\ndef rows(x):\n    DataLoader(x)\n", False),
    ],
)
def test_a_data_set_that_moves_what_it_holds(tmp_path, text, moved):
    (tmp_path / "rows.py").write_text(text)
    assert Mentions(tmp_path).data_is_moved is moved


def test_a_class_of_rows_is_read_line_by_line_whatever_ends_a_line(tmp_path):
    lines = ["class Faces(Dataset):", *["    size = 3"] * 500, "", "    def at(self, i):"]
    (tmp_path / "rows.py").write_bytes("\r\n".join([*lines, "x.cuda()", ""]).encode())
    assert not Mentions(tmp_path).data_is_moved  # a move behind the class is not in it
    (tmp_path / "rows.py").write_bytes("\r\n".join([*lines, "        return x.cuda()"]).encode())
    assert Mentions(tmp_path).data_is_moved


def test_the_front_of_what_nobody_installs_offers_nothing(tmp_path):
    files = {
        "net__front_dot_py": "from net.parts import crop",
        "net__parts_dot_py": "def crop(x): pass",
        "run_dot_py": "if __name__ == '__main__':\n    pass",
    }
    assert not project(tmp_path, **files).elsewhere("crop", tmp_path / "net" / "parts.py")
    installed = project(tmp_path, **files, setup_dot_py="setup()")
    assert installed.elsewhere("crop", tmp_path / "net" / "parts.py")


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("f(x, fast=True)", True),
        ("f(x, fast=use_fast)", True),
        ("net.fast = True", True),
        ("parser.add_argument('--fast')", True),
        ("options = {'fast': True}", True),
        ("flags.DEFINE_bool('fast', False, 'be quick')", True),
        ("def f(x, fast: bool = False): pass", False),
        ("f(x, fast=fast)", False),
        ("self.fast = args.fast", False),
        ("f(x, fast=False, slow=True)", False),
        ("if fast == 3: pass", False),
        ("f(breakfast=True)", False),
        ("# f(x, fast=True)", False),
        ("def test():\n    f(x, fast=True)\n", False),
        ("def test_speed(\n    x,\n):\n    f(x)\n", False),
        ("def test():\n    pass\n\nf(x, fast=True)\n", True),
        ("def tested(x):\n    f(x, fast=True)\n", True),
    ],
)
def test_an_option_is_set_by_who_gives_it_a_value_of_their_own(tmp_path, text, sets):
    assert project(tmp_path, a_dot_py=text).sets("fast=True") is sets
    assert not project(tmp_path, a_dot_py="", tests__a_dot_py=text).sets("fast=True")


def test_a_configuration_sets_an_option_and_a_default_may_be_turned_off(tmp_path):
    assert project(tmp_path, a_dot_yaml="fast: true\nnorm: false").sets("fast=True")
    assert project(tmp_path, a_dot_yaml="fast: true\nnorm: false").sets("norm=False")
    assert not project(tmp_path, a_dot_yaml="fast: false\nnorm: true").sets("fast=True")


@pytest.mark.parametrize(
    ("text", "sets", "leaves"),
    [
        ("f(x, mode='noisy')", True, True),
        ("f(x, mode='exact')", False, True),
        ("f(x, mode='plain')", False, False),
        ("f(x, mode=chosen)", True, True),
        ("f(x, mode=mode)", False, False),
        ("def f(x, mode: str = 'plain'): pass", False, False),
        ("settings = {'mode': \"noisy\"}", True, True),
        ("parser.add_argument('--mode', default='plain')", True, True),
    ],
)
def test_a_word_is_set_by_who_gives_it_or_what_may_be_any(tmp_path, text, sets, leaves):
    """`leaves`: it may be another word than by default."""
    assert project(tmp_path, a_dot_py=text).sets("mode='noisy'") is sets
    assert project(tmp_path, a_dot_py=text).sets("mode!'plain'") is leaves


def test_a_configuration_sets_a_word(tmp_path):
    assert project(tmp_path, a_dot_yaml="mode: noisy").sets("mode='noisy'")
    assert project(tmp_path, a_dot_yaml="mode: noisy").sets("mode!'plain'")
    assert not project(tmp_path, a_dot_yaml="mode: plain").sets("mode='noisy'")
    assert not project(tmp_path, a_dot_yaml="mode: 'plain'").sets("mode!'plain'")


@pytest.mark.parametrize(
    ("text", "chooses"),
    [
        ("f(x, Mode.NOISY)", True),
        ("def f(x, mode=Mode.NOISY): pass", True),
        ("f(x, Mode(args.mode))", True),
        ("f(x, Mode[args.mode])", True),
        ("for mode in Mode: f(x, mode)", True),
        ("if mode == Mode.NOISY: pass", False),
        ("if Mode.NOISY == mode: pass", False),
        ("if mode is not Mode.NOISY: pass", False),
        ("class Mode(Enum):\n    NOISY = 1", False),
        ("f(x, Mode.NOISY_TOO, Mode.PLAIN)", False),
    ],
)
def test_a_member_of_an_enumeration_is_chosen_by_who_names_it_not_to_compare(
    tmp_path, text, chooses
):
    assert project(tmp_path, a_dot_py=text).sets("Mode.NOISY") is chooses


DEMANDS = "x = torch.ones(3).cuda()"
GOES_BY = "y = torch.ones(3, device=x.device)"
OFFERS = 'parser.add_argument("--no-cuda")'


@pytest.mark.parametrize(
    ("texts", "is_for_cuda"),
    [
        ([DEMANDS], False),  # one file is no majority
        ([DEMANDS, DEMANDS], True),
        ([DEMANDS, DEMANDS, GOES_BY], True),
        ([DEMANDS, DEMANDS, GOES_BY, OFFERS], False),
        ([DEMANDS, f"{DEMANDS}\n{GOES_BY}"], True),
        ([DEMANDS, DEMANDS, f"{DEMANDS}\n{OFFERS}", GOES_BY], False),
        ([f"# {DEMANDS}", DEMANDS, "z = 1"], False),
    ],
)
def test_a_project_is_for_cuda_where_most_files_demand_it(tmp_path, texts, is_for_cuda):
    found = project(tmp_path, **{f"f{n}_dot_py": text for n, text in enumerate(texts)})
    assert found.is_for_cuda is is_for_cuda


@pytest.mark.parametrize(
    ("text", "saves_from_host"),
    [
        ("x = 1", False),
        ("torch.save(net.cpu().state_dict(), path)", True),
        ("torch.save(net.state_dict(), path)", False),
        ("torch.save(net.cpu().state_dict(), path)\n# torch.save(net, path)", True),
        ("torch.save(net.cpu().state_dict(), path)\ntorch.save({'net': net}, path)", False),
        ("for k in state:\n    state[k] = state[k].cpu()\ntorch.save(state, path)", True),
        ("for k in state:\n    state[k] = state[k].to('cpu')\ntorch.save(state, path)", True),
        ("state = {k: v.cpu() for k, v in net.items()}\ntorch.save({'net': state}, path)", True),
        (
            "s[k] = s[k].cpu()\nkept = {\n    'n': 1,\n    'net': s,\n}\ntorch.save(kept, path)",
            True,
        ),
        ("s[k] = s[k].cpu()\nkept = {'n': 1, 'net': other}\ntorch.save(kept, path)", False),
        ("loss = loss.cpu()\ntorch.save(state, path)", False),
        ("is_there = state == other.cpu()\ntorch.save(state, path)", False),
    ],
)
def test_a_project_saves_from_the_host_where_it_always_does(tmp_path, text, saves_from_host):
    assert project(tmp_path, a_dot_py=text).saves_from_host is saves_from_host


def test_a_name_is_found_whether_few_or_many_are_asked_for(tmp_path):
    names = [f"name{number}" for number in range(2 * FEW)]
    (tmp_path / "ops.py").write_text("".join(f"def {name}(): ...\n" for name in names))
    used = "".join(f"{name}()\n" for name in names[::2])
    (tmp_path / "use.py").write_text(f"from ops import *\n{used}")
    mentions = Mentions(tmp_path)
    assert [n for n in names if mentions.elsewhere(n, tmp_path / "ops.py")] == names[::2]
    assert not mentions.elsewhere("constant", tmp_path / "ops.py")  # no function, no class


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (b"", set()),
        (b"a = 1", {b"a = 1"}),
        (b"a = 1\n b = 2\n", {b"a = 1", b" b = 2"}),
        (b"\nx\na b", {b"a b"}),
        (b"c\nbb\n", {b"bb"}),
    ],
)
def test_lines_that_hold_a_literal(text, lines):
    found = list(lines_with((b"a", b"b"), text))
    assert len(found) == len(lines) and {*found} == lines
