# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The scheme of a mechanism as one for its robot, with the ports of a robot."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import Form, PHState, Ports
from vms_ph_dynamics.integrators import Observation, StepFailure, StepResult
from vms_ph_dynamics.integrators.stepper import Interpolant, Stepper

from ..errors import SimulationError
from ..simulation.stepper import EphsStepper, SolverState
from .mechanism import Mechanism


class Motion(NamedTuple):
    """The solver state of a mechanism.

    Attributes:
        inner: of the scheme.
        q: (nq,) configuration; v: (nv,) velocity.
        work: (n,) of the joint torques since the beginning, J.
        friction: (k,) heat of friction in the joints that have it, J, since then.
        destroyed: (k,) exergy that this heat destroyed, J.
        drag: heat of drag in a fluid since then, J.
    """

    inner: SolverState
    q: Array
    v: Array
    work: Array
    friction: Array
    destroyed: Array
    drag: float


class MechanismStepper(Stepper):
    """A scheme of :class:`.EphsStepper` that takes and returns what those of a robot do.

    Args:
        mechanism: the robot.
        form: for its momenta.
        scheme: name of the scheme.

    Raises:
        OptionError: there is no such scheme.
    """

    def __init__(self, mechanism: Mechanism, form: Form, scheme: str = "projected_rk4") -> None:
        self._mechanism, self._form = mechanism, form
        self._inner = EphsStepper(mechanism.equations, scheme)
        self.name, self.order = self._inner.name, self._inner.order
        self.nothing = Ports()

    def begin(self, state: PHState, t: float) -> Motion:
        """Return the solver state at a state of the robot, with everything at theta_0."""
        v = self._form.velocity(state)
        inner = self._inner.begin(self._mechanism.state(state.q, v), t)
        none = np.zeros(self._mechanism.warm.size)
        q, v = self._mechanism.motion(inner.x)
        return Motion(inner, q, v, np.zeros(self._form.model.n), none, none, 0.0)

    def motion(self, solver_state: Motion) -> tuple[Array, Array]:
        """Return configuration (nq,) and velocity (nv,)."""
        return solver_state.q, solver_state.v

    def step(
        self,
        solver_state: Motion,
        ports: Ports | Callable[[float, PHState], Ports],
        t: float,
        dt: float,
    ) -> StepResult:
        """Return the result of one step; see :meth:`Stepper.step`.

        A wrench in world axes is held as it is at the beginning of the step.

        Raises:
            StepFailure: the motion cannot be continued.
        """
        before = solver_state
        if callable(ports):
            ports = ports(t, self._form.state(before.q, before.v))
        mechanism, equations = self._mechanism, self._mechanism.equations
        result = self._inner.step(before.inner, mechanism.flows(ports), t, dt)
        inner: SolverState = result.solver_state
        try:
            q, v = mechanism.motion(inner.x)
            twists = np.zeros(0)
            if (
                ports.wrench_base is not None
                or ports.wrench_end_effector is not None
                or (ports.wrench_tools)
            ):
                ends = (equations.tangent(x, None)[1] for x in (before.inner.x, inner.x))
                twists = 0.5 * dt * np.sum(list(ends), axis=0)
        except SimulationError as error:
            raise StepFailure(str(error)) from error
        work, wrenches = mechanism.works(result.supplied, ports, twists)
        heat, destroyed = mechanism.heats(before.inner.x, inner.x)
        drag = mechanism.drag(before.inner.x, inner.x)
        after = Motion(
            inner,
            q,
            v,
            before.work + work,
            before.friction + heat,
            before.destroyed + destroyed,
            before.drag + drag,
        )
        dissipated = float(heat.sum()) + drag
        return StepResult(after, {"torque": float(work.sum()), **wrenches}, dissipated)

    def observe(self, solver_state: Motion) -> Observation:
        """Return the state of the robot and its mechanical energy."""
        d = self._form.model.evaluate(solver_state.q, solver_state.v)
        state = self._form.state(solver_state.q, solver_state.v)
        return Observation(state, d.kinetic_energy + d.potential_energy, np.zeros(0))

    def interpolant(
        self, before: PHState, after: PHState, ports: object, t: float, dt: float
    ) -> Interpolant:
        """Not needed by simulations, which have no events.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError
