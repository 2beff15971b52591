# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of this library in C++, behind the interface of the guard in Python."""

from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from vms_ph_dynamics import StateError
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.native import chosen

from ..controller import Command, Controller, Reference, RobotState
from ..laws.payload_compensation import PayloadCompensation
from ..safety.guard import Guard
from ..safety.plausibility import PlausibilityBounds
from .native_twin import (
    OTHER_SOURCES,
    core_model,
    core_rotors,
    gains_refused,
    itself,
    obstacle_of,
    recorded,
    wheels_of,
)


class NativeGuard:
    """A law and its guard in C++: the same statuses, reasons and efforts, an order faster.

    A change of ``law.gains``, or of the ``payload`` of a law that compensates one, takes effect at
    the next update.

    Attributes:
        law: the law in Python, which holds the gains; its own update is not used.
    """

    def __init__(
        self,
        law: Controller,
        allocation: Allocation | None,
        base_actuated: bool,
        bounds: PlausibilityBounds | None,
        module: Any,
    ) -> None:
        """Make the counterpart of a law; see :class:`.Guard`.

        Raises:
            ValueError: C++ does not cover this robot, or has been built from other sources.
        """
        self.law, model = law, law.model
        self._model = core_model(module, model)
        inner = itself(law)
        name = type(inner).__name__
        if name not in getattr(module, "laws", ()):
            raise ValueError(f"the installed C++ core has no law '{name}'; {OTHER_SOURCES}")
        self._guard = module.Guard(
            self._model,
            asdict(bounds or PlausibilityBounds()),
            core_rotors(module, allocation),
            base_actuated,
            name,
            wheels_of(inner) or {},
            law.rate if isinstance(law, PayloadCompensation) else None,
        )
        self._gains: Any = None
        self._carried: Any = None
        self._check = model.evaluate
        self._seen = model.neutral_configuration()
        if foreign := self._take_gains():
            raise ValueError(
                f"the installed C++ core has no gain '{foreign[0]}' with this value; "
                f"{OTHER_SOURCES}"
            )

    def reset(self, state: RobotState) -> None:
        """Restart the law, and accept where the robot is.

        Raises:
            StateError: the state does not fit the model.
        """
        self._check(state.q, state.v)  # says what is wrong
        self._take_gains()
        if not self._guard.reset(state.q, state.v):
            raise StateError("the law cannot start in this state")

    def update(
        self, state: RobotState, reference: Reference | Callable[[Array], Reference], dt: float
    ) -> Any:
        """Return the command in C++, with the attributes of :class:`Command`; see :func:`record`.

        Never raises.
        """
        self._take_changes()
        if state.q.shape == self._seen.shape and isfinite(state.q.sum()):
            self._seen = state.q
        asked = reference(self._seen) if callable(reference) else reference
        return self._guard.update(
            state.q,
            state.v,
            asked.position,
            asked.velocity,
            asked.pose,
            asked.twist,
            asked.joints,
            dt,
            asked.wrench,
        )

    def core(self) -> Any:
        """Return the ``vms_ph_native.Guard``, with the gains of the law."""
        self._take_changes()
        return self._guard

    def record(self, command: Any) -> Command:
        """Return the command as a record of its own, which stays when the next update is over."""
        return recorded(command)

    def _take_changes(self) -> None:
        """Set gains and payload in C++ where others are wanted than at the last update."""
        law = self.law
        if law.gains is not self._gains:
            self._take_gains()
        if isinstance(law, PayloadCompensation) and law.payload is not self._carried:
            found = self._carried = law.payload
            if found is None:
                self._guard.carry(0.0, np.zeros(3), 0.0)
            else:
                self._guard.carry(found.mass, found.moment, found.mass_deviation)

    def _take_gains(self) -> list[str]:
        """Set the gains in C++ and return the names of those that it refuses."""
        self._gains = self.law.gains
        return gains_refused(self._guard, self._gains)


class HeldReference:
    """A guarded law on a reference that does not move, as the control of a simulation.

    Attributes:
        guard: of the law.
        reference: what it is given at every update.
    """

    def __init__(self, guard: Guard | NativeGuard, reference: Reference) -> None:
        self.guard, self.reference = guard, reference

    def __call__(self, q: Array, v: Array, dt: float) -> Any:
        """Return the command; see :data:`vms_ph_dynamics.simulation.Control`."""
        return self.guard.update(RobotState(q, v), self.reference, dt)

    def in_cpp(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Return law and reference in C++, for many steps at once; None for a law in Python."""
        if not isinstance(self.guard, NativeGuard):
            return None
        r = self.reference
        return self.guard.core(), (r.position, r.velocity, r.pose, r.twist, r.joints, r.wrench)


def make_guard(
    law: Controller,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
    bounds: PlausibilityBounds | None = None,
    native: bool | None = None,
) -> Guard | NativeGuard:
    """Return a law behind its guard, in C++ where that exists.

    Args:
        law: the law; with :attr:`.Controller.options` it stays in Python.
        allocation: the actuators of the base.
        base_actuated: whether the base has actuators.
        bounds: of plausible states and references.
        native: True requires C++, False excludes it, None uses it where it exists.

    Raises:
        ModelError: ``native=True``, but there is no such law in C++; or the allocation is for
            another kind of base.
    """
    guard = Guard(law, allocation, base_actuated, bounds)
    found = chosen(
        native,
        obstacle_of(itself(law)),
        lambda module: NativeGuard(law, allocation, base_actuated, bounds, module),
        "the law in Python is used",
    )
    return guard if found is None else found
