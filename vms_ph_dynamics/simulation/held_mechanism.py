# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A mechanism in the grip of a simulated robot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..forms import Ports
from ..integrators import IntegrationError
from ..integrators.stepper import Efforts
from .efforts import add
from .engine import Prediction
from .joint_effects import SimulatedForm, independent_motion
from .mechanism import Mechanism

# Steps of the robot per step of both. They end where the force is wrong by less than a share of it
# (and of 1 N), and its work on the stretch of the grip by less than an energy, J.
_MAX_ITERATIONS, _FORCE_TOLERANCE, _WORK_TOLERANCE = 12, 1e-4, 1e-10


@dataclass(frozen=True)
class _GripState:
    """Angle (rad) and rate (rad/s), the stretch of the grip, and what the step before has shown.

    The latter is the force, the velocity of the end effector at its start, and the error of the
    guess of its motion.
    """

    angle: float
    rate: float
    stretch: Array
    force: Array
    velocity: Array
    guess_error: Array


class HeldMechanism:
    """Integrates a mechanism together with the robot that holds it.

    The force of the grip is constant over a step, in inertial axes, and equals the law of the grip
    at the mean stretch and its mean rate: a discrete gradient. The motions of both depend on it;
    their steps are repeated until it agrees with both, so that what the robot gives is stored or
    lost in grip and mechanism, to the tolerance of the iteration and the quadrature of the robot's
    scheme. The scheme is of second order, and stable for a stiff grip.

    Attributes:
        mechanism: the mechanism.
        lost: energy lost since the reset, J, in the hinge and in the grip.
        energy_to_robot: energy that the grip gave to the robot since then, J.
        from_ground: energy that the ground gave since then where it moves, J.
    """

    def __init__(self, mechanism: Mechanism, ground: Array | None = None) -> None:
        """Hold the handle at the origin of the end effector.

        Args:
            mechanism: at angle zero at the start.
            ground: (3,) velocity of the ground in inertial axes, relative to the frame of the
                integration, m/s; None for surroundings at rest.
        """
        self.mechanism = mechanism
        self._ground_velocity = np.zeros(3) if ground is None else ground

    def reset(self, form: SimulatedForm, q: Array, v: Array) -> None:
        """Take hold of the handle at angle zero, with q (nq,) and v (nv,) of a robot."""
        self.form = form
        velocity, zero = self._end_effector_terms(q, v)[1], np.zeros(3)
        self._grip = self._next_grip = _GripState(0.0, 0.0, zero, zero, velocity, zero)
        self.lost = {"hinge": 0.0, "grip": 0.0}
        self.energy_to_robot = self.from_ground = 0.0
        self._step_energies = (0.0, 0.0, 0.0, 0.0)

    @property
    def angle(self) -> float:
        """Angle of the mechanism, rad."""
        return self._grip.angle

    @property
    def stretch(self) -> float:
        """Distance from the end effector to the handle, m."""
        return float(np.linalg.norm(self._grip.stretch))

    @property
    def rate(self) -> float:
        """Angular velocity of the mechanism, rad/s."""
        return self._grip.rate

    @property
    def moment(self) -> float:
        """Moment of the grip about the axis over the last step, N m; positive along the angle."""
        return -float(self._grip.force @ self.mechanism.lever(self._grip.angle))

    @property
    def stored_energies(self) -> Mapping[str, float]:
        """Energy stored in the mechanism and in the grip, J."""
        state, m = self._grip, self.mechanism
        grip_energy = 0.5 * m.grip_stiffness * float(state.stretch @ state.stretch)
        return {"mechanism": m.energy(state.angle, state.rate), "grip": grip_energy}

    @property
    def residual(self) -> float:
        """What grip and mechanism have stored, lost and given beyond what they received, J."""
        released_energy = sum(self.lost.values()) + self.energy_to_robot - self.from_ground
        return sum(self.stored_energies.values()) + released_energy

    def wrench(self, q: Array) -> Array:
        """Return that of the grip over the last step, (6,) in the axes of the end effector."""
        return self._wrench(q, self._grip.force)

    def with_last_force(self, efforts: Efforts) -> Efforts:
        """Return efforts with the force of the grip over the step before."""
        return self._with_force(efforts, self._grip.force)

    def predict(
        self,
        predict: Callable[[Efforts], Prediction],
        motion: tuple[Array, Array],
        efforts: Efforts,
        dt: float,
    ) -> Prediction:
        """Return the step of the robot with the grip; the mechanism follows with :meth:`commit`.

        Args:
            predict: function from efforts to the predicted step of the robot.
            motion: (nq,) and (nv,) before it.
            efforts: without that of the grip.
            dt: the step, s.

        Raises:
            IntegrationError: a step of the robot fails, or they do not agree.
        """
        m, grip, (q, v) = self.mechanism, self._grip, motion
        k, c = m.grip_stiffness, m.grip_damping
        stiffness = 0.5 * k + c / dt
        position, velocity, jacobian, mass_matrix = self._end_effector_terms(q, v)
        mobility = 0.5 * dt * dt * (jacobian @ np.linalg.solve(mass_matrix, jacobian.T))
        factor = np.linalg.inv(np.eye(3) + stiffness * mobility)
        ground_step = dt * self._ground_velocity
        displacement_guess = dt * (1.5 * velocity - 0.5 * grip.velocity)
        # The guess of the motion of a step misses about as much as that of the step before.
        force, displacement = grip.force, displacement_guess + grip.guess_error
        for _ in range(_MAX_ITERATIONS):
            push = k * grip.stretch + stiffness * (ground_step - displacement + mobility @ force)
            turn, force = m.step(grip.angle, grip.rate, dt, factor @ push, stiffness * factor)
            step = predict(self._with_force(efforts, force))
            displacement = self._end_effector_pose(step.q)[:3, 3] - position
            handle_step = m.displacement(grip.angle + turn) - m.displacement(grip.angle)
            stretch_change = handle_step + ground_step - displacement
            error = force - k * (grip.stretch + 0.5 * stretch_change) - c / dt * stretch_change
            is_converged = np.abs(error).max() <= _FORCE_TOLERANCE * (1.0 + np.abs(force).max())
            if is_converged and abs(float(error @ stretch_change)) <= _WORK_TOLERANCE:
                break
        else:
            raise IntegrationError(
                f"robot and mechanism do not agree on the force of the grip, to "
                f"{np.abs(error).max():.3g} N; reduce the step or the stiffness of the grip"
            )
        mean_rate = turn / dt
        self._next_grip = _GripState(
            grip.angle + turn,
            2.0 * mean_rate - grip.rate,
            grip.stretch + stretch_change,
            force,
            velocity,
            displacement - mobility @ (force - grip.force) - displacement_guess,
        )
        self._step_energies = (
            m.friction_moment(mean_rate) * turn,
            c / dt * float(stretch_change @ stretch_change),
            step.supplied["wrench_end_effector"],
            float(force @ ground_step),
        )
        return step

    def commit(self) -> None:
        """Accept the last step, as the robot does."""
        self._grip = self._next_grip
        hinge_loss, grip_loss, energy_to_robot, ground_energy = self._step_energies
        self.lost["hinge"] += hinge_loss
        self.lost["grip"] += grip_loss
        self.energy_to_robot += energy_to_robot
        self.from_ground += ground_energy

    def _end_effector_pose(self, q: Array) -> Array:
        return self.form.model.placement(self.form.model.end_effector, q)

    def _wrench(self, q: Array, force: Array) -> Array:
        """Return a force (3,) in inertial axes as a wrench (6,) in those of the end effector."""
        return np.concatenate([force @ self._end_effector_pose(q)[:3, :3], np.zeros(3)])

    def _end_effector_terms(self, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return place and velocity (3,) of the end effector, its Jacobian (3,m), and M (m,m)."""
        model = self.form.model
        d = model.evaluate(q, v)
        placement = d.placement(model.end_effector)
        jacobian = placement[:3, :3] @ d.J_end_effector[:3]
        mass_matrix, basis, _ = independent_motion(self.form, q, v)
        return placement[:3, 3].copy(), jacobian @ v, jacobian @ basis, mass_matrix

    def _with_force(self, efforts: Efforts, force: Array) -> Efforts:
        """Return efforts with a force on the end effector in inertial axes, (3,)."""
        return add(efforts, lambda t, x: Ports(wrench_end_effector=self._wrench(x.q, force)))
