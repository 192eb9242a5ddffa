"""DEV502: `torch.load` without `map_location`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from devlint.findings import Applicability, Severity
from devlint.inference.confidence.policy import confidence_of, strength
from devlint.inference.domain.assumptions import AssumptionKind, Assumptions
from devlint.inference.facts import Facts, Mention
from devlint.inference.syntax.text import called_name, dotted, every
from devlint.rule import Claim, Rule
from devlint_rules.helpers.assumptions import assume, assume_if, in_use, runs_elsewhere, warm_code
from devlint_rules.helpers.mentions import twins
from devlint_rules.helpers.ownership import rule_of_mention
from devlint_rules.helpers.rewrites import add_argument, in_file, text_of
from devlint_rules.helpers.scopes import function_around
from devlint_rules.helpers.wording import and_more

_PARAMETER = "map_location"
_ADVICE = (
    'say where they should go: `map_location=device`, or `map_location="cpu"` where a move or '
    "`load_state_dict` follows"
)
_ADVICE_UNREAD = "pass on what the function is given: `map_location=map_location`"


def _check(facts: Facts) -> Iterator[Claim]:
    for loads in _habits(facts):
        first, *others = loads
        unread = _is_unread(facts, first)
        place = "map_location" if unread else '"cpu"'
        fixes = [add_argument(load.site, f"map_location={place}") for load in loads]
        fixable = in_file(facts, *(load.site for load in loads)) and all(fixes)
        assumed = _assumptions(facts, first)
        yield Claim(
            first.site,
            Severity.WARNING,
            confidence_of(assumed),
            f"`{first.text}` puts tensors back on the device they were saved from, which may not "
            f"be there{and_more(len(others))}",
            advice=_ADVICE_UNREAD if unread else _ADVICE,
            trace=twins(others),
            fix=tuple(part for fix in fixes for part in fix) if fixable else (),
            applicability=Applicability.UNSAFE,
            assumptions=assumed,
        )


def _is_unread(facts: Facts, load: Mention) -> bool:
    """The function takes a `map_location`, and its body never mentions it."""
    function = function_around(facts, load.site.node)
    return isinstance(function, cst.FunctionDef) and _ignores_parameter(function)


@lru_cache(maxsize=64)  # a function may have many loads
def _ignores_parameter(function: cst.FunctionDef) -> bool:
    params = (*function.params.params, *function.params.kwonly_params)
    if not any(p.name.value == _PARAMETER for p in params):
        return False
    names = {each.value for each in every(function.body, cst.Name)}
    return not {_PARAMETER, "locals"} & names


def _assumptions(facts: Facts, load: Mention) -> Assumptions:
    """Weights mostly come from a card; other files, and code for CUDA, have to be looked at."""
    site = load.site
    weights = assume(
        AssumptionKind.WEIGHTS_COME_FROM_CARD, site, f"`{load.text}` reads what a card has saved"
    )
    if _is_unread(facts, load):
        return weights  # the caller has a choice to make
    other = "the file, of which nothing is known, was saved on an accelerator"
    elsewhere = "the file was saved on an accelerator, though the script trains on none"
    return (
        weights
        + assume_if(not load.weights, AssumptionKind.FILE_COMES_FROM_CARD, site, other)
        + assume_if(_is_for_host(facts), AssumptionKind.FILE_COMES_FROM_CARD, site, elsewhere)
        + warm_code(_is_run_by_hand(facts, load), site, "a tool that is run by hand is worth it")
        + runs_elsewhere(site, load.on_purpose or _saved_before(facts, load))
        + in_use(facts, site)
    )


def _is_run_by_hand(facts: Facts, load: Mention) -> bool:
    """The main function of a script, and what writes anew what it loads, and does not train, in a
    file that knows of no accelerator: who calls it knows the file, and the machine."""
    function = function_around(facts, load.site.node)
    if function is None or facts.accelerated:
        return False
    return (facts.is_script and function.name.value == "main") or _rewrites(function)


@lru_cache(maxsize=64)  # a function may have many loads
def _rewrites(function: cst.FunctionDef) -> bool:
    called = {called_name(call) for call in every(function.body, cst.Call)}
    return not called.isdisjoint(_WRITING) and called.isdisjoint(_STEPPING)


_WRITING = ("save", "save_pretrained", "save_file")
_STEPPING = ("backward", "step", "fit", "train")


def _saved_before(facts: Facts, load: Mention) -> str:
    """`torch.save(weights, path)` and then `torch.load(path)`, in one function or notebook: what is
    loaded comes from the same run, and its device is there."""
    node = load.site.node
    is_notebook = facts.source.path.endswith(".ipynb")
    around = facts.source.tree if is_notebook else function_around(facts, node)
    if around is None or not isinstance(node, cst.Call) or not node.args:
        return ""
    is_same = text_of(node.args[0].value) in _saved_in(around)
    return "the same run has saved the file" if is_same else ""


@lru_cache(maxsize=64)  # a function may have many loads
def _saved_in(around: cst.CSTNode) -> frozenset[str]:
    """The paths to which a function, or a notebook, saves something."""
    saved = (call for call in every(around, cst.Call) if dotted(call.func) == "torch.save")
    return frozenset(text_of(call.args[1].value) for call in saved if len(call.args) > 1)


def _is_for_host(facts: Facts) -> bool:
    """A script that names no accelerator and trains works with what its like have saved. One that
    does not train (it averages, converts, exports) takes what others did, on a card as a rule."""
    return facts.is_script and not facts.accelerated and _trains(facts.source.tree)


@lru_cache(maxsize=1)  # the file under check
def _trains(tree: cst.Module) -> bool:
    return any(
        isinstance(call.func, cst.Attribute) and call.func.attr.value in _TRAINING
        for call in every(tree, cst.Call)
    )


_TRAINING = ("backward", "fit", "train")


def _habits(facts: Facts) -> Iterator[list[Mention]]:
    """The loads of one function: it is one habit."""
    habits: dict[tuple[int, int], list[Mention]] = {}
    for mention in facts.mentions:
        if rule_of_mention(mention) == "DEV502" and not mention.guarded:
            function = function_around(facts, mention.site.node)
            sure = strength(_assumptions(facts, mention))
            habits.setdefault((id(function), sure), []).append(mention)
    yield from habits.values()


RULE = Rule(
    code="DEV502",
    name="load-without-map-location",
    severity=Severity.WARNING,
    summary="`torch.load` of tensors with no `map_location`.",
    what="""\
