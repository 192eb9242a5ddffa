"""The survey of a project: questions that its files answer together.

    survey.answer(Question.IS_NAMED_ELSEWHERE, root / "ops.py", "resize")
    # whether another file than ops.py names `resize`

A new question is a member of `Question` and a row of `_ANSWERS`: who asks it, keeps its answer and
asks it again in a later check need not know of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from devlint.project.cuda_builds import CudaBuilds
from devlint.project.cuda_callers import CudaCallers
from devlint.project.import_graph import Modules
from devlint.project.mentions import Mentions
from devlint.project.programs import Programs
from devlint.project.questions import Question


class Survey:
    """What is asked of a whole project. Its files are looked through when the first question comes
    that needs it.

    modules: the files of the project, by the names that imports have for them.
    """

    def __init__(self, root: Path, modules: Modules) -> None:
        self.mentions = Mentions(root)
        self._modules = modules

    @cached_property
    def cuda_builds(self) -> CudaBuilds:
        return CudaBuilds(self._modules, self.mentions.compiling())

    @cached_property
    def programs(self) -> Programs:
        return Programs(self._modules)

    @cached_property
    def cuda_callers(self) -> CudaCallers:
        return CudaCallers(self.programs)

    def look_through(self) -> None:
        """Look through the files now: copies of this process need not do so, each for itself."""
        self.mentions.look_through()
        self.programs.graph.look_through()

    def answer(self, question: str, file: Path, name: str) -> bool:
        """The answer to a question about a file and a name in it, as far as it is about any.
        Raises ValueError for one that is none."""
        found = _ANSWERS.get(question)
        if found is None:
            raise ValueError(f"no question to a project: {question!r}")
        return found(self, file, name)


_ANSWERS: dict[str, Callable[[Survey, Path, str], bool]] = {
    Question.NEEDS_CUDA: lambda survey, file, _: survey.cuda_builds.needed_by(file),
    Question.PROGRAMS_CHOOSE_DEFAULT_DEVICE: lambda survey, file, _: (
        survey.programs.choose_default_device(file)
    ),
    Question.PROGRAMS_OFFER_HOST: lambda survey, file, _: survey.programs.offer_host(file),
    Question.IS_IMPORTED: lambda survey, file, _: survey.programs.import_it(file),
    Question.CALLERS_DEMAND_CUDA: lambda survey, file, name: survey.cuda_callers.demand_cuda(
        file, name
    ),
    Question.IS_NAMED_BY_IMPORTERS: lambda survey, file, name: survey.programs.import_by_name(
        file, name
    ),
    Question.IS_NAMED_ELSEWHERE: lambda survey, file, name: survey.mentions.elsewhere(name, file),
    Question.REACHES: lambda survey, file, name: survey.mentions.reaches(name, file),
    Question.LOOKS_NAMES_UP: lambda survey, file, _: survey.mentions.looks_names_up(file),
    Question.SERVES_READERS: lambda survey, file, name: survey.mentions.serves_readers(name, file),
    Question.REBINDS_ELSEWHERE: lambda survey, file, name: survey.mentions.rebinds(name, file),
    Question.GIVES_ELSEWHERE: lambda survey, file, name: survey.mentions.gives(name, file),
    Question.SETS_OPTION: lambda survey, _, option: survey.mentions.sets(option),
    Question.MOVES_DATA: lambda survey, *_: survey.mentions.data_is_moved,
    Question.IS_APPLICATION: lambda survey, *_: survey.mentions.is_application,
    Question.IS_FOR_CUDA: lambda survey, *_: survey.mentions.is_for_cuda,
    Question.CHOOSES_CARD: lambda survey, *_: survey.mentions.chooses_card,
    Question.SAVES_FROM_HOST: lambda survey, *_: survey.mentions.saves_from_host,
}
