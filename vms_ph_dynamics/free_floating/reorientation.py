# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plans that turn a free base by closed loops of the joints at zero momentum."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Array, frozen
from ..decoupling import curvature
from ..errors import ModelError, StateError
from ..groups import SO3
from ..model import VMSModel
from .holonomy import EllipticLoop, StraightPath, base_motion, displaced, holonomy, once

_SO3 = SO3()

_MOST_LOOPS = 100_000
# Rounds of the search for loops of least size, and of the correction along the true holonomy.
_ROUNDS, _CORRECTIONS = 60, 20
# Share of the null-space part of the loop that a round takes away.
_SHORTEN = 0.3
# Accuracy of the turn of one loop, rad; displacement of finite differences, rad, and their steps.
_ACCURACY, _DIFFERENCE, _SLOPE_STEPS = 1e-11, 1e-4, 16
# Steps along the way to the centre of a loop.
_WAY_STEPS = 32
# Room left to the joint limits, rad or m.
_ROOM = 1e-3


@dataclass(frozen=True)
class Reorientation:
    """Closed loops of the joints that turn the base of a robot at zero momentum.

    Attributes:
        path: the loops, all joints from the start ``q``.
        q: (nq,) the start.
        displacement: (4,4) pose of the base after all loops, relative to that before them, by path
            integration of the connection.
        turn_by_curvature: (3,) rotation vector of one loop by the curvature alone, rad.
        turn: (3,) rotation vector of one loop, by path integration, rad.
    """

    path: EllipticLoop
    q: Array
    displacement: Array
    turn_by_curvature: Array
    turn: Array

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
    follows from the centre of mass, which stays.

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
    start, target = model.checked_configuration(q), _rotation_vector(rotation)
    if not target.any():
        raise StateError("the rotation is the identity: the base need not turn")
    unit = _least_ellipse(model, start, target)
    loops = max(1, int(np.ceil((np.max(_excursion(*unit)) / amplitude) ** 2)))
    reached = "no loop was tried"
    while loops <= _MOST_LOOPS:
        half = np.concatenate(unit) / np.sqrt(loops)
        half_axes = _corrected(model, start, half, target / loops)
        more = 1.1
        if half_axes is None:
            reached = "Newton's method did not converge"
        else:
            path = _timed(half_axes, loops, rate)
            reached = _obstacle(model, start, path, amplitude)
            if not reached:
                return _described(model, start, path)
            more = max(more, (max(-path.lowest.min(), path.highest.max()) / amplitude) ** 2)
        loops = int(np.ceil(more * loops)) + 1
    raise StateError(
        f"no loops were found up to {_MOST_LOOPS} of them: {reached}; start from another "
        "configuration, or allow a larger amplitude"
    )


def turn_by_curvature(model: VMSModel, q: Array, loop: EllipticLoop) -> Array:
    """Return the rotation vector of one small loop by the curvature of the connection, (3,), rad.

    It is the curvature at the centre of the ellipse times the area of the ellipse, brought to the
    start ``q`` (nq,) along the straight way between them; the error relative to the turn is of
    second order in the size of the loop.

    Raises:
        ModelError: the base is not floating, or the robot is in a fluid.
    """
    offset = -loop.cosine
    curvature_there = _curvature_at(model, displaced(model, q, offset))
    at_centre = np.pi * np.einsum("i,ijk,j->k", loop.cosine, curvature_there, loop.sine)
    to_centre = base_motion(model, q, StraightPath(offset), _WAY_STEPS)[-1]
    return frozen(to_centre[:3, :3] @ at_centre)


def _rotation_vector(rotation: npt.ArrayLike) -> Array:
    matrix = np.asarray(rotation, float)
    proper = matrix.shape == (3, 3) and np.isfinite(matrix).all()
    if (
        not proper
        or np.abs(matrix.T @ matrix - np.eye(3)).max() > 1e-6
        or np.linalg.det(matrix) < 0
    ):
        raise StateError(f"rotation must be a rotation matrix (3,3); given: {rotation!r}")
    return _SO3.log(matrix)


def _curvature_at(model: VMSModel, q: Array) -> Array:
    """Return the turn of the base per area of a loop, (n,n,3), in base axes."""
    return curvature(model.evaluate(q, np.zeros(model.nv))).angular


