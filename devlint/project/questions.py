"""The questions that were asked of a project, with their answers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Asked:
    """What was asked, and what the answer was. Paths are absolute.

    contents: the digest of a file, or why it cannot be read.
    sizes: of files that were too large to be loaded; -1 where there was none.
    files, directories: whether a directory has one of that name.
    settings: the modules of a directory that choose a default device, with their digests.
    cuda: whether nothing but CUDA runs a file.
    defaults: whether the programs that run a file choose another default device.
    hosts: whether what runs a file leaves the choice of the host.
    named: by a file, whether another one names what it defines.
    reached: by a file, whether what may run uses what it defines.
    rebound: by a file, "Class.attribute", whether another one assigns that from outside.
    options: by an option and a value, "fast=True", whether something sets it so.
    data: whether data sets of the project below a directory move what they hold.
    applications: whether a project is run where it is, and nobody installs it.
    for_cuda: whether most files of a project that place something demand CUDA.
    """

    contents: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    files: dict[str, dict[str, bool]] = field(default_factory=dict)
    directories: dict[str, dict[str, bool]] = field(default_factory=dict)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    cuda: dict[str, bool] = field(default_factory=dict)
    defaults: dict[str, bool] = field(default_factory=dict)
    hosts: dict[str, bool] = field(default_factory=dict)
    named: dict[str, dict[str, bool]] = field(default_factory=dict)
    reached: dict[str, dict[str, bool]] = field(default_factory=dict)
    rebound: dict[str, dict[str, bool]] = field(default_factory=dict)
    options: dict[str, bool] = field(default_factory=dict)
    data: dict[str, bool] = field(default_factory=dict)
    applications: dict[str, bool] = field(default_factory=dict)
    for_cuda: dict[str, bool] = field(default_factory=dict)
