"""How sure a conclusion is, and how bad, by the assumptions that it rests on: one table.

A weight is the share of findings that are to be right among those that rest on the assumption: an
estimate, weighed on code with known bugs. A conclusion is as sure as its weakest assumption;
without any it is certain. Shares do not multiply: of errors that rest on several of the kinds about
callers and branches 21 of 33 were right, on one of them 41 of 77 (bugs of public histories, and 28
repositories never run before). A few kinds hold only by themselves: `BESIDE_ANOTHER`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from devlint.findings import Confidence, Severity
from devlint.inference.domain.assumptions import Assumption, AssumptionKind

K = AssumptionKind


# The least share of findings that has to be right; of less than the last nothing is said.
LEAST = {Confidence.CERTAIN: 0.97, Confidence.LIKELY: 0.85, Confidence.POSSIBLE: 0.5}


# On projects that nobody had looked at (`benchmarks/labels`), of findings on an option that nothing
# turns on 1 of 7 was right and worth mending, on a function that nothing calls 2 of 8, on a move
# of what was made of a value from out of sight none of 6, on a result that stays where a
# device was left out 2 of 96.
WEIGHTS: Mapping[AssumptionKind, float] = {
    K.UNKNOWN_CALLEE_KEEPS_DEVICE: 0.9,
    K.EXPLICIT_HOST_IS_MEANT_ELSEWHERE: 0.6,
    K.EXPLICIT_HOST_MEETS_INPUT: 0.6,
    K.LONG_STORY_HOLDS: 0.85,
    K.GUESSES_HOLD_TOGETHER: 0.4,
    K.SHAPE_SAYS_DEVICE: 0.9,
    K.SHAPED_TENSOR_MEETS_INPUT: 0.6,
    K.DEFAULT_DEVICE_IS_CPU: 0.6,
    K.CURRENT_DEVICE_IS_ANOTHER: 0.6,
    K.TWO_ACCELERATORS_MEET: 0.6,
    K.BACKEND_RUNS_EAGERLY: 0.6,
    K.OTHER_CARDS_ARE_USED: 0.9,
    K.PROCESS_USES_SEVERAL_CARDS: 0.6,
    K.FLAG_MAY_BE_OFF: 0.6,
    K.GIVEN_TENSOR_STAYS_BEHIND: 0.9,
    K.PARAMETER_STAYS_BEHIND: 0.6,
    K.HELD_MODULE_IS_FED_FROM_ELSEWHERE: 0.6,
    K.CONTRACT_OF_HOST_IS_BROKEN: 0.9,
    K.VALUE_IS_TENSOR: 0.6,
    K.VALUE_HAS_DIMENSIONS: 0.6,
    K.GIVEN_TENSOR_HAS_DIMENSIONS: 0.85,
    K.MODULE_REFUSES_NUMBERS: 0.9,
    K.OPTION_IS_TURNED_ON: 0.6,
    K.BRANCH_TAKEN: 0.9,
    K.KEPT_VALUE_IS_OF_BRANCH: 0.6,
    K.BRANCHES_COMBINE: 0.6,
    K.CALL_REACHES_OPERATION: 0.9,
    K.ARGUMENT_ARRIVES_AS_GIVEN: 0.9,
    K.OBJECT_IS_AS_SEEN: 0.9,
    K.ATTRIBUTE_IS_GIVEN_NOWHERE: 0.9,
    K.FUNCTION_IS_CALLED: 0.6,
    K.FUNCTION_IS_OFFERED: 0.9,
    K.CALLER_MEETS_RESULT: 0.9,
    K.RESULT_IS_COMPUTED_WITH: 0.6,
    K.RETURNS_SERVE_ALIKE: 0.6,
    K.CALLEE_BRINGS_TOGETHER: 0.9,
    K.CALLEE_IS_MODEL: 0.6,
    K.MODULE_USES_ALL_INPUTS: 0.9,
    K.MODULE_USES_LATER_INPUTS: 0.6,
    K.METHOD_USES_ITS_INPUTS: 0.6,
    K.NAME_SUGGESTS_MODEL: 0.9,
    K.BATCH_BELONGS_TOGETHER: 0.9,
    K.CALLER_IS_ACCELERATED: 0.9,
    K.GIVEN_MODULE_IS_ACCELERATED: 0.6,
    K.DETACHED_INPUT_IS_ACCELERATED: 0.85,
    K.INPUT_MAY_BE_ACCELERATED: 0.6,
    K.DECLARED_TENSOR_IS_ANYWHERE: 0.85,
    K.SOURCE_OF_MOVE_IS_ELSEWHERE: 0.9,
    K.GIVEN_VALUE_CHANGES_DEVICE: 0.6,
    K.SOURCE_OF_MOVE_IS_ACCELERATED: 0.6,
    K.CALLER_HANDS_IN_TENSORS: 0.6,
    K.CALL_SHOWS_TENSOR: 0.4,
    K.CALL_SHOWS_DEVICE: 0.4,
    K.CALLERS_ARE_NOT_ALL_ON_HOST: 0.6,
    K.NO_CALLER_IN_SIGHT: 0.6,
    K.LOCAL_CALLS_HAND_IN_ACCELERATOR: 0.6,
    K.FUNCTION_IS_MEANT_FOR_DEVICES: 0.9,
    K.HOST_CODE_GETS_DEVICE_TENSORS: 0.6,
    K.HOST_READS_OTHERS: 0.6,
    K.SCRIPT_RUNS_ON_ACCELERATOR: 0.6,
    K.CUDA_CODE_RUNS_ELSEWHERE: 0.6,
    K.TEST_RUNS_ON_ACCELERATOR: 0.6,
    K.EXPORT_RUNS_ON_ACCELERATOR: 0.6,
    K.DATA_CODE_GETS_DEVICE_TENSORS: 0.6,
    K.DATA_STAYS_ON_HOST: 0.6,
    K.MODULE_LEAVES_HOST: 0.6,
    K.OBJECT_LEAVES_HOST: 0.6,
    K.LIST_IS_JOINED_ON_DEVICE: 0.6,
    K.BOTH_DEVICES_ARE_MEANT: 0.6,
    K.TIME_MATTERS: 0.9,
    K.COLD_FILE_COUNTS: 0.6,
    K.COLD_CODE_COUNTS: 0.6,
    K.HOST_CAN_DO_WITHOUT: 0.6,
    K.DEVICE_IS_STILL_BUSY: 0.6,
    K.ONE_WAIT_COUNTS: 0.6,
    K.WRITE_IS_OF_ONE_ELEMENT: 0.6,
    K.GRAPH_IS_RECORDED: 0.6,
    K.GRADIENTS_ARE_ON: 0.9,
    K.RESULT_WAS_WANTED: 0.9,
    K.DEVICE_IS_FOR_ALL: 0.9,
    K.RESULT_IS_MOVED_IN_VAIN: 0.6,
    K.RESULT_STAYS_BEHIND: 0.6,
    K.VAIN_TEST_MATTERS: 0.6,
    K.GRADIENT_IS_WANTED: 0.9,
    K.GRADIENT_IS_READ_THERE: 0.6,
    K.NAME_IS_OF_DEVICE: 0.9,
    K.MODULE_IS_MOVED: 0.9,
    K.READING_MODULE_IS_MOVED: 0.6,
    K.MODULE_IS_IN_USE: 0.9,
    K.ATTRIBUTE_MEETS_DEVICE: 0.6,
    K.OPTIMIZER_COMES_FIRST: 0.9,
    K.OPTIMIZER_HAS_STATE: 0.6,
    K.RUNS_WITHOUT_CUDA: 0.9,
    K.HOST_CODE_RUNS_ELSEWHERE: 0.6,
    K.WEIGHTS_COME_FROM_CARD: 0.9,
    K.FILE_COMES_FROM_CARD: 0.6,
    K.PACKAGE_WAS_NOT_IMPORTED: 0.9,
    K.RANK_SETS_NO_DEVICE: 0.6,
    K.WORKERS_RUN: 0.9,
    K.LOADER_HAS_WORKERS: 0.6,
    K.WORK_OVERLAPS: 0.9,
    K.CODE_IS_TRACED: 0.9,
    K.BREAK_IN_GRAPH_MATTERS: 0.6,
    K.RELEASE_IS_KNOWN: 0.9,
}


# Guesses that hold by themselves and not beside another assumption: whether a call gets as far as
# the operation. Of findings that rest on it and on something else, in projects that nobody had
# looked at, 1 of 15 was right and worth mending (`benchmarks/labels`).
BESIDE_ANOTHER: Mapping[AssumptionKind, float] = {
    K.CALL_REACHES_OPERATION: 0.6,
}


# Who calls, and with what, is out of sight: the code works for some callers and breaks for others.
OF_CALLERS = frozenset(
    {K.CALLER_IS_ACCELERATED, K.DETACHED_INPUT_IS_ACCELERATED, K.INPUT_MAY_BE_ACCELERATED}
    | {K.GIVEN_MODULE_IS_ACCELERATED, K.DECLARED_TENSOR_IS_ANYWHERE, K.CALLER_HANDS_IN_TENSORS}
    | {K.CALL_SHOWS_TENSOR, K.CALLERS_ARE_NOT_ALL_ON_HOST, K.NO_CALLER_IN_SIGHT}
    | {K.LOCAL_CALLS_HAND_IN_ACCELERATOR}
    | {K.FUNCTION_IS_MEANT_FOR_DEVICES, K.HOST_CODE_GETS_DEVICE_TENSORS, K.CALLER_MEETS_RESULT}
)


# What the code in sight leaves open: whether it runs, which of its branches does, whether the
# module is moved, what becomes of values in code out of sight, and whether what two places say of
# one value holds at the same time. Of errors that rested on one of these, in projects that nobody
# had looked at, 12 of 47 were right and worth mending; of those on a module's move, 3 of 20; on a
# call's way to an operation 5 of 26 of the last four sets, and 3 of 38 of the last six where all of
# it is sure but the object whose method is called; on a move elsewhere 3 of 18, on a call that
# hands in a tensor of an accelerator none of 17, on an argument that arrives as it is given 1 of 10
# (`benchmarks/labels`).
LEFT_OPEN = frozenset(
    {
        K.OPTION_IS_TURNED_ON,
        K.BRANCH_TAKEN,
        K.KEPT_VALUE_IS_OF_BRANCH,
        K.LONG_STORY_HOLDS,
        K.SHAPE_SAYS_DEVICE,
        K.UNKNOWN_CALLEE_KEEPS_DEVICE,
    }
    | {K.CALLEE_BRINGS_TOGETHER, K.MODULE_USES_ALL_INPUTS, K.MODULE_USES_LATER_INPUTS}
    | {K.NAME_SUGGESTS_MODEL}
    | {K.FUNCTION_IS_CALLED, K.FUNCTION_IS_OFFERED}
    | {K.MODULE_IS_MOVED, K.READING_MODULE_IS_MOVED}
    | {K.CALL_REACHES_OPERATION, K.ARGUMENT_ARRIVES_AS_GIVEN, K.OBJECT_IS_AS_SEEN}
    | {K.SOURCE_OF_MOVE_IS_ELSEWHERE, K.BATCH_BELONGS_TOGETHER}
)


Choices: TypeAlias = Mapping[AssumptionKind, bool]  # the user's: taken for granted, or not made


NO_CHOICES: Choices = {}


def share(kinds: Iterable[AssumptionKind], choices: Choices = NO_CHOICES) -> float:
    """Of findings that rest on these kinds, the share that is right."""
    assumed = {kind for kind in kinds if choices.get(kind) is not True}
    weights = [0.0 if kind in choices else WEIGHTS[kind] for kind in assumed]
    if len(assumed - {K.LONG_STORY_HOLDS}) > 1:  # a long story is of the same guesses
        weights += [BESIDE_ANOTHER[kind] for kind in assumed if kind in BESIDE_ANOTHER]
    return min(weights, default=1.0)


def confidence(kinds: Iterable[AssumptionKind], choices: Choices = NO_CHOICES) -> Confidence | None:
    """How sure a conclusion is that rests on these; None if it is not worth saying."""
    right = share(kinds, choices)
    return next((level for level, least in LEAST.items() if right >= least), None)


def severity(
    claimed: Severity,
    kinds: Iterable[AssumptionKind],
    choices: Choices = NO_CHOICES,
    met: bool = False,
) -> Severity:
    """How bad it is: an error raises for whoever runs the code. What raises only for callers out of
    sight that hand in something on an accelerator breaks on other devices, and is a warning; so is
    what raises only if the code does what it does not show. `met`: a caller in sight shows it.
    """
    doubts = LEFT_OPEN if met else LEFT_OPEN | OF_CALLERS
    if claimed is Severity.ERROR and any(k in doubts and not choices.get(k) for k in kinds):
        return Severity.WARNING
    return claimed


def confidence_of(assumptions: Iterable[Assumption]) -> Confidence:
    """How sure a fact is, which is kept in any case: at the least it is possible."""
    return confidence(each.kind for each in assumptions) or Confidence.POSSIBLE


def strength(assumptions: Iterable[Assumption]) -> int:
    """The same as a number, to compare: 2 certain, 1 likely, 0 possible."""
    return confidence_of(assumptions).rank
