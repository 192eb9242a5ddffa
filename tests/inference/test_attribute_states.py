"""The states of an object: which of what its methods leave in an attribute is there at a read."""

import pytest
from given import met, plain_attributes, settled

COUNTER = """
class Counter:
    def __init__(self, n):
        self.counts = torch.zeros(n, device="cuda")

    def reset(self, n):
        self.counts = torch.zeros(n)

    def step(self, rows: torch.Tensor, chosen):
        {step}
"""


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("self.counts[rows.cpu()] += 1", 0),
        ("return self.counts * self.counts.abs()", 0),
        ("return self.counts.mul(self.counts)", 0),
        ("return torch.where(self.counts > 1, self.counts, 0 * self.counts)", 0),
        ("return self.counts * torch.ones(3)", 1),
        ("return self.counts * rows.cuda()", 1),
    ],
)
def test_an_object_is_in_one_state_at_a_time(step, found):
    assert len(met(COUNTER.format(step=step))) == found


@pytest.mark.parametrize("step", ["self.counts - rows.cuda()", "self.counts.sub(rows.cuda())"])
def test_one_of_several_states_is_assumed_where_it_meets_something(step):
    assert [m.rpartition(" ")[2] for m in met(COUNTER.format(step=f"return {step}"))] == ["likely"]


ORDER = """
class Rows:
    def __init__(self, n):
        self.rows = torch.zeros(n, device="{first}")

    def prepare(self, more):
        {prepare}

    def read(self, x: torch.Tensor, more):
        {before}
        return self.rows * x.cuda()
"""


@pytest.mark.parametrize(
    ("first", "prepare", "before", "found"),
    [
        ("cpu", 'self.rows = torch.ones(3, device="cuda")', "self.prepare(more)", []),
        ("cuda", "self.rows = torch.ones(3)", "self.prepare(more)", ["certain"]),
        ("cuda", "pass", "self.rows = torch.ones(3); self.prepare(more)", ["certain"]),
    ],
)
def test_behind_a_call_an_attribute_is_as_the_method_left_it(first, prepare, before, found):
    code = ORDER.format(first=first, prepare=prepare, before=before)
    assert [m.rpartition(" ")[2] for m in met(code)] == found


def test_what_was_assigned_before_such_a_call_is_there_no_more():
    code = """
    class Rows:
        def read(self, x: torch.Tensor):
            self.rows = torch.ones(3)
            self.place()
            return self.rows * x.cuda()

        def place(self):
            {place}
    """
    assert met(code.format(place="self.rows = self.rows.cuda()")) == []
    assert len(met(code.format(place="self.others = self.rows.cuda()"))) == 1


@pytest.mark.parametrize(
    ("first", "before", "found"),
    [
        ("cuda", "if more: self.rows = torch.ones(3)", ["likely"]),
        ("cuda", "for each in more: self.rows = torch.ones(3)", ["likely"]),
        ("cpu", "if more: self.rows = torch.ones(3)", ["certain"]),
        ("cuda", "self.rows = torch.ones(3)", ["certain"]),
    ],
)
def test_where_a_branch_does_not_assign_an_attribute_it_is_as_it_was(first, before, found):
    code = ORDER.format(first=first, prepare="pass", before=before)
    assert [m.rpartition(" ")[2] for m in met(code)] == found


KEPT = """
class Head(nn.Module):
    def __init__(self, net: nn.Module):
        super().__init__()
        self.features = torch.zeros(3)

        {hook}

    def forward(self, x: torch.Tensor):
        return self.features + x.exp()

def use(head: Head, table: dict):
    {use}
"""


@pytest.mark.parametrize(
    ("hook", "use", "found"),
    [
        ("def keep(module, given, made): self.features = made", "pass", 0),
        ("def keep(module, given, made): self.others = made", "pass", 1),
        ("pass", "head.features = head.features.cuda()", 0),
        ("pass", "head.others = head.features.cuda()", 1),
        ("pass", "return head.features == table", 1),
    ],
)
def test_what_a_hook_or_the_holder_of_an_object_assigns_takes_the_place_of_the_first(
    hook, use, found
):
    assert len([m for m in met(KEPT.format(hook=hook, use=use)) if "self.features" in m]) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def run(head: Head): head.features = head.features.cuda()", 0),
        ("def run(head: Tail): head.features = head.features.cuda()", 1),
        ("def run(head: Head): head.features = None", 1),
        ("class Tail(Head):\n    def run(self): print(self.features)", 1),
    ],
)
def test_another_file_that_names_the_class_may_do_so(text, found):
    code = KEPT.format(hook="pass", use="pass")
    assert len(met(code, {"trainer.py": text})) == found


