"""The questions that only a whole project answers: each has an answer, looked for once."""

from __future__ import annotations

import pytest
from fakes import Tree

from devlint.check.answers import Answers, Remembered
from devlint.check.repeats import joined
from devlint.project.imports import Project
from devlint.project.questions import Asked, Question
from devlint.project.survey import Survey

FILES = {
    "ops.py": "def resize(x):\n    return x\n",
    "run.py": "from ops import resize\n\nresize(3)\n",
}
NAMES = {Question.SETS_OPTION: "fast=True", Question.REBINDS_ELSEWHERE: "Ops.size"}


def asked(project: Project, question: Question) -> bool:
    return project.answer(question, project.root / "ops.py", NAMES.get(question, "resize"))


@pytest.mark.parametrize("question", Question, ids=lambda each: each.value)
def test_each_is_answered_and_holds_while_nothing_changes(tree: Tree, question: Question) -> None:
    project = Project(tree(FILES))
    answer = asked(project, question)
    assert list(project.asked.each_answer()) == [
        (question.value, str(project.root / "ops.py"), NAMES.get(question, "resize"), answer)
    ]
    assert Answers(project.root, Remembered({})).agree_with(project.asked)


def test_an_answer_is_looked_for_once(tree: Tree) -> None:
    root = tree(FILES)
    project = Project(root)
    assert asked(project, Question.IS_NAMED_ELSEWHERE)
    (root / "run.py").unlink()
    assert asked(project, Question.IS_NAMED_ELSEWHERE)


def test_another_answer_ends_what_rests_on_it(tree: Tree) -> None:
    root = tree(FILES)
    project = Project(root)
    asked(project, Question.IS_NAMED_ELSEWHERE)
    (root / "run.py").unlink()
    assert not Answers(root, Remembered({})).agree_with(project.asked)


def test_checks_that_disagree_share_no_report() -> None:
    first, second = Asked(), Asked()
    first.about(Question.IS_APPLICATION, "")[""] = True
    assert joined([first, first]) == first
    second.about(Question.IS_APPLICATION, "")[""] = False
    assert joined([first, second]) is None


def test_what_is_no_question_is_refused(tree: Tree) -> None:
    root = tree(FILES)
    with pytest.raises(ValueError, match="no question to a project: 'colour'"):
        Survey(root, Project(root)).answer("colour", root, "")
