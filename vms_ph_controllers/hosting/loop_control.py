# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The controller of a simulated closed loop: a law of any kind, its guard and its reference."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import Allocation, Array, OptionError, VMSModel
from vms_ph_dynamics.arrays import float_array, zeros
from vms_ph_dynamics.nonholonomic import NonholonomicForm

from ..controller import Command, ControlFault, Controller, FunctionLaw, Reference, RobotState
from ..guard import EnergyGuard
from ..safety.limits import TorqueLimits
from .loading import make_controller

_NUMBER_PATTERN = re.compile(r"(?<![\w.])[-+]?\d[\d.e+-]*")  # that is no part of a name

Law = type[Controller] | Controller | str | Callable[[Array, Array, float], Any]
"""A law: its class, an object, the name of a class, or ``(q, v, dt) -> efforts``."""


class LoopControl:
    """A law in the loop of a simulation, with the reference of the present time.

    Attributes:
        controller: the law, behind its guard where there is one.
        sensor: what measures the motion for the law; None for the motion itself.
        command: command of the law at the last update.
        limited: number of samples whose status was not OK, by its name and reason, in their order;
            reasons that differ by numbers alone are one.
        substeps: number of steps of the simulation for which a command is held.
    """

    def __init__(
        self,
        model: VMSModel,
        law: Law,
        guard: EnergyGuard | None,
        reference: Any,
        allocation: Allocation | None,
        form: NonholonomicForm | None,
    ) -> None:
        """Make the law for a robot.

        Raises:
            OptionError: law, guard or reference are none.
            VmsPhError: the law does not support this robot.
        """
        self.model, self._step_count, self.limited = model, 0, dict[str, int]()
        self.sensor: Sensor | None = None
        self._output: DriverOutput | None = None
        self.substeps = 1
        self.command, self._reference = Command(), reference_function(reference, model)
        self._law, self._allocation = law, allocation
        self.name, self.controller = _named_law(law, model, allocation, form)
        if guard is not None:
            self.controller = _attach_guard(guard, self.controller)
        elif isinstance(self.controller, EnergyGuard):
            self.controller.attach(model=model)

    @property
    def certificate(self) -> Any:
        """That of the guard, or None without one."""
        return getattr(self.controller, "certificate", None)

    def reset(self, q: Array, v: Array) -> None:
        """Begin at a configuration (nq,) and velocity (nv,)."""
        self._step_count, self.limited = 0, {}
        self.controller.reset(RobotState(q, v))

    def act_through(self, limits: Array, torque_rate: float, delay: int, substeps: int) -> None:
        """Let commands act as a driver sends them, see :class:`DriverOutput`, for some steps."""
        self._output = DriverOutput(self.model, limits, torque_rate, delay)
        self.substeps = substeps

    def check_new_model(self) -> None:
        """Check that the law can be made for another model of the robot.

        Raises:
            OptionError: it is an object.
        """
        if isinstance(self._law, Controller):
            raise OptionError(
                f"{self.name} was made for a model without the payload, which a law object keeps; "
                "give its class, or Payload(..., in_model=False)"
            )

    def use_model(self, model: VMSModel, state: RobotState) -> None:
        """Restart the law at a state with another model of the robot, as when it takes a body.

        It keeps its gains, and a guard what is left of its budget. A function keeps what it knows.
        """
        if not isinstance(self._law, str | type):
            return
        law = make_controller(self._law, model, self._allocation)
        law.gains = self.controller.gains
        law.reset(state)
        if isinstance(self.controller, EnergyGuard):
            self.controller.law = law
        else:
            self.controller = law

    def __call__(self, q: Array, v: Array, dt: float) -> Command:
        """Return the efforts for the next step.

        Raises:
            ControlFault: the law raised, or returned no efforts of this robot.
        """
        step, self._step_count = self._step_count, self._step_count + 1
        if step % self.substeps:
            return self.command
        state = RobotState(q, v) if self.sensor is None else self.sensor.measure(q, v)
        time, dt = step * dt, dt * self.substeps
        try:
            reference, refusal = self.controller.check_reference(self._reference(time))
            if refusal:
                raise ControlFault(refusal)
            command = self.controller.update(state, reference, dt)
        except ControlFault as fault:
            raise ControlFault(f"at {time:.6g} s {fault}") from fault.__cause__
        except Exception as error:  # a law of a user may raise anything
            raise ControlFault(
                f"at {time:.6g} s {self.name} raised {type(error).__name__}: {error}"
            ) from error
        self._check(command, time)
        self.command = command = command if self._output is None else self._output(command, v, dt)
        if command.status:
            cause = _NUMBER_PATTERN.sub("…", f"{command.status}, {command.reason}")
            self.limited[cause] = self.limited.get(cause, 0) + 1
        return command

    def _check(self, command: Command, time: float) -> None:
        for name, size in (("torque", self.model.n), ("wrench_base", self.model.b)):
            efforts = np.asarray(getattr(command, name), dtype=float)
            if efforts.shape != (size,):
                raise ControlFault(
                    f"at {time:.6g} s {self.name} returned a {name} of shape {efforts.shape}; that "
                    f"of '{self.model.name}' has ({size},)"
                )
            if not np.isfinite(efforts).all():
                index = int(np.flatnonzero(~np.isfinite(efforts))[0])
                joint = f" of joint '{self.model.joint_names[index]}'" if name == "torque" else ""
                raise ControlFault(
                    f"at {time:.6g} s {self.name} returned {efforts[index]} as the {name}{joint}; "
                    "give finite numbers, or put the law behind EnergyGuard(law, budget=1.0)"
                )


