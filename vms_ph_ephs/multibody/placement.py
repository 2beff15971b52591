# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States of mechanisms from joint positions q_r and velocities u_r.

A joint connects the frame C1 of its first body to C2 of its second. Its closure relates their poses
to q_r; u_r are the coordinates of the twist of C2 relative to C1, in C2.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE3

from ..equations import Equations
from ..equations.layout import AttachedFrame, Closure
from ..errors import SimulationError
from ..patterns import split
from .joint import HolonomicConstraint
from .pairs import LowerPair, adjoint_of_inverse

_SE3 = SE3()


def consistent_state(
    equations: Equations,
    joints: Mapping[str, Any] | None = None,
    velocities: Mapping[str, Any] | None = None,
    *,
    poses: Mapping[str, Array] | None = None,
    twists: Mapping[str, Array] | None = None,
    others: Mapping[str, Any] | None = None,
) -> Array:
    """Return the state vector of a mechanism at given joint positions and velocities.

    Bodies and joints are named as in the mechanism; where it fills a box of a larger system, with
    the name of the box in front, as in ``"cell.elbow"``. Poses follow from the ground or a given
    body along the joints. A joint that closes a loop gets the position of the smallest violation,
    which the simulation checks.

    Args:
        equations: of the mechanism.
        joints: elements of the pairs (numbers, rad or m, for pairs of one degree of freedom); the
            origin if not given.
        velocities: u_r, rad/s or m/s; zero if not given.
        poses: (4,4) of bodies from which others follow; at least one for free bodies.
        twists: (6,) of those bodies, in body axes; zero if not given.
        others: further states, such as entropies, by name.

    Returns:
        (size,).

    Raises:
        SimulationError: the pose of a body is not determined, or a value has the wrong shape.
    """
    q, u = dict(joints or {}), dict(velocities or {})
    motions: dict[str, tuple[Array, Array]] = {}
    for name, pose in (poses or {}).items():
        twist: Array = np.asarray((twists or {}).get(name, np.zeros(6)), dtype=np.float64)
        motions[f"{name}.q"] = (np.asarray(pose, dtype=np.float64), twist)
    closures = {split(box)[0]: (box, c) for box, c in equations.joint_closures.items()}
    for name in [*q, *u]:
        if name not in closures:
            raise SimulationError(f"there is no joint '{name}'; there are {', '.join(closures)}")
    values: dict[str, Any] = {}
    open_closures = {name: closure for name, (_, closure) in closures.items()}
    while open_closures:
        placeable = [
            n
            for n, c in open_closures.items()
            if _motion_of(c.first, motions) or _motion_of(c.second, motions)
        ]
        if not placeable:
            root_state = next(iter(open_closures.values())).first.state
            assert root_state is not None  # the ground is always known
            motions[root_state.junction] = (np.eye(4), np.zeros(6))
            continue
        for name in placeable:
            _place_joint(equations, name, open_closures.pop(name), q, u, motions, values)
    # A junction that is also an outer port has the name of that port, so the momentum of a body is
    # found by its twist: the effort of the momentum, of which the pose is the integral.
    twist_indices = {entry.junction: indices for entry, indices in equations.couplings}
    for junction, (pose, twist) in motions.items():
        values[junction] = pose
        _set_momentum(equations, twist_indices[junction], twist, values)
    for box, closure in closures.values():
        rotor_junction = equations.layout.junctions[f"{box}.p_r"]
        if rotor_junction in equations.layout.states:
            first, second = _motion_of(closure.first, motions), _motion_of(closure.second, motions)
            assert first is not None  # every joint has been placed
            assert second is not None
            pair = _pair_of(closure)
            rates = pair.rates(values[closure.q_r.junction], first[1], second[1])
            _set_momentum(equations, equations.layout.entries[rotor_junction], rates, values)
    return with_dependent_states(equations, {**values, **(others or {})})


