"""Returns that differ: by what was handed in, by what the caller asked for, or for no reason."""

import pytest
from given import given, met

ODD = "likely"


def confidences(code):
    return [meeting.rpartition(" ")[2] for meeting in met(code) if meeting.startswith("return:")]


FORWARD = """
class Encode(nn.Module):
    def forward(self, v, mode=None):
        {test}:
            return torch.zeros(3, 4)
        return torch.stack(v) * 2
"""


@pytest.mark.parametrize(
    "test",
    [
        "if isinstance(v, list)",
        "if torch.jit.isinstance(v, list[str])",
        "if not isinstance(v, torch.Tensor)",
        "if not v",
        "if v is None",
    ],
)
def test_where_no_tensor_came_in_there_is_no_device_to_follow(test):
    assert confidences(FORWARD.format(test=test)) == []


@pytest.mark.parametrize(
    "test",
    [
        "if isinstance(mode, str)",
        "if not mode",
        "if mode is None",
        "if v.numel() == 0",
        "if len(v) == 0",
        "if v.sum() < 0",
    ],
)
def test_where_one_may_have_come_in_there_is(test):
    assert confidences(FORWARD.format(test=test)) == [ODD]


def test_the_types_of_an_input_tell_its_values_apart_as_well():
    code = """
        def vectors(v):
            if {first}:
                out = v * 1
            elif isinstance(v, list):
                out = torch.stack([torch.tensor([float(x) for x in s.split()]) for s in v])
            else:
                raise ValueError(v)
            return out
        """
    assert confidences(code.format(first="isinstance(v, torch.Tensor)")) == []


def test_methods_that_are_chosen_by_the_type_of_an_input():
    code = """
        class Series(nn.Module):
            def of_tensors(self, v):
                return torch.relu(v)

            def of_strings(self, v):
                return torch.full([3, 8], 0.0)

            def forward(self, v, fast):
                if {test}:
                    return self.of_tensors(v)
                return self.of_strings(v)
        """
    assert confidences(code.format(test="isinstance(v, torch.Tensor)")) == []
    assert confidences(code.format(test="fast")) == [ODD]


RETURNS = """
def typical(rows: torch.Tensor):
    if rows.shape[1] < 2:
        {early}
    found = rows.mean(dim=0)
    if found.sum() < 0:
        {late}
    return found
"""


@pytest.mark.parametrize(
    ("early", "late", "found"),
    [
        ("return torch.zeros(3)", "pass", "possible"),  # its callers may ask for this first
        ("pass", "found = torch.zeros(3)", ODD),
    ],
)
def test_one_return_of_several_is_less_than_one_value_of_several(early, late, found):
    assert confidences(RETURNS.format(early=early, late=late)) == [found]


def test_what_forward_returns_meets_what_it_returns_elsewhere():
    """Tuples may be of different things."""
    code = FORWARD.format(test="if v.sum() < 0")
    assert confidences(code) == [ODD]
    in_tuples = code.replace("torch.zeros(3, 4)", "torch.zeros(3, 4), mode")
    in_tuples = in_tuples.replace("torch.stack(v) * 2", "torch.stack(v) * 2, mode")
    assert confidences(in_tuples) == ["possible"]


EPOCH = """
class Model(nn.Module):
    def forward(self, outputs, quick=False):
        {test}:
            return torch.Tensor([100.0, 1.0])
        return torch.Tensor([max(outputs), len(outputs)]).to(self.device)
"""


def test_nothing_was_handed_in_to_make_a_result_of():
    assert confidences(EPOCH.format(test="if not outputs")) == ["possible"]
    assert confidences(EPOCH.format(test="if not net.quick")) == [ODD]


FLOW = """
class Flow(nn.Module):
    def __init__(self, inverse):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.inverse = inverse

    def forward(self, spec, inverse=True):
        made = {dummy}
        if {test}:
            made = self.lin(spec)
        return made
"""


@pytest.mark.parametrize(
    ("dummy", "test", "found"),
    [
        ("torch.zeros((1, 1))", "inverse", "possible"),
        ("torch.zeros(1, 1)", "inverse", "possible"),
        ("torch.zeros(spec.size(0), 1)", "self.inverse", ODD),
        ("torch.zeros((1, 1))", "self.inverse", ODD),
        ("torch.zeros((1, 1))", "spec.sum() > 0", ODD),
    ],
)
def test_a_dummy_for_what_the_caller_switched_off(dummy, test, found):
    assert confidences(FLOW.format(dummy=dummy, test=test)) == [found]


NUMBERED = """
class Numbering:
    def __init__(self):
        self.device = ""

    def __call__(self, rows):
        ids = torch.tensor(rows)
        mask = ids.ne(0)
        if self.device == "":
            return ids, mask
        return {moved}
"""


def test_what_is_moved_where_a_device_is_configured_is_left_alone_elsewhere():
    moved = "ids.to(self.device), mask.to(self.device)"
    assert confidences(NUMBERED.format(moved=moved)) == []


STATE = """
class Cache:
    def __init__(self, n, device):
        self.device = device
        self.table = torch.zeros(n, 4)

    def renew(self, rows):
        self.table = torch.tensor(rows, device=self.device)

    def rows(self, few):
        {returned}
"""


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("return self.table", ["possible"]),
        ("return torch.zeros(2, 4) if few else torch.ones(4, device=self.device)", [ODD]),
    ],
)
def test_an_object_tells_what_it_holds_wherever_that_is(returned, found):
    assert confidences(STATE.format(returned=returned)) == found