class Sensor:
    """Measurements with noise, given some samples late."""

    def __init__(self, model: VMSModel, step: float, noise: float, delay: float, seed: int) -> None:
        """Prepare measurements of a robot.

        Args:
            model: the robot.
            step: time between two measurements, s.
            noise: its scale; 1 is a deviation of 1 mm and 1 mrad for the pose of the base, 5 mm/s
                and 5 mrad/s for its twist, 0.1 mrad or mm for joints and 2 mrad/s or mm/s for their
                rates.
            delay: age of a measurement when the law gets it, s; rounded to steps.
            seed: of the noise.
        """
        self._model, self._rng = model, np.random.default_rng([seed, 2])
        self._step = step
        self._queue: deque[tuple[Array, Array]] = deque(maxlen=round(delay / step) + 1)
        self._position_noise = noise * np.repeat([1e-3, 1e-4], [model.b, model.n])
        self._rate_noise = noise * np.repeat([5e-3, 2e-3], [model.b, model.n])
        self._has_noise = noise > 0.0

    def measure(self, q: Array, v: Array) -> RobotState:
        """Return what is known when the motion is (q, v)."""
        if self._has_noise:
            q = self._model.integrate(q, self._position_noise * self._rng.standard_normal(len(v)))
            v = v + self._rate_noise * self._rng.standard_normal(len(v))
        self._queue.append((q, v))
        return RobotState(*self._queue[0], (len(self._queue) - 1) * self._step)


class DriverOutput:
    """What the driver of an arm makes of the commands of a law: late, and within its limits."""

    def __init__(self, model: VMSModel, limits: Array, torque_rate: float, delay: int) -> None:
        """Send the first command at once, and until the next arrives.

        Args:
            model: the robot, whose limits hold too.
            limits: (n,) of the torques, N m or N.
            torque_rate: largest rate of a torque, N m/s; 0 for none.
            delay: number of samples from a command to its effort.
        """
        self._limits, self._rate = TorqueLimits(model, limits), torque_rate
        self._torques: deque[Array] = deque(maxlen=delay + 1)

    def __call__(self, command: Command, v: Array, dt: float) -> Command:
        """Return the command that acts for a sample, dt s, with what the driver limits."""
        self._torques.append(command.torque)
        torque = self._torques[0]
        limited = self._limits.apply(torque, torque, v, self._rate, 0.0, dt)
        reason = limited.reason and f"driver: {limited.reason}"
        return replace(command, torque=limited.effort).with_reason(reason)


