"""Autocasting: what it is given, and where the work in it is."""

from __future__ import annotations

import enum

from devlint.inference.domain.placement import Placement
from devlint.inference.domain.provenance import Site
from devlint.records import NamedTuple


class AutocastMistake(str, enum.Enum):
    """What is wrong with what autocasting or a gradient scaler is given."""

    MISSING = "missing"  # `torch.autocast()`: it has to be told a device type
    DEVICE = "device"  # `torch.autocast(device)`, with a `torch.device`
    FLAG = "flag"  # `torch.autocast(True)`
    DTYPE = "dtype"  # `torch.autocast(torch.float16)`
    KEYWORD = "keyword"  # `torch.autocast(device="cuda")`, which takes no such keyword
    UNREAD = "unread"  # `torch.cuda.amp.autocast("cuda")`: a text that counts as True
    SCALE = "scale"  # `torch.cuda.amp.GradScaler("cuda")`: the first scale, which is no number
    SCALER_FLAG = "scaler flag"  # `torch.amp.GradScaler(False)`: a device, and it is enabled


class MistakenAutocast(NamedTuple):
    """`callee` is given what it does not take."""

    site: Site
    mistake: AutocastMistake
    callee: str
    given: Site  # the argument, or the call where it is missing
    text: str  # what is given
    keyword: str  # under which name


class AutocastElsewhere(NamedTuple):
    """The work behind an autocast is on another device, or on one that somebody chooses."""

    site: Site
    kind: str  # the device type that it is for
    subject: str  # what is elsewhere
    place: Placement
