# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runge-Kutta in velocities, followed by a projection on momentum and energy balance."""

from abc import abstractmethod
from math import isfinite
from typing import ClassVar, NamedTuple

import numpy as np

from ..arrays import Array
from ..energy.audit import PowerQuadrature
from ..evaluation import Evaluation
from ..forms import Form, PHState, Ports
from ..groups import cross
from .centroidal import CentroidalRobot, CentroidalState
from .moving_base import base_rotation, inverse_differential
from .projection import project
from .robot_stepper import RobotStepper
from .stepper import Efforts, StepFailure, StepResult

_NO_ENERGY = PowerQuadrature()


class RungeKuttaStage(NamedTuple):
    """One stage of an explicit scheme, each of which depends on the one before.

    Attributes:
        fraction: fraction of the step that has passed.
        weight: weight of its rates in the step.
        displacement_weight: of its forces in that of the centre of mass, as a fraction of dt^2.
    """

    fraction: float
    weight: float
    displacement_weight: float


class ProjectedRungeKutta(RobotStepper):
    """Explicit Runge-Kutta with exact momentum map and power balance.

    The state is integrated in velocities, with the articulated-body algorithm, in the frame of the
    falling centre of mass. Also integrated are the centre of mass, the momenta in inertial axes and
    the energy, advanced by the impulses and port energies; the motion is then projected back on
    them (:func:`project`). The energy changes by exactly the port energies that are reported.
    """

    closes_balance = True
    stages: ClassVar[tuple[RungeKuttaStage, ...]]

    def __init__(self, form: Form, gravity: bool = True) -> None:
        """Construct the scheme for a robot in any form.

        Raises:
            ModelError: the robot is in a fluid.
        """
        super().__init__(form, gravity)
        self.robot = CentroidalRobot(form.model, gravity)

    def begin(self, state: PHState, t: float) -> CentroidalState:
        """Return the motion relative to the centre of mass."""
        return self.robot.split(np.array(state.q), self.form.velocity(state), t)

    def motion(self, solver_state: CentroidalState) -> tuple[Array, Array]:
        """Return configuration and velocity in the inertial frame."""
        x, fall, t = solver_state, solver_state.fall, solver_state.t
        return self.robot.to_inertial(x.q, x.v, fall.centre_at(t), fall.velocity_at(t))

    def step(
        self, solver_state: CentroidalState, ports: Efforts, t: float, dt: float
    ) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        if isinstance(ports, Ports) and ports.is_free:
            self.checked(ports)
            end, energies = solver_state._replace(t=t + dt), _NO_ENERGY
            q, v = self._free_step(solver_state.q, solver_state.v, dt)
        else:
            q, v, end, energies = self._forced_step(solver_state, ports, t, dt)
        if not isfinite(q.dot(q) + v.dot(v)):
            raise StepFailure("the motion after the step is not finite")
        q, v, dropped_energy = project(self.robot, q, v, end, dt, energies)
        if dropped_energy:
            end = end._replace(energy=end.energy.plus(-dropped_energy))
        return StepResult(CentroidalState(q, v, *end[2:]), energies.supplied, energies.dissipated)

    @abstractmethod
    def _free_step(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Return the end of a step without port efforts; no rate depends on the base pose."""

    def _forced_step(
        self, x: CentroidalState, ports: Efforts, t: float, dt: float
    ) -> tuple[Array, Array, CentroidalState, PowerQuadrature]:
        robot, model, k = self.robot, self.model, self.robot.centre_dim
        energies = PowerQuadrature()
        rate: Array = np.zeros(model.nv)
        a = mean_rate = mean_a = rate
        impulse: Array = np.zeros(k)
        angular_impulse: Array = np.zeros(robot.rotation_dim)
        mass_shift = impulse
        for fraction, weight, displacement_weight in self.stages:
            s = fraction * dt
            u = s * rate
            q = robot.integrate(x.q, u) if fraction else x.q
            v = x.v + s * a if fraction else x.v
            centre, velocity = x.fall.centre_at(x.t, s), x.fall.velocity_at(x.t, s)
            motion = robot.to_inertial(q, v, centre, velocity)
            efforts, d = self.efforts_at(ports, t + s, *motion), Evaluation(model, *motion)
            force = efforts.external_force(d)
            a = robot.acceleration(q, v, force)
            rate = inverse_differential(model.base, u, v) if k and fraction else v
            mean_rate = mean_rate + weight * rate
            mean_a = mean_a + weight * a
            if weight:
                energies.add(efforts, d, weight * dt)
            if k:
                rotation = base_rotation(model.base, q)
                total_force = rotation @ force[:k]
                impulse = impulse + weight * dt * total_force
                moment = force[k : model.b] if k == 2 else rotation @ force[k : model.b]
                angular_impulse += weight * dt * (moment + robot.moment(q[:k], total_force))
                mass_shift = mass_shift + displacement_weight * dt * dt * total_force
        end = self._end_state(x, energies, t, dt, impulse, angular_impulse, mass_shift / robot.mass)
        return robot.integrate(x.q, dt * mean_rate), x.v + dt * mean_a, end, energies

    def _end_state(
        self,
        x: CentroidalState,
        energies: PowerQuadrature,
        t: float,
        dt: float,
        impulse: Array,
        angular_impulse: Array,
        displacement: Array,
    ) -> CentroidalState:
        """Advance momenta, centre of mass and energy by ``dt``, given the impulses of the ports."""
        robot = self.robot
        if robot.centre_dim == 0:
            return x._replace(energy=x.energy.plus(energies.sum), t=t + dt)
        # The energy supplied to the motion of the centre of mass. Gravity alone keeps kinetic plus
        # potential energy of that motion, so only differences by the impulse appear: no large
        # numbers are subtracted after a long fall.
        velocity = x.fall.velocity_at(x.t, dt) + impulse / (2.0 * robot.mass)
        work = float(impulse @ velocity - robot.mass * robot.fall_acceleration @ displacement)
        fall = x.fall
        if impulse.any():
            fall = fall.after_impulse(x.t, displacement, impulse, dt)._replace(start_time=t + dt)
        angular = x.angular + angular_impulse - robot.moment(displacement, impulse)
        return CentroidalState(x.q, x.v, fall, angular, x.energy.plus(energies.sum - work), t + dt)


class ProjectedRK4(ProjectedRungeKutta):
    """The classical scheme of fourth order."""

    order = 4
    stages = (
        RungeKuttaStage(0.0, 1 / 6, 1 / 6),
        RungeKuttaStage(0.5, 1 / 3, 1 / 6),
        RungeKuttaStage(0.5, 1 / 3, 1 / 6),
        RungeKuttaStage(1.0, 1 / 6, 0.0),
    )

    def _free_step(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        robot, half_step = self.robot, 0.5 * dt
        integrate, acceleration, zero_force = robot.integrate, robot.acceleration, robot.zeros
        a1 = acceleration(q, v, zero_force)
        v2 = v + half_step * a1
        a2 = acceleration(integrate(q, half_step * v), v2, zero_force)
        v3 = v + half_step * a2
        a3 = acceleration(integrate(q, half_step * v2), v3, zero_force)
        v4 = v + dt * a3
        a4 = acceleration(integrate(q, dt * v3), v4, zero_force)
        middle_sum = a2 + a3
        increment = dt * v + (dt * dt / 6.0) * (a1 + middle_sum)
        if robot.centre_dim == 3:
            # The commutator that makes the exponentials of rotations of fourth order; see RKMK4.
            increment[3:6] += (dt * dt / 12.0) * cross(v[3:6], v4[3:6])
        return integrate(q, increment), v + (dt / 6.0) * (a1 + 2.0 * middle_sum + a4)


class ProjectedMidpoint(ProjectedRungeKutta):
    """The explicit midpoint rule, of second order, at half the cost.

    For laws in a loop at a high rate, whose efforts are held over each step.
    """

    order = 2
    stages = (RungeKuttaStage(0.0, 0.0, 0.5), RungeKuttaStage(0.5, 1.0, 0.0))

    def _free_step(self, q: Array, v: Array, dt: float) -> tuple[Array, Array]:
        robot, half_step = self.robot, 0.5 * dt
        middle_velocity = v + half_step * robot.acceleration(q, v, robot.zeros)
        a = robot.acceleration(robot.integrate(q, half_step * v), middle_velocity, robot.zeros)
        return robot.integrate(q, dt * middle_velocity), v + dt * a
