"""Names that are bound for accelerators alone: which reads of them fail where there is none."""

import pytest
from given import given


def failing(code: str) -> list[str]:
    return [fact.name for fact in given(code).accelerator_bindings]


BOUND = """
if torch.cuda.is_available():
    d = "cuda"
"""


def in_function(body: str, parameters: str = "rows, n") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"def work({parameters}):\n{lines}"


@pytest.mark.parametrize(
    ("read", "count"),
    [
        ("print(d)", 1),
        ("return d", 1),
        ("raise ValueError(d)", 1),
        ("for row in rows:\n    print(row, d)", 1),
        ("if n:\n    print(d)", 1),
        ("print([d for row in rows])", 1),
        ("with open(n) as file:\n    file.write(d)", 1),
        ("print(rows.to('cuda', d))", 1),
        ("d += 1", 0),  # which binds it, too
        ("print(rows.d, n(d=1))", 0),
        ("def later():\n    return d", 0),  # called who knows where
        ("del d", 0),
        ("if torch.cuda.is_available():\n    print(d)", 0),
        ("if not torch.cuda.is_available():\n    return 0\nprint(d)", 0),
        ("if rows.is_cuda:\n    print(d)", 0),
        ("if rows.device.type == 'cuda':\n    print(d)", 0),
        ("if rows.device == n:\n    print(d)", 0),
        ("print(torch.cuda.is_available() and d)", 0),
        ("print(d if torch.cuda.is_available() else 0)", 0),
        ("rows.cuda()\nprint(d)", 0),  # fails before
        ("try:\n    print(d)\nexcept NameError:\n    pass", 0),
        ("try:\n    n()\nexcept ValueError:\n    print(d)", 0),
        ("print([d for d in rows])", 0),
        ("for d in rows:\n    print(d)", 0),
        ("if n:\n    return 0\nprint(d)", 1),
        ("for row in rows:\n    if row:\n        continue\n    print(d)", 1),
        ("for row in rows:\n    break\nprint(d)", 1),
        ("assert n\nprint(d)", 1),
        ("assert torch.cuda.is_available()\nprint(d)", 0),
    ],
)
def test_a_read_fails_if_it_is_reached(read: str, count: int):
    assert len(failing(in_function(BOUND + read))) == count


@pytest.mark.parametrize(
    ("bound", "count"),
    [
        ("if torch.cuda.is_available():\n    d = 1", 1),
        ("if torch.cuda.is_available() and n:\n    d = 1", 1),
        ("if torch.cuda.is_available() or n:\n    d = 1", 0),
        ("if not torch.cuda.is_available():\n    pass\nelse:\n    d = 1", 1),
        ("if torch.cuda.is_available():\n    d = 1\nelif torch.xpu.is_available():\n    d = 2", 1),
        ("if torch.cuda.is_available():\n    d = 1\nelif n:\n    d = 2", 0),
        ("if torch.cuda.is_available():\n    d = 1\nelse:\n    d = 2", 0),
        ("if torch.cuda.is_available():\n    d = 1\nelse:\n    raise ValueError", 0),
        ("if torch.cuda.is_available():\n    d = 1\nelse:\n    if n:\n        raise ValueError", 1),
        ("d = 2\nif torch.cuda.is_available():\n    d = 1", 0),
        ("if torch.cuda.device_count() > 1:\n    d = 1", 1),
        ("if torch.cuda.device_count() == 0:\n    d = 1", 0),
        ("if rows.device.type == 'cuda':\n    d = 1", 1),
        ("if rows.device == n:\n    d = 1", 0),
        ("if torch.cuda.is_available():\n    for d in rows:\n        pass", 1),
        ("if torch.cuda.is_available():\n    with n() as d:\n        pass", 1),
        ("if torch.cuda.is_available():\n    import numpy as d", 1),
        ("if torch.cuda.is_available():\n    def d():\n        pass", 1),
        ("if torch.cuda.is_available():\n    e, (d, *f) = n", 1),
        ("if torch.cuda.is_available():\n    d: int = 1", 1),
        ("d: int\nif torch.cuda.is_available():\n    d = 1", 1),
        ("if torch.cuda.is_available():\n    d = 1\nfor row in rows:\n    d = row", 0),
        ("global d\nif torch.cuda.is_available():\n    d = 1", 0),
        ("if n:\n    if torch.cuda.is_available():\n        d = 1", 1),
    ],
)
def test_all_bindings_are_where_an_accelerator_is(bound: str, count: int):
    assert failing(in_function(bound + "\nprint(d)")) == ["d"] * count


@pytest.mark.parametrize(
    ("before", "count"),
    [
        ("flag = torch.cuda.is_available()", 1),
        ("flag = not n and torch.cuda.is_available()", 1),
        ("flag = torch.cuda.device_count()", 1),
        ("first = torch.cuda.is_available()\nflag = first and n", 1),
        ("flag = n or torch.cuda.is_available()", 0),
        ("flag = torch.cuda.is_available()\nflag = n", 0),
        ("flag = n", 0),
    ],
)
def test_a_flag_is_what_it_was_given(before: str, count: int):
    body = before + "\nif flag:\n    d = 1\nprint(d, torch.cuda.is_available())"
    assert len(failing(in_function(body))) == count


def test_what_was_bound_with_a_name_tells_of_it():
    bound = "n = 0\nif torch.cuda.is_available():\n    d = 1\n    n = torch.cuda.device_count()\n"
    for read in ("if n:\n    print(d)", "for i in range(n):\n    print(d)", "print(n and d)"):
        assert failing(in_function(bound + read)) == []
    kept = "if torch.cuda.is_available():\n    d = 1\n    self.ready = True\n"
    assert failing(in_function(kept + "if self.ready:\n    print(d)", "self")) == []


def test_a_module_has_names_of_its_own():
    assert failing(BOUND + "print(d)") == ["d"]
    assert failing("from other import *\n" + BOUND + "print(d)") == []
    assert failing(BOUND.replace("d =", "id =") + "print(id)") == []  # a builtin
    assert failing(BOUND + "def later():\n    return d") == []
    assert failing(BOUND + "def first():\n    global d\n    d = 1\n\nfirst()\nprint(d)") == []


def test_it_is_silent_where_an_accelerator_is_known_to_be():
    body = in_function(BOUND + "print(d)")
    assert failing(body) == ["d"]
    assert failing(f"@requires_cuda\n{body}") == []
    called = body + "\ndef main(rows):\n    if torch.cuda.is_available():\n        return 0\n"
    assert failing(called) == ["d"]
    asked = "\ndef main(rows):\n    assert torch.cuda.is_available()\n    work(rows, 1)\n"
    assert failing(body + asked) == []


def test_of_each_name_the_first_read_is_told():
    assert failing(in_function(BOUND + "print(d)\nprint(d)")) == ["d"]
