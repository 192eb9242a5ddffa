"""Assumptions: all that must hold, and is not shown by the code, for a conclusion to be right.

The interpreter only ever adds assumptions, each with the place that caused it; how sure they leave
a conclusion is the policy's to say (`confidence/policy.py`). An assumption reads after "assuming:",
so it says that something is so: "`net` is a model, by its name".
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from devlint.records import dataclass

if TYPE_CHECKING:
    from devlint.inference.domain.provenance import Site


class AssumptionKind(str, enum.Enum):
    """One kind of assumption: what is taken for granted, in a few words."""

    # Where a value is
    UNKNOWN_CALLEE_KEEPS_DEVICE = "unknown-callee-keeps-device"
    EXPLICIT_HOST_IS_MEANT_ELSEWHERE = "explicit-host-is-meant-elsewhere"
    EXPLICIT_HOST_MEETS_INPUT = "explicit-host-meets-input"
    LONG_STORY_HOLDS = "long-story-holds"
    GUESSES_HOLD_TOGETHER = "guesses-hold-together"
    SHAPE_SAYS_DEVICE = "shape-says-device"
    SHAPED_TENSOR_MEETS_INPUT = "shaped-tensor-meets-input"
    DEFAULT_DEVICE_IS_CPU = "default-device-is-cpu"
    CURRENT_DEVICE_IS_ANOTHER = "current-device-is-another"
    TWO_ACCELERATORS_MEET = "two-accelerators-meet"
    BACKEND_RUNS_EAGERLY = "backend-runs-eagerly"
    OTHER_CARDS_ARE_USED = "other-cards-are-used"
    PROCESS_USES_SEVERAL_CARDS = "process-uses-several-cards"
    FLAG_MAY_BE_OFF = "flag-may-be-off"
    GIVEN_TENSOR_STAYS_BEHIND = "given-tensor-stays-behind"
    PARAMETER_STAYS_BEHIND = "parameter-stays-behind"
    HELD_MODULE_IS_FED_FROM_ELSEWHERE = "held-module-is-fed-from-elsewhere"
    CONTRACT_OF_HOST_IS_BROKEN = "contract-of-host-is-broken"

    # What a value is
    VALUE_IS_TENSOR = "value-is-tensor"
    VALUE_HAS_DIMENSIONS = "value-has-dimensions"
    GIVEN_TENSOR_HAS_DIMENSIONS = "given-tensor-has-dimensions"
    MODULE_REFUSES_NUMBERS = "module-refuses-numbers"

    # What runs
    OPTION_IS_TURNED_ON = "option-is-turned-on"
    BRANCH_TAKEN = "branch-taken"
    KEPT_VALUE_IS_OF_BRANCH = "kept-value-is-of-branch"
    BRANCHES_COMBINE = "branches-combine"
    CALL_REACHES_OPERATION = "call-reaches-operation"
    ARGUMENT_ARRIVES_AS_GIVEN = "argument-arrives-as-given"
    OBJECT_IS_AS_SEEN = "object-is-as-seen"
    ATTRIBUTE_IS_GIVEN_NOWHERE = "attribute-is-given-nowhere"
    FUNCTION_IS_CALLED = "function-is-called"
    FUNCTION_IS_OFFERED = "function-is-offered"
    CALLER_MEETS_RESULT = "caller-meets-result"
    RESULT_IS_COMPUTED_WITH = "result-is-computed-with"
    RETURNS_SERVE_ALIKE = "returns-serve-alike"

    # What is out of sight
    CALLEE_BRINGS_TOGETHER = "callee-brings-together"
    CALLEE_IS_MODEL = "callee-is-model"
    MODULE_USES_ALL_INPUTS = "module-uses-all-inputs"
    MODULE_USES_LATER_INPUTS = "module-uses-later-inputs"
    METHOD_USES_ITS_INPUTS = "method-uses-its-inputs"
    NAME_SUGGESTS_MODEL = "name-suggests-model"
    BATCH_BELONGS_TOGETHER = "batch-belongs-together"

    # Who calls
    CALLER_IS_ACCELERATED = "caller-is-accelerated"
    GIVEN_MODULE_IS_ACCELERATED = "given-module-is-accelerated"
    DETACHED_INPUT_IS_ACCELERATED = "detached-input-is-accelerated"
    INPUT_MAY_BE_ACCELERATED = "input-may-be-accelerated"
    DECLARED_TENSOR_IS_ANYWHERE = "declared-tensor-is-anywhere"
    SOURCE_OF_MOVE_IS_ELSEWHERE = "source-of-move-is-elsewhere"
    GIVEN_VALUE_CHANGES_DEVICE = "given-value-changes-device"
    SOURCE_OF_MOVE_IS_ACCELERATED = "source-of-move-is-accelerated"
    CALLER_HANDS_IN_TENSORS = "caller-hands-in-tensors"
    CALL_SHOWS_TENSOR = "call-shows-tensor"
    CALL_SHOWS_DEVICE = "call-shows-device"
    CALLERS_ARE_NOT_ALL_ON_HOST = "callers-are-not-all-on-host"
    NO_CALLER_IN_SIGHT = "no-caller-in-sight"
    LOCAL_CALLS_HAND_IN_ACCELERATOR = "local-calls-hand-in-accelerator"
    FUNCTION_IS_MEANT_FOR_DEVICES = "function-is-meant-for-devices"
    HOST_CODE_GETS_DEVICE_TENSORS = "host-code-gets-device-tensors"
    HOST_READS_OTHERS = "host-reads-others"

    # What kind of code it is
    SCRIPT_RUNS_ON_ACCELERATOR = "script-runs-on-accelerator"
    CUDA_CODE_RUNS_ELSEWHERE = "cuda-code-runs-elsewhere"
    TEST_RUNS_ON_ACCELERATOR = "test-runs-on-accelerator"
    EXPORT_RUNS_ON_ACCELERATOR = "export-runs-on-accelerator"
    DATA_CODE_GETS_DEVICE_TENSORS = "data-code-gets-device-tensors"
    DATA_STAYS_ON_HOST = "data-stays-on-host"
    MODULE_LEAVES_HOST = "module-leaves-host"
    OBJECT_LEAVES_HOST = "object-leaves-host"
    LIST_IS_JOINED_ON_DEVICE = "list-is-joined-on-device"

    # What a rule adds
    BOTH_DEVICES_ARE_MEANT = "both-devices-are-meant"

    # What it costs
    TIME_MATTERS = "time-matters"
    COLD_FILE_COUNTS = "cold-file-counts"
    COLD_CODE_COUNTS = "cold-code-counts"
    HOST_CAN_DO_WITHOUT = "host-can-do-without"
    DEVICE_IS_STILL_BUSY = "device-is-still-busy"
    ONE_WAIT_COUNTS = "one-wait-counts"
    WRITE_IS_OF_ONE_ELEMENT = "write-is-of-one-element"
    GRAPH_IS_RECORDED = "graph-is-recorded"
    GRADIENTS_ARE_ON = "gradients-are-on"

    # What is meant
    RESULT_WAS_WANTED = "result-was-wanted"
    DEVICE_IS_FOR_ALL = "device-is-for-all"
    RESULT_IS_MOVED_IN_VAIN = "result-is-moved-in-vain"
    RESULT_STAYS_BEHIND = "result-stays-behind"
    VAIN_TEST_MATTERS = "vain-test-matters"
    GRADIENT_IS_WANTED = "gradient-is-wanted"
    GRADIENT_IS_READ_THERE = "gradient-is-read-there"
    NAME_IS_OF_DEVICE = "name-is-of-device"

    # What becomes of objects
    MODULE_IS_MOVED = "module-is-moved"
    READING_MODULE_IS_MOVED = "reading-module-is-moved"
    MODULE_IS_IN_USE = "module-is-in-use"
    ATTRIBUTE_MEETS_DEVICE = "attribute-meets-device"
    OPTIMIZER_COMES_FIRST = "optimizer-comes-first"
    OPTIMIZER_HAS_STATE = "optimizer-has-state"

    # Where and when it runs
    RUNS_WITHOUT_CUDA = "runs-without-cuda"
    HOST_CODE_RUNS_ELSEWHERE = "host-code-runs-elsewhere"
    WEIGHTS_COME_FROM_CARD = "weights-come-from-card"
    FILE_COMES_FROM_CARD = "file-comes-from-card"
    PACKAGE_WAS_NOT_IMPORTED = "package-was-not-imported"
    RANK_SETS_NO_DEVICE = "rank-sets-no-device"
    WORKERS_RUN = "workers-run"
    LOADER_HAS_WORKERS = "loader-has-workers"
    WORK_OVERLAPS = "work-overlaps"
    CODE_IS_TRACED = "code-is-traced"
    BREAK_IN_GRAPH_MATTERS = "break-in-graph-matters"
    RELEASE_IS_KNOWN = "release-is-known"


K = AssumptionKind


MEANINGS: Mapping[AssumptionKind, str] = {
    K.UNKNOWN_CALLEE_KEEPS_DEVICE: "A function out of sight returns tensors where its arguments "
    "are.",
    K.EXPLICIT_HOST_IS_MEANT_ELSEWHERE: "A tensor was put on the host on purpose, and not for what "
    "it meets: a module's tensor, or one on a device that the caller chose.",
    K.EXPLICIT_HOST_MEETS_INPUT: "A tensor was put on the host on purpose, and the input that it "
    "meets is elsewhere.",
    K.LONG_STORY_HOLDS: "A value came to where it is by many steps, and each is as it seems.",
    K.GUESSES_HOLD_TOGETHER: "Two guesses at one place are right at the same time.",
    K.SHAPE_SAYS_DEVICE: "A tensor made with the shape of another is for what lives where that "
    "does.",
    K.SHAPED_TENSOR_MEETS_INPUT: "Such a tensor meets its like, though nothing in sight brings "
    "them together.",
    K.DEFAULT_DEVICE_IS_CPU: "A function makes tensors on the CPU by default, though calls of it "
    "stand under another default device, or its programs choose one.",
    K.CURRENT_DEVICE_IS_ANOTHER: "The current device, `cuda`, is another one than `cuda:1`, "
    "or than the card of what a caller hands in.",
    K.TWO_ACCELERATORS_MEET: "One machine has accelerators of two types.",
    K.BACKEND_RUNS_EAGERLY: "A backend that takes host tensors as they are in its lazy mode, as "
    "`hpu` does, runs eagerly.",
    K.OTHER_CARDS_ARE_USED: "The code runs on machines with several cards, and on another than the "
    "current one.",
    K.PROCESS_USES_SEVERAL_CARDS: "A process uses another card than its current one, though the "
    "project makes one current for each of its processes.",
    K.FLAG_MAY_BE_OFF: "Where a flag such as `use_cuda` is on, not everything is on the current "
    "card.",
    K.GIVEN_TENSOR_STAYS_BEHIND: "A module is moved after it was made, and not the tensor that its "
    "constructor was given: that is no parameter of another module.",
    K.PARAMETER_STAYS_BEHIND: "A parameter that was handed to another object is not moved with it.",
    K.HELD_MODULE_IS_FED_FROM_ELSEWHERE: "An object that leaves its module on the host gets inputs "
    "from elsewhere.",
    K.CONTRACT_OF_HOST_IS_BROKEN: "A module, or a device that the caller chose, is no host where a "
    "contract asks for the host.",
    K.VALUE_IS_TENSOR: "A value that may be an array is a tensor.",
    K.VALUE_HAS_DIMENSIONS: "A tensor that may have no dimensions has some: one without "
    "meets every device.",
    K.GIVEN_TENSOR_HAS_DIMENSIONS: "The same, of a tensor that a module's constructor is given: a "
    "number would be handed in as one.",
    K.MODULE_REFUSES_NUMBERS: "A module refuses a tensor without dimensions from the host.",
    K.OPTION_IS_TURNED_ON: "An option is turned on that is off by default, though nothing in the "
    "project does.",
    K.BRANCH_TAKEN: "A value is what one of several branches left.",
    K.KEPT_VALUE_IS_OF_BRANCH: "The same of what a module keeps, or of which of its modules it is "
    "that it calls: that goes by what it was made with, as where it is does.",
    K.BRANCHES_COMBINE: "Two values come from branches that may be taken together.",
    K.CALL_REACHES_OPERATION: "A call reaches the operation in its callee with what it hands in.",
    K.OBJECT_IS_AS_SEEN: "The object whose method is called is as the code in sight has left it.",
    K.ATTRIBUTE_IS_GIVEN_NOWHERE: "Nothing out of sight gives an object an attribute that "
    "nothing in sight gives it.",
    K.ARGUMENT_ARRIVES_AS_GIVEN: "What a call hands in comes as it is to an operation that every "
    "call of its callee reaches.",
    K.FUNCTION_IS_CALLED: "A function that nothing in the project calls is called by somebody.",
    K.FUNCTION_IS_OFFERED: "The same of a project that others install: its users call it.",
    K.CALLER_MEETS_RESULT: "The caller brings what one `return` gives together with what it has.",
    K.RESULT_IS_COMPUTED_WITH: "The caller computes with a result that stands for nothing.",
    K.RETURNS_SERVE_ALIKE: "What one `return` gives, early or for another setting, is used as what "
    "another one gives.",
    K.CALLEE_BRINGS_TOGETHER: "A function out of sight brings its arguments together.",
    K.CALLEE_IS_MODEL: "A function out of sight computes with its arguments as a model does, "
    "though it is not called like one.",
    K.MODULE_USES_ALL_INPUTS: "A module whose class is out of sight computes with its first "
    "input, and with those made for it, and reads none of them on the host.",
    K.MODULE_USES_LATER_INPUTS: "The same of a later input that comes from elsewhere: it is no "
    "index, which may be on the host, and the module does not move it.",
    K.METHOD_USES_ITS_INPUTS: "A method of a moved module, out of sight, computes with what it is "
    "given, and where the module is.",
    K.NAME_SUGGESTS_MODEL: "What is called `model`, `net` or the like is a model.",
    K.BATCH_BELONGS_TOGETHER: "All parts of a batch are needed where one of them was moved to.",
    K.CALLER_IS_ACCELERATED: "Callers hand in tensors on an accelerator.",
    K.GIVEN_MODULE_IS_ACCELERATED: "Callers hand in a module on an accelerator, which the function "
    "calls with what it makes on the host.",
    K.DETACHED_INPUT_IS_ACCELERATED: "The same, of a tensor that the function "
    "detaches, and does not copy.",
    K.INPUT_MAY_BE_ACCELERATED: "The same, of an input that the host reads as it is.",
    K.DECLARED_TENSOR_IS_ANYWHERE: "The same, of one that a function declares as a tensor, and so "
    "promises to take from any device.",
    K.SOURCE_OF_MOVE_IS_ELSEWHERE: "What is moved to a device at one place is not on it before.",
    K.GIVEN_VALUE_CHANGES_DEVICE: "What is made of a value from out of sight is not yet on the "
    "device that it is moved to.",
    K.SOURCE_OF_MOVE_IS_ACCELERATED: "What a function brings to a device itself, elsewhere in it, "
    "is on one already.",
    K.CALLER_HANDS_IN_TENSORS: "Callers that may hand in arrays hand in tensors, too.",
    K.CALL_SHOWS_TENSOR: "What a function of the host gets, and nothing in the function that hands "
    "it on shows to be a tensor, is one on an accelerator.",
    K.CALL_SHOWS_DEVICE: "What a function compares with the name of a device is a `torch.device`, "
    "which nothing but a call in sight can show.",
    K.CALLERS_ARE_NOT_ALL_ON_HOST: "The calls in sight hand in what is on the host, and others do "
    "not.",
    K.NO_CALLER_IN_SIGHT: "A private function of which no call is in sight gets tensors on an "
    "accelerator.",
    K.LOCAL_CALLS_HAND_IN_ACCELERATOR: "The calls of a local function hand in tensors on an "
    "accelerator.",
    K.FUNCTION_IS_MEANT_FOR_DEVICES: "A function that others import works with tensors on an "
    "accelerator, though nothing in it has to do with devices.",
    K.HOST_CODE_GETS_DEVICE_TENSORS: "The same, of a function of a script, or of one that is "
    "private or called by Python.",
    K.HOST_READS_OTHERS: "What the host reads as it is, in the same function, is not what is "
    "elsewhere here.",
    K.SCRIPT_RUNS_ON_ACCELERATOR: "A script that asks for no accelerator runs on one.",
    K.CUDA_CODE_RUNS_ELSEWHERE: "Code that shows to be for CUDA is to run elsewhere, too.",
    K.TEST_RUNS_ON_ACCELERATOR: "A test, by the path of its file, or a method that looks at the "
    "shape of what its module gives alone, runs on an accelerator.",
    K.EXPORT_RUNS_ON_ACCELERATOR: "A function that exports a module to ONNX runs where the module "
    "is on an accelerator.",
    K.DATA_CODE_GETS_DEVICE_TENSORS: "A file that prepares data, by its path, gets tensors on an "
    "accelerator.",
    K.DATA_STAYS_ON_HOST: "A batch of rows out of sight is on the host, though data sets of the "
    "project move what they hold.",
    K.MODULE_LEAVES_HOST: "A module is moved, though all that make one in the project leave it on "
    "the host.",
    K.OBJECT_LEAVES_HOST: "An object whose device is the host is moved from there.",
    K.LIST_IS_JOINED_ON_DEVICE: "What a function puts into lists, and joins, is not on the host.",
    K.BOTH_DEVICES_ARE_MEANT: "Nothing out of sight brings two values together that the code puts "
    "on two devices.",
    K.TIME_MATTERS: "The time that could be spared matters where the code runs.",
    K.COLD_FILE_COUNTS: "It matters in a test, a benchmark, an export, code that prepares data, or "
    "code that was put aside or taken over, by the path of the file.",
    K.COLD_CODE_COUNTS: "It matters in code that runs once, now and then, only to evaluate, or "
    "that nothing in sight calls.",
    K.HOST_CAN_DO_WITHOUT: "The host does not need a value where it reads it.",
    K.DEVICE_IS_STILL_BUSY: "The device still works when the host reads from it.",
    K.ONE_WAIT_COUNTS: "One wait slows down a step of which nothing shows that it has many.",
    K.WRITE_IS_OF_ONE_ELEMENT: "`x[i] = ...` writes one element, and no row.",
    K.GRAPH_IS_RECORDED: "Autograd records a value, though no call in sight shows it.",
    K.GRADIENTS_ARE_ON: "Gradients are on where a value is made or read.",
    K.RESULT_WAS_WANTED: "Code that has no effect was meant to have one.",
    K.DEVICE_IS_FOR_ALL: "A function that takes a device is to work there with all that it makes.",
    K.RESULT_STAYS_BEHIND: "What comes of a call that is given no device is not moved afterwards, "
    "and is not where it is wanted.",
    K.RESULT_IS_MOVED_IN_VAIN: "What is made or moved in vain should be where it was meant to be, "
    "though whoever gets or reads it moves it there.",
    K.VAIN_TEST_MATTERS: "A test that always comes out true matters, though what it guards does "
    "nothing where it should not.",
    K.GRADIENT_IS_WANTED: "A tensor that requires grad and is kept by a module is to be trained.",
    K.GRADIENT_IS_READ_THERE: "The gradient is wanted of a moved tensor, and not of what it was "
    "moved from.",
    K.NAME_IS_OF_DEVICE: "What is compared, or used as a device, is a `torch.device`.",
    K.MODULE_IS_MOVED: "A module is moved after it was made.",
    K.READING_MODULE_IS_MOVED: "The same, before the host reads what it has, in a method that no "
    "framework calls and that has nothing to do with devices.",
    K.MODULE_IS_IN_USE: "A module is moved, trained or saved after it was made.",
    K.ATTRIBUTE_MEETS_DEVICE: "What a module keeps meets what lives on its device.",
    K.OPTIMIZER_COMES_FIRST: "The state of an optimizer is loaded before the module is moved.",
    K.OPTIMIZER_HAS_STATE: "An optimizer, or what it is given, keeps what it had before the move.",
    K.RUNS_WITHOUT_CUDA: "The code is to run on machines without CUDA.",
    K.HOST_CODE_RUNS_ELSEWHERE: "What is made on the host, by its type, is wanted elsewhere, too.",
    K.WEIGHTS_COME_FROM_CARD: "The weights in a file were saved on an accelerator.",
    K.FILE_COMES_FROM_CARD: "A file of which nothing is known holds tensors of an accelerator.",
    K.PACKAGE_WAS_NOT_IMPORTED: "A package that adds a backend to torch is not imported elsewhere.",
    K.RANK_SETS_NO_DEVICE: "No process of a rank calls `torch.cuda.set_device` first.",
    K.WORKERS_RUN: "The processes of a DataLoader are forked, and come to the code.",
    K.LOADER_HAS_WORKERS: "A DataLoader out of sight has worker processes.",
    K.WORK_OVERLAPS: "Nothing out of sight waits for what the device still does.",
    K.CODE_IS_TRACED: "The code runs inside of what captures, maps or compiles it.",
    K.BREAK_IN_GRAPH_MATTERS: "A compiled graph that is cut in two costs more than it is worth.",
    K.RELEASE_IS_KNOWN: "The PyTorch that runs the code is one of the releases that devlint knows.",
}


# All findings of a rule rest on these, whatever the code: its page says so, and no report does at
# each of them.
GENERAL = frozenset(kind.value for kind in (K.TIME_MATTERS, K.RUNS_WITHOUT_CUDA))


@dataclass(frozen=True, slots=True)
class Assumption:
    """One assumption that a conclusion rests on, and the place that caused it."""

    kind: AssumptionKind
    site: Site
    message: str


# Where an input is, as far as only its use says: a call in sight can show it.
SHOWN_BY_CALLS = frozenset(
    {K.INPUT_MAY_BE_ACCELERATED, K.DECLARED_TENSOR_IS_ANYWHERE, K.CALL_SHOWS_TENSOR}
)


Assumptions: TypeAlias = tuple[Assumption, ...]
