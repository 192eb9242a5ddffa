"""The alternatives of a value keep under which tests they came about: contrary ones never meet."""

import pytest
from given import given, host_reads, met, revealed, reveals, syncs


def sure(code):
    """The contradictions that are shown by default."""
    return [m for m in met(code) if not m.endswith("possible")]


def in_two_steps(first, between, second):
    """A value that one test copies to the host, and its partner that the next test does."""
    return f"""
        def run(x: torch.Tensor, z: torch.Tensor, y, mode, quick, names, other, self):
            a, b = x.cuda(), z.cuda()
            if {first}:
                a = a.cpu()
            {between}
            if {second}:
                b = b.cpu()
            return a + b
    """


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("quick", "quick"),
        ("not quick", "not quick"),
        ("self.quick", "self.quick"),
        ("mode == 'fast'", "mode == 'fast'"),
        ("mode != 'fast'", "not mode == 'fast'"),
        ("names is None", "not (names is not None)"),
        ("len(names) > 3", "len( names ) > 3"),
        ("len(names) <= 3", "not len(names) > 3"),
        ("mode in names", "not (mode not in names)"),
        ("names[0] == quick", "names[0] == quick"),
        ("isinstance(y, torch.Tensor)", "torch.is_tensor(y)"),
        ("quick and names", "quick and names"),
    ],
)
def test_one_test_made_twice_comes_out_the_same(first, second):
    assert sure(in_two_steps(first, "pass", second)) == []


@pytest.mark.parametrize(
    ("first", "between", "second"),
    [
        ("quick", "pass", "names"),
        ("quick", "pass", "not quick"),
        ("mode == 'fast'", "pass", "mode == 'slow'"),
        ("quick", "quick = other()", "quick"),
        ("self.quick", "self = other()", "self.quick"),
        ("self.quick", "self.quick = other()", "self.quick"),
        ("len(names) > 3", "names.append(y)", "len(names) > 3"),
        ("other()", "pass", "other()"),
        ("quick or names", "pass", "names"),
    ],
)
def test_another_test_may_come_out_otherwise(first, between, second):
    assert sure(in_two_steps(first, between, second)) != []


def test_what_was_assigned_in_one_branch_stays_together():
    code = """
        def run(x: torch.Tensor, unsteady):
            if unsteady():
                a, b = x.cpu(), x.cpu()
            else:
                a, b = x.cuda(), x.cuda()
            return {meeting}
    """
    assert sure(code.format(meeting="(a * 2) @ b[0]")) == []
    assert len(sure(code.format(meeting="a + torch.ones(3)"))) == 1


@pytest.mark.parametrize(
    ("choice", "other"),
    [
        ("a = x.cpu() if quick else x.cuda()", "b = x.cpu() if quick else x.cuda()"),
        ("a = b = x.cpu() if names() else x.cuda()", "pass"),
        ("a, b = (x.cpu(), x.cpu()) if names() else (x.cuda(), x.cuda())", "pass"),
    ],
)
def test_conditional_expressions_choose_as_statements_do(choice, other):
    code = f"""
        def run(x: torch.Tensor, quick, names):
            {choice}
            {other}
            return a + b
    """
    assert sure(code) == []


def test_each_case_and_each_handler_is_a_way_of_its_own():
    code = """
        def run(x: torch.Tensor, mode):
            match mode:
                case "a":
                    a, b = x.cpu(), x.cpu()
                case "b":
                    a, b = x.cuda(), x.cuda()
                case _:
                    raise ValueError
            try:
                c, d = load(), x.cuda()
            except OSError:
                c, d = torch.zeros(3), x.cpu()
            a + b
            c + d
            a + torch.ones(3)
    """
    assert [m.partition("@")[0] for m in sure(code)] == ["torch.ones(3)"]


@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        ("to_numpy", []),
        ("to_numpy and rows", []),
        ("True", ["row"]),
        ("not to_numpy", ["row"]),
    ],
)
def test_a_branch_reads_what_its_own_test_brought_there(condition, reads):
    code = f"""
        def embed(model, xs, to_numpy):
            rows = []
            for x in xs:
                row = model(x.cuda()).sigmoid().cuda()
                if to_numpy:
                    row = row.cpu()
                rows.append(row)
            if {condition}:
                return [row.numpy() for row in rows]
    """
    found = host_reads(given(code))
    assert [f.partition(" of ")[2].partition("@")[0] for f in found] == reads


