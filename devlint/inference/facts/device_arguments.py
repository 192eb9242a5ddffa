"""Device arguments: not passed on, or none at all."""

from __future__ import annotations

import enum

from devlint.inference.call_contexts import Given
from devlint.inference.domain.provenance import Site
from devlint.records import NamedTuple


class Neglect(str, enum.Enum):
    """What a function does with a device that it does not keep to."""

    LEFT_OUT = "left out"  # of a call that takes it
    FLAG = "flag"  # of a call that takes it, and by which it goes to an accelerator or not
    DEFAULTED = "defaulted"  # the "callee" takes an accelerator by default, beside this input
    UNUSED = "unused"  # it never mentions it, and returns what the callee makes
    REPLACED = "replaced"  # the "callee" is a choice that takes the first card for any but the CPU
    OVERWRITTEN = "overwritten"  # it is bound to the "callee", a choice, before it is read
    MAPPED = "mapped"  # weights are loaded there; the "callee" is the model, which is not moved
    UNRESOLVED = (
        "unresolved"  # it may be None in the "callee", a move; another name has what is not
    )
    BESIDE = "beside"  # a module is moved there, its inputs to the "callee": `self.device`
    CURRENT = "current"  # it is asked for its type; the "callee" waits for the current card
    UNMOVED = "unmoved"  # inputs go there, and not the "callee": other methods move that module
    STREAM = "stream"  # all is copied there; the "callee" is a stream of the current card


class DroppedArgument(NamedTuple):
    """A `device` (or `map_location`) parameter is accepted and not passed on."""

    site: Site
    function: str
    parameter: str
    callee: str
    callee_site: Site | None
    moved: bool = False  # moved where it comes back, or with the object that it is made for
    placed: Site | None = None  # where the callee puts its result on that device
    neglect: Neglect = Neglect.LEFT_OUT


class Mistake(str, enum.Enum):
    """What stands where a device belongs, and is none."""

    FLAG = "flag"  # True or False
    CONTEXT = "context"  # `torch.cuda.device(i)`, which is for a `with`
    OLD_CONTEXT = "old context"  # the same, given to a function of `torch.cuda`
    NEVER_EQUAL = "never equal"  # a torch.device compared with a string
    ALWAYS_UNEQUAL = "always unequal"
    NEVER_BARE = "never bare"  # `x.device == torch.device("cuda")`: where `x` is has an index
    ALWAYS_BARE = "always bare"  # the same with `!=`, which is always true
    NO_SUCH_TYPE = "no such type"  # compared with "gpu", as no device is called
    NO_TYPE = "no type"  # `"cuda" in str(type(x))`, which is `torch.Tensor` anywhere
    NO_INDEX = "no index"  # `torch.cuda.set_device("cuda")`
    NO_LIST = "no list"  # `DataParallel(net, device_ids=0)`
    CARD_NUMBER = "card number"  # `torch.load(path, map_location=torch.cuda.current_device())`
    HIDES_CARDS = "hides cards"  # `os.environ["CUDA_VISIBLE_DEVICES"] = "cuda:0"`
    MINUS_ONE = "minus one"  # `y.to(x.get_device())`, which is -1 on the host
    KEYWORD = "keyword"  # `module.cuda(non_blocking=True)`, which takes a device and no more
    FIRST_CARD = "first card"  # `device.index or -1`: the first card has the index 0
    NO_CARD = "no card"  # `device.index or 0`: no index is the current card, and not the first
    PRECEDENCE = "precedence"  # `device or "cuda" if available else "cpu"`
    NO_TEXT = "no text"  # `"cuda" in torch.device("cuda")`, which contains nothing
    UNCALLED = "uncalled"  # `if torch.cuda.is_available:`, which is a function
    CALLED = "called"  # `x.is_cuda()`, which is a property
    READ_ONLY = "read-only"  # `self.device = d`, where the class "callee" has such a property


class MistakenDevice(NamedTuple):
    """`text` is given to `callee` as a device, or compared with one, and is none."""

    site: Site
    mistake: Mistake
    text: str
    callee: str
    inferred: bool = False  # by its name the parameter of the callee is a device
    given: Given | None = None  # a parameter, if calls alone show that it is a `torch.device`


class IndexTest(NamedTuple):
    """`text`, the number of a card, is asked for its truth, which that of the first card lacks."""

    site: Site  # `gpu`, or `not gpu`
    text: str
    negated: bool  # the condition is `not gpu`
    used: Site
    use: str  # what takes it for the number of a card, where it is true
    declared: Site
    absent: str  # what it is where no card is chosen: "None", or "-1"


class UnreadContract(NamedTuple):
    """A contract that can't be understood, or that holds of nothing."""

    site: Site
    message: str
