# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Laws of this library in C++, behind the interface of the guard in Python."""

from collections.abc import Callable
from dataclasses import asdict, fields
from math import isfinite
from typing import Any

import numpy as np

from vms_ph_dynamics import StateError
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.native import chosen
from vms_ph_dynamics.nonholonomic import WheelConstraint
from vms_ph_dynamics.robot.native_algorithms import native_robot

from ..interface import Command, ControlEnergy, Controller, Reference, RobotState, Status
from ..laws.attitude_control import AttitudeControl
from ..laws.decoupled_vms import DecoupledVMSController
from ..laws.differential_drive import DifferentialDrive
from ..laws.end_effector_impedance import EndEffectorImpedance
from ..laws.mobile_manipulation import MobileManipulation
from ..laws.pose_ida_pbc import PoseIDAPBC
from ..laws.resolved_motion import ResolvedMotion
from ..laws.task_space_ida_pbc import TaskSpaceIDAPBC
from ..laws.underactuated_flight import UnderactuatedFlight
from ..laws.wheeled_impedance import WheeledImpedance
from ..safety.guard import Guard
from ..safety.plausibility import PlausibilityBounds

# The laws that C++ has, on fixed and on moving bases.
_LAWS_FIXED = (TaskSpaceIDAPBC, PoseIDAPBC, EndEffectorImpedance)
_LAWS_MOVING = (
    DecoupledVMSController,
    PoseIDAPBC,
    UnderactuatedFlight,
    AttitudeControl,
    EndEffectorImpedance,
    MobileManipulation,
    DifferentialDrive,
    ResolvedMotion,
    WheeledImpedance,
)

_OTHER_SOURCES = "it was built from other sources, ./vms native builds it anew"

_ENERGIES = tuple(item.name for item in fields(ControlEnergy))


class NativeGuard:
    """A law and its guard in C++: the same statuses, reasons and efforts, an order faster.

    A change of ``law.gains`` takes effect at the next update.

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
        rotors = None
        if allocation is not None:
            rotors = module.Allocation.of_matrix(
                allocation.matrix, allocation.lower, allocation.upper
            )
        self._model = native_robot(module, model.tree, model.end_effector)
        name = type(law).__name__
        if name not in getattr(module, "laws", ()):
            raise ValueError(f"the installed C++ core has no law '{name}'; {_OTHER_SOURCES}")
        self._guard = module.Guard(
            self._model,
            asdict(bounds or PlausibilityBounds()),
            rotors,
            base_actuated,
            name,
            _wheels(law) or {},
        )
        self._gains: Any = None
        self._check = model.evaluate
        self._seen = model.neutral_configuration()
        if foreign := self._take_gains():
            raise ValueError(
                f"the installed C++ core has no gain '{foreign[0]}' with this value; "
                f"{_OTHER_SOURCES}"
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
        if self.law.gains is not self._gains:
            self._take_gains()
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
        )

    def core(self) -> Any:
        """Return the ``vms_ph_native.Guard``, with the gains of the law."""
        if self.law.gains is not self._gains:
            self._take_gains()
        return self._guard

    def record(self, command: Any) -> Command:
        """Return the command as a record of its own, which stays when the next update is over."""
        energy = command.energy
        return Command(
            np.array(command.wrench_base),
            np.array(command.torque),
            ControlEnergy(**{name: getattr(energy, name) for name in _ENERGIES}),
            Status(command.status),
            command.reason,
            command.task_error,
            command.smallest_singular_value,
            command.authority,
        )

    def _take_gains(self) -> list[str]:
        """Set the gains in C++ and return the names of those that it refuses."""
        self._gains = self.law.gains
        return [
            item.name
            for item in fields(self._gains)
            if not self._guard.set_gain(item.name, float(getattr(self._gains, item.name)))
        ]


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
        return self.guard.core(), (r.position, r.velocity, r.pose, r.twist, r.joints)


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
        _obstacle(law),
        lambda module: NativeGuard(law, allocation, base_actuated, bounds, module),
        "the law in Python is used",
    )
    return guard if found is None else found


def _wheels(law: Controller) -> dict[str, float] | None:
    """Return the radii of the wheels of a law by their joints; None for constraints of others."""
    form = getattr(law, "form", None)
    wheels = {}
    for each in () if form is None else form.constraints:
        if not isinstance(each, WheelConstraint) or each.has_rollers:
            return None
        wheels[each.wheel] = each.radius
    return wheels


def _obstacle(law: Controller) -> str | None:
    kinds = _LAWS_MOVING if law.model.b else _LAWS_FIXED
    if type(law) not in kinds:
        names = ", ".join(kind.__name__ for kind in kinds)
        return f"there is no {type(law).__name__} in C++ for this base, only {names}"
    if law.options:
        return (
            f"this {type(law).__name__} was made with {' and '.join(law.options)}, which C++ does "
            "not take"
        )
    if _wheels(law) is None:
        return f"this {type(law).__name__} is on wheels or axles of a kind that C++ does not cover"
    if law.model.fluid is not None:
        return f"'{law.model.name}' is in a fluid, which C++ does not cover"
    return None