def test_what_follows_an_early_return_runs_where_that_was_not_taken():
    code = """
        def run(x: torch.Tensor, quick):
            a = x.cpu() if quick else x.cuda()
            if {condition}:
                return None
            return a + torch.ones(3)
    """
    assert sure(code.format(condition="not quick")) == []
    assert len(sure(code.format(condition="quick"))) == 1


@pytest.mark.parametrize(
    ("condition", "contradicts"), [("quick", False), ("x.sum() > 3", True), ("unsteady()", True)]
)
def test_what_holds_for_one_turn_of_a_loop_says_nothing_of_another(condition, contradicts):
    code = f"""
        def run(xs, quick, unsteady):
            rows = []
            for x in xs:
                if {condition}:
                    rows.append(x.cuda())
                else:
                    rows.append(torch.zeros(3, 3))
            return torch.cat(rows)
    """
    assert bool(sure(code)) is contradicts


def test_a_test_that_each_turn_makes_anew_still_holds_within_the_turn():
    code = """
        def run(xs):
            for x in xs:
                if x.sum() > 3:
                    a, b = x.cuda(), x.cuda()
                else:
                    a, b = x.cpu(), x.cpu()
                a + b
    """
    assert sure(code) == []


@pytest.mark.parametrize("taken", ["mask is None", "mask is not None"])
def test_one_of_the_branches_may_still_be_the_wrong_one(taken):
    code = f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))

            def forward(self, x, mask=None):
                if {taken}:
                    mask = torch.ones(3)
                else:
                    mask = self.w
                return x * self.w * mask
    """
    assert [m.partition(" ")[0] for m in sure(code)] == ["mask@cpu"]


CHOOSES = """
        def chosen(x: torch.Tensor, quick, slow=False):
            if quick:
                return torch.ones(3), x.cpu()
            return x.cuda(), torch.ones(3).cuda()

        def run(x: torch.Tensor, y: torch.Tensor, one, two):
            a, b = chosen(x, one)
            {between}
            c, d = chosen(y, {given})
            return {meeting}
"""


def test_what_one_call_returns_stays_together():
    code = CHOOSES.format(between="pass", given="two", meeting="(a + b, c + d)")
    assert sure(code) == []


@pytest.mark.parametrize(
    ("between", "given", "contradicts"),
    [
        ("pass", "one", False),
        ("pass", "one, slow=two", False),
        ("pass", "quick=one", False),
        ("pass", "two", True),
        ("pass", "not one", True),
        ("pass", "two()", True),
        ("one = two()", "one", True),
    ],
)
def test_two_calls_that_are_given_the_same_return_the_same(between, given, contradicts):
    code = CHOOSES.format(between=between, given=given, meeting="a + d")
    assert bool(sure(code)) is contradicts


@pytest.mark.parametrize(
    ("test", "contradicts"), [("self.quick", False), ("quick", False), ("x.sum() > 3", True)]
)
def test_what_calls_in_a_loop_return_is_alike_by_what_they_are_given(test, contradicts):
    code = f"""
        class Cells:
            def one(self, x: torch.Tensor, quick):
                if {test}:
                    return torch.ones(3)
                return x.cuda()

            def all(self, xs, quick):
                cells = []
                for x in xs:
                    cells.append(self.one(x, quick))
                return torch.stack(cells)
    """
    assert bool([m for m in sure(code) if not m.startswith("return")]) is contradicts


@pytest.mark.parametrize(
    ("condition", "reads"),
    [
        ("kind == 'array'", []),
        ("not (kind != 'array')", []),
        ("kind == 'array' and y.sum() > 3", []),
        ("is_array", []),
        ("kind == 'tensor'", ["y"]),
        ("not is_array", ["y"]),
    ],
)
def test_a_name_may_say_which_branch_was_taken(condition, reads):
    code = f"""
        def scaled(y, load):
            if isinstance(y, list):
                kind, is_array = "array", True
                y = torch.tensor(load(y))
            else:
                kind, is_array = "tensor", False
                y = y.cuda()
            if {condition}:
                return y.numpy()
    """
    found = host_reads(given(code))
    assert [f.partition(" of ")[2].partition("@")[0] for f in found] == reads


# ----------------------------------------------------------------- where two devices are one

AS_THE_OTHER = """
    import numpy as np

    def score(query: torch.Tensor, corpus: torch.Tensor, at: torch.device):
        if isinstance(corpus, np.ndarray):
            corpus = torch.ones(3)
        query = torch.zeros(3)
        if {test}:
            query = query.to(corpus.{what})
        return query @ corpus
