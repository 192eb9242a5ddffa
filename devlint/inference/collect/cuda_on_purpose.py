"""Code that nothing but CUDA runs, for another reason than the mention at hand, or that is run once
where it was written; and the device that it has at hand all the same, where there may be several
cards."""

from __future__ import annotations

import libcst as cst

from devlint.inference.conventions import found, holds
from devlint.inference.program.accelerator_notes import MentionNote, Mentions, functions
from devlint.inference.program.constructors import is_called_by_constructor
from devlint.inference.program.control_dependences import ControlDependences
from devlint.inference.program.declarations import ClassInfo, Function, classes_of
from devlint.inference.program.self_tests import SelfTests
from devlint.inference.program.units import Unit
from devlint.inference.syntax.text import code, dotted, every, parents_below, plain_parameters
from devlint.inference.syntax.words import demonstration

_BUILT = "it needs an extension that the project builds for CUDA"


def reason(unit: Unit, note: MentionNote) -> str:
    """Why it is for CUDA on purpose, as it reads after "though"; "" where nothing says so."""
    importer, text = unit.context.importer, unit.source.text
    if holds("visible-cards-chosen", text):
        return "it chooses its card by CUDA_VISIBLE_DEVICES"
    beside = unit.kept(_Unguarded)
    if beside.tells(note, beside.setting_default):
        return "it makes all its tensors on CUDA by default"
    is_wrapped = note.kind == "device" and note.node in beside.wrapped
    if is_wrapped or beside.tells(note, beside.wrapping):
        return "it wraps its model for several cards"
    if note.kind == "load" and beside.demands_with(unit, note) and _is_for_one_card(unit, note):
        return "what loads it demands CUDA anyway"
    if note.kind == "load" and importer is not None and importer.saves_from_host():
        return "the project brings all that it saves to the host first"
    in_ranks = note.kind == "load" and holds("group-joining-text", text)  # all on the card saved
    if importer is not None and not in_ranks and importer.needs_cuda(unit.source.path):
        return _BUILT
    if holds("cuda-library-text", text):
        return "it imports a library of kernels that are made for CUDA"
    if note.kind == "device" and _is_brought_back(note):
        return "it takes a part of the model to the card and back"
    converts = note.kind != "load" and unit.is_script  # what it loads may come from anywhere
    if converts and holds("conversion-path", unit.source.path):
        return "it is a script that converts something once, by its path"
    if _checks_itself(unit, note):
        return "only the check of its own module, which others import, calls it"
    if _is_demanded_by_callers(unit, note):
        return "all that call it in the project ask for CUDA first"
    if _demonstrates(unit, note):
        return "it only shows what the classes of its file do"
    return ""


def _demonstrates(unit: Unit, note: MentionNote) -> bool:
    """The main part of a file, below a module's class, only shows what that does."""
    if note.function is not None or not any(each.is_module for each in classes_of(unit)):
        return False
    main = demonstration(unit.tree)
    return main is not None and _is_in(main, note)


def _is_in(main: cst.If, note: MentionNote) -> bool:
    return any(each is note.node for each in every(main, type(note.node)))


def _checks_itself(unit: Unit, note: MentionNote) -> bool:
    """It stands in the check of a module that others import, or in what only that calls."""
    tests = unit.kept(SelfTests)
    if note.function is None:
        return tests.main is not None and _is_in(tests.main, note)
    return note.function.outermost.node in tests.nodes


def _is_demanded_by_callers(unit: Unit, note: MentionNote) -> bool:
    """All programs of the project that come to its function, or class, fail without CUDA."""
    importer = unit.context.importer
    if note.function is None or importer is None or unit.kept(Mentions).is_script:
        return False
    outer = note.function.outermost
    name = outer.name if outer.info is None else outer.info.name
    return importer.callers_demand_cuda(name, unit.source.path)


def strays(note: MentionNote, why: str, at_hand: str) -> bool:
    """Code for CUDA takes the current card, or a numbered one, where it is given another, or works
    with an object that was placed before."""
    if why != _BUILT or note.kind != "device":
        return False
    around = functions(note.function)
    return note.index is not None or bool(at_hand) or any(map(_is_of_object, around))


class _Unguarded:
    """The functions with mentions that nothing guards and that tell of others, too, and what is
    wrapped for several cards. To be asked for once the file was walked."""

    def __init__(self, unit: Unit) -> None:
        notes = list(unit.kept(Mentions).notes.values())
        unguarded = [note for note in notes if not note.guarded]
        self.demanding = {note.function for note in unguarded if note.kind == "device"}
        self.setting_default = {note.function for note in unguarded if _sets_default(note)}
        self.wrapping = {
            note.function
            for note in notes
            if _wraps_for_cards(unit, note) and (not note.guarded or _in_any_case(unit, note))
        }
        self.wrapped = _wrapped_for_cards(unit)

    def demands_with(self, unit: Unit, load: MentionNote) -> bool:
        """What a load stands in demands CUDA: its function, another method of its class, or any
        part of the script."""
        if load.function in self.demanding:
            return True
        if unit.is_script and (self.demanding or holds("device-of-file", unit.source.text)):
            return True
        info = load.function.info if load.function is not None else None
        return info is not None and any(f is not None and f.info is info for f in self.demanding)

    @staticmethod
    def tells(note: MentionNote, functions: set[Function | None]) -> bool:
        """One is in the function of a mention, or in the file's own statements."""
        return note.function in functions or None in functions


