"""Names carry placements: assignment, unpacking, walrus, scopes, star-args."""

import pytest
from given import given, met, revealed, syncs


def test_unpacking_a_tuple_keeps_each_placement():
    assert revealed(
        """
        a, b = torch.zeros(3), torch.zeros(3, device="cuda")
        reveal(a)
        reveal(b)
        """
    ) == ["cpu", "cuda"]


def test_swapping_two_names_swaps_their_placements():
    assert revealed(
        """
        a, b = torch.zeros(3), torch.zeros(3, device="cuda")
        a, b = b, a
        reveal(a)
        reveal(b)
        """
    ) == ["cuda", "cpu"]


def test_nested_targets_are_unpacked_in_depth():
    assert revealed(
        """
        (a, (b, c)) = torch.zeros(1), (torch.zeros(2).cuda(), torch.zeros(3))
        reveal(a), reveal(b), reveal(c)
        """
    ) == ["cpu", "cuda", "cpu"]


def test_a_starred_target_takes_what_is_left():
    assert revealed(
        """
        first, *rest, last = [
            torch.zeros(3, device="cuda"), torch.ones(2), torch.zeros(3, device="cuda:1")
        ]
        reveal(first)
        reveal(rest[0])
        reveal(last)
        """
    ) == ["cuda", "cpu", "cuda:1"]


def test_a_chained_assignment_binds_every_name():
    assert revealed("a = b = torch.zeros(3).cuda()\nreveal(a)\nreveal(b)") == ["cuda", "cuda"]


def test_an_annotated_assignment_is_an_assignment():
    assert revealed("x: torch.Tensor = torch.zeros(3).cuda()\nreveal(x)") == ["cuda"]


def test_augmented_assignment_stays_where_the_target_is():
    assert revealed('x = torch.zeros(3, device="cuda")\nx += 1\nreveal(x)') == ["cuda"]


def test_augmented_assignment_is_an_operation_on_both():
    assert met(
        """
        x = torch.zeros(3, device="cuda")
        x += torch.ones(3)
        """
    ) == ["torch.ones(3)@cpu += x@cuda certain"]


def test_a_walrus_binds_in_the_condition_and_after_it():
    assert revealed(
        """
        if (x := torch.zeros(3).cuda()) is not None:
            reveal(x)
        reveal(x)
        """
    ) == ["cuda", "cuda"]


def test_a_walrus_in_the_test_of_a_loop_binds_in_its_body():
    assert met(
        """
        while (x := torch.zeros(3).cuda()).sum() > 0:
            x + torch.ones(3)
        """
    ) == ["torch.ones(3)@cpu + x@cuda certain"]


def test_global_rebinds_the_name_of_the_module():
    assert revealed(
        """
        table = torch.zeros(3)

        def move():
            global table
            table = table.cuda()

        move()
        reveal(table)
        """
    ) == ["cuda"]


def test_nonlocal_rebinds_the_name_of_the_function_around():
    assert revealed(
        """
        def outer():
            x = torch.zeros(3)

            def inner():
                nonlocal x
                x = x.cuda()

            inner()
            reveal(x)
        """
    ) == ["cuda"]


def test_a_local_name_does_not_rebind_the_global_one():
    assert revealed(
        """
        x = torch.zeros(3)

        def f():
            x = torch.zeros(3).cuda()
            return x

        f()
        reveal(x)
        """
    ) == ["cpu"]


def test_a_deleted_name_holds_nothing():
    assert revealed("x = torch.zeros(3)\ndel x\nreveal(x)") == ["no tensor"]


def test_star_arguments_are_spread():
    assert met(
        """
        def add(a, b):
            return a + b

        pair = (torch.zeros(3), torch.zeros(3).cuda())
        add(*pair)
        """
    ) == ["pair@cpu + pair@cuda likely inside a + b"]


def test_double_star_arguments_are_spread_by_name():
    assert met(
        """
        def add(a, b):
            return a + b

        pair = {"a": torch.zeros(3), "b": torch.zeros(3).cuda()}
        add(**pair)
        """
    ) == ["pair@cpu + pair@cuda likely inside a + b"]


@pytest.mark.parametrize(
    ("taken", "asked", "where"),
    [
        ("a, b, c = *x.shape, y", "c", ["δ(y)"]),
        ("a, b, c = y, *x.shape", "a", ["δ(y)"]),
        ("a, b, c, d = y, *x.shape, z", "d", ["δ(z)"]),
        ("a, b, c = *x.shape, y", "torch.ones(b)", ["cpu"]),  # a number
    ],
)
def test_what_stands_beside_a_star_is_told_apart(taken, asked, where):
    code = f"""
    def run(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor):
        {taken}
        reveal({asked})
    """
    assert revealed(code) == where


def test_a_number_beside_a_device_bounds_a_loop_without_a_wait():
    code = """
    def run(x: torch.Tensor):
        rows, width, device = *x.shape, x.device
        for row in range(width):
            x = x + row
        return x
    """
    assert syncs(given(code)) == []
