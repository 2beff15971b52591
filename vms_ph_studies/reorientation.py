# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops of the joints that turn a free base at zero momentum, and their planning."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics.arrays import Array, frozen
from vms_ph_dynamics.errors import ModelError, StateError
from vms_ph_dynamics.evaluation import Evaluation, check_moving_rigid
from vms_ph_dynamics.forms.decoupled import DecoupledEvaluation
from vms_ph_dynamics.groups import SO3, base_group
from vms_ph_dynamics.model import VMSModel


class JointMotion(NamedTuple):
    """The motion of the joints at one time.

    Attributes:
        offset: (n,) from the start of the path, rad or m.
        rate: (n,) rad/s or m/s.
        acceleration: (n,) rad/s^2 or m/s^2.
    """

    offset: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True)
class EllipticLoop:
    """``offset = cosine (cos phi - 1) + sine sin phi``, an ellipse traversed ``loops`` times.

    The phase phi follows a quintic from rest to rest.

    Attributes:
        cosine, sine: (n,) conjugate half diameters of the ellipse, rad or m.
        loops: how often it is traversed; negative: backwards.
        duration: of all loops, s.
    """

    cosine: Array
    sine: Array
    loops: int
    duration: float

    def __call__(self, t: float) -> JointMotion:
        """Return the motion at a time in [0, duration], s."""
        s, total_phase = t / self.duration, 2.0 * np.pi * self.loops
        phase = total_phase * s**3 * (10.0 + s * (6.0 * s - 15.0))
        phase_rate = total_phase * 30.0 * s**2 * (1.0 - s) ** 2 / self.duration
        phase_acceleration = total_phase * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self.duration**2
        offset, tangent = self.offset(phase), self.derivative(phase)
        acceleration = tangent * phase_acceleration - (offset + self.cosine) * phase_rate**2
        return JointMotion(offset, tangent * phase_rate, acceleration)

    def offset(self, phase: float) -> Array:
        """Return the offset (n,) at a phase, rad."""
        return self.cosine * (np.cos(phase) - 1.0) + self.sine * np.sin(phase)

    def derivative(self, phase: float) -> Array:
        """Return the derivative of the offset by the phase, (n,)."""
        return self.sine * np.cos(phase) - self.cosine * np.sin(phase)

    @property
    def min_offset(self) -> Array:
        """Least offset of every joint, (n,)."""
        return -self.cosine - np.hypot(self.cosine, self.sine)

    @property
    def max_offset(self) -> Array:
        """Largest offset of every joint, (n,)."""
        return -self.cosine + np.hypot(self.cosine, self.sine)

    @property
    def max_rate(self) -> Array:
        """Largest rate of every joint, at most, (n,)."""
        peak_phase_rate = 1.875 * 2.0 * np.pi * abs(self.loops) / self.duration
        return np.hypot(self.cosine, self.sine) * peak_phase_rate


def displace(model: VMSModel, q: Array, offset: Array) -> Array:
    """Return a configuration with its joints displaced by (n,), rad or m."""
    return model.integrate(q, np.concatenate([np.zeros(model.b), offset]))


# The two Gauss points of a step and the weights of the commutator-free scheme of order four.
_GAUSS = 0.5 - np.sqrt(3.0) / 6.0, 0.5 + np.sqrt(3.0) / 6.0
_NEAR_WEIGHT, _FAR_WEIGHT = 0.25 + np.sqrt(3.0) / 6.0, 0.25 - np.sqrt(3.0) / 6.0

_MIN_STEPS, _MAX_STEPS = 16, 1 << 14


def base_motion(model: VMSModel, q: Array, path: EllipticLoop, step_count: int) -> Array:
    """Return the poses of the base along a path of the joints at zero momentum.

    The base moves with the twist ``-A(q) qdot``, integrated by a commutator-free scheme of order
    four, whose poses are exact elements of the group.

    Args:
        model: a robot on a planar or floating base.
        q: (nq,) the start of the path; the pose of its base is not used.
        path: of the joints.
        step_count: number of steps.

    Returns:
        (step_count+1,4,4), or (step_count+1,3,3) on a planar base: poses relative to the first one.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: q is no configuration.
    """
    dt = path.duration / step_count
    motions = [path((k + node) * dt) for k in range(step_count) for node in _GAUSS]
    offsets, rates = (np.array([motion[i] for motion in motions]) for i in (0, 1))
    return _base_poses(model, q, offsets, rates, dt)


