"""The heap: who writes to a container or an object, who sees it, and in which branches."""

import pytest
from given import met, revealed

# Each makes `held` hold a host tensor, writes an accelerator's, and reads it.
KINDS = {
    "dict": ('held = {"a": cpu}', 'held["a"] = cuda', 'held["a"]'),
    "update": ('held = {"a": cpu}', 'held.update({"a": cuda})', 'held["a"]'),
    "keyword": ('held = {"a": cpu}', "held.update(a=cuda)", 'held["a"]'),
    "list": ("held = [cpu]", "held[0] = cuda", "held[0]"),
    "nested": ('held = {"a": [cpu]}', 'held["a"][0] = cuda', 'held["a"][0]'),
    "inner": ('inner = [cpu]\nheld = {"a": inner}', "inner[0] = cuda", 'held["a"][0]'),
    "alias": ('held = {"a": cpu}\nalias = held', 'alias["a"] = cuda', 'held["a"]'),
    "field": ("held = Box()\nheld.a = cpu", "held.a = cuda", "held.a"),
    "field of an alias": ("held = Box()\nalias = held\nheld.a = cpu", "alias.a = cuda", "held.a"),
    "list in a field": ("held = Box()\nheld.a = [cpu]", "held.a[0] = cuda", "held.a[0]"),
    "object in a list": ("box = Box()\nbox.a = cpu\nheld = [box]", "held[0].a = cuda", "box.a"),
}
START = "class Box:\n    pass\ncpu = torch.zeros(3)\ncuda = torch.zeros(3).cuda()\n{make}\n"
kinds = pytest.mark.parametrize("kind", KINDS)


def placed(kind, body):
    """Where the code's reads find the tensor."""
    make, write, read = KINDS[kind]
    code = START.format(make=make) + body.replace("WRITE", write).replace("READ", f"reveal({read})")
    return revealed(code)


@kinds
def test_what_is_written_is_read(kind):
    assert placed(kind, "READ\nWRITE\nREAD") == ["cpu", "cuda"]


@kinds
def test_the_other_branch_does_not_see_it(kind):
    body = "if flag:\n    WRITE\n    READ\nelse:\n    READ"
    assert placed(kind, body) == ["cuda", "cpu"]


@kinds
def test_a_branch_that_returns_takes_it_along(kind):
    body = "def f():\n    if flag:\n        WRITE\n        return\n    READ"
    make, write, read = KINDS[kind]
    inside = body.replace("WRITE", write).replace("READ", f"reveal({read})")
    start = START.format(make=make).replace("\n", "\n    ")
    assert revealed(f"def g(flag):\n    {start}\n" + inside.partition("\n")[2]) == ["cpu"]


@kinds
def test_the_other_cases_of_a_match_do_not_see_it(kind):
    body = "match flag:\n    case 1:\n        WRITE\n    case 2:\n        READ"
    assert placed(kind, body) == ["cpu"]


@kinds
def test_the_other_handlers_do_not_see_it(kind):
    body = "try:\n    f()\nexcept ValueError:\n    WRITE\nexcept KeyError:\n    READ\n"
    assert placed(kind, body) == ["cpu"]


@kinds
def test_behind_the_branches_it_may_be_either(kind):
    assert placed(kind, "if flag:\n    WRITE\nREAD") == ["cpu | cuda"]


@kinds
def test_a_later_turn_of_a_loop_sees_it(kind):
    assert placed(kind, "for i in range(3):\n    READ\n    WRITE") == ["cpu | cuda"]


def test_one_branch_fills_a_batch_and_the_other_reads_it():
    assert (
        met(
            """
            batch = {"a": torch.zeros(3)}
            if flag:
                batch["a"] = torch.zeros(3).cuda()
            else:
                batch["a"] + torch.ones(3)
            """
        )
        == []
    )


def test_a_batch_that_is_moved_is_moved_for_all_its_names():
    code = """
    batch = {"a": torch.zeros(3)}
    alias = batch
    for key in batch:
        batch[key] = batch[key].cuda()
    reveal(alias["a"])
    """
    assert revealed(code) == ["cuda"]


def test_a_function_writes_to_a_list_of_its_file():
    code = """
    kept = []
    def keep():
        kept.append(torch.zeros(3).cuda())
    def read():
        reveal(kept[0])
    """
    assert revealed(code) == ["cuda"]


def test_a_nested_function_writes_to_a_list_of_the_one_around_it():
    code = """
    def f():
        kept = []
        def keep(x):
            kept.append(torch.zeros(3).cuda())
        keep(1)
        reveal(kept[0])
    """
    assert revealed(code) == ["cuda"]


def test_a_constructor_fills_what_methods_read():
    code = """
    class Store:
        def __init__(self):
            self.held = {}
            self.held["a"] = torch.zeros(3).cuda()

        def read(self):
            reveal(self.held["a"])
    """
    assert revealed(code) == ["cuda"]


def test_a_list_that_holds_itself_is_read_all_the_same():
    code = """
    root = [torch.zeros(3)]
    root.append(root)
    other = {"root": root}
    root.append(other)
    reveal(root[0])
    """
    assert len(revealed(code)) == 1


def test_a_copy_goes_its_own_way():
    code = """
    held = {"a": torch.zeros(3)}
    copied = held.copy()
    copied["a"] = torch.zeros(3).cuda()
    reveal(held["a"])
    """
    assert revealed(code) == ["cpu"]


def test_either_of_two_lists_may_be_written_to():
    code = """
    one = [torch.zeros(3)]
    other = [torch.zeros(3)]
    chosen = one if flag else other
    chosen[0] = torch.zeros(3).cuda()
    reveal(one[0])
    reveal(other[0])
    """
    assert revealed(code) == ["cpu | cuda", "cpu | cuda"]
