"""What calls hand to the parameters of plain functions, as all files of a project tell it.

A parameter's device is the callers' to choose. Where calls are in sight, they show what is usual:
if they hand in what was made, read or brought on the host, and none of them what lives on a device,
the function works for the host. Where no call tells, the code has to be one that minds devices.

A call of the function itself shows what it gets. A call by name, of a method of an object out of
sight, may be one of any other function of that name: it tells what is usual where nothing calls
the function itself, and never shows that the function gets something. Nor does an object's being
part of a module, where its methods are called in sight.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import replace

from devlint.inference.domain.assumptions import AssumptionKind
from devlint.records import dataclass

HOME = "self"  # in place of a parameter: where a module of a class lives
PROJECT = ""  # in place of a function: all that the project makes
MAX_CALLERS = 60  # that hand on what they were handed


class Fed(str, enum.Enum):
    """Where what a call hands to a parameter comes from."""

    HOST = "host"  # made, read or brought there
    DEVICE = "device"  # moved, or where a module is
    TENSOR = "tensor"  # the same, of what is a tensor and nothing else
    ROW = "row"  # the same, of what `x[i : i + 1]` picks: one number, if `x` has one dimension
    INPUT = "input"  # an input of a module's own method
    HOME = "home"  # nothing is handed in: the method brings it together with the module's own
    PART = "part"  # nothing is handed in: a module keeps the object whose method it is
    CALLER = "caller"  # the caller's own parameter, or its own default device
    OPEN = "open"  # a module's own method is called, and nothing shows where that is
    OTHERS = "others"  # the parameter of a function that others import, or that is handed to them
    OBJECT = "object"  # a `torch.device`
    NAME = "name"  # in its place a text, a number, or what nothing shows to be a `torch.device`
    AROUND = "around"  # nothing is handed in: the call runs under a default device that was chosen


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter: its device is the callers' to choose. With `parameter` empty the device on which
    factories make their tensors, which may be theirs as well.

    `function` tells it from all others of the project, `called` is the name that calls write,
    `mentioned` the name that stands in every file with calls.
    """

    function: str
    called: str
    mentioned: str
    parameter: str
    index: int  # among positional arguments, without the object of a method
    minds: bool = False  # the code around it has to do with devices
    serves: bool = False  # of a function that others import
    waits: bool = False  # only a call that hands in something from a device makes it likely
    may_be_array: bool = False  # nothing but a call that hands in a tensor shows that it is one
    as_index: bool = False  # an array is read at it, which takes one number from anywhere
    inner: bool = False  # of a private function: its calls are all that it is for
    overrides: tuple[str, ...] = ()  # the methods that it stands for where calls name those
    made: bool = False  # what meets it was made on the default device
    of_module: bool = False  # of a module's own method
    is_device: bool = False  # it is a device itself, and chosen by calls alone
    compared: bool = False  # such a device, and it matters whether it is a `torch.device`

    @property
    def is_private(self) -> bool:
        return self.called.startswith("_")


