# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The discrete-gradient scheme, which conserves energy and momentum without a projection."""

from math import atan, copysign, isfinite, prod, sqrt
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..energy.audit import CompensatedSum, PowerQuadrature
from ..evaluation import Evaluation
from ..forms import Form, PHState, Ports
from ..groups import cross
from .centroidal import CentroidalRobot, CentroidalState, Fall, lever_of
from .implicit import Sweep, solve
from .moving_base import base_rotation
from .robot_stepper import RobotStepper
from .stepper import Efforts, StepFailure, StepResult

# Energy differences below this fraction of the energies are rounding.
_ROUNDING = 8 * np.finfo(float).eps
# The energy error of the solution is corrected if that changes the speed by less than a thousandth;
# otherwise it is kept in the solver state for the next step.
_MAX_CORRECTION = 1e-3
_MAX_DEFERRED_ENERGY_SHARE = 1e-9

_MAX_PAST_STEPS = 4


class PastSteps(NamedTuple):
    """Velocities in the middle of the latest steps, the most recent last.

    Attributes:
        times: s.
        unknowns: the unknown of :func:`solve` at these times.
    """

    times: tuple[float, ...] = ()
    unknowns: tuple[Array, ...] = ()

    def with_point(self, t: float, unknown: Array) -> "PastSteps":
        """Return the past with one more point, without the oldest one if full."""
        indices = [i for i, time in enumerate(self.times) if time != t][1 - _MAX_PAST_STEPS :]
        return PastSteps(
            (*(self.times[i] for i in indices), t), (*(self.unknowns[i] for i in indices), unknown)
        )

    def extrapolate(self, t: float) -> Array:
        """Return the polynomial through the points, at another time."""
        weights = [
            prod((t - other) / (time - other) for other in self.times if other != time)
            for time in self.times
        ]
        return np.dot(weights, self.unknowns)


class MidpointState(NamedTuple):
    """The solver state of these schemes; symbols as in :class:`CentroidalState`.

    Attributes:
        q: (nq,); the base position is not used.
        fall: motion of the centre of mass.
        angular: (r,) angular momentum about the centre of mass, mount axes, kg m^2/s.
        pi: (n,) joint momenta in the frame of the centre of mass.
        energy: internal energy, J.
        t: time, s.
        past: recent velocities, for the initial guess of the next step.
    """

    q: Array
    fall: Fall
    angular: Array
    pi: Array
    energy: CompensatedSum
    t: float
    past: PastSteps


class MidstepForces(NamedTuple):
    """The forces and efforts in the middle of a step.

    Attributes:
        gradient: (n,) ``dT/dq - dV/dq``.
        moment: (r,) moment of the ports about the centre of mass, base axes.
        shape_force: (n,) of the ports on the shape at a fixed centre of mass.
        total_force: (k,) total force of the ports, mount axes.
        efforts: efforts at the ports, and d: the evaluation there; None without port efforts.
    """

    gradient: Array
    moment: Array
    shape_force: Array
    total_force: Array
    efforts: Ports | None = None
    d: Evaluation | None = None