def holonomy(model: VMSModel, q: Array, loop: EllipticLoop, tolerance: float = 1e-12) -> Array:
    """Return the pose of the base after one loop, relative to that before it, (4,4) or (3,3).

    It does not depend on the speed of the loop. After N loops it is the N-th power. The step length
    is halved until the pose changes by less than the tolerance.

    Raises:
        ModelError: the base is fixed, or the robot is in a fluid.
        StateError: q is no configuration, or the steps became too many.
    """
    steps, coarse_pose = _MIN_STEPS, loop_pose(model, q, loop, _MIN_STEPS)
    while steps < _MAX_STEPS:
        steps *= 2
        fine_pose = loop_pose(model, q, loop, steps)
        # The error of order four is a fifteenth of the change.
        if np.abs(fine_pose - coarse_pose).max() < 15.0 * tolerance:
            return frozen(fine_pose)
        coarse_pose = fine_pose
    raise StateError(
        f"the motion of the base along the loop did not converge to {tolerance:g} in {_MAX_STEPS} "
        "steps; give a smaller loop, or a larger tolerance"
    )


def loop_pose(model: VMSModel, q: Array, loop: EllipticLoop, step_count: int) -> Array:
    """Return :func:`holonomy` of one loop by a number of steps."""
    h = 2.0 * np.pi / step_count
    phases = [(k + node) * h for k in range(step_count) for node in _GAUSS]
    offsets = np.array([loop.offset(phase) for phase in phases])
    return _base_poses(model, q, offsets, np.array([loop.derivative(p) for p in phases]), h)[-1]


def _base_poses(model: VMSModel, q: Array, offsets: Array, rates: Array, h: float) -> Array:
    start_q = model.checked_configuration(q)
    check_moving_rigid(Evaluation(model, start_q, np.zeros(model.nv)))
    configurations = np.array([displace(model, start_q, offset) for offset in offsets])
    zero_velocities = np.zeros((len(offsets), model.nv))
    connections = model.evaluate_batch(configurations, zero_velocities, terms=("A",)).A
    twists = -np.einsum("kbi,ki->kb", connections, rates)
    group, pose = base_group(model.base), base_group(model.base).identity()
    poses = [pose]
    for early_step, late_step in zip(h * twists[0::2], h * twists[1::2], strict=True):
        first_factor = group.exp(_NEAR_WEIGHT * early_step + _FAR_WEIGHT * late_step)
        pose = pose @ first_factor @ group.exp(_FAR_WEIGHT * early_step + _NEAR_WEIGHT * late_step)
        poses.append(pose)
    return np.array(poses)


_SO3 = SO3()

_MAX_LOOPS = 100_000
# Rounds of the search for loops of least size, and of the correction along the true holonomy.
_SEARCH_ROUNDS, _MAX_CORRECTIONS = 60, 20
# Share of the null-space part of the loop that a round takes away.
_SHRINKAGE = 0.3
# Accuracy of the turn of one loop, rad; displacement of finite differences, rad; steps of a loop.
_TURN_ACCURACY, _DIFFERENCE_STEP, _TURN_STEPS = 1e-11, 1e-4, 16
# Steps along the line to the centre of a loop.
_CENTRE_STEPS = 32
# Room left to the joint limits, rad or m.
_MARGIN = 1e-3


@dataclass(frozen=True)
class Reorientation:
    """Closed loops of the joints that turn the base of a robot at zero momentum.

    Attributes:
        path: the loops, as offsets of the joints from the start ``q``.
        q: (nq,) the start.
        displacement: (4,4) pose of the base after all loops, relative to that before them, by path
            integration of the connection.
        turn_by_curvature: (3,) rotation vector of one loop by the curvature alone, rad.
        loop_rotation_vector: (3,) of one loop, by path integration, rad.
    """

    path: EllipticLoop
    q: Array
    displacement: Array
    turn_by_curvature: Array
    loop_rotation_vector: Array

    @property
    def loops(self) -> int:
        """Number of loops."""
        return self.path.loops