def _least_ellipse(model: VMSModel, q: Array, target: Array) -> tuple[Array, Array]:
    """Return the half diameters of the least ellipse for one loop, by the curvature alone."""
    bilinear = np.pi * np.moveaxis(_curvature_at(model, q), 2, 0)
    along = np.einsum("kij,k->ij", bilinear, target / np.linalg.norm(target))
    left, values, right = np.linalg.svd(along)
    if values[0] < 1e-12:
        raise StateError("no pair of joints turns the base about this axis here: no curvature")
    size = np.sqrt(np.linalg.norm(target) / values[0])
    x = size * np.concatenate([left[:, 0], right[0]])
    n = model.n
    for _ in range(_ROUNDS):
        a, b = x[:n], x[n:]
        slope = np.concatenate([bilinear @ b, np.einsum("i,kij->kj", a, bilinear)], axis=1)
        inverse = np.linalg.pinv(slope)
        missing = target - np.einsum("i,kij,j->k", a, bilinear, b)
        x = x + inverse @ missing - _SHORTEN * (x - inverse @ (slope @ x))
    left_over = np.linalg.norm(target - np.einsum("i,kij,j->k", x[:n], bilinear, x[n:]))
    if left_over > 1e-6 * np.linalg.norm(target):
        raise StateError(
            "the joints turn the base about other axes only: the curvature has no rank"
        )
    return x[:n], x[n:]


def _loop(x: Array) -> EllipticLoop:
    half = len(x) // 2
    return EllipticLoop(x[:half], x[half:], 1, 1.0)


def _turn(model: VMSModel, q: Array, x: Array) -> Array:
    return _SO3.log(holonomy(model, q, _loop(x), _ACCURACY)[:3, :3])


def _slope(model: VMSModel, q: Array, x: Array) -> Array:
    """Return the derivatives of the turn by the half diameters, (3,2n), with few steps a loop."""
    turns = []
    for k in range(len(x)):
        above, below = x.copy(), x.copy()
        above[k] += _DIFFERENCE
        below[k] -= _DIFFERENCE
        turns.append(
            [_SO3.log(once(model, q, _loop(y), _SLOPE_STEPS)[:3, :3]) for y in (above, below)]
        )
    return np.array([(a - b) / (2.0 * _DIFFERENCE) for a, b in turns]).T


def _corrected(model: VMSModel, q: Array, x: Array, target: Array) -> Array | None:
    """Return half diameters whose loop turns the base by a rotation vector, or None."""
    inverse, before = None, np.inf
    for _ in range(_CORRECTIONS):
        missing = target - _turn(model, q, x)
        error = float(np.linalg.norm(missing))
        if error < _ACCURACY:
            return x
        # The slope is kept while it serves.
        if inverse is None or error > 0.2 * before:
            inverse = np.linalg.pinv(_slope(model, q, x))
        before, step = error, inverse @ missing
        # Newton's step may leave the region where the slope holds.
        x = x + step * min(1.0, 0.5 * float(np.linalg.norm(x) / np.linalg.norm(step)))
    return None


def _excursion(cosine: Array, sine: Array) -> Array:
    return np.abs(cosine) + np.hypot(cosine, sine)


def _timed(x: Array, loops: int, rate: float) -> EllipticLoop:
    half = len(x) // 2
    unit = EllipticLoop(frozen(x[:half]), frozen(x[half:]), loops, 1.0)
    return EllipticLoop(unit.cosine, unit.sine, loops, float(unit.fastest.max()) / rate)


def _obstacle(model: VMSModel, q: Array, path: EllipticLoop, amplitude: float) -> str:
    """Return what is in the way of a path; empty if nothing is."""
    low, high = path.lowest, path.highest
    if max(-low.min(), high.max()) > amplitude:
        return f"a joint would move by more than {amplitude:g}"
    joints, positions = model.joints, model.joint_positions(q)
    outside = (positions + low < joints.lower + _ROOM) | (positions + high > joints.upper - _ROOM)
    if outside.any():
        return f"joint '{joints.names[int(np.argmax(outside))]}' would pass its limit"
    return ""


def _described(model: VMSModel, q: Array, path: EllipticLoop) -> Reorientation:
    one = holonomy(model, q, EllipticLoop(path.cosine, path.sine, 1, 1.0), _ACCURACY)
    return Reorientation(
        path,
        frozen(q),
        frozen(np.linalg.matrix_power(one, path.loops)),
        turn_by_curvature(model, q, path),
        frozen(_SO3.log(one[:3, :3])),
    )
