# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The guard of a control law: plausible states and references in, bounded efforts out."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array, exceeds, is_finite

from ..controller import Command, Controller, Reference, RobotState, Status
from .plausibility import LONGEST_STEP, Judgement, PlausibilityBounds, state_plausibility
from .reference_plausibility import ReferencePlausibility
from .safe_output import SafeOutput

_NONE = Reference()

# Time step of the safe output where the measured one cannot be one, s.
_STEP = 1e-3


class Guard:
    """Stands between a host and any law, also one of a user.

    The law receives plausible states and references only. At any other state, and where the law
    raises or returns numbers that are not finite, its safe output acts with damping
    (:class:`SafeOutput`) and status HOLDING. :class:`.StatePlausibility` says when the law acts
    again; references that came in between then take effect, unless the law had to be restarted.

    Attributes:
        law: the law.
    """

    def __init__(
        self,
        law: Controller,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
        bounds: PlausibilityBounds | None = None,
    ) -> None:
        """Guard a law for a robot with the actuators of its base; see :class:`BaseActuation`.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        self.law, self._model = law, law.model
        self._states = state_plausibility(law.model, bounds)
        self._references = ReferencePlausibility(law.model, bounds)
        self._safe = SafeOutput(law.model, allocation, base_actuated)
        self._waiting = _NONE

    def reset(self, state: RobotState) -> None:
        """Restart the law, and accept where the robot is.

        Raises:
            StateError: the state does not fit the model.
        """
        checked = self._model.evaluate(state.q, state.v)
        self.law.reset(state)
        self._states.restart(checked.q, checked.v)
        self._waiting = _NONE

    def update(
        self, state: RobotState, reference: Reference | Callable[[Array], Reference], dt: float
    ) -> Command:
        """Return the command of the law or the safe output; see :meth:`Controller.update`.

        Never raises; every number of the efforts is finite, and the torques are within their
        limits.

        Args:
            state: as measured.
            reference: what to follow, or a function that returns it for a plausible q (nq,).
            dt: time since the last update, s.
        """
        seen = self._states.judge(state.q, state.v, dt)
        asked = reference(seen.q) if callable(reference) else reference
        self._waiting = _later(self._waiting, asked)
        if seen.reason:
            return self._hold(seen, dt, f"implausible state: {seen.reason}")
        wanted, self._waiting = self._waiting, _NONE
        asked, refused = self._references.checked(_NONE if seen.restarts else wanted, state.q)
        try:
            if seen.restarts:
                self.law.resume(state)
            command = self.law.update(state, asked, dt)
            is_usable = _is_usable(command, self._model)
        except Exception as error:  # a law of a user may raise anything
            return self._hold(seen, dt, f"the law raised {type(error).__name__}: {error}")
        if not is_usable:
            return self._hold(seen, dt, "the law returned no finite efforts of this robot")
        return _told(self._limited(command), refused)

    def record(self, command: Command) -> Command:
        """Return the command itself; guards in other languages convert theirs."""
        return command

    def _hold(self, seen: Judgement, dt: float, reason: str) -> Command:
        step = dt if 0.0 < dt <= LONGEST_STEP else _STEP
        try:
            self.law.missed_updates()
            resting = self.law.safe_output(seen.q)
            usable = _is_usable(resting, self._model)
        except Exception:  # as above
            usable = False
        held = self._safe.at(seen.q, seen.v, step, resting if usable else None)
        return replace(held, reason=f"{reason}; holding against gravity and damping")

    def _limited(self, command: Command) -> Command:
        effort = self._model.joints.effort
        if not exceeds(command.torque, effort):
            return command
        bounded: Array = np.clip(command.torque, -effort, effort)
        return _told(replace(command, torque=bounded), "torque at its limit")


def _later(before: Reference, now: Reference) -> Reference:
    """Return the reference of now, with the targets of before where it has none."""
    if before is _NONE:
        return now
    return replace(
        now,
        position=before.position if now.position is None else now.position,
        pose=before.pose if now.pose is None else now.pose,
        joints=before.joints if now.joints is None else now.joints,
        wrench=before.wrench if now.wrench is None else now.wrench,
    )


def _is_usable(command: Command, model: VMSModel) -> bool:
    torque, wrench = command.torque, command.wrench_base
    if torque.shape != (model.n,) or wrench.shape != (model.b,):
        return False
    return is_finite(torque) and is_finite(wrench)


def _told(command: Command, more: str) -> Command:
    """Return the command with a further reason, in words."""
    if not more:
        return command
    reason = f"{command.reason}; {more}" if command.reason else more
    status = Status.SATURATED if command.status is Status.OK else command.status
    return replace(command, reason=reason, status=status)