def _is_for_one_card(unit: Unit, note: MentionNote) -> bool:
    """Nothing in the file serves another machine, or several processes, of which each would put
    what it loads on the card that saved it."""
    is_open = unit.kept(Mentions).leaves_host(note.function)
    return not is_open and not holds("group-joining-text", unit.source.text)


def _in_any_case(unit: Unit, note: MentionNote) -> bool:
    """Whatever the conditions around it ask, each of their branches demands CUDA: `if args.gpu is
    not None: net.cuda(args.gpu) else: net = DataParallel(net).cuda()`."""
    around = unit.kept(ControlDependences).around(note.function, note.node)
    return all(isinstance(test, cst.If) and _demands_anyway(test) for test, _ in around)


def _demands_anyway(node: cst.If) -> bool:
    other = node.orelse
    if not _demands(node.body) or other is None:
        return False
    return _demands_anyway(other) if isinstance(other, cst.If) else _demands(other.body)


def _demands(branch: cst.CSTNode) -> bool:
    calls = (call.func for call in every(branch, cst.Call))
    return any(isinstance(func, cst.Attribute) and func.attr.value == "cuda" for func in calls)


def _sets_default(note: MentionNote) -> bool:
    return isinstance(note.node, cst.Call) and holds("default-type-of-cuda", code(note.node))


def _wraps_for_cards(unit: Unit, note: MentionNote) -> bool:
    """`DataParallel(net).cuda()`, or what takes `device_ids=` as that does."""
    if note.kind != "device":
        return False
    if holds("multi-card-wrapper", note.text):
        return True
    return unit.contains("device_ids") and any(map(_takes_cards, every(note.node, cst.Call)))


def _wrapped_for_cards(unit: Unit) -> set[cst.CSTNode]:
    """All that is handed to what takes `device_ids=`: of `DistributedDataParallel(net.cuda(),
    device_ids=[rank])` the move, which is for that card alone."""
    calls = every(unit.tree, cst.Call) if unit.contains("device_ids") else ()
    return {
        node
        for call in calls
        if _takes_cards(call)
        for argument in call.args
        for node in parents_below(argument)
    }


def _takes_cards(call: cst.Call) -> bool:
    return any(
        argument.keyword is not None and argument.keyword.value == "device_ids"
        for argument in call.args
    )


def _is_brought_back(note: MentionNote) -> bool:
    """`layer.cuda()`, and `layer.cpu()` in the same function."""
    node, function = note.node, note.function
    if function is None or not isinstance(node, cst.Call):
        return False
    name = dotted(node.func.value) if isinstance(node.func, cst.Attribute) else ""
    return bool(name) and holds("brought-to-host", function.text, name)


def device_of_input(function: Function) -> str:
    """The device of a parameter that a function goes by: `x.device`; "" where it goes by none."""
    given, text = parameters_of(function), function.text
    return next((f"{name}.device" for name in given if holds("device-read-of", text, name)), "")


def device_at_hand(unit: Unit, note: MentionNote) -> str:
    """A device that the code has been given and that the mention passes by: that of a parameter or
    of the module, or the user's own option. None is at hand where it is chosen:
    `self.device = "cuda:0"`."""
    if note.kind != "device":
        return ""
    for function in functions(note.function):
        if function.info is not None and function.info.is_module:
            return _of_module(function, note)
        device = device_of_input(function)
        if device and not (device == "self.device" and _is_chosen_here(function, note)):
            return device
    options = found("device-option-read", unit.source.text)
    is_option = holds("open-device-option", unit.source.text)
    return options[0] if options and is_option else ""


def _of_module(function: Function, note: MentionNote) -> str:
    """`self.device`, where the class has that and does not choose it here, or that of its
    parameters, if it has any; in a method that runs once the module is placed, and so not while it
    is made."""
    info = function.info
    assert info is not None
    if not _is_of_object(function) or is_called_by_constructor(info, function.name):
        return ""
    if "self.device" in info.text:
        return "" if _is_assigned(info, "device", note) else "self.device"
    inherits = any(base != "torch.nn.Module" for base in info.library_bases)
    return "next(self.parameters()).device" if inherits or _has_parameters(info) else ""


def _is_chosen_here(function: Function, note: MentionNote) -> bool:
    """`self.device`, of which the mention is the value."""
    return function.info is not None and _is_assigned(function.info, "device", note)


def _is_assigned(info: ClassInfo, attribute: str, note: MentionNote) -> bool:
    """The mention is in what an attribute of the object is set to."""
    values = (value for _, value in info.assigned.get(attribute, ()))
    return any(each is note.node for value in values for each in every(value, type(note.node)))


def _has_parameters(info: ClassInfo) -> bool:
    """It registers a parameter, or a module that has a state: a buffer is no parameter."""
    return any(
        kind == "parameter" or (kind == "module" and name not in each.stateless)
        for each in info.lineage()
        for name, kind in each.registered.items()
    )


def _is_of_object(function: Function) -> bool:
    """A method, but for the constructor and its like."""
    is_method = function.info is not None and not function.is_static
    return is_method and not function.name.startswith("__") and "self" in parameters_of(function)


def parameters_of(function: Function) -> list[str]:
    return [p.name.value for p in plain_parameters(function.node.params)]
