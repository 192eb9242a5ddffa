"""``DeviceGuard``: watch a block of code, on real or on virtual devices."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from runtime_guard.contracts import Watch
from runtime_guard.core.patches import Patches
from runtime_guard.core.torch_internals import as_subclass, enter, has_torch_function, real_device
from runtime_guard.core.warning_places import keep_places
from runtime_guard.recording.events import PROBLEMS, Event, Kind
from runtime_guard.recording.ledger import Ledger
from runtime_guard.recording.modes import RecordDispatchMode, RecordFunctionMode
from runtime_guard.recording.module_moves import settle, watch_module_moves
from runtime_guard.recording.observers import Observer, add_observer, remove_observer
from runtime_guard.recording.policies import Gate, Policy
from runtime_guard.virtual import context, races
from runtime_guard.virtual.hook_stacks import remove_dispatch_mode, remove_function_mode


class DeviceGuard(contextlib.ContextDecorator):
    """Records every transfer, sync and device bug inside the block, with the user's lines.

    ``on_mixed``, ``on_transfer`` and ``on_sync`` say what else to do: ``"raise"``, ``"warn"`` or
    ``"record"`` (``ValueError`` for others).  On real devices a mixed-device operation raises,
    because PyTorch does.  With ``on_contract`` the device contracts of every function of the user's
    are checked, else those of decorated ones only (docs/contracts.md).  With ``on_race`` races
    between virtual streams are looked for.  ``allow`` names functions or modules whose transfers
    and syncs no policy objects to.  ``on_transfer`` may say it per direction
    (``{"D2H": "raise"}``); with ``implicit_only`` nothing is objected to that the program
    asks for by name (``.to``, ``.item()``), with ``after_steps`` nothing before so many
    steps of optimizers or calls of
    ``step``, with ``first_only`` each line is objected to once.  Works inside and around
    ``virtual_devices``; may be nested and entered again, the ledger then goes on.
    """

    def __init__(
        self,
        *,
        on_mixed: Policy = "raise",
        on_transfer: Policy | Mapping[str, Policy] = "record",
        on_sync: Policy = "record",
        on_contract: Policy | None = None,
        on_race: Policy | None = None,
        allow: tuple[str, ...] = (),
        implicit_only: bool = False,
        after_steps: int = 0,
        first_only: bool = False,
    ) -> None:
        self._gate = Gate(implicit_only, after_steps, first_only)
        self._observer = Observer(
            on_mixed, on_transfer, on_sync, frozenset(allow), on_contract, gate=self._gate
        )
        self._watch = Watch() if on_contract is not None else None
        if on_race not in (None, "raise", "warn", "record"):
            raise ValueError(f"on_race={on_race!r}: expected 'raise', 'warn' or 'record'")
        self._on_race = on_race
        self._races: list[races.Races | None] = []
        self._step_hooks: list[Any] = []
        self._entered: list[tuple[Any, ...]] = []

    @property
    def ledger(self) -> Ledger:
        """What was recorded so far."""
        settle()
        return self._observer.ledger

    @property
    def transfers(self) -> list[Event]:
        """Copies between devices, one event per place."""
        return self.ledger.transfers

    @property
    def syncs(self) -> list[Event]:
        """Waits of the host for the device, one event per place."""
        return self.ledger.syncs

    @property
    def problems(self) -> list[Event]:
        """Device bugs: what is wrong in itself, unlike transfers and syncs."""
        return self.ledger.of(*PROBLEMS)

    def _recreate_cm(self) -> DeviceGuard:
        return self

    def __enter__(self) -> DeviceGuard:
        machine = context.active_machine()
        if self._on_race is not None:
            if machine is None:
                raise ValueError(
                    "on_race needs virtual devices; on a card run with TORCH_CUDA_SANITIZER=1"
                )
            self._races.append(races.Watch.current)
            races.Watch.current = races.Races(machine, self._on_race)
        add_observer(self._observer)
        if self._gate.after_steps:
            hook = register_optimizer_step_post_hook(lambda *_: self.step())
            self._step_hooks.append(hook)
        if self._watch is not None:
            self._watch.__enter__()
        if machine is not None:
            self._entered.append(())
            return self
        patches = Patches()
        watch_module_moves(patches, real_device)
        keep_places(patches)
        patches.set(torch.Tensor, "as_subclass", as_subclass)
        patches.set(torch.overrides, "has_torch_function", has_torch_function)
        modes = (RecordFunctionMode(), RecordDispatchMode())
        for mode in modes:
            enter(mode)
        self._entered.append((*modes, patches))
        return self

    def __exit__(self, *_: object) -> None:
        if self._step_hooks:
            self._step_hooks.pop().remove()
        if self._races:
            if races.Watch.current is not None:
                races.Watch.current.find_changed_sources()
            races.Watch.current = self._races.pop()
        if self._watch is not None:
            self._watch.__exit__()
        entered = self._entered.pop()
        if entered:
            function_mode, dispatch_mode, patches = entered
            remove_dispatch_mode(dispatch_mode)
            remove_function_mode(function_mode)
            patches.undo()
        settle()
        remove_observer(self._observer)

    def step(self) -> None:
        """One step of the warm-up that ``after_steps`` counts is over."""
        self._gate.steps += 1

    @contextlib.contextmanager
    def forbid_syncs(self) -> Iterator[None]:
        """Inside, syncs of this thread or task raise ``DevicePolicyError``."""
        with self._observer.policy_here("on_sync", "raise"):
            yield

    @contextlib.contextmanager
    def forbid_transfers(self) -> Iterator[None]:
        """Inside, transfers of this thread or task raise ``DevicePolicyError``."""
        with self._observer.policy_here("on_transfer", "raise"):
            yield

    @contextlib.contextmanager
    def allow(self, reason: str) -> Iterator[None]:
        """Inside, no policy of this guard objects to this thread's transfers and syncs.

        They are still counted.  ``reason`` is for the reader: ``guard.allow("logging")``.
        """
        if not isinstance(reason, str) or not reason:
            raise ValueError("allow(reason): say why, for example allow('logging')")
        with self._observer.allowed_here():
            yield

    def count(self, kind: Kind | str) -> int:
        """How often ``kind`` (``"transfer"``, ``"sync"``, …) happened."""
        return self.ledger.count(Kind(kind))

    def bytes(self, *directions: str) -> int:
        """Bytes transferred: all, or those of ``"H2D"``, ``"D2H"``, ``"D2D"``."""
        return self.ledger.bytes(*directions)
