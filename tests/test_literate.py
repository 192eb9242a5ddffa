"""The documents of tests/literate are true, each section by itself; and one that is not fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from literate_documents import Section, complaints, expected, sections

FOLDER = Path(__file__).parent / "literate"
DOCUMENTS = sorted(FOLDER.glob("*.md"))
SECTIONS = [
    pytest.param(section, id=f"{document.stem}: {section.title}")
    for document in DOCUMENTS
    for section in sections(document.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("section", SECTIONS)
def test_what_the_document_says_is_so(section: Section, tmp_path: Path) -> None:
    said = list(complaints(section, tmp_path))
    assert not said, "\n".join(said)


def test_every_document_says_something() -> None:
    for document in DOCUMENTS:
        found = sections(document.read_text(encoding="utf-8"))
        assert found, document.name
        for section in found:
            said = [each for name, text in section.files().items() for each in expected(name, text)]
            shown = [block for block in section.blocks if block.language == "console"]
            assert said or shown, f"{document.name}: {section.title}"


PROGRAM = """\
# A title

```python
import torch
from devlint import reveal_device

x = torch.ones(3)
reveal_device(x)  # revealed: {answer}
# {comment}
x + torch.ones(3).cuda()
```

```console
$ devlint infer program.py:4
{shown}
```
"""
TRUE = {
    "answer": "tensor on cpu",
    "comment": 'error: [DEV101] "`+` needs one device"',
    "shown": "x = torch.ones(3)\n  1: `x`: tensor on cpu\n     line 4: made here on the default"
    " device\n  5: `torch.ones(3)`: tensor on cpu\n     line 4: made here on the default device",
}


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({}, None),
        ({"answer": "tensor on cuda"}, "not said: program.py:5: revealed: tensor on cuda"),
        ({"answer": "tensor"}, "not said: program.py:5: revealed: tensor"),
        ({"comment": "nothing is wrong here"}, "not expected: program.py:7: DEV101"),
        ({"comment": "error: [DEV102]"}, "not said: program.py:7: error: [DEV102]"),
        ({"comment": "warning: [DEV101]"}, "not said: program.py:7: warning: [DEV101]"),
        ({"comment": 'error: [DEV101] "no such words"'}, "not said: program.py:7: error: [DEV101]"),
        ({"shown": "something else"}, "line 14: `devlint infer program.py:4` prints"),
    ],
)
def test_a_document_that_is_not_true_is_told_where(
    changed: dict[str, str], complaint: str | None, tmp_path: Path
) -> None:
    (section,) = sections(PROGRAM.format(**{**TRUE, **changed}))
    said = list(complaints(section, tmp_path))
    if complaint is None:
        assert said == []
    else:
        assert any(each.startswith(complaint) for each in said), said