"""


@pytest.mark.parametrize(
    ("test", "what", "contradicts"),
    [
        ("corpus.device != query.device", "device", False),
        ("not query.device == corpus.device", "device", False),
        ("query.is_cuda != corpus.is_cuda", "device", False),
        ("query.type() != corpus.type()", "device", False),
        ("query.data.type() != corpus.data.type()", "device", False),
        ("query.dim() != corpus.dim()", "device", True),
        ("query.dtype != corpus.dtype", "dtype", True),
    ],
)
def test_a_value_that_is_moved_unless_it_is_there(test, what, contradicts):
    assert bool(sure(AS_THE_OTHER.format(test=test, what=what))) is contradicts


def test_where_devices_are_equal_both_are_where_one_is():
    code = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))

            def forward(self, x):
                if x.device == self.w.device:
                    reveal(x)
                else:
                    reveal(x)
    """
    assert revealed(code) == ["δ(self)", "δ(x)"]


def test_a_helper_gives_back_what_it_moved_unless_it_was_there():
    code = """
        def like(x, other):
            if x.device != other.device:
                x = x.to(other.device)
            return x

        class Net(nn.Module):
            def forward(self, x):
                return {meeting}
    """
    assert sure(code.format(meeting="like(torch.ones(3), x) * x")) == []
    assert len(sure(code.format(meeting="like(x, torch.ones(3)) * x.sigmoid()"))) == 1


# ----------------------------------------------------------------- what stands in for an input


@pytest.mark.parametrize(
    ("converted", "contradicts"),
    [("torch.from_numpy(np.array(y))", False), ("torch.ones(3)", True)],
)
def test_who_hands_in_one_array_hands_in_no_tensor_of_an_accelerator(converted, contradicts):
    code = f"""
        import numpy as np

        def accuracy(x: torch.Tensor, y):
            if not torch.is_tensor(y):
                y = {converted}
            return (x.long() == y.long()).sum()
    """
    assert bool(sure(code)) is contradicts


@pytest.mark.parametrize(("default", "contradicts"), [("=None", False), ("", True)])
def test_what_a_parameter_that_may_be_left_out_is_by_default(default, contradicts):
    code = f"""
        def recall(limits{default}):
            found = torch.zeros(3)
            if limits is None:
                limits = torch.arange(0.5, 0.95)
            return found >= limits.float()
    """
    assert bool(sure(code)) is contradicts


# ----------------------------------------------------------------- each alternative where it is


@pytest.mark.parametrize(("kept", "contradicts"), [("bias", False), ("other", True)])
def test_a_container_of_one_branch_is_filled_with_what_that_branch_has(kept, contradicts):
    code = f"""
        class Net(nn.Module):
            def __init__(self, n, bias, other):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3, 3))
                self.b = nn.ParameterList() if bias else []
                for _ in range(n):
                    self.b.append(nn.Parameter(torch.ones(3)) if {kept} else None)

            def forward(self, x):
                return F.linear(x, self.w, self.b[0])
    """
    assert bool(sure(code)) is contradicts


@pytest.mark.parametrize(("given_to", "contradicts"), [("quick", False), ("other", True)])
def test_one_of_two_callees_is_given_what_belongs_to_it(given_to, contradicts):
    code = f"""
        def run(x: torch.Tensor, quick, other):
            net = nn.Linear(3, 3) if quick else nn.Linear(3, 3).cuda()
            x = x.cpu() if {given_to} else x.cuda()
            return net(x)
    """
    assert bool(sure(code)) is contradicts


def test_which_of_a_call_s_results_came_back_is_said_in_the_callee():
    code = """
        def as_type(image, kind):
            if image.dtype == kind:
                found = {kept}
            else:
                found = {made}
            return found

        def cut(image: torch.Tensor, kind):
            image = image * 2
            return as_type(image, kind)
    """
    assert sure(code.format(kept="image", made="torch.ones(3)")) == []
    found = sure(code.format(kept="image.relu()", made="torch.ones(3)"))
    assert [m.partition(" ")[0] for m in found] == ["return:"]


def test_an_object_that_is_made_in_one_way_or_the_other_is_one_object():
    code = """
        class Boxes:
            def __init__(self, at):
                self.at = at

            @classmethod
            def joined(cls, boxes):
                if len(boxes) == 0:
                    return cls(torch.ones(0, 4))
                return cls(torch.cat([box.at for box in boxes]))

            def sizes(self):
                return self.at[:, 2] - self.at[:, 0]

        def run(boxes):
            boxes = Boxes.joined(boxes)
            return boxes.sizes() * boxes.at[:, 1]
    """
    assert sure(code) == []


