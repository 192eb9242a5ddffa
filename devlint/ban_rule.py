"""The rule that reports uses of what a knowledge file bans (DEV003); `devlint.check.bans` finds
them."""

from devlint.findings import Severity
from devlint.rule import Rule

RULE = Rule(
    code="DEV003",
    name="banned-api",
    severity=Severity.WARNING,
    summary="A knowledge file of the project bans what is used here.",
    what="""\
Reports each use of a function, class or method that a knowledge file of the configuration bans with
`banned = "the reason"`. The message is that reason.""",
    why="""\
A project that has its own way to choose devices, to wait for them or to free their memory wants no
other one. One line bans a call everywhere, with the reason where it is needed; an override of the
configuration allows it in the files that are that way.""",
    reference="",
    bad=("import torch\n\ntorch.cuda.empty_cache()\n",),
    good=("from our_lib import devices\n\ndevices.free_memory()\n",),
    check=lambda facts: (),  # the session asks `claims_of_bans`: bans are no facts
    limits="""\
A method counts by its name, whatever it is called on: `banned` for `[methods]` `cuda` reports
`model.cuda()` as well as `x.cuda()`. Names count as they are imported; what reaches a function as
an argument, by `getattr` or by `from x import *` does not.""",
)