NORM = """
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(n), requires_grad=False)
        self.backup = torch.zeros(n)

    def save(self):
        {save}

    def restore(self):
        self.mean = nn.Parameter(self.backup, requires_grad=False)
"""


@pytest.mark.parametrize(
    ("save", "is_open"),
    [
        ("self.backup.data = self.mean.data.clone()", True),
        ("self.backup = self.mean.data.clone()", True),
        ("self.backup.data = torch.ones(3)", False),
        ("pass", False),
    ],
)
def test_a_parameter_is_where_its_data_is_in_any_state_that_this_may_have(save, is_open):
    facts = settled(NORM.format(save=save))
    assert "Norm.mean@cpu overwrites parameter" in plain_attributes(facts)
    (rebound,) = [fact for fact in facts.plain_attributes if fact.overwrites]
    assert rebound.one_of_several is is_open


FLAG = """
class Net(nn.Module):
    def __init__(self, keeps, other):
        super().__init__()
        self.keeps = keeps
        self.other = other
        self.scale = nn.Parameter(torch.ones(3))

    def finish(self, rows: torch.Tensor):
        if self.{asked}:
            return None
        return rows * self.scale

    def turn(self, keeps):
        self.keeps = keeps

    def forward(self, x, keeps):
        if self.keeps:
            rows = torch.zeros(3)
        else:
            rows = x.exp()
        {between}
        return self.finish(rows)
"""


@pytest.mark.parametrize(
    ("asked", "between", "found"),
    [
        ("keeps", "pass", 0),
        ("other", "pass", 1),
        ("keeps", "self.turn(keeps)", 1),
    ],
)
def test_one_flag_of_an_object_decides_in_all_of_its_methods(asked, between, found):
    assert len(met(FLAG.format(asked=asked, between=between))) == found


GATES = """
class Gates(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, n))
        {built}

    def _fill(self):
        self.weight.data = torch.eye(3)

class Wide(Gates):
    def _fill(self):
        super()._fill()

{use}
"""


@pytest.mark.parametrize(
    ("built", "use", "found"),
    [
        ("self._fill()", "", 0),
        ("pass", "", 1),
        ("self._fill()", "def restart(gates: Gates): gates._fill()", 1),
    ],
)
def test_a_method_that_constructors_alone_call_runs_before_the_module_moves(built, use, found):
    facts = settled(GATES.format(built=built, use=use))
    assert len([fact for fact in facts.plain_attributes if fact.overwrites]) == found


CACHE = """
class Cache(nn.Module):
    def __init__(self, weight: torch.Tensor, pins):
        super().__init__()
        {kept}

    def rows(self, index: torch.Tensor):
        return {read}
"""


def test_a_forward_that_a_constructor_names_is_another_objects():
    code = """
    class Boxes:
        def forward(self):
            return torch.ones(4)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.boxes = Boxes()
            self.priors = self.boxes.forward()
            self.proj = nn.Linear(4, 4)

        def forward(self, x):
            return self.proj(x), x * self.priors
    """
    assert met(code) == ["self.priors@cpu * x@δ(x) certain"]


@pytest.mark.parametrize(
    ("kept", "read", "found"),
    [
        (
            "self.weight = weight.pin_memory() if pins else weight",
            "self.weight.index_select(0, torch.arange(3))",
            0,
        ),
        (
            "self.weight = weight.pin_memory() if pins else weight",
            "self.weight * index.cuda()",
            1,
        ),
    ],
)
def test_what_is_pinned_in_one_branch_is_on_the_host_in_the_other(kept, read, found):
    assert len(met(CACHE.format(kept=kept, read=read))) == found