def with_dependent_states(equations: Equations, values: Mapping[str, Any]) -> Array:
    """Return the state vector (size,) of given values, and of momenta that follow from them.

    Args:
        equations: of the system.
        values: by junction or ``"box.port"``; momenta of motors, for example, may be missing.
    """
    x = equations.states.vector(values)
    given_junctions = {equations.layout.find(name).junction for name in values}
    size = equations.layout.quadratic_size
    is_free = np.zeros(size, dtype=bool)
    for entry in equations.layout.states.values():
        if entry.tangent.stop <= size and entry.junction not in given_junctions:
            is_free[entry.tangent] = True
    if not (is_free.any() and equations.constraints.row_count):
        return x
    residual = equations.velocity_residual(x)
    coupling = equations.constraint_matrix(x)[:, :size] @ equations.storages.Q[:, is_free]
    x[:size][is_free] -= np.linalg.lstsq(coupling, residual, rcond=1e-12)[0]
    return x


def _set_momentum(
    equations: Equations, indices: slice, velocity: Array, values: dict[str, Any]
) -> None:
    """Set the momentum whose effort, its velocity, has these indices among the efforts."""
    entry = next(entry for entry in equations.layout.states.values() if entry.tangent == indices)
    values[entry.junction] = np.linalg.solve(equations.storages.Q[indices, indices], velocity)


def _pair_of(closure: Closure) -> LowerPair:
    assert isinstance(closure.component, HolonomicConstraint)  # the only one with a closure
    return closure.component.pair


def _motion_of(
    frame: AttachedFrame, motions: Mapping[str, tuple[Array, Array]]
) -> tuple[Array, Array] | None:
    """Return pose and twist of a joint frame; None while those of its body are not known."""
    if frame.state is None:
        return frame.offset, np.zeros(6)
    if frame.state.junction not in motions:
        return None
    pose, twist = motions[frame.state.junction]
    return pose @ frame.offset, adjoint_of_inverse(frame.offset) @ twist


def _place_joint(
    equations: Equations,
    name: str,
    closure: Closure,
    q: Mapping[str, Any],
    u: Mapping[str, Any],
    motions: dict[str, tuple[Array, Array]],
    values: dict[str, Any],
) -> None:
    pair = _pair_of(closure)
    motion_1, motion_2 = _motion_of(closure.first, motions), _motion_of(closure.second, motions)
    q_r = _pair_element(name, pair, q.get(name))
    u_r = np.broadcast_to(np.asarray(u.get(name, 0.0), dtype=np.float64), (pair.dimension,))
    if motion_2 is None:
        assert motion_1 is not None  # one of the two is known
        twist = pair.adjoint_of_inverse(q_r) @ motion_1[1] + pair.subspace @ u_r
        _place_body(closure.second, motion_1[0] @ pair.inclusion(q_r), twist, motions)
    elif motion_1 is None:
        inverse = _SE3.inverse(pair.inclusion(q_r))
        twist = adjoint_of_inverse(inverse) @ (motion_2[1] - pair.subspace @ u_r)
        _place_body(closure.first, motion_2[0] @ inverse, twist, motions)
    elif name not in q:
        q_r = pair.nearest(_SE3.inverse(motion_1[0]) @ motion_2[0], q_r)
    values[closure.q_r.junction] = q_r


def _place_body(
    frame: AttachedFrame, pose: Array, twist: Array, motions: dict[str, tuple[Array, Array]]
) -> None:
    """Set pose and twist of a body from those of its joint frame."""
    assert frame.state is not None  # the ground is known
    inverse = _SE3.inverse(frame.offset)
    motions[frame.state.junction] = (pose @ inverse, adjoint_of_inverse(inverse) @ twist)


def _pair_element(name: str, pair: LowerPair, value: Any) -> Array:
    if value is None:
        return pair.origin()
    element = np.asarray(value, dtype=np.float64)
    element = element.reshape(1) if element.shape == () else element
    if element.shape != pair.shape:
        raise SimulationError(
            f"the position of joint '{name}', a {pair}, must have shape {pair.shape}; given: "
            f"shape {element.shape}"
        )
    return element


def joint_velocities(equations: Equations, x: Array) -> dict[str, Array]:
    """Return u_r of every joint at a state (size,), m/s and rad/s."""
    efforts = equations.rates(x).efforts
    return {
        split(box)[0]: efforts[equations.layout.entries[equations.layout.junctions[f"{box}.p_r"]]]
        for box in equations.joint_closures
    }


def joint_positions(equations: Equations, x: Array) -> dict[str, Array]:
    """Return q_r of every joint at a state (size,), m and rad."""
    return {
        split(box)[0]: equations.states.value(x, closure.q_r.junction)
        for box, closure in equations.joint_closures.items()
    }
