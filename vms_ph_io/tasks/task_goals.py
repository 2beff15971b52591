# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The goals of tasks: errors, payloads, shares of limits; obtained, judged and in words."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_controllers import Controller
from vms_ph_dynamics import Array, Evaluation, VMSModel
from vms_ph_dynamics.actuation import Actuators
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.simulation import Payload, Simulation
from vms_ph_dynamics.simulation.robot_task import ERRORS, RobotTask

from .task_reference import TaskReference

GoalState = dict[str, Any]
"""What a goal is about, what is wanted and obtained, and whether it is met."""

# Rounding of a share of a limit.
_ROUNDING = 1e-9


def at_most(bound: float, quantity: str, value: float | None, rounding: float = 0.0) -> GoalState:
    """Return the state of a goal that bounds what is obtained; None is not judged, and not met."""
    is_met = value is not None and value <= bound + rounding
    return {"what": quantity, "wanted": bound, "obtained": value, "met": is_met}


def apply_gains(law: Controller, gains: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a law those gains of a task that it has, and return them."""
    accepted_gains = {name: gain for name, gain in gains.items() if hasattr(law.gains, name)}
    law.gains = replace(law.gains, **accepted_gains)
    return accepted_gains


class ActuatorUse:
    """The largest shares of limits that inputs of actuators, their rates and torques reach."""

    def __init__(self, model: VMSModel, actuators: Actuators | None) -> None:
        self._torque_limits = model.joints.effort
        self._actuators = actuators
        self._input_share = self._rate_share = self._torque_share = 0.0

    def update(self, simulation: Simulation | None) -> None:
        """Take what the actuators did over the last step."""
        if simulation is not None and simulation.actuation is not None:
            actuation = simulation.actuation
            self.take(actuation.step_efforts.inputs, actuation.shaft_rates(simulation.twist))

    def take(self, inputs: Array, rates: Array) -> None:
        """Take the inputs (k,) of the actuators, N or N m, and the rates (k,) of their shafts."""
        limits = self._actuators
        assert limits is not None
        centre, radius = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
        # A rotor below its least thrust has failed, or its shaft begins to turn.
        share = np.abs(inputs - centre) / np.where(radius > 0.0, radius, np.inf)
        self._input_share = max(self._input_share, float(share.max()))
        self._rate_share = max(self._rate_share, float((np.abs(rates) / limits.largest_rate).max()))

    def take_torque(self, torque: Array) -> None:
        """Take the torques (n,) of a command."""
        share = float(np.max(np.abs(torque) / self._torque_limits, initial=0.0))
        self._torque_share = max(self._torque_share, share)

    def goals(self) -> dict[str, GoalState]:
        """Return the shares as goals, which are met up to 1."""
        shares = {"torques": ("joint torques, share of their limits", self._torque_share)}
        if self._actuators is not None:
            shares["actuators"] = ("inputs of actuators, share of their limits", self._input_share)
            if np.isfinite(self._actuators.largest_rate).any():
                shares["rates"] = ("rates of wheels, share of their limits", self._rate_share)
        return {name: at_most(1.0, *share, _ROUNDING) for name, share in shares.items()}


# Velocity of a point of contact that is rounding, m/s.
_NO_SLIP = 1e-12


class WheelUse:
    """The largest velocities of points of contact, and shares of the rates of wheels."""

    def __init__(self, form: NonholonomicForm, wheels: Mapping[str, float]) -> None:
        model = form.model
        self._form = form
        joints = [model.joint_index(name) for name in wheels]
        self._dofs, self._limits = model.b + np.array(joints), model.joints.velocity[joints]
        self._largest_slip = self._rate_share = 0.0

    def update(self, q: Array, v: Array) -> None:
        """Take a motion."""
        jacobian = self._form.constraint_jacobian(Evaluation(self._form.model, q, v))
        self._largest_slip = max(self._largest_slip, float(np.abs(jacobian @ v).max()))
        share = np.abs(v[self._dofs]) / self._limits
        self._rate_share = max(self._rate_share, float(share.max()))

    def goals(self) -> dict[str, GoalState]:
        """Return them as goals."""
        slip_quantity = "velocity of the wheels' points of contact (m/s)"
        return {
            "rates": at_most(1.0, "rates of wheels, share of their limits", self._rate_share),
            "slip": at_most(_NO_SLIP, slip_quantity, self._largest_slip),
        }


class Judge:
    """The largest errors of a run, by the goals of its task that bound them."""

    def __init__(
        self,
        task: RobotTask,
        reference: TaskReference,
        extra_errors: Callable[[], dict[str, float]] = dict,
    ) -> None:
        """Begin.

        Args:
            task: with the goals.
            reference: motion that the robot is to follow, at every time that is seen.
            extra_errors: errors now besides those from it, by name, as far as they are known.
        """
        self._task, self._reference, self._extra_errors = task, reference, extra_errors
        self._maxima: dict[str, float] = {}

    def update(self, time: float, motion: Callable[[], tuple[Array, Array]]) -> None:
        """Take the errors of a time (s) that count; ``motion`` gives q (nq,) and v (nv,)."""
        errors = None
        for name, goal in self._task.goals.items():
            if self._task.counts(goal, time):
                errors = errors or {**self._reference.errors(*motion()), **self._extra_errors()}
                if goal.error in errors:
                    self._maxima[name] = max(self._maxima.get(name, 0.0), errors[goal.error])

    def goals(self) -> dict[str, GoalState]:
        """Return what was wanted and obtained of every goal; None was not judged yet."""
        return {
            name: at_most(goal.max_error, ERRORS[goal.error], self._maxima.get(name))
            for name, goal in self._task.goals.items()
        }

    def balance_goal(self, residual: float | None) -> GoalState:
        """Return the goal of the residual of the energy balance, J; None: it is not known yet."""
        magnitude = None if residual is None else abs(residual)
        return at_most(self._task.max_residual, "residual of the energy balance (J)", magnitude)


# Largest change of the momentum of robot and body where nothing pushes them, relative.
_MOMENTUM_TOLERANCE = 1e-6


class PayloadJudge:
    """How far a payload was from where it was wanted, seen from places of its handle.

    Attributes:
        handle: (3,) place at which it is taken, m.
    """

    def __init__(self, payload: Payload, model: VMSModel, home: Array) -> None:
        """Begin.

        Args:
            payload: the body.
            model: the robot without it.
            home: (nq,) its configuration at the start.
        """
        self._payload, self._gravity = payload, model.gravity
        self.handle: Array = model.placement(model.end_effector, home)[:3, 3] + payload.place
        self._largest_depth = 0.0

    def update(self, position: Array) -> None:
        """Take a place (3,) of its handle while it is carried; it may not go below its support."""
        if np.any(self._gravity):
            vertical = -self._gravity / np.linalg.norm(self._gravity)
            height = float(vertical @ (position - self.handle))
            target = self._payload.target_position
            lowest_height = 0.0 if target is None else min(0.0, float(vertical @ target))
            self._largest_depth = max(self._largest_depth, lowest_height - height)

    def goals(
        self,
        capture_distance: float | None,
        position: Array,
        is_set_down: bool,
        momenta: tuple[Array | None, Array | None],
    ) -> dict[str, GoalState]:
        """Return what was to be reached with it.

        Args:
            capture_distance: from the end effector to the handle when it took it, m; None before.
            position: (3,) of the handle at the end, m.
            is_set_down: whether it has been set down.
            momenta: momentum at the start and at the end; None where it is not kept.
        """
        payload, tolerance = self._payload, self._payload.target_tolerance
        quantity = "distance to the handle when it is taken (m)"
        goals = {"taken": at_most(payload.reach, quantity, capture_distance)}
        if payload.target_position is not None:
            has_arrived = capture_distance is not None and (is_set_down or payload.release is None)
            distance = float(np.linalg.norm(position - self.handle - payload.target_position))
            quantity = "distance of the payload from its place (m)"
            goals["payload"] = at_most(tolerance, quantity, distance if has_arrived else None)
        if np.any(self._gravity):
            quantity = "depth of the payload below its support (m)"
            goals["support"] = at_most(tolerance, quantity, self._largest_depth)
        initial_momentum, final_momentum = momenta
        if initial_momentum is not None and final_momentum is not None:
            for name, part in (("linear", slice(3)), ("angular", slice(3, 6))):
                change = float(np.linalg.norm(final_momentum[part] - initial_momentum[part]))
                share = change / max(float(np.linalg.norm(initial_momentum[part])), 1e-9)
                quantity = f"change of the {name} momentum (1)"
                goals[f"{name}_momentum"] = at_most(_MOMENTUM_TOLERANCE, quantity, share)
        return goals


def goal_lines(goals: Mapping[str, Mapping[str, Any]], min_duration: float = 0.0) -> Iterator[str]:
    """Yield a line for each goal.

    Args:
        goals: by name, as of ``vms_ph_studies``.
        min_duration: duration after which all goals are judged, s; named where one was not.
    """
    for name, goal in goals.items():
        if goal["obtained"] is None:
            yield f"  {name}: {goal['what']}: NOT JUDGED, it takes at least {min_duration:g} s"
            continue
        yield (
            f"  {name}: {goal['what']} {goal['obtained']:.4g}, wanted {goal['wanted']:.4g}: "
            f"{'met' if goal['met'] else 'NOT MET'}"
        )