class DiscreteGradient(RobotStepper):
    """The midpoint rule with Gonzalez' discrete gradient in the shape: exact energy as well.

    The correction ``c D dq / (dq . D dq)`` is added to the slope of the energy along the shape,
    with dq the joint displacement in the step, D the diagonal of the mass matrix with all joints at
    zero, and c such that the energy changes by the port energies (O. Gonzalez, Journal of Nonlinear
    Science 6, 1996). It is of second order, so that order and symmetry of the midpoint rule are
    preserved.
    """

    order = 2
    closes_balance = True

    def __init__(self, form: Form, gravity: bool = True) -> None:
        super().__init__(form, gravity)
        self.robot = CentroidalRobot(form.model, gravity)
        neutral_mass_matrix = self.robot.mass_matrix(form.model.neutral_configuration())
        self._inertia_diagonal = np.diag(neutral_mass_matrix)[form.model.b :].copy()
        # Scales the multiplier to a velocity; only the magnitude matters, and not without joints.
        self._root_inertia = sqrt(float(self._inertia_diagonal.mean())) if form.model.n else 1.0

    def begin(self, state: PHState, t: float) -> MidpointState:
        """Return the motion relative to the centre of mass."""
        x = self.robot.split(np.array(state.q), self.form.velocity(state), t)
        d = Evaluation(self.model, x.q, x.v)
        return MidpointState(x.q, x.fall, x.angular, d.pi, x.energy, t, PastSteps())

    def motion(self, solver_state: MidpointState) -> tuple[Array, Array]:
        """Return configuration and velocity in the inertial frame."""
        x = self._centroidal(solver_state)
        fall, t = solver_state.fall, solver_state.t
        return self.robot.to_inertial(x.q, x.v, fall.centre_at(t), fall.velocity_at(t))

    def step(self, solver_state: MidpointState, ports: Efforts, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        nv = self.model.nv
        is_free = isinstance(ports, Ports) and ports.is_free
        if is_free:
            self.checked(ports)  # type: ignore[arg-type]
        L_0 = self._in_base(solver_state.q, solver_state.angular)
        # On a parabola the velocity in the middle is the mean velocity.
        mean_centre_velocity = solver_state.fall.velocity_at(solver_state.t, 0.5 * dt)

        def sweep(unknown: Array) -> Sweep:
            centre_velocity = mean_centre_velocity if is_free else unknown[nv + 1 :]
            return self._sweep(
                solver_state, None if is_free else ports, t, dt, L_0, unknown, centre_velocity
            )

        v_centre = np.zeros(0) if is_free else mean_centre_velocity
        try:
            solution = solve(sweep, np.concatenate([self._guess(solver_state, t, dt), v_centre]))
        except StepFailure:
            if not solver_state.past.times:
                raise
            # An extrapolation across a jump, or a change of step, may not be a usable guess.
            fresh_guess = self._guess(solver_state._replace(past=PastSteps()), t, dt)
            solution = solve(sweep, np.concatenate([fresh_guess, v_centre]))
        end, midstep, dq = solution.outcome
        end = self._energy_corrected(end, dq)
        quadrature = PowerQuadrature()
        if midstep.efforts is not None:
            quadrature.add(midstep.efforts, midstep.d, dt)
        past = solver_state.past.with_point(t + 0.5 * dt, solution.unknown[: nv + 1])
        return StepResult(
            end._replace(past=past), quadrature.supplied, quadrature.dissipated, solution.iterations
        )

    def _sweep(
        self,
        x: MidpointState,
        ports: Efforts | None,
        t: float,
        dt: float,
        L_0: Array,
        unknown: Array,
        centre_velocity: Array,
    ) -> Sweep:
        """Return the next guess: velocity in the middle, multiplier, centre-of-mass velocity."""
        robot, k, b, nv = self.robot, self.robot.centre_dim, self.model.b, self.model.nv
        y = unknown[:nv]
        angle = dt * y[k:b]
        dq = dt * y
        dq[:k] = 0.0
        if k == 3:
            dq[3:6] *= _angle_ratio(angle)
        q_mid, q_end = robot.integrate(x.q, 0.5 * dq), robot.integrate(x.q, dq)
        if not isfinite(q_end.dot(q_end)):
            raise StepFailure("the motion within the step is not finite")
        mass_matrix = robot.mass_matrix(q_mid)
        midstep = self._midstep_forces(x, ports, t, dt, q_mid, y, centre_velocity, mass_matrix)
        pi: Array = x.pi + dt * (midstep.gradient + midstep.shape_force)
        pi = pi - self._correction(float(unknown[nv]), dq[b:])
        energy, angular = x.energy, x.angular
        if midstep.efforts is not None:
            energy = energy.plus(dt * float(midstep.moment @ y[k:b] + midstep.shape_force @ y[b:]))
            if k:
                angular = angular + dt * self._moment_in_mount(q_end, angle, midstep.moment)
        L_1: Array = self._in_base(q_end, angular)
        momentum, fall = self._momentum(0.5 * (L_0 + L_1), 0.5 * (x.pi + pi)), x.fall
        next_guess: Array = np.empty(len(unknown))
        next_guess[:nv] = np.linalg.solve(mass_matrix, momentum)
        if len(unknown) > nv + 1:
            # A constant force over the step: the mean of the velocity it adds is half of the end.
            dv, impulse = (0.5 * dt / robot.mass) * midstep.total_force, dt * midstep.total_force
            next_guess[nv + 1 :] = fall.velocity_at(x.t, 0.5 * dt) + dv
            if impulse.any():
                fall = fall.after_impulse(x.t, dt * dv, impulse, dt)._replace(start_time=t + dt)
        end_state = MidpointState(q_end, fall, angular, pi, energy, t + dt, x.past)
        v = next_guess[:nv]
        work = float(v[b:] @ (pi - x.pi) - midstep.gradient @ dq[b:]) + float(v[k:b] @ (L_1 - L_0))
        multiplier = dt * self._multiplier(end_state, L_1, dq[b:], x.energy.value, work)
        next_guess[nv] = multiplier
        if multiplier != unknown[nv]:
            # The newer multiplier is used at once: the sweeps contract twice as fast.
            pi = pi - self._correction(multiplier - float(unknown[nv]), dq[b:])
            momentum[b:] = 0.5 * (x.pi + pi)
            next_guess[:nv] = np.linalg.solve(mass_matrix, momentum)
            end_state = end_state._replace(pi=pi)
        return Sweep(next_guess, (end_state, midstep, dq[b:]))

    def _midstep_forces(
        self,
        x: MidpointState,
        ports: Efforts | None,
        t: float,
        dt: float,
        mid_q: Array,
        mid_velocity: Array,
        centre_velocity: Array,
        mass_matrix: Array,
    ) -> MidstepForces:
        robot, k, r, b = self.robot, self.robot.centre_dim, self.robot.rotation_dim, self.model.b
        gradient = robot.lagrangian_gradient(mid_q, mid_velocity)
        if ports is None:
            return MidstepForces(gradient, np.zeros(r), robot.zeros[b:], robot.zeros[:k])
        if k:
            rotation = base_rotation(self.model.base, mid_q)
            mid_q[:k] = -(rotation @ lever_of(mass_matrix, robot.mass, k))
            centre = x.fall.centre_at(t) + (0.5 * dt) * centre_velocity
            mid_q, mid_velocity = robot.to_inertial(mid_q, mid_velocity, centre, centre_velocity)
        efforts = self.efforts_at(ports, t + 0.5 * dt, mid_q, mid_velocity)
        d = Evaluation(self.model, mid_q, mid_velocity)
        force = efforts.external_force(d)
        if not k:
            return MidstepForces(gradient, force[:0], force, force[:0], efforts, d)
        # The effect of a force at a fixed centre of mass, whose motion is integrated separately.
        reduced = force[k:] - mass_matrix[:k, k:].T @ force[:k] / robot.mass
        return MidstepForces(gradient, reduced[:r], reduced[r:], rotation @ force[:k], efforts, d)

    def _moment_in_mount(self, q: Array, rotation_vector: Array, moment: Array) -> Array:
        """Return the torque in mount axes, such that its work is ``w . torque``."""
        if self.robot.centre_dim == 2:
            return moment
        half_vector = 0.5 * rotation_vector
        numerator = moment - cross(half_vector, moment) + half_vector * float(half_vector @ moment)
        return base_rotation("floating", q) @ numerator / (1.0 + float(half_vector @ half_vector))

    def _in_base(self, q: Array, angular: Array) -> Array:
        return angular.dot(base_rotation("floating", q)) if self.robot.centre_dim == 3 else angular

    def _momentum(self, angular: Array, pi: Array) -> Array:
        """Return the momentum about the centre of mass, (nv,): angular in base axes, and joint."""
        momentum = np.zeros(self.model.nv)
        momentum[self.robot.centre_dim : self.model.b], momentum[self.model.b :] = angular, pi
        return momentum

    def _centroidal(self, x: MidpointState) -> CentroidalState:
        k = self.robot.centre_dim
        momentum = self._momentum(self._in_base(x.q, x.angular), x.pi)
        M, q = self.robot.mass_matrix(x.q), x.q.copy()
        if k:
            q[:k] = -(base_rotation(self.model.base, q) @ lever_of(M, self.robot.mass, k))
        return CentroidalState(q, np.linalg.solve(M, momentum), x.fall, x.angular, x.energy, x.t)

    def _guess(self, x: MidpointState, t: float, dt: float) -> Array:
        if len(x.past.times) == _MAX_PAST_STEPS:
            return x.past.extrapolate(t + 0.5 * dt)
        state = self._centroidal(x)
        acceleration = self.robot.acceleration(state.q, state.v, self.robot.zeros)
        return np.append(state.v + (0.5 * dt) * acceleration, 0.0)

    def _correction(self, multiplier: float, dq: Array) -> Array:
        weighted_dq = self._inertia_diagonal * dq
        squared_norm = float(dq.dot(weighted_dq))
        if squared_norm == 0.0:
            return self.robot.zeros[self.model.b :]
        return (multiplier * self._root_inertia / sqrt(squared_norm)) * weighted_dq

    def _multiplier(
        self, end_state: MidpointState, angular: Array, dq: Array, energy_before: float, work: float
    ) -> float:
        """Return the multiplier per time for the work of the midpoint rule, J."""
        squared_norm = float(dq.dot(self._inertia_diagonal * dq))
        if squared_norm == 0.0:
            return 0.0
        energy, energy_scale, *_ = self._energy_at(end_state.q, angular, end_state.pi)
        # The energy error of the midpoint rule: it vanishes with dq, for any guess.
        energy_error = energy - energy_before - work
        if abs(energy_error) <= _ROUNDING * energy_scale:
            return 0.0
        return energy_error / (self._root_inertia * sqrt(squared_norm))

    def _energy_corrected(self, end_state: MidpointState, dq: Array) -> MidpointState:
        angular = self._in_base(end_state.q, end_state.angular)
        energy, energy_scale, velocity, M = self._energy_at(end_state.q, angular, end_state.pi)
        energy_error = energy - end_state.energy.value
        if abs(energy_error) <= _ROUNDING * energy_scale:
            return end_state
        direction: Array = np.zeros(self.model.nv)
        direction[self.model.b :] = self._inertia_diagonal * dq
        # The kinetic energy of momentum - factor * direction is quadratic; the small root.
        slope, curvature = direction.dot(velocity), direction.dot(np.linalg.solve(M, direction))
        discriminant = slope * slope - 2.0 * curvature * energy_error
        if slope and abs(2.0 * curvature * energy_error) <= _MAX_CORRECTION * slope * slope:
            # ``slope`` has the sign of the step.
            factor = 2.0 * energy_error / (slope + copysign(sqrt(discriminant), slope))
            return end_state._replace(pi=end_state.pi - factor * direction[self.model.b :])
        if abs(energy_error) > _MAX_DEFERRED_ENERGY_SHARE * energy_scale:
            raise StepFailure(f"the solution misses an energy of {energy_error:.3g} J")
        return end_state

    def _energy_at(self, q: Array, angular: Array, pi: Array) -> tuple[float, float, Array, Array]:
        """Return the energy of momenta, the size of its terms, the velocity and the inertia."""
        momentum, mass_matrix = self._momentum(angular, pi), self.robot.mass_matrix(q)
        velocity = np.linalg.solve(mass_matrix, momentum)
        kinetic_energy, potential = 0.5 * float(momentum.dot(velocity)), self.robot.potential(q)
        return kinetic_energy + potential, kinetic_energy + abs(potential), velocity, mass_matrix


def _angle_ratio(x: Array) -> float:
    """Return the angle of ``cay(x)`` over the length of ``x``: ``2 atan(|x|/2) / |x|``."""
    squared_length = float(x.dot(x))
    if squared_length < 1e-8:
        # The series; the next term is below 1e-18.
        return 1.0 - squared_length / 12.0
    length = sqrt(squared_length)
    return 2.0 * atan(0.5 * length) / length