def plan_reorientation(
    model: VMSModel,
    q: npt.ArrayLike,
    rotation: npt.ArrayLike,
    *,
    amplitude: float = 0.5,
    rate: float = 0.5,
) -> Reorientation:
    """Return loops of the joints after which the base has turned by a rotation.

    Every loop turns the base by the same rotation, the N-th root of the wanted one: at zero
    momentum the motion of the base depends on the joints alone. Its ellipse is the one of least
    size, in the first approximation by the curvature of the connection [B (3.72)], that gives it;
    Newton's method corrects it along the path integral. The base may end displaced: its position
    follows from the centre of mass, which stays fixed.

    Args:
        model: a robot on a floating base, without a fluid.
        q: (nq,) the start.
        rotation: (3,3) that the base is to make, in its own axes at the start.
        amplitude: largest excursion of a joint from its start, rad or m. Smaller ones need more
            loops, with their inverse square.
        rate: largest rate of a joint, rad/s or m/s.

    Raises:
        ModelError: the base is not floating, the robot is in a fluid, or amplitude or rate are not
            positive.
        StateError: q is no configuration, ``rotation`` is no rotation, or no such loops were found
            from there; the message says why.
    """
    if model.base != "floating":
        raise ModelError(f"reorientation is for a floating base; given: a {model.base} base")
    if not (amplitude > 0.0 and rate > 0.0):
        raise ModelError(f"amplitude and rate must be positive; given: {amplitude} and {rate}")
    start_q, turn = model.checked_configuration(q), _rotation_vector(rotation)
    if not turn.any():
        raise StateError("the rotation is the identity: the base need not turn")
    half_diameters = _least_ellipse(model, start_q, turn)
    excursion = np.abs(half_diameters[0]) + np.hypot(*half_diameters)
    loop_count = max(1, int(np.ceil((np.max(excursion) / amplitude) ** 2)))
    reason = "no loop was tried"
    while loop_count <= _MAX_LOOPS:
        small_diameters = np.concatenate(half_diameters) / np.sqrt(loop_count)
        loop_diameters = _correct_half_diameters(model, start_q, small_diameters, turn / loop_count)
        loop_growth = 1.1
        if loop_diameters is None:
            reason = "Newton's method did not converge"
        else:
            path = _timed_loops(loop_diameters, loop_count, rate)
            reason = _violation(model, start_q, path, amplitude)
            if not reason:
                return _make_reorientation(model, start_q, path)
            extent = max(-np.min(path.min_offset), np.max(path.max_offset))
            loop_growth = max(loop_growth, (extent / amplitude) ** 2)
        loop_count = int(np.ceil(loop_growth * loop_count)) + 1
    raise StateError(
        f"no plan with up to {_MAX_LOOPS} loops was found: {reason}; start from another "
        "configuration, or allow a larger amplitude"
    )


def turn_by_curvature(model: VMSModel, q: Array, loop: EllipticLoop) -> Array:
    """Return the rotation vector of one small loop by the curvature of the connection, (3,), rad.

    It is the curvature at the centre of the ellipse times the area of the ellipse, transported to
    the start ``q`` (nq,) along the straight line between them; the error relative to the turn is of
    second order in the size of the loop.

    Raises:
        ModelError: the base is not floating, or the robot is in a fluid.
    """
    offset = -loop.cosine
    curvature = _curvature_at(model, displace(model, q, offset))
    turn = np.pi * np.einsum("i,ijk,j->k", loop.cosine, curvature, loop.sine)
    fractions = np.linspace(0.0, 1.0, _CENTRE_STEPS, endpoint=False)
    scales = (fractions[:, None] + np.array(_GAUSS) / _CENTRE_STEPS).ravel()
    rates = np.tile(offset, (len(scales), 1))
    centre_pose = _base_poses(model, q, scales[:, None] * offset, rates, 1.0 / _CENTRE_STEPS)[-1]
    return frozen(centre_pose[:3, :3] @ turn)


def _rotation_vector(rotation: npt.ArrayLike) -> Array:
    matrix = np.asarray(rotation, float)
    is_finite = matrix.shape == (3, 3) and np.isfinite(matrix).all()
    if (
        not is_finite
        or np.abs(matrix.T @ matrix - np.eye(3)).max() > 1e-6
        or np.linalg.det(matrix) < 0
    ):
        raise StateError(f"rotation must be a rotation matrix (3,3); given: {rotation!r}")
    return _SO3.log(matrix)


def _curvature_at(model: VMSModel, q: Array) -> Array:
    """Return the turn of the base per area of a loop, (n,n,3), in base axes."""
    return DecoupledEvaluation(model.evaluate(q, np.zeros(model.nv))).curvature[:, :, 3:]