@dataclass(frozen=True, slots=True)
class Feed:
    """What one call hands to one parameter.

    `function` is a `Given`'s, or what the call writes where the callee is out of sight, after a
    dot; `parameter` then a position or a keyword, and `None` stands for all of them.
    """

    function: str
    parameter: str | int | None
    source: Fed
    through: Given | None = None  # with CALLER and INPUT
    one_of: bool = False  # what is handed in is one of several values


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the calls in sight say: what is to be assumed against them, that one of them hands in
    what it takes, that so what was only possible is shown, or that nothing rests on callers."""

    against: tuple[tuple[AssumptionKind, str], ...] = ()
    is_met: bool = False  # no rule asks: it tells the tests a call that shows from a silence
    rises: bool = False
    is_shown: bool = False


SILENT = Verdict()


class Feeds:
    """What all calls seen so far hand to parameters."""

    def __init__(self, feeds: Iterable[Feed] = ()) -> None:
        self._feeds: dict[str, dict[Feed, None]] = {}  # in the order of the files
        self.add(feeds)

    def add(self, feeds: Iterable[Feed]) -> None:
        for feed in feeds:
            self._feeds.setdefault(feed.function, {})[feed] = None

    def verdict(self, given: Given) -> Verdict:
        """What the calls say of a fact that needs this parameter to live on a device."""
        if given.parameter == HOME:
            return self._of_home(given)
        if given.compared:
            return self._of_compared(given)
        if given.is_device:
            return self._of_device(given)
        name = given.parameter
        if given.made or not name:
            if Fed.AROUND in self._sources(replace(given, parameter="", index=-1)).of_calls:
                says = "is not only called under a default device that was chosen"
                message = f"`{given.called}` {says}"
                return Verdict(((AssumptionKind.DEFAULT_DEVICE_IS_CPU, message),))
            if not name:
                return SILENT
        found = self._sources(given)
        if Fed.DEVICE in found.of_calls:
            shown = {Fed.TENSOR} if given.as_index else {Fed.TENSOR, Fed.ROW}
            rises = given.waits and bool(shown & found.of_calls) and Fed.HOST not in found.all
            return Verdict(is_met=True, rises=rises, is_shown=given.of_module)
        if Fed.OPEN in found.all or Fed.DEVICE in found.all:
            return SILENT
        if given.inner and Fed.CALLER not in found.all:
            message = f"a caller out of sight hands in `{name}` on an accelerator"
            return Verdict(((AssumptionKind.NO_CALLER_IN_SIGHT, message),))
        against: list[tuple[AssumptionKind, str]] = []
        if Fed.HOST in found.all:
            message = f"other calls than those in sight hand in `{name}` on an accelerator"
            against.append((AssumptionKind.CALLERS_ARE_NOT_ALL_ON_HOST, message))
        if not given.minds:
            message = f"`{given.called}` is meant for accelerators, though nothing in it says so"
            served = AssumptionKind.FUNCTION_IS_MEANT_FOR_DEVICES
            alone = AssumptionKind.HOST_CODE_GETS_DEVICE_TENSORS
            serves = given.serves or Fed.OTHERS in found.all
            against.append((served if serves else alone, message))
        return Verdict(tuple(against))

    def _of_device(self, given: Given) -> Verdict:
        """A device that a function of a script is handed, and that is the host in all calls."""
        if self._sources(given).all - {Fed.OBJECT, Fed.NAME} != {Fed.HOST}:
            return SILENT
        message = f"`{given.parameter}` is another device than the host, which all calls choose"
        return Verdict(((AssumptionKind.CALLERS_ARE_NOT_ALL_ON_HOST, message),))

    def _of_compared(self, given: Given) -> Verdict:
        """A device of which all calls in sight hand in a `torch.device`, through callers that were
        handed one themselves: of each of them a call is in sight."""
        seen = {(given.function, given.parameter)}
        waiting = [given]
        for each in waiting:  # grows on the way
            feeds = [
                feed
                for feed in self._feeds.get(each.function, ())
                if feed.parameter in (None, each.parameter) and feed.source in _OF_OBJECTS
            ]
            if not feeds or len(waiting) == MAX_CALLERS:
                return SILENT
            if any(feed.source in (Fed.NAME, Fed.OTHERS) for feed in feeds):
                return SILENT
            for through in (feed.through for feed in feeds if feed.through is not None):
                if (through.function, through.parameter) not in seen:
                    seen.add((through.function, through.parameter))
                    waiting.append(through)
        return Verdict(is_met=True, rises=True)

    def _of_home(self, given: Given) -> Verdict:
        """A module that the project makes, and leaves on the host wherever it does; or any, where
        it trains and names no accelerator."""
        if self._homes(given, {given.function}) == {Fed.HOST}:
            message = (
                f"`{given.called}` is moved, though nothing in the project that makes one does"
            )
        elif {feed.source for feed in self._feeds.get(PROJECT, ())} == {Fed.HOST}:
            message = f"`{given.called}` is moved, though the project trains and moves nothing"
        else:
            return SILENT
        return Verdict(((AssumptionKind.MODULE_LEAVES_HOST, message),))

    def _homes(self, given: Given, seen: set[str]) -> set[Fed]:
        """Where those that make modules of a class leave them; open, where nobody in sight does."""
        found: set[Fed] = set()
        for feed in self._feeds.get(given.function, ()):
            through = feed.through
            if feed.parameter != HOME or (through is not None and through.function in seen):
                continue
            if through is None:
                found.add(feed.source)
            else:
                seen.add(through.function)
                found |= self._homes(through, seen)
        return found or {Fed.OPEN}

    def _sources(self, given: Given) -> _Sources:
        """Where what is handed in comes from, through callers that were handed it themselves: from
        a caller's own parameter, when anybody may call that."""
        found = _Sources()
        seen = {given.function: {given.parameter}}
        waiting = [(given, False)]
        for each, named in waiting:  # grows on the way
            feeds, by_name = self._of(each, exact=given.may_be_array)
            named = named or by_name
            for feed in feeds:
                if feed.one_of and given.may_be_array:
                    continue  # which of several is handed in may go by what the function asks
                through = feed.through
                if through is None:
                    found.add(feed.source, named)
                    continue
                if feed.source is Fed.INPUT:
                    for source in self._of_input(through):
                        found.add(source, named)
                    continue
                if not through.is_private:
                    found.add(Fed.CALLER, named)
                if through.serves:
                    found.add(Fed.OTHERS, named)
                if len(waiting) < MAX_CALLERS:
                    parameters = seen.setdefault(through.function, set())
                    if through.parameter not in parameters:
                        parameters.add(through.parameter)
                        waiting.append((through, named))
        return found

    def _of_input(self, given: Given, seen: frozenset[str] = frozenset()) -> set[Fed]:
        """Where an input of a module's own method comes from: with the module, if a call in sight
        shows it, or the method brings it together with what the module has, or is `forward` and not
        only called on the host; else where its callers have it."""
        outer = seen | {given.function}
        found: set[Fed] = set()
        for feed in self._feeds.get(given.function, ()):
            through = feed.through
            if feed.parameter != given.parameter:
                continue
            if feed.source is Fed.INPUT and through and through.function not in outer:
                found |= self._of_input(through, outer)
            else:
                found.add(feed.source)
        if found == {Fed.HOST}:
            return found
        if given.called == "forward" or found & _ON_DEVICE:
            return {Fed.DEVICE}
        return found or {Fed.CALLER}

    def _of(self, given: Given, exact: bool) -> tuple[list[Feed], bool]:
        """What calls hand to a parameter, and whether that is known by name alone."""
        keys = (given.function, *given.overrides)
        all_of = [feed for key in keys for feed in self._feeds.get(key, ())]
        all_of = [feed for feed in all_of if feed.source is not Fed.HOME]
        own = [feed for feed in all_of if feed.parameter in (None, given.parameter)]
        # each call tells at least what default device it stands under
        if exact or any(feed.parameter is not None for feed in all_of):
            return [feed for feed in own if feed.source is not Fed.PART], False
        if own:
            return [_as_kept(feed) for feed in own], False
        named = [
            feed
            for feed in self._feeds.get(f".{given.called}", ())
            if feed.parameter in (given.index, given.parameter)
        ]
        return named, True


_OF_OBJECTS = frozenset({Fed.OBJECT, Fed.NAME, Fed.CALLER, Fed.OTHERS})


_ON_DEVICE = frozenset({Fed.DEVICE, Fed.TENSOR, Fed.ROW, Fed.HOME})


class _Sources:
    """Where what calls hand in comes from: `of_calls` of the function itself, and of `all`."""

    __slots__ = ("all", "of_calls")

    def __init__(self) -> None:
        self.of_calls: set[Fed] = set()
        self.all: set[Fed] = set()

    def add(self, source: Fed, named: bool) -> None:
        self.all.add(source)
        if not named:
            self.of_calls.add(source)


def _as_kept(feed: Feed) -> Feed:
    """The part of a module works where the module does."""
    return replace(feed, source=Fed.DEVICE) if feed.source is Fed.PART else feed
