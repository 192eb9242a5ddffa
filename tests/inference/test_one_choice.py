"""Values that vary together: alternatives of one choice do not meet each other."""

import pytest
from given import given, met


def sure(code, **parts):
    """The contradictions that are shown by default."""
    return [m for m in met(code.format(**parts)) if not m.endswith("possible")]


def test_like_what_it_is_like_in_every_branch():
    code = """
        def clipped(x, quiet):
            score = x.cuda().sum(-1)
            score = score.cpu() if quiet else score
            return torch.max(score, {other})
    """
    assert sure(code, other="torch.zeros_like(score)") == []
    assert sure(code, other="torch.zeros(3)") != []


def test_one_attribute_of_two_objects_is_in_one_place():
    code = """
        class Anchored:
            def __init__(self, anchor=None):
                self.anchor = torch.zeros(3) if anchor is None else anchor.sigmoid()

            def same(self, other, x: torch.Tensor):
                if not isinstance(other, Anchored):
                    return False
                return torch.equal(self.anchor, {other})
    """
    assert sure(code, other="other.anchor") == []
    assert sure(code, other="x") == ["self.anchor@cpu torch.equal x@δ(x) likely"]


@pytest.mark.parametrize(
    ("condition", "made", "contradicts"),
    [
        ("not torch.is_tensor(image)", "torch.as_tensor(image)", False),
        ("image is None", "torch.zeros(3)", True),
    ],
)
def test_the_elements_of_a_list_are_all_tensors_or_none_is(condition, made, contradicts):
    found = sure(
        """
        def batched(images):
            found = []
            for image in images:
                if {condition}:
                    image = {made}
                found.append(image)
            return torch.stack(found)
        """,
        condition=condition,
        made=made,
    )
    assert bool(found) is contradicts


def test_what_one_number_was_made_of_still_meets_another_tensor():
    assert sure("""
        def at(x: torch.Tensor, steps):
            if not torch.is_tensor(steps):
                steps = torch.tensor([steps])
            return x.cumsum(0) * steps
    """) == ["steps@cpu * x.cumsum(0)@δ(x) likely"]


@pytest.mark.parametrize(
    ("key", "contradicts"), [('"shape"', True), ("k", True), ("self.name", False)]
)
def test_named_entries_do_not_stand_for_one_out_of_sight(key, contradicts):
    found = sure(
        """
        class Op(nn.Module):
            def __init__(self, name):
                super().__init__()
                self.name = name
                self.scale = nn.Parameter(torch.ones(3))

            def forward(self, sizes):
                drawn = dict()
                drawn["shape"] = torch.tensor(list(sizes))
                return [drawn[{key}] * self.scale for k in drawn]
        """,
        key=key,
    )
    assert bool(found) is contradicts


@pytest.mark.parametrize("first", ["dict(size=3)", "torch.arange(3)"])
def test_a_key_of_what_may_be_a_dict_is_no_index(first):
    found = sure(
        """
        def samples(x: torch.Tensor):
            yield {first}
            yield torch.zeros(3)

        def collect(x: torch.Tensor):
            for held in samples(x):
                yield held[x.argsort()]
        """,
        first=first,
    )
    assert bool(found) is (first == "torch.arange(3)")


@pytest.mark.parametrize(
    ("asks", "contradicts"),
    [("torch.onnx.is_in_onnx_export()", False), ("self.training", True)],
)
def test_the_code_is_run_and_not_exported(asks, contradicts):
    found = sure(
        """
        class Normalize(nn.Module):
            def forward(self, x: torch.Tensor):
                if {asks}:
                    mean = torch.zeros(3)
                else:
                    mean = x.mean(0)
                return x.cumsum(0) - mean
        """,
        asks=asks,
    )
    assert bool(found) is contradicts


@pytest.mark.parametrize(("made", "contradicts"), [("[0]", False), ("[3, 3]", True)])
def test_a_placeholder_is_one_inside_a_callee_as_well(made, contradicts):
    found = sure(
        """
        def linear(x: torch.Tensor, matrix: torch.Tensor):
            return x.mm(matrix)

        class Whitening(nn.Module):
            def __init__(self):
                super().__init__()
                self.inverse = torch.empty({made})

            def forward(self, x):
                return linear(x, self.inverse)
        """,
        made=made,
    )
    assert bool(found) is contradicts


DROPPED = """
    def bound(x, device=None):
        return torch.tensor(list(x), device=device)

    def both(a, b, device: torch.device):
        pair = torch.stack([bound(a), bound(b)])
        return {result}
"""


@pytest.mark.parametrize(("result", "moved"), [("pair, bound(a)", False), ("pair", False)])
def test_a_device_that_is_not_passed_on(result, moved):
    facts = given(DROPPED.format(result=result))
    assert facts.dropped_arguments
    assert all(fact.moved is moved for fact in facts.dropped_arguments)


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        ("value.to(device=device)", 0),
        ("nn.Buffer(value.to(device=device))", 0),
        ("nn.Parameter(torch.as_tensor(value, device=device))", 1),
    ],
)
def test_without_a_device_a_callee_may_leave_what_it_is_given_where_it_is(kept, count):
    code = f"""
        def keep(value, device=None):
            return {kept}

        def make(n, device):
            return keep(torch.ones(n, device=device))
    """
    assert len(given(code).dropped_arguments) == count


