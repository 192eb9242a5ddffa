"""Placements through branches, loops, handlers, matches and comprehensions."""

import pytest
from given import given, met, revealed, syncs


def test_branches_that_agree_leave_one_placement():
    assert revealed(
        """
        if flag:
            x = torch.zeros(3).cuda()
        else:
            x = torch.ones(3).cuda()
        reveal(x)
        """
    ) == ["cuda"]


def test_branches_that_differ_leave_both():
    assert revealed(
        """
        if flag:
            x = torch.zeros(3).cuda()
        else:
            x = torch.zeros(3)
        reveal(x)
        """
    ) == ["cpu | cuda"]


def test_what_only_some_branches_put_apart_is_likely_and_not_certain():
    assert met(
        """
        x = torch.zeros(3).cuda() if flag else torch.zeros(3)
        x + torch.ones(3).cuda()
        """
    ) == ["x@cpu + torch.ones(3).cuda()@cuda likely"]


def test_a_move_under_a_condition_counts_as_made():
    # the code that forgets the condition's other side is right on the machine that it is for
    assert revealed(
        """
        x = torch.zeros(3)
        if flag:
            x = x.cuda()
        reveal(x)
        """
    ) == ["cuda"]


def test_a_branch_that_leaves_says_nothing_about_what_follows():
    assert revealed(
        """
        def f(ok):
            if not ok:
                x = torch.zeros(3)
                raise ValueError
            else:
                x = torch.zeros(3).cuda()
            reveal(x)
        """
    ) == ["cuda"]


def test_an_elif_chain_that_ends_in_an_error_joins_only_what_falls_through():
    assert revealed(
        """
        if kind == 1:
            x = torch.zeros(3).cuda()
        elif kind == 2:
            x = torch.ones(3).cuda()
        else:
            raise ValueError
        reveal(x)
        """
    ) == ["cuda"]


def test_an_early_return_leaves_the_rest_to_the_other_case():
    assert revealed(
        """
        def f(x, done):
            y = torch.zeros(3)
            if done:
                return y
            y = y.cuda()
            reveal(y)
        """
    ) == ["cuda"]


def test_a_loop_sees_what_its_last_turn_left():
    assert met(
        """
        x = torch.zeros(3)
        for _ in range(3):
            y = x + torch.ones(3)
            x = torch.zeros(3).cuda()
        """
    ) == ["torch.ones(3)@cpu + x@cuda certain"]


def test_a_break_carries_its_placement_out_of_the_loop():
    assert revealed(
        """
        x = torch.zeros(3).cuda()
        for i in items:
            if i:
                break
            x = x.cpu()
        reveal(x)
        """
    ) == ["cpu | cuda"]


def test_the_else_of_a_loop_joins_with_its_breaks():
    assert revealed(
        """
        while go():
            x = torch.zeros(3).cuda()
            break
        else:
            x = torch.zeros(3, device="cuda")
        reveal(x)
        """
    ) == ["cuda"]


def test_a_handler_may_run_instead_of_the_body():
    assert revealed(
        """
        try:
            x = torch.zeros(3).cuda()
        except RuntimeError:
            x = torch.zeros(3)
        reveal(x)
        """
    ) == ["cpu | cuda"]


def test_finally_runs_in_any_case():
    assert revealed(
        """
        x = torch.zeros(3)
        try:
            work()
        finally:
            x = x.cuda()
        reveal(x)
        """
    ) == ["cuda"]


@pytest.mark.parametrize("error", ["RuntimeError", "Exception", "(ValueError, RuntimeError)"])
def test_a_contradiction_whose_error_is_caught_is_marked(error):
    assert met(
        f"""
        try:
            torch.zeros(3).cuda() + torch.ones(3)
        except {error}:
            pass
        """
    ) == ["torch.ones(3)@cpu + torch.zeros(3).cuda()@cuda certain caught"]


def test_a_handler_of_other_errors_catches_no_contradiction():
    assert met(
        """
        try:
            torch.zeros(3).cuda() + torch.ones(3)
        except KeyError:
            pass
        """
    ) == ["torch.ones(3)@cpu + torch.zeros(3).cuda()@cuda certain"]


def test_a_contradiction_that_a_test_expects_is_none():
    assert (
        met(
            """
            import pytest
            with pytest.raises(RuntimeError):
                torch.zeros(3).cuda() + torch.ones(3)
            """
        )
        == []
    )


def test_the_cases_of_a_match_are_branches():
    assert revealed(
        """
        match mode:
            case "gpu":
                x = torch.zeros(3).cuda()
            case _:
                x = torch.zeros(3)
        reveal(x)
        """
    ) == ["cpu | cuda"]


def test_a_sequence_pattern_binds_by_position():
    assert met(
        """
        match (torch.zeros(3), torch.ones(3).cuda()):
            case (a, b):
                a + b
        """
    ) == ["a@cpu + b@cuda certain"]


