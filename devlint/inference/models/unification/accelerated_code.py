"""Accelerated code: the assumption that a file, a function or an object works on an accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.inference.domain.assumptions import Assumption, AssumptionKind
from devlint.inference.program.assumption_sites import of_code
from devlint.inference.program.device_awareness import notes_host
from devlint.inference.program.frames import Frame


def code_is_accelerated(frame: Frame) -> list[Assumption]:
    """What has to be assumed of a script that asks for no accelerator, and of code for data."""
    found = [on_accelerator(frame)] if frame.unit.host_script else []
    return [*found, with_device_data(frame)] if frame.unit.feeds_host else found


def on_accelerator(frame: Frame) -> Assumption:
    message = "this script runs on an accelerator, though it asks for none"
    return of_code(frame, AssumptionKind.SCRIPT_RUNS_ON_ACCELERATOR, message)


def with_device_data(frame: Frame) -> Assumption:
    message = "this file, which prepares data by its path, gets tensors of an accelerator"
    if not frame.unit.feeds_host and frame.info is not None:
        message = f"`{frame.info.name}`, a transform of rows, gets tensors of an accelerator"
    return of_code(frame, AssumptionKind.DATA_CODE_GETS_DEVICE_TENSORS, message)


def in_test(frame: Frame) -> Assumption:
    """Tests run where their fixtures put them."""
    message = "this file, a test by its path, runs on an accelerator"
    return of_code(frame, AssumptionKind.TEST_RUNS_ON_ACCELERATOR, message)


def leaves_host(frame: Frame) -> Iterator[Assumption]:
    """What has to be assumed of a script that never asks for an accelerator, of a function that
    exports a model or tries which shape comes out of it, and of an object whose device is the host.
    """
    if frame.unit.host_script:
        yield on_accelerator(frame)
    if frame.function is not None and frame.function.exports:
        message = f"`{frame.function.name}`, which exports a model, runs on an accelerator"
        yield of_code(frame, AssumptionKind.EXPORT_RUNS_ON_ACCELERATOR, message)
    if frame.function is not None and frame.function.is_trial:
        message = f"`{frame.function.name}`, which tries the module, is called after it was moved"
        yield of_code(frame, AssumptionKind.TEST_RUNS_ON_ACCELERATOR, message)
    if frame.info is not None and notes_host(frame.info):
        message = f"`{frame.info.name}`, whose device is the host, is moved"
        yield of_code(frame, AssumptionKind.OBJECT_LEAVES_HOST, message)
