"""A simulated robot with a controller in its loop."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ..arrays import Array
from ..effects.friction import Friction
from ..integrators import IntegrationError, default_scheme, make_stepper, step_with_retry
from ..structure import Form, PHState, Ports

Control = Callable[[Array, Array, float], Array]
"""A control law as the loop sees it: (q, v, dt) -> (nv,) base wrench, then joint torques."""

PORTS = ("torque", "wrench_end_effector", "wrench_base")


@dataclass(frozen=True)
class External:
    """What acts from outside until told otherwise.

    Attributes:
        torque: (n,) added to the controller's, N m or N.
        force: (6,) wrench at the end effector's origin, N and N m.
        in_tool_axes: whether ``force`` is given in the axes of the end effector, or of the world.
        base: (b,) added to the controller's base wrench, in the base frame; None for none.
    """

    torque: Array
    force: Array
    in_tool_axes: bool = True
    base: Array | None = None


@dataclass(frozen=True)
class Sample:
    """What is known at one instant.

    Efforts that jump at this instant are given as the mean of both sides: the trapezoidal rule over
    samples then integrates them without error from the jumps.

    Attributes:
        time: simulated time, s.
        q: (nq,); v: (nv,).
        torque: (n,) all joint torques together.
        wrench: (6,) at the end effector in its own axes.
        wrench_base: (b,) at the base in its own axes.
        work: energy through each of :data:`PORTS` since the last reset, J.
        dissipated: energy taken by friction since then, J.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    wrench: Array
    wrench_base: Array
    work: dict[str, float]
    dissipated: float


class Simulation:
    """Integrates a form with the efforts held over each step, as digital controllers do.

    Attributes:
        dt: integrator and control step, s.
        resets: how often it went back to the start.
        failures: steps since then that did not succeed as a whole and were taken in halves.
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
            q: (nq,) where to start, also after a reset.
            dt: integrator and control step, s.
            control: the law in the loop; None leaves the joints to the external torques.
            friction: whether the joints' viscous friction acts.
            scheme: of :data:`.integrators.SCHEMES`; the usual one when None.
            native: whether it runs in C++, see :func:`.integrators.integrate`.

        Raises:
            StateError: there is no such scheme.
            ModelError: the scheme is not for this robot.
        """
        self._form, self._home, self.dt = form, q, dt
        self._control = control
        self._stepper = make_stepper(scheme or default_scheme(form.model), form, native=native)
        self._friction = Friction.of(form.model) if friction else None
        model = form.model
        self._external = External(np.zeros(model.n), np.zeros(6), base=np.zeros(model.b))
        self.resets = -1
        self.reset()

    def reset(self) -> None:
        """Return to the start, at rest, with the works at zero."""
        model = self._form.model
        start = self._form.state(self._home, np.zeros(model.nv))
        self._solver_state = self._stepper.begin(start, 0.0)
        self._q, self._v = self._stepper.motion(self._solver_state)
        self._steps, self.failures, self._broken = 0, 0, False
        self._work = dict.fromkeys(PORTS, 0.0)
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
        """Let ``external`` act from now on, and not only from the next sample."""
        self._external = external
        self._acting = self._efforts()

    def advance(self, steps: int, external: External) -> None:
        """Take a number of steps; ``external`` acts from their end on, at the next sample."""
        for k in range(steps):
            self._before = self._acting
            ports = self._ports(self._before)
            try:
                step, failures = step_with_retry(
                    self._stepper, self._solver_state, ports, self.time, self.dt
                )
            except IntegrationError:
                self._broken = True
                return
            self._solver_state = step.solver_state
            self._q, self._v = self._stepper.motion(step.solver_state)
            self._steps += 1
            self.failures += len(failures)
            for name in PORTS:
                self._work[name] += step.supplied[name]
            self._dissipated += step.dissipated
            if k == steps - 1:
                self._external = external
            self._acting = self._efforts()

    def sample(self) -> Sample:
        """Return what is known now."""
        torque = 0.5 * (self._before.torque + self._acting.torque)
        wrench = 0.5 * (self._tool_wrench(self._before) + self._tool_wrench(self._acting))
        assert self._before.base is not None
        assert self._acting.base is not None
        base = 0.5 * (self._before.base + self._acting.base)
        return Sample(
            self.time, self._q, self._v, torque, wrench, base, dict(self._work), self._dissipated
        )

    def is_finite(self) -> bool:
        """Return whether the state is still one: no step has failed however short it was."""
        return not self._broken and isfinite(self._q.sum() + self._v.sum())

    def _efforts(self) -> External:
        outside, b = self._external, self._form.model.b
        torque = outside.torque
        base = np.zeros(b) if outside.base is None else outside.base
        if self._control is not None:
            effort = self._control(self._q, self._v, self.dt)
            torque, base = torque + effort[b:], base + effort[:b]
        return External(torque, outside.force, outside.in_tool_axes, base)

    def _ports(self, efforts: External) -> Ports | Callable[[float, PHState], Ports]:
        wrench = efforts.force if efforts.force.any() else None
        base = efforts.base if self._form.model.b else None
        if wrench is None or efforts.in_tool_axes:
            return Ports(efforts.torque, base, wrench, friction=self._friction)

        def turned(t: float, x: PHState) -> Ports:
            in_tool = self._in_tool_axes(x.q, wrench)
            return Ports(efforts.torque, base, in_tool, friction=self._friction)

        return turned

    def _tool_wrench(self, efforts: External) -> Array:
        if efforts.in_tool_axes or not efforts.force.any():
            return efforts.force
        return self._in_tool_axes(self._q, efforts.force)

    def _in_tool_axes(self, q: Array, wrench: Array) -> Array:
        model = self._form.model
        to_world = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)[:3, :3]
        return np.concatenate([wrench[:3] @ to_world, wrench[3:] @ to_world])