def test_a_with_block_is_run_in_place():
    assert revealed("with torch.no_grad():\n    x = torch.zeros(3).cuda()\nreveal(x)") == ["cuda"]


def test_comprehensions_hold_what_they_compute():
    assert revealed(
        """
        xs = [torch.zeros(3).cuda() for _ in range(3)]
        ys = {k: x.cpu() for k, x in enumerate(xs)}
        reveal(xs[0])
        reveal(ys[1])
        reveal(sum(x for x in xs))
        """
    ) == ["cuda", "cpu", "cuda"]


def test_operations_in_a_comprehension_are_seen():
    assert met(
        """
        xs = [torch.zeros(3).cuda()]
        [x + torch.ones(3) for x in xs]
        """
    ) == ["torch.ones(3)@cpu + x@cuda certain"]


def test_the_variable_of_a_comprehension_does_not_leak():
    assert revealed(
        """
        x = torch.zeros(3)
        ys = [x for x in [torch.ones(3).cuda()]]
        reveal(x)
        """
    ) == ["cpu"]


def test_a_lambda_is_a_function():
    assert revealed("f = lambda: torch.zeros(3).cuda()\nreveal(f())") == ["cuda"]
    assert met("f = lambda t: t + torch.ones(3)\nf(torch.zeros(3).cuda())") == [
        "torch.ones(3)@cpu + torch.zeros(3).cuda()@cuda likely inside t + torch.ones(3)"
    ]


def test_expressions_in_f_strings_are_evaluated():
    facts = given(
        """
        x = torch.zeros(3).cuda()
        message = f"{x.sum().item():.3f}"
        """
    )
    assert syncs(facts) == [".item() of x.sum()@cuda"]


def test_a_conditional_expression_holds_either_side():
    assert revealed("x = torch.zeros(3).cuda() if flag else torch.zeros(3)\nreveal(x)") == [
        "cpu | cuda"
    ]


def test_a_default_by_or_replaces_none():
    assert revealed("x = None\nx = x or torch.zeros(3).cuda()\nreveal(x)") == ["cuda"]


def test_isinstance_shows_that_a_parameter_is_a_tensor():
    assert met(
        """
        DEVICE = torch.device("cuda")

        def f(x):
            if isinstance(x, torch.Tensor):
                return x + torch.zeros(3)
            return x
        """
    ) == ["torch.zeros(3)@cpu + x@δ(x) likely"]


@pytest.mark.parametrize(
    ("negative", "found"),
    [
        ("label.new_zeros(3)", []),  # where `label` is, by the same branch
        ("rows.new_zeros(3)", ["[label, negative]@cpu torch.cat [label, negative]@δ(rows) likely"]),
    ],
)
def test_values_of_one_branch_are_not_compared_across_branches(negative, found):
    code = f"""
    def join(rows: torch.Tensor, label: torch.Tensor = None):
        if label is None:
            label = torch.ones(3)
        negative = {negative}
        return torch.cat([label, negative])
    """
    assert [m for m in met(code) if not m.endswith("possible")] == found


@pytest.mark.parametrize(("owner", "found"), [("store", 0), ("first", 1)])
def test_a_part_is_forgotten_when_its_owner_is_bound_anew(owner, found):
    code = f"""
    def fill(graph):
        first = graph.first
        for store in graph.stores:
            if store.empty:
                {owner}.x = torch.ones(3)
            else:
                {owner}.x = torch.zeros(3, device=graph.y.device) + {owner}.x.view(-1)
        return graph.y + 1
    """
    assert len(met(code)) == found


@pytest.mark.parametrize(("declares", "place"), [("    global scale\n", "δ(x)"), ("", "cpu")])
def test_a_global_that_a_function_rebinds_is_not_none_for_ever(declares, place):
    assert revealed(f"""
scale = None

def start(value):
{declares}    scale = value

def scaled(x: torch.Tensor):
    if scale is None:
        y = torch.zeros(3)
    else:
        y = x * 2
    reveal(y)
""") in ([place], [f"cpu | {place}"])


@pytest.mark.parametrize("flag", ["cfg.NUM_GPUS", "args.gpu_ids", "opt.n_gpu"])
def test_a_number_of_accelerators_is_true_where_there_are_some(flag):
    code = f"""
    def run(cfg, args, opt, x: torch.Tensor):
        if {flag}:
            x = x.cuda()
        reveal(x)
        if not {flag}:
            x = x.cpu()
        reveal(x)
    """
    assert revealed(code) == ["cuda", "cuda"]
    assert revealed(code.replace(flag, "cfg.verbose")) == ["cuda", "cpu | cuda"]


@pytest.mark.parametrize(
    ("moves", "found"),
    [
        ("    table = table.cuda()\n", []),
        ("", ["input: table@cpu net net@cuda certain"]),
    ],
)
def test_a_function_called_in_the_modules_body_reads_what_its_branches_left(moves, found):
    code = f"""
def load():
    return torch.ones(3, 3), torch.ones(3, 3)

table, labels = load()
if args.deep:
    net = nn.Linear(3, 3)
else:
    net = nn.Linear(3, 3, bias=False)
if args.cuda:
    net.cuda()
    labels = labels.cuda()
{moves}
def train(epoch):
    return net(table) - labels

for epoch in range(args.epochs):
    train(epoch)
"""
    assert met(code) == found