class GravityCompensatedLaw:
    """A law in the loop of a simulation whose driver compensates gravity.

    Attributes:
        driver_work: of the driver's torques since the reset, J.
        driver_torque: the gravity torque that the driver adds, (n,), N m or N.
    """

    def __init__(self, law: Any, model: VMSModel) -> None:
        """Add the gravity torque of a robot to the torques of a law, held over each step."""
        self._law, self._model, self.driver_work = law, model, 0.0
        self._q, self.driver_torque = model.home, zeros(model.nv)

    def __call__(self, q: Array, v: Array, dt: float) -> Command:
        """Return the torques of law and driver."""
        self.driver_work += float(self.driver_torque @ self._model.difference(self._q, q))
        self._q, self.driver_torque = np.array(q), self._model.evaluate(q, zeros(self._model.nv)).g
        command = self._law(q, v, dt)
        return replace(command, torque=command.torque + self.driver_torque)


def reference_function(reference: Any, model: VMSModel) -> Callable[[float], Reference]:
    """Return a reference as a function of time (s).

    Args:
        reference: a :class:`.Reference`, a position (3,) or a pose (4,4); a function of time that
            returns one; a trajectory, whose joint positions are followed; or None.
        model: the robot.

    Raises:
        OptionError: it is none of these.
    """
    if callable(reference):
        return lambda time: _as_reference(reference(time))
    if hasattr(reference, "t") and hasattr(reference, "q"):
        times, configurations = np.asarray(reference.t), np.asarray(reference.q)
        if configurations.ndim != 2 or configurations.shape[1] != model.nq:
            raise OptionError(
                f"a trajectory to follow has configurations (N,{model.nq}) as '{model.name}'; "
                f"given: {configurations.shape}"
            )
        positions = np.array([model.joint_positions(q) for q in configurations])

        def joint_reference(time: float) -> Reference:
            return Reference(joints=np.array([np.interp(time, times, row) for row in positions.T]))

        return joint_reference
    constant_reference = _as_reference(Reference() if reference is None else reference)
    return lambda time: constant_reference


def _as_reference(target: Any) -> Reference:
    if isinstance(target, Reference):
        return target
    array = float_array(target)
    if array.shape == (3,):
        return Reference(position=array)
    if array.shape == (4, 4):
        return Reference(pose=array)
    raise OptionError(
        "a reference is Reference(position=..., pose=..., joints=...), a position (3,), a pose "
        f"(4,4), a function of time that returns one of these, or a trajectory; given: {target!r}"
    )


def _named_law(
    law: Law, model: VMSModel, allocation: Allocation | None, form: NonholonomicForm | None
) -> tuple[str, Controller]:
    """Return the name of a law, and the law."""
    if isinstance(law, Controller):
        inner = law if not isinstance(law, EnergyGuard) else vars(law).get("law")
        if inner is not None and (inner.model.nq, inner.model.nv) != (model.nq, model.nv):
            raise OptionError(
                f"the law was made for '{inner.model.name}' with {inner.model.nv} velocities; "
                f"'{model.name}' has {model.nv}. Give the class, or make the law for this model"
            )
        return type(law).__name__, law
    if isinstance(law, str):
        return law, make_controller(law, model, allocation, form=form)
    if isinstance(law, type) and issubclass(law, Controller):
        return law.__name__, make_controller(law, model, allocation, form=form)
    if not callable(law):
        raise OptionError(
            "a law is a class derived from Controller, an object of one, the name of one, a "
            f"function (q, v, dt) that returns torques, or None; given: {law!r}"
        )
    function_law = FunctionLaw(model, law)
    return function_law.name, function_law


def _attach_guard(guard: EnergyGuard, law: Controller) -> EnergyGuard:
    if not isinstance(guard, EnergyGuard):
        raise OptionError(f"a guard is EnergyGuard(budget=1.0), budget in J; given: {guard!r}")
    if isinstance(law, EnergyGuard):
        raise OptionError("the law is behind an EnergyGuard already; leave out guard")
    return guard.attach(law)