@pytest.mark.parametrize(
    ("given", "contradicts"),
    [("", True), ("None", True), ("x", False), ("None, mode='b'", False), ("quick()", True)],
)
def test_what_a_call_is_given_tells_the_callee_s_branches_apart(given, contradicts):
    code = f"""
        def chosen(y, total=None, mode="a"):
            if mode == "a" and total is None:
                return torch.ones(3)
            return y.cuda()

        def run(x: torch.Tensor, quick):
            y = chosen(x.cuda(), {given})
            return x.cuda() * y
    """.replace("x.cuda(), )", "x.cuda())")
    assert bool([m for m in sure(code) if not m.startswith("return")]) is contradicts


@pytest.mark.parametrize(
    ("given", "contradicts"), [("", True), (", mode='a'", True), (", mode='b'", False)]
)
def test_operands_meet_in_a_callee_where_it_comes_to_that(given, contradicts):
    code = f"""
        def scaled(x, y, mode="a"):
            if mode == "a":
                return x.float() * y.float()
            return x

        def run(x: torch.Tensor):
            return scaled(x.cuda(), torch.ones(3){given})
    """
    assert bool(sure(code)) is contradicts


def test_an_imported_name_may_be_one_of_several_values():
    lib = """
    import os

    if os.environ.get("FAST"):
        table = torch.ones(3)
    else:
        table = torch.ones(3, device="cuda")
    """
    code = """
    try:
        from lib import table
    except ImportError:
        table = None
    reveal(table)
    """
    assert revealed(code, {"lib.py": lib}) == ["cpu | cuda"]


@pytest.mark.parametrize(
    ("where", "contradicts"), [("as_list", False), ("not as_list", True), ("other", True)]
)
def test_a_flag_that_an_earlier_branch_set_is_known_behind_the_same_test(where, contradicts):
    code = f"""
        def collect(net: nn.Module, x, as_list, other, on_host=True):
            net.cuda()
            if as_list:
                on_host = False
            rows = net(x.cuda())
            if on_host:
                rows = rows.cpu()
            if {where}:
                return rows + torch.ones(3).cuda()
            return rows
    """
    assert bool(sure(code)) is contradicts


CONVERTED = """
    import numpy as np

    def to_torch(x):
        if isinstance(x, np.ndarray):
            return torch.from_numpy(x).float(), True
        return x.cuda(), False

    def wrapped(x):
        x, was_array = to_torch(x)
        x = torch.floor(x)
        return x.numpy() if {test} else x
"""


@pytest.mark.parametrize(("test", "reads"), [("was_array", False), ("not was_array", True)])
def test_what_a_call_returns_together_belongs_together(test, reads):
    assert bool(host_reads(given(CONVERTED.format(test=test)))) is reads


@pytest.mark.parametrize(
    ("handed", "contradicts"), [("x[:, 1].detach()", False), ("np.array([1, 2])", True)]
)
def test_an_array_that_is_converted_is_no_tensor_and_the_other_way_round(handed, contradicts):
    code = CONVERTED.format(test="was_array")
    code += f"""
    def spread(x: torch.Tensor):
        angle, _ = to_torch({handed})
        return x.cuda() * torch.cos(angle)
"""
    assert bool(sure(code)) is contradicts


@pytest.mark.parametrize("equal", ["is", "=="])
def test_equality_with_none_asks_what_identity_does(equal):
    code = f"""
        def total(xs: torch.Tensor):
            found = None
            for x in xs:
                if found {equal} None:
                    found = torch.relu(x)
                else:
                    found += x
            return found

        def masked(x: torch.Tensor, mask: torch.Tensor | None):
            if mask {equal} None:
                mask = torch.ones(3, device=x.device)
            reveal(mask)
            return x * mask
    """
    facts = given(code)
    assert syncs(facts) == []
    assert reveals(facts) == reveals(given(code.replace("==", "is")))


@pytest.mark.parametrize(
    ("test", "contradicts"),
    [
        ("len(pairs) == 0", False),
        ("not len(pairs) > 0", False),
        ("len(pairs) < 1", False),
        ("len(pairs) == 1", True),
        ("len(rows) == 0", True),
    ],
)
def test_a_container_without_elements_is_false(test, contradicts):
    code = f"""
class Graph:
    def __init__(self, device):
        self.device = device

    def edges(self, pairs):
        if not pairs:
            return torch.ones(0, 8, device=self.device), torch.ones(4)
        return torch.ones(3, device=self.device), torch.ones(4, device=self.device)

    def solve(self, pairs, rows):
        weights, edges = self.edges(pairs)
        if {test}:
            return None
        return weights + edges
"""
    assert any("edges@cpu" in each for each in met(code)) is contradicts