def test_what_a_function_called_in_the_modules_body_rebinds_stays_rebound():
    code = """
scale = torch.ones(3)
if args.deep:
    depth = 3
else:
    depth = 1

def start():
    global scale
    scale = scale.cuda()

start()

def scaled():
    reveal(scale)
"""
    assert revealed(code) == ["cuda"]


@pytest.mark.parametrize(
    ("begins", "test", "count"),
    [
        ("self.wide = False", "self.wide", 1),
        ("self.cache = (False, None)", "self.cache[0]", 0),  # who sets the one sets the other
        ("self.kind = 'wide'", "self.kind == 'narrow'", 1),
        ("self.hook = None", "self.hook is not None", 1),
        ("self._wide = False", "self._wide", 0),  # nobody else sets it
    ],
)
def test_an_attribute_only_begins_as_the_constructor_leaves_it(begins, test, count):
    code = f"""
    class Pad(nn.Module):
        def __init__(self):
            super().__init__()
            {begins}

        def forward(self, x: torch.Tensor):
            if {test}:
                return x + torch.zeros(3)
            return x
    """
    assert len(met(code)) == count


def test_an_object_that_is_handed_in_only_began_as_its_constructor_left_it():
    code = """
    class Words:
        def __init__(self, **tokens):
            self.mask = None
            for name, token in tokens.items():
                setattr(self, name, token)

    def hide(x: torch.Tensor, words: Words):
        if words.mask is None:
            raise ValueError
        return x + torch.zeros(3)
    """
    assert len(met(code)) == 1


def test_an_object_that_is_made_here_is_as_its_constructor_left_it():
    code = """
    class Words:
        def __init__(self):
            self.mask = None

    def hide(x: torch.Tensor):
        words = Words()
        if words.mask is None:
            return x
        return x + torch.zeros(3)
    """
    assert met(code) == []


def test_what_a_method_sets_itself_it_knows():
    code = """
    class Pad(nn.Module):
        def forward(self, x: torch.Tensor):
            self.wide = False
            if self.wide:
                return x + torch.zeros(3)
            return x
    """
    assert met(code) == []


@pytest.mark.parametrize(
    ("test", "places"),
    [
        ("isinstance(x, int) and reveal(x)", ["no tensor"]),
        ("not isinstance(x, int) or reveal(x)", ["no tensor"]),
        ("isinstance(x, int) or reveal(x)", ["δ(x)"]),
        ("(y := x.cpu()) is not None and reveal(y)", ["cpu"]),
    ],
)
def test_the_right_side_of_a_condition_runs_where_the_left_came_out_so(test, places):
    code = f"""
    def f(x):
        x = x.view(-1) if torch.is_tensor(x) else 3
        if {test}:
            pass
        x = torch.relu(x)
    """
    assert revealed(code) == places


@pytest.mark.parametrize("test", ["False", "0", "not True"])
def test_what_stands_behind_an_assertion_that_never_holds_does_not_run(test):
    clash = "torch.ones(3) + torch.ones(3).cuda()"
    assert met(f'assert {test}, "left as it was"\n{clash}\n') == []
    assert met(f"assert torch.cuda.is_available()\n{clash}\n")


KEPT = """
class Block(nn.Module):
    def __init__(self, saves, table):
        super().__init__()
        def moved(x):
            return x + torch.ones(3)
        {kept}
"""


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        ("self.act = moved", 1),
        ("self.act = saved if saves else moved", 1),
        ("self.act = lambda x: x + torch.ones(3)", 1),
        ("self.act = moved(table)", 0),
        ("self.rows = [moved(table) for each in saves]", 0),
    ],
)
def test_a_function_that_a_constructor_makes_and_its_object_keeps_runs_later(kept, count):
    """What it is given then is where the caller has it. One that the constructor calls is given
    what that has, which is on the host."""
    use = "\n    def forward(self, x: torch.Tensor):\n        return self.act(x)\n"
    assert len(met(KEPT.format(kept=kept) + use)) == count


@pytest.mark.parametrize(
    ("ending", "found"),
    [
        ("return", 0),
        ("sys.exit(1)", 0),
        ('pytest.skip("no card")', 0),
        ('self.skipTest("no card")', 0),
        ("self.done()", 1),
    ],
)
def test_what_ends_the_program_or_the_test_ends_the_way(ending, found):
    code = f"""
    import sys
    import pytest

    class TestRows:
        def test_rows(self, rows):
            x = torch.ones(3).cuda()
            if len(rows) > 3:
                x = torch.ones(3)
                {ending}
            return x + torch.ones(3).cuda()
    """
    assert len(met(code)) == found
