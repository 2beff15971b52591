"""A simulated robot with a controller in its loop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from ..arrays import Array
from ..effects.friction import Friction
from ..errors import StateError
from ..integrators import IntegrationError, default_scheme, make_stepper, step_with_retry
from ..structure import PORTS, Form, PHState, Ports

# Largest number of times that a step is halved: beyond it, a step costs more than it is worth.
_HALVINGS = 4


class Actuation(Protocol):
    """The efforts of a controller; a ``vms_ph_controllers.Command`` is one."""

    @property
    def torque(self) -> Array:
        """(n,) joint torques, N m or N."""

    @property
    def wrench_base(self) -> Array:
        """(b,) wrench on the base in the base frame, linear first, N and N m."""


Control = Callable[[Array, Array, float], Actuation]
"""A controller in the loop: from q (nq,), v (nv,) and the step (s) to its efforts."""


@dataclass(frozen=True)
class External:
    """External efforts, which act until they are replaced; None for none.

    Attributes:
        torque: (n,) added to the controller's, N m or N.
        wrench_base: (b,) added to the controller's, in the base frame, N and N m.
        wrench_end_effector: (6,) at the end effector's origin, N and N m.
        in_tool_axes: whether ``wrench_end_effector`` is given in end-effector axes instead of world
            axes.
    """

    torque: Array | None = None
    wrench_base: Array | None = None
    wrench_end_effector: Array | None = None
    in_tool_axes: bool = True


@dataclass(frozen=True)
class Sample:
    """The motion, the efforts and the port energies at one instant.

    Efforts that jump at this instant are given as the mean of both sides: the trapezoidal rule over
    samples then integrates them without error from the jumps.

    Attributes:
        time: simulated time, s.
        q: (nq,); v: (nv,).
        torque: (n,) total joint torques.
        wrench_base: (b,) total wrench at the base in its own axes.
        wrench_end_effector: (6,) wrench at the end effector in its own axes.
        port_energy: supplied through each of :data:`PORTS` since the last reset, J.
        dissipated: energy dissipated by friction since then, J.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    wrench_base: Array
    wrench_end_effector: Array
    port_energy: Mapping[str, float]
    dissipated: float


@dataclass(frozen=True, slots=True)
class _Efforts:
    """The sum of all efforts; the wrench at the end effector is None if none acts."""

    torque: Array
    wrench_base: Array
    wrench_end_effector: Array | None
    in_tool_axes: bool


class Simulation:
    """Integrates a form with the efforts held over each step, as digital controllers do.

    Attributes:
        dt: integrator and control step, s.
        resets: number of resets to the start.
        failures: number of failed steps since then, which were repeated in halves.
        failure: why the simulation cannot go on from its last state; empty while it can.
    """

    def __init__(
        self,
        form: Form,
        q: Array,
        dt: float,
        control: Control | None,
        friction: bool = False,
        scheme: str | None = None,
        native: bool | None = None,
    ) -> None:
        """Start at rest.

        Args:
            form: of the robot.
            q: (nq,) configuration at the start and after a reset.
            dt: integrator and control step, s.
            control: the controller in the loop; None for external efforts alone.
            friction: whether the joints' viscous friction acts.
            scheme: of :data:`.integrators.SCHEMES`; the default of the robot when None.
            native: whether it runs in C++, see :func:`.integrators.integrate`.

        Raises:
            OptionError: there is no such scheme.
            ModelError: the scheme does not cover this robot.
        """
        self._form, self._home, self.dt = form, q, dt
        self._control = control
        self._stepper = make_stepper(scheme or default_scheme(form.model), form, native=native)
        self._friction = Friction.of(form.model) if friction else None
        self.resets = -1
        self.reset()

    def reset(self) -> None:
        """Return to the start, at rest, without external efforts; port energies begin at zero."""
        model = self._form.model
        self._external = External()
        start = self._form.state(self._home, np.zeros(model.nv))
        self._solver_state = self._stepper.begin(start, 0.0)
        self._q, self._v = self._stepper.motion(self._solver_state)
        self._steps, self.failures, self.failure = 0, 0, ""
        self._port_energy = dict.fromkeys(PORTS, 0.0)
        self._dissipated = 0.0
        self.resets += 1
        self._acting = self._efforts()
        self._before = self._acting

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self._steps * self.dt

    @property
    def steps(self) -> int:
        """Steps since the last reset."""
        return self._steps

    def hold(self, external: External) -> None:
        """Apply ``external`` from now on instead of from the next sample."""
        self._external = external
        self._acting = self._efforts()

    def advance(self, steps: int, external: External) -> None:
        """Integrate a number of steps; ``external`` acts from their end on, at the next sample.

        A step that fails leaves the simulation at its last state, with the reason in ``failure``;
        it goes on after a :meth:`reset`.
        """
        for k in range(0 if self.failure else steps):
            self._before = self._acting
            ports = self._ports(self._before)
            try:
                step, failures = step_with_retry(
                    self._stepper, self._solver_state, ports, self.time, self.dt, _HALVINGS
                )
            except (IntegrationError, StateError) as error:
                self.failure = str(error)
                return
            self._solver_state = step.solver_state
            self._q, self._v = self._stepper.motion(step.solver_state)
            self._steps += 1
            self.failures += len(failures)
            for name in PORTS:
                self._port_energy[name] += step.supplied[name]
            self._dissipated += step.dissipated
            if k == steps - 1:
                self._external = external
            self._acting = self._efforts()

    def sample(self) -> Sample:
        """Return the present motion, efforts and port energies."""
        before, acting = self._before, self._acting
        return Sample(
            self.time,
            self._q,
            self._v,
            0.5 * (before.torque + acting.torque),
            0.5 * (before.wrench_base + acting.wrench_base),
            0.5 * (self._tool_wrench(before) + self._tool_wrench(acting)),
            dict(self._port_energy),
            self._dissipated,
        )

    def is_finite(self) -> bool:
        """Return whether the state is finite and every step has succeeded, whole or in parts."""
        return not self.failure and isfinite(self._q.sum() + self._v.sum())

    def _efforts(self) -> _Efforts:
        """Return the external efforts and those of the controller together."""
        outside, model = self._external, self._form.model
        torque = np.zeros(model.n) if outside.torque is None else outside.torque
        base = np.zeros(model.b) if outside.wrench_base is None else outside.wrench_base
        if self._control is not None:
            command = self._control(self._q, self._v, self.dt)
            torque, base = torque + command.torque, base + command.wrench_base
        wrench = outside.wrench_end_effector
        if wrench is not None and not wrench.any():
            wrench = None
        return _Efforts(torque, base, wrench, outside.in_tool_axes)

    def _ports(self, efforts: _Efforts) -> Ports | Callable[[float, PHState], Ports]:
        wrench = efforts.wrench_end_effector
        base = efforts.wrench_base if self._form.model.b else None
        if wrench is None or efforts.in_tool_axes:
            return Ports(efforts.torque, base, wrench, friction=self._friction)

        def turned(t: float, x: PHState) -> Ports:
            in_tool = self._in_tool_axes(x.q, wrench)
            return Ports(efforts.torque, base, in_tool, friction=self._friction)

        return turned

    def _tool_wrench(self, efforts: _Efforts) -> Array:
        wrench = efforts.wrench_end_effector
        if wrench is None:
            return np.zeros(6)
        return wrench if efforts.in_tool_axes else self._in_tool_axes(self._q, wrench)

    def _in_tool_axes(self, q: Array, wrench: Array) -> Array:
        model = self._form.model
        to_world = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, :3]
        return np.concatenate([wrench[:3] @ to_world, wrench[3:] @ to_world])
