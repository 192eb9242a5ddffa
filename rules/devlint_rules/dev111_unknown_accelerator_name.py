"""DEV111: `torch.accelerator` has no such name."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.findings import Severity
from devlint.inference.confidence.policy import confidence_of
from devlint.inference.domain.assumptions import AssumptionKind
from devlint.inference.facts import Facts, MissingName
from devlint.rule import Claim, Replacement, Rule
from devlint_rules.helpers.assumptions import assume

# What has no name in `torch.accelerator`, and where it is instead.
_ELSEWHERE = {
    "Event": "`torch.Event` is for any accelerator",
    "Stream": "`torch.Stream` is for any accelerator",
    "manual_seed": "`torch.manual_seed` seeds every device",
    "manual_seed_all": "`torch.manual_seed` seeds every device",
    "stream": "`with stream:` makes a `torch.Stream` the current one",
}
_OF_MODULE = ("get_device_name", "get_device_properties")


def _check(facts: Facts) -> Iterator[Claim]:
    for fact in facts.missing_names:
        assumed = assume(
            AssumptionKind.RELEASE_IS_KNOWN,
            fact.site,
            "the PyTorch at hand lacks it, too",
        )
        yield Claim(
            fact.site,
            Severity.ERROR,
            confidence_of(assumed),
            _message(fact),
            advice=_advice(fact),
            fix=_fix(fact),
            assumptions=assumed,
        )


def _message(fact: MissingName) -> str:
    if fact.since:
        return (
            f"PyTorch {fact.target} has no `torch.accelerator.{fact.name}`, "
            f"which came with {fact.since}"
        )
    return f"`torch.accelerator` has no `{fact.name}` (PyTorch up to {fact.newest})"


def _advice(fact: MissingName) -> str:
    if fact.since:
        return f'ask first (`hasattr(torch.accelerator, "{fact.name}")`), or raise `target-torch`'
    if fact.meant:
        return f"it is called `torch.accelerator.{fact.meant}`"
    if fact.name in _ELSEWHERE:
        return _ELSEWHERE[fact.name]
    return f"`torch.get_device_module()` is the module of the accelerator: `.{fact.name}`, if any"


def _fix(fact: MissingName) -> tuple[Replacement, ...]:
    if fact.since:
        return ()
    if fact.meant and fact.meant != "device_index":  # which takes a number, and no device
        return (Replacement(fact.site, f"torch.accelerator.{fact.meant}"),)
    if fact.name in _OF_MODULE:
        return (Replacement(fact.site, f"torch.get_device_module().{fact.name}"),)
    return ()


RULE = Rule(
    code="DEV111",
    name="unknown-accelerator-name",
    severity=Severity.ERROR,
    summary="`torch.accelerator` has no such name, at least not in the PyTorch that is supported.",
    what="""\
Reports names of `torch.accelerator` that it does not have: `get_device_name`, `current_device`,
`mem_get_info` and the like, which `torch.cuda` has. With `target-torch` in the configuration it
also reports what came with a later release than that: `empty_cache` and the functions on memory
came with 2.9, `device_index` with 2.8. The names of each release are generated from its
package.""",
    why="""\
`torch.accelerator` looks like `torch.cuda` for all accelerators, and is smaller: whoever replaces
`torch.cuda.` by `torch.accelerator.` everywhere gets an `AttributeError` when the line runs, which
tests on a machine without an accelerator rarely reach. Some names differ (`current_device_index`,
`set_device_index`, `get_memory_info`), some functions are in the module of the backend only, which
`torch.get_device_module()` gives.""",
    reference="https://docs.pytorch.org/docs/stable/accelerator.html",
    bad=(
        """\
import torch

if torch.accelerator.is_available():
    print(torch.accelerator.get_device_name(0))
""",
        """\
import torch


def free_memory():
    free, total = torch.accelerator.mem_get_info()
    return free / total
""",
        """\
import torch

torch.accelerator.set_device(1)
""",
    ),
    good=(
        """\
import torch

if torch.accelerator.is_available():
    print(torch.get_device_module().get_device_name(0))
""",
        """\
import torch


def free_memory():
    free, total = torch.accelerator.get_memory_info()
    return free / total
""",
        """\
import torch

if hasattr(torch.accelerator, "get_device_name"):
    print(torch.accelerator.get_device_name(0))
""",
    ),
    check=_check,
    fix="""\
Writes the name that `torch.accelerator` has for it, or asks the module of the accelerator:
`torch.get_device_module().get_device_name(0)`.""",
    twin="""\
None: the line ends in an `AttributeError` on every machine, which has to do with no device.""",
    limits="""\
A name that the file asks for (`hasattr(torch.accelerator, "name")`), catches or puts there itself
is taken to be there. A release that is newer than those that devlint knows may have more; without
`target-torch`, a name counts as there if any known release has it. The rule is in preview for one
reason: a project for another backend may put a module of its own in the place of
`torch.accelerator`, in a file out of sight. The one project with findings among those that it was
tried on, with 6, does so.""",
    preview=True,
)
