"""Factories that convert what is no tensor."""

from __future__ import annotations

# Functions that make a tensor of what is none.
CONVERTERS = frozenset({"tensor", "as_tensor", "asarray", "from_numpy"})


# Those that share the memory of the host, whatever the default device is.
FROM_HOST = frozenset({"from_numpy", "frombuffer", "from_file"})


# What leaves a tensor where it is.
LEAVING = frozenset({"as_tensor", "asarray"})


# Those that take a list or a number: a tensor only beside others.
OF_DATA = frozenset({"tensor", "as_tensor", "asarray"})