Reports `torch.load` and `torch.jit.load` without `map_location`, and a call of a function of the
project that gives its own `map_location` to one of them, and is left to None;
`load_state_dict_from_url` only in a function that takes a `map_location` itself, or that is handed
the URL and loads files as well. One finding for each function, with all places in the trace.""",
    why="""\
`torch.load` restores each tensor on the device it was saved from. On a machine without that device
it raises `RuntimeError: Attempting to deserialize object on a CUDA device but
torch.cuda.is_available() is False`; with fewer accelerators an index is out of range; and with
several processes all of them load onto the one card of the process that saved.""",
    reference="https://docs.pytorch.org/docs/stable/generated/torch.load.html",
    bad=(
        """\
import torch


def resume(model, path):
    model.load_state_dict(torch.load(path))
""",
        """\
import torch

checkpoint = torch.load("checkpoint.pt", weights_only=True)
print(checkpoint["epoch"])
""",
        """\
from torch import load


def embeddings(path):
    table = load(path)
    return table["weight"]
""",
        """\
import torch


def published(url, map_location=None):
    return torch.hub.load_state_dict_from_url(url)
""",
        """\
import torch


def weights(path):
    if path.startswith("https://"):
        return torch.hub.load_state_dict_from_url(path)
    return torch.load(path, map_location="cpu")
""",
        """\
import torch


def opened(path, map_location=None):
    return torch.load(path, map_location=map_location)


def restored(net, args):
    net.load_state_dict(opened(args.weights))
    return net
""",
        """\
import torch


def fetched(path, map_location=None):
    with open(path, "rb") as file:
        return torch.load(file)
""",
    ),
    good=(
        """\
import torch


def resume(model, path, device):
    model.load_state_dict(torch.load(path, map_location=device))
""",
        """\
import torch

checkpoint = torch.load("checkpoint.pt", map_location="cpu", weights_only=True)
weights = torch.hub.load_state_dict_from_url("https://models.example/net.pt")  # of a host
print(checkpoint["epoch"])
""",
        """\
import json


def settings(path):
    with open(path) as file:
        return json.load(file)
""",
    ),
    check=_check,
    fix="""\
Adds `map_location="cpu"`; `load_state_dict` then copies to where the module lives. Unsafe: tensors
that are used as loaded are then on the host.""",
    twin="On a machine without CUDA a checkpoint that was saved from CUDA fails to load.",
    limits="""\
A file that holds no tensors, or was saved from the host, loads everywhere; devlint does not look
into files. It goes by what is done with the result (`load_state_dict`, `.eval()`), by the names of
the file and of what is loaded, and by the object that loads: one with a device of its own. Data
sets, features and the like are `possible` findings. So is what the main function of a script loads,
or a function that writes it anew and does not train; what the same run has saved to that place
before, in the same function or one that it calls; what a script loads that trains on no
accelerator, or a function that demands CUDA; a file to which the same class or file saves nothing
but plain values; what NumPy or a plot takes as it was loaded; what `quantize_dynamic` made, which
the host alone runs; and the other branch of a switch whose host branch loads the same file with
`map_location="cpu"`.""",
)