def test_what_is_joined_and_then_moved_is_moved():
    facts = given("""
        def bound(x, device=None):
            return torch.tensor(list(x), device=device)

        def both(a, b, device: torch.device):
            return torch.stack([bound(a), bound(b)]).to(device)
    """)
    assert [fact.moved for fact in facts.dropped_arguments] == [True, True]


@pytest.mark.parametrize("made", ["torch.from_numpy(x)", "torch.from_numpy(np.array(list(x)))"])
def test_what_an_input_is_made_into_and_what_is_computed_of_it_go_along(made):
    code = """
        import numpy as np

        def checked(x, other: torch.Tensor):
            if not torch.is_tensor(x):
                x = {made}
            return torch.equal(x, {beside})
        """
    assert sure(code, made=made, beside="x**2") == []
    assert sure(code, made=made, beside="other.to(0)") == [
        "x@cpu torch.equal other.to(0)@cuda:0 likely"
    ]


ARRAYS = """
    import numpy as np

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(3))

        def odds(self, x: np.ndarray | torch.Tensor):
            if {test}:
                x = {made}
            return {computed} * self.scale
"""


@pytest.mark.parametrize("computed", ["x", "x + x", "x / (1 - x)", "torch.where(x > 0, x, -x)"])
@pytest.mark.parametrize(
    ("test", "made"),
    [("isinstance(x, np.ndarray)", "torch.from_numpy(x)"), ("self.training", "torch.zeros(3)")],
)
def test_an_operation_on_several_values_of_one_choice_goes_each_way_of_it(computed, test, made):
    """What is computed of them is as sure as they are, however often it takes them."""
    (found,) = met(ARRAYS.format(test=test, made=made, computed=computed))
    assert found.endswith("δ(self) likely")


def test_what_is_one_of_several_kinds_is_no_surer_by_what_is_computed_of_it():
    code = """
        import numpy as np

        def as_torch(x):
            if isinstance(x, list):
                x = torch.tensor(x)
            if isinstance(x, np.ndarray):
                return torch.from_numpy(x)
            return x

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(3))

            def odds(self, x: np.ndarray | torch.Tensor):
                x = as_torch(x)
                return torch.log(x / (1 - x)) * {other}
    """
    assert [m for m in sure(code, other="self.scale") if m.endswith("certain")] == []
    moved = sure(code.replace("x = as_torch(x)", "x = torch.ones(3)"), other="self.scale")
    assert moved[0].endswith("certain")


HELPER = """
        import numpy as np

        def as_tensor(value):
            if isinstance(value, np.ndarray):
                value = torch.from_numpy(value)
            elif isinstance(value, list):
                value = torch.tensor(value)
            return value
"""


@pytest.mark.parametrize("operation", ["torch.eq(scores, labels)", "scores.eq(labels)"])
@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ("as_tensor(scores)", "as_tensor(labels)", 0),
        ("as_tensor(scores)", "as_tensor(labels).long()", 0),
        ("scores.cuda()", "as_tensor(labels)", 1),
    ],
)
def test_two_inputs_that_are_made_tensors_in_the_same_way_are_so_together(
    operation, scores, labels, expected
):
    """Who hands in an array for the one does so for the other, whichever function makes a tensor of
    it, and whichever of the two the method is of."""
    code = """
        def accuracy(scores, labels):
            scores, labels = {scores}, {labels}
            return {operation}
    """
    found = sure(HELPER + code, scores=scores, labels=labels, operation=operation)
    assert len(found) == expected


CONSTRUCTED = """
    class Kept:
        def __init__(self, net, device="cpu"):
            self.net = net
            self.table = {table}

    class Net(nn.Module):
        def __init__(self, n, device="cpu"):
            super().__init__()
            self.table = nn.Linear(n, n, device=device)

    class Outer(nn.Module):
        def __init__(self, n, device):
            super().__init__()
            self.net = Net(n)
            self.rows = torch.zeros(n, device=device)

    def build(n, net, device):
        return {built}, torch.ones(n, device=device)
"""


@pytest.mark.parametrize(
    ("table", "built", "found"),
    [
        ("torch.zeros(3, device=device)", "Kept(net)", ["Kept"]),
        ("torch.zeros(3, device=device)", "Kept(net, device)", []),
        ("torch.zeros(3).to(device)", "Kept(net)", ["Kept"]),
        # the device is only noted
        ("device", "Kept(net)", []),
        ("None", "Net(n)", ["Net"]),
        # what a module registers goes along with what holds it
        ("None", "Outer(n, device)", []),
    ],
)
def test_a_constructor_is_a_callee_too(table, built, found):
    facts = given(CONSTRUCTED.format(table=table, built=built))
    assert [fact.callee for fact in facts.dropped_arguments] == found