def _least_ellipse(model: VMSModel, q: Array, turn: Array) -> tuple[Array, Array]:
    """Return the half diameters of the least ellipse for one loop, by the curvature alone."""
    turn_tensor = np.pi * np.moveaxis(_curvature_at(model, q), 2, 0)
    axis_curvature = np.einsum("kij,k->ij", turn_tensor, turn / np.linalg.norm(turn))
    u, s, vt = np.linalg.svd(axis_curvature)
    if s[0] < 1e-12:
        raise StateError("no pair of joints turns the base about this axis here: no curvature")
    ellipse_scale = np.sqrt(np.linalg.norm(turn) / s[0])
    cosine, sine = ellipse_scale * u[:, 0], ellipse_scale * vt[0]
    for _ in range(_SEARCH_ROUNDS):
        jacobian = np.hstack([turn_tensor @ sine, np.einsum("i,kij->kj", cosine, turn_tensor)])
        pseudo_inverse, half_diameters = np.linalg.pinv(jacobian), np.concatenate([cosine, sine])
        turn_error = turn - np.einsum("i,kij,j->k", cosine, turn_tensor, sine)
        null_part = half_diameters - pseudo_inverse @ (jacobian @ half_diameters)
        half_diameters += pseudo_inverse @ turn_error - _SHRINKAGE * null_part
        cosine, sine = np.split(half_diameters, 2)
    turn_residual = np.linalg.norm(turn - np.einsum("i,kij,j->k", cosine, turn_tensor, sine))
    if turn_residual > 1e-6 * np.linalg.norm(turn):
        raise StateError("the joints turn the base about other axes only: the curvature lacks rank")
    return cosine, sine


def _unit_loop(half_diameters: Array) -> EllipticLoop:
    cosine, sine = np.split(half_diameters, 2)
    return EllipticLoop(cosine, sine, 1, 1.0)


def _turn_jacobian(model: VMSModel, q: Array, half_diameters: Array) -> Array:
    """Return the derivatives (3,2n) of the turn by half diameters (2n,), with few steps a loop."""
    turns = []
    for shift in _DIFFERENCE_STEP * np.eye(len(half_diameters)):
        loops = (_unit_loop(half_diameters + shift), _unit_loop(half_diameters - shift))
        turns.append([_SO3.log(loop_pose(model, q, loop, _TURN_STEPS)[:3, :3]) for loop in loops])
    return np.array([(a - b) / (2.0 * _DIFFERENCE_STEP) for a, b in turns]).T


def _correct_half_diameters(
    model: VMSModel, q: Array, half_diameters: Array, target_rotation: Array
) -> Array | None:
    """Return half diameters (2n,) whose loop turns the base by a rotation vector, or None."""
    inverse_jacobian, last_error = None, np.inf
    for _ in range(_MAX_CORRECTIONS):
        pose = holonomy(model, q, _unit_loop(half_diameters), _TURN_ACCURACY)
        turn_error = target_rotation - _SO3.log(pose[:3, :3])
        error_size = float(np.linalg.norm(turn_error))
        if error_size < _TURN_ACCURACY:
            return half_diameters
        # The Jacobian is reused while the error decreases fast.
        if inverse_jacobian is None or error_size > 0.2 * last_error:
            inverse_jacobian = np.linalg.pinv(_turn_jacobian(model, q, half_diameters))
        last_error, step = error_size, inverse_jacobian @ turn_error
        # A full step of Newton's method may leave the region where the Jacobian is valid.
        step_ratio = float(np.linalg.norm(half_diameters) / np.linalg.norm(step))
        half_diameters = half_diameters + step * min(1.0, 0.5 * step_ratio)
    return None


def _timed_loops(half_diameters: Array, loop_count: int, rate: float) -> EllipticLoop:
    cosine, sine = (frozen(half_diameter) for half_diameter in np.split(half_diameters, 2))
    max_rate = EllipticLoop(cosine, sine, loop_count, 1.0).max_rate
    return EllipticLoop(cosine, sine, loop_count, float(np.max(max_rate)) / rate)


def _violation(model: VMSModel, q: Array, path: EllipticLoop, amplitude: float) -> str:
    """Return which bound a path violates, in words; empty if none."""
    if max(-np.min(path.min_offset), np.max(path.max_offset)) > amplitude:
        return f"a joint would move by more than {amplitude:g}"
    joints, positions = model.joints, model.joint_positions(q)
    is_below = positions + path.min_offset < joints.lower + _MARGIN
    is_outside = is_below | (positions + path.max_offset > joints.upper - _MARGIN)
    if is_outside.any():
        return f"joint '{joints.names[int(np.argmax(is_outside))]}' would pass its limit"
    return ""


def _make_reorientation(model: VMSModel, q: Array, path: EllipticLoop) -> Reorientation:
    pose = holonomy(model, q, EllipticLoop(path.cosine, path.sine, 1, 1.0), _TURN_ACCURACY)
    return Reorientation(
        path,
        frozen(q),
        frozen(np.linalg.matrix_power(pose, path.loops)),
        turn_by_curvature(model, q, path),
        frozen(_SO3.log(pose[:3, :3])),
    )