def test_an_empty_tensor_for_nothing_found_is_hardly_a_slip():
    code = """
        class Boxes(nn.Module):
            def forward(self, scores: torch.Tensor, limit):
                if scores.max() < limit:
                    return {made}
                return torch.stack([scores * 2, scores])
    """
    assert confidences(code.format(made="torch.zeros(2, 7)")) == [ODD]
    assert confidences(code.format(made="torch.zeros(2, 0)")) == ["possible"]
    assert confidences(code.format(made="torch.Tensor()")) == ["possible"]


@pytest.mark.parametrize(
    ("use", "count"),
    [
        ("rows[:, 1:3] = typical(rows[:, 1:3])", 0),
        ("rows[:, 1:3] = typical(rows[:, 1:3])\n        rows = rows + typical(rows)", 1),
        ("rows[mask] = typical(rows[:, 1:3])", 1),
        ("rows = typical(rows[:, 1:3])", 1),
    ],
)
def test_a_result_that_is_only_written_to_a_slice_goes_where_that_is(use, count):
    code = f"""
    def typical(rows: torch.Tensor):
        if rows.shape[1] > 1:
            found = torch.zeros(rows.shape[1])
            found[2] = 1
        else:
            found = rows.mean(dim=0)
        return found

    def run(net, rows, mask):
        {use}
        return net(rows)
    """
    assert len(confidences(code)) == count


@pytest.mark.parametrize(
    ("filler", "found"),
    [("self.filler", ["possible"]), ("torch.zeros(2)", ["possible"])],
)
def test_a_placeholder_among_several_results_is_what_the_object_holds(filler, found):
    code = f"""
    class Ranker(nn.Module):
        def __init__(self):
            super().__init__()
            self.score = nn.Linear(4, 1)
            self.filler = torch.zeros(2)

        def forward(self, x, ranks):
            scores = self.score(x)
            if ranks:
                return scores.argsort(dim=1), {filler}
            return scores, scores.exp()
    """
    assert confidences(code) == found
    (held,) = given(code).plain_attributes
    assert held.used_at is None
    code = code.replace("scores, scores.exp()", "scores, scores + self.filler")
    (held,) = given(code).plain_attributes
    assert held.used_at is not None


def test_a_list_of_placeholders_that_are_replaced():
    """What has no elements stands for nothing until something is put there."""
    code = """
    def split(kinds: torch.Tensor, n):
        rows = [{made} for _ in range(n)]
        for i in range(n):
            found = (kinds == i).nonzero().flatten()
            if len(found):
                rows[i] = found
        return rows
    """
    assert confidences(code.replace("{made}", "torch.empty(0)")) == ["possible"]
    assert confidences(code.replace("{made}", "torch.zeros(0, 4)")) == [ODD]  # a table
    assert confidences(code.replace("{made}", "torch.zeros(1, 2)")) == [ODD]


@pytest.mark.parametrize(("few", "found"), [("y.new(0)", 0), ("(torch.rand(len(y)), None)", 1)])
def test_a_tuple_is_unpacked_from_the_returns_that_have_as_many(few, found):
    code = f"""
    class Sampler(nn.Module):
        def sample(self, y):
            if self.count == 0:
                return {few}
            chosen = torch.randint(0, 5, (len(y),))
            return y[chosen], chosen

        def forward(self, y: torch.Tensor):
            rows, chosen = self.sample(y)
            return y * rows
    """
    clashes = [each for each in met(code) if "* " in each or "operation" in each]
    assert len(clashes) == found


ONE_OF_TWO = """
class Scale:
    def __call__(self, x):
        return x * 2

class Noise:
    def __call__(self, x):
        return torch.randn(3, 4)

class Step:
    def __init__(self, noisy: bool):
        {made}

    def __call__(self, x: torch.Tensor):
        return self.chosen(x)
"""


def test_an_object_that_its_constructor_chose_gives_one_kind_of_result():
    """No caller meets those of the other one."""
    made = "self.chosen = Noise() if noisy else Scale()"
    assert confidences(ONE_OF_TWO.format(made=made)) == []


@pytest.mark.parametrize(("index", "count"), [("torch.tensor(target)", 2), ("target", 1)])
def test_what_raises_in_one_branch_gives_callers_nothing(index, count):
    """It is said there; what the other branch returns is what callers go on with."""
    code = f"""
    def picked(output, target):
        if target is None:
            return output
        return torch.gather(output, 1, {index})

    def delta(score, x: torch.Tensor, target: list):
        return picked(score(x), target) - torch.tensor([1.0, 2.0])
    """
    found = [each for each in met(code) if "possible" not in each]
    assert len(found) == count


PARTS = """
def spread(x: torch.Tensor, names, flag):
    found = {{"x": x}}
    rest = {{}}
    if flag:
        y = x * 2
        found["y"] = x + 1
    else:
        y = {made}
        found["y"] = {made}
    for name in names:
        if not name:
            rest[name] = {made}
            continue
        rest[name] = x * 2
    return {result}
"""


@pytest.mark.parametrize(
    "result", ["y", "(y, flag)", "found", "(found, flag)", "{'y': y}", "rest", "(flag, rest)"]
)
def test_a_part_of_what_one_return_gives_is_now_here_and_now_there(result):
    assert confidences(PARTS.format(result=result, made="torch.zeros(3, 4)")) == [ODD]
    assert confidences(PARTS.format(result=result, made="x.new_zeros(3, 4)")) == []


def test_parts_that_are_two_things_need_not_be_together():
    code = """
    def both(x: torch.Tensor):
        return {"x": x * 2, "steps": torch.zeros(3)}, torch.zeros(3), x + 1
    """
    assert confidences(code) == []
