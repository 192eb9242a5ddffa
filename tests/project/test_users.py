"""All files that define a name are answered by one look at those that use it."""

import sys
from pathlib import Path

import pytest

from devlint.project.imports import Project
from devlint.project.questions import Question
from devlint.project.survey import Survey

USING = {
    "bare": "from m{i} import build\ndef make(): return build()\n",
    "of another's": "from m0 import build\ndef make(): return build()\n",
    "through a module": "import m{i}\ndef make(): return m{i}.build()\n",
    "methods": "class Maker:\n    def make(self): return self.build()\n",
    "of a variable": "def make(maker): return maker.build()\n",
    "within a package": "from . import m{i}\ndef make(): return m{i}.build()\n",
    "in quotation marks": "def make(table): return table['build']\n",
}


def project(folder: Path, using: str, count: int) -> Survey:
    folder.mkdir()
    for number in range(count):
        defining = f"class Builder{number}:\n    def build(self): ...\ndef build(): ...\n"
        (folder / f"m{number}.py").write_text(defining)
        (folder / f"u{number}.py").write_text(using.format(i=number))
    return Survey(folder, Project(folder))


def calls_of_answers(survey: Survey, folder: Path, count: int) -> int:
    calls = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(note)
    try:
        for number in range(count):
            for question in (Question.REACHES, Question.IS_NAMED_ELSEWHERE):
                survey.answer(question, folder / f"m{number}.py", "build")
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("using", USING.values(), ids=USING)
def test_four_times_as_many_files_take_at_most_five_times_the_calls(tmp_path, using):
    few, many = 50, 200
    counts = {}
    for count in (few, many):
        folder = tmp_path / str(count)
        survey = project(folder, using, count)
        survey.look_through()
        counts[count] = calls_of_answers(survey, folder, count)
    assert counts[many] <= 5 * counts[few]


@pytest.mark.parametrize("using", USING.values(), ids=USING)
def test_answers_are_the_same_whether_files_were_looked_through_before(tmp_path, using):
    asked = [
        (question, file, name)
        for question in (Question.REACHES, Question.IS_NAMED_ELSEWHERE, Question.SERVES_READERS)
        for file in ("m0.py", "m1.py", "u0.py")
        for name in ("build", "make", "Builder0", "Maker")
    ]
    once = project(tmp_path / "project", using, 3)
    once.look_through()
    for question, file, name in asked:
        fresh = Survey(once.mentions.root, Project(once.mentions.root))
        path = once.mentions.root / file
        assert once.answer(question, path, name) is fresh.answer(question, path, name)
