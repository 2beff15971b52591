# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of a robot at a configuration in JAX, by products over all bodies at once.

All quantities are in the axes of the base, or of the world where it is fixed, so that sums over
subtrees are products with a matrix of ones and zeros. Only poses depend on each other; they are
composed by doubling, so that what is compiled grows with the logarithm of the depth of the tree.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from ...errors import ModelError
from ...model import VMSModel
from ...robot.joints import BASE_COMPONENTS, motion_subspace
from ..forms import FormArrays
from ..spatial import Expression, Placement, rotation_of
from ..tree import MimicMap


class JaxArrays(FormArrays):
    """The array namespace of JAX."""

    module = jnp
    root_steps = 20  # in a loop, which costs nothing to compile

    def constant(self, numbers: npt.ArrayLike) -> Expression:
        """Return an array of numbers."""
        return jnp.asarray(np.asarray(numbers, dtype=np.float64))

    def cross(self, x: Expression, y: Expression) -> Expression:
        """Return the cross product of vectors, (3,) or (3,1)."""
        return jnp.cross(x, y, axis=0)

    def column(self, x: Expression) -> Expression:
        """Return a vector as a matrix with one column."""
        return x[:, None]

    def factorise(self, matrix: Expression) -> "EliminationFactors":
        """Return a matrix that is eliminated where it is solved with."""
        return EliminationFactors(matrix)

    def repeat(self, improve: Callable[[Any], Any], start: Any, times: int) -> Any:
        """Apply a function some times, in a loop that is compiled once."""
        return jax.lax.fori_loop(0, times, lambda _, arrays: improve(arrays), start)


JAX = JaxArrays()


def bracket(v: Expression, s: Expression) -> Expression:
    """Return ``ad_v s`` of twists (...,6)."""
    w = v[..., 3:]
    linear = jnp.cross(w, s[..., :3]) + jnp.cross(v[..., :3], s[..., 3:])
    return jnp.concatenate([linear, jnp.cross(w, s[..., 3:])], axis=-1)


def dual_bracket(v: Expression, h: Expression) -> Expression:
    """Return ``-ad_v^T h`` of twists and momenta (...,6)."""
    w, f = v[..., 3:], h[..., :3]
    angular = jnp.cross(w, h[..., 3:]) + jnp.cross(v[..., :3], f)
    return jnp.concatenate([jnp.cross(w, f), angular], axis=-1)


def momentum(inertias: Expression, twists: Expression) -> Expression:
    """Return momenta (...,6): inertias (...,10) are mass, its moment, xx, xy, xz, yy, yz, zz."""
    mass, first_moments = inertias[..., :1], inertias[..., 1:4]
    rotational = inertias[..., _ROTATIONAL]
    v, w = twists[..., :3], twists[..., 3:]
    angular = jnp.cross(first_moments, v) + jnp.einsum("...ab,...b->...a", rotational, w)
    return jnp.concatenate([mass * v + jnp.cross(w, first_moments), angular], axis=-1)


class EliminationFactors:
    """A symmetric positive definite matrix (n,n) to solve with."""

    def __init__(self, matrix: Expression) -> None:
        self._matrix = matrix

    def solve(self, right_side: Expression) -> Expression:
        """Return the inverse times a vector (n,) or a matrix (n,m).

        It needs no pivots. Solvers of LAPACK that run beside each other on batches may wait for
        each other's threads for ever.
        """
        if right_side.ndim == 1:
            return self.solve(right_side[:, None])[:, 0]
        size = len(self._matrix)
        if size == 0:
            return right_side

        def eliminate(k: Any, rows: Expression) -> Expression:
            row = rows[k] / rows[k, k]
            return (rows - jnp.outer(rows[:, k], row)).at[k].set(row)

        rows = jnp.concatenate([self._matrix, right_side], axis=1)
        return jax.lax.fori_loop(0, size, eliminate, rows, unroll=size <= _MAX_UNROLLED)[:, size:]


_MAX_UNROLLED = 16  # rows up to which the loop is written out: its steps are then twice as fast
_ROTATIONAL = np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])
_UPPER = np.triu_indices(3)


class JaxTree:
    """What does not depend on the configuration.

    Attributes:
        model: the robot.
        is_moved: (nv_full,bodies) whether a velocity moves a body; the root is the first.
        descendants: (nv_full,nv_full) whether velocity j moves the body of velocity k, or is of it.
        body_index: (nv_full,) the body of each velocity.
    """

    def __init__(self, model: VMSModel) -> None:
        """Read the constants of a robot.

        Raises:
            ModelError: the robot is in a fluid, or has joints of several axes.
        """
        if model.fluid is not None:
            raise ModelError("the export to JAX does not cover robots in a fluid")
        tree, m = model.tree, model.tree.pinocchio
        self.model, b = model, model.b
        root = 1 if b else 0
        joints = range(root + 1, m.njoints)
        if any(m.joints[i].nv != 1 for i in joints):
            raise ModelError("the export to JAX covers joints of one axis beside the base")
        count = len(joints) + 1
        self.parents = np.array([-1, *(int(m.parents[i]) - root for i in joints)])
        rotations, offsets = np.zeros((3, count, 3, 3)), np.zeros((2, count, 3))
        rotations[0, 0] = np.eye(3)
        screws = np.zeros((count, 6))
        self.q_index, self.is_pair = np.zeros(count, dtype=int), np.zeros(count, dtype=bool)
        for k, i in enumerate(joints, 1):
            joint, s = m.joints[i], motion_subspace(m, i)[:, 0]
            screws[k] = s
            self.q_index[k], self.is_pair[k] = joint.idx_q, joint.nq == 2
            placement, axis = m.jointPlacements[i], s[3:]
            axis_projector = np.outer(axis, axis) if axis.any() else np.eye(3)
            cross = np.cross(axis[None], -np.eye(3))
            for term, matrix in enumerate((axis_projector, np.eye(3) - axis_projector, cross)):
                rotations[term, k] = placement.rotation @ matrix
            offsets[:, k] = placement.translation, placement.rotation @ s[:3]
        self.rotations, self.offsets, self.screws = rotations, offsets, screws
        self.mass, self.lever, self.inertia = np.zeros(count), offsets[0] * 0.0, rotations[0] * 0.0
        for k, inertia in enumerate(list(m.inertias)[1:], 1 - root):
            self.mass[k], self.lever[k] = inertia.mass, inertia.lever
            self.inertia[k] = inertia.inertia
        carries = np.eye(count)
        for k in reversed(range(1, count)):
            carries[self.parents[k]] += carries[k]
        self.body_index = np.array([0] * b + list(range(1, count)), dtype=int)
        self.is_moved = carries[self.body_index]
        self.descendants = self.is_moved[:, self.body_index] > 0.0
        self.base_screws = np.eye(6)[BASE_COMPONENTS[b]]
        self.armature = np.asarray(m.armature).copy()
        self.mount: Any = m.jointPlacements[1] if b else None
        self.gravity, self.projection = model.gravity, tree.projection

    def frame(self, name: str) -> tuple[int, Any]:
        """Return the body of a frame, and its placement there."""
        frame = self.model.tree.pinocchio.frames[self.model.frame_id(name)]
        return int(frame.parentJoint) - (1 if self.model.b else 0), frame.placement


class PlacedTree(MimicMap):
    """The terms at a configuration (nq,), each computed where it is used."""

    xp = JAX

    def __init__(self, tree: JaxTree, q: Expression) -> None:
        self.tree, self.q, self.model = tree, q, tree.model
        b, q_full, self.projection = self.model.b, self.full_configuration(q), tree.projection
        self.root_rotation, self.root_position = jnp.eye(3), jnp.zeros(3)
        if b:
            base_rotation = rotation_of(JAX, q[3:7, None]) if b == 6 else _planar_rotation(q)
            base_position = q[:3] if b == 6 else jnp.append(q[:2], 0.0)
            self.root_rotation = tree.mount.rotation @ base_rotation
            self.root_position = tree.mount.rotation @ base_position + tree.mount.translation
        self.g_base = self.root_rotation.T @ jnp.asarray(tree.gravity)
        x = q_full[tree.q_index]
        next_entry = q_full[np.minimum(tree.q_index + 1, len(q_full) - 1)]
        cosine = jnp.where(tree.is_pair, x, jnp.cos(x))[:, None, None]
        sine = jnp.where(tree.is_pair, next_entry, jnp.sin(x))[:, None, None]
        rotation = tree.rotations[0] + cosine * tree.rotations[1] + sine * tree.rotations[2]
        position = tree.offsets[0] + x[:, None] * tree.offsets[1]
        # Poses against the parent, its parent, the fourth body before, and so on.
        ancestors = tree.parents
        while (ancestors >= 0).any():
            has_ancestor, ancestor = (ancestors >= 0)[:, None], np.maximum(ancestors, 0)
            composed_rotation = rotation[ancestor] @ rotation
            origins = jnp.einsum("iab,ib->ia", rotation[ancestor], position) + position[ancestor]
            rotation = jnp.where(has_ancestor[..., None], composed_rotation, rotation)
            position = jnp.where(has_ancestor, origins, position)
            ancestors = np.where(ancestors >= 0, ancestors[ancestor], -1)
        self.rotation, self.position = rotation, position
        screws = tree.screws
        angular = jnp.einsum("iab,ib->ia", rotation, screws[:, 3:])
        linear = jnp.einsum("iab,ib->ia", rotation, screws[:, :3]) + jnp.cross(position, angular)
        joint_screws = jnp.concatenate([linear, angular], axis=1)[1:]
        self.screws = jnp.concatenate([jnp.asarray(tree.base_screws), joint_screws])
        centre = position + jnp.einsum("iab,ib->ia", rotation, tree.lever)
        moments = tree.mass[:, None] * centre
        rotational = rotation @ tree.inertia @ rotation.swapaxes(1, 2)
        rotational -= moments[:, :, None] * centre[:, None, :]
        shift = jnp.sum(moments * centre, axis=1)[:, None, None] * np.eye(3)
        entries = (rotational + shift)[:, _UPPER[0], _UPPER[1]]
        self.inertias = jnp.concatenate([jnp.asarray(tree.mass)[:, None], moments, entries], axis=1)
        self.composite = tree.is_moved @ self.inertias
        self.lumped = self.inertias.sum(axis=0)

    @cached_property
    def unit_momenta(self) -> Expression:
        """The momenta of all that each unit velocity moves, (nv_full,6)."""
        return momentum(self.composite, self.screws)

    @cached_property
    def M(self) -> Expression:
        """Mass matrix, (nv,nv)."""
        products = self.screws @ self.unit_momenta.T
        descendants = self.tree.descendants
        lower = jnp.where(descendants.T, products.T, 0.0)
        return self.project(jnp.where(descendants, products, lower) + np.diag(self.tree.armature))

    @cached_property
    def gravity(self) -> Expression:
        """The generalised force that holds the robot at rest, (nv,)."""
        mass, moments = self.composite[:, :1], self.composite[:, 1:4]
        weight = jnp.concatenate([mass * self.g_base, jnp.cross(moments, self.g_base)], axis=1)
        return self.restrict(-jnp.sum(self.screws * weight, axis=1))

    @cached_property
    def potential(self) -> Expression:
        """Potential of gravity, J, zero at the origin of the inertial frame."""
        moments = self.root_rotation @ self.lumped[1:4] + self.lumped[0] * self.root_position
        return -moments @ jnp.asarray(self.tree.gravity)

    def twists(self, v: Expression) -> Expression:
        """Return the twists of all bodies under a full velocity, (bodies,6)."""
        return self.tree.is_moved.T @ (v[:, None] * self.screws)

    def slope(self, v: Expression) -> Expression:
        """Return ``C^T v``, (nv,): ``ad_v^T p`` and the gradient of the kinetic energy."""
        twists = self.twists(self.full_velocity(v))
        momenta = self.tree.is_moved @ momentum(self.inertias, twists)
        screw_rates = bracket(twists[self.tree.body_index], self.screws)
        return self.restrict(jnp.sum(screw_rates * momenta, axis=1))

    def mass_rate_times(self, v: Expression, w: Expression) -> Expression:
        """Return ``Mdot w`` along the velocity v, (nv,), for a constant w."""
        v, w, tree = self.full_velocity(v), self.full_velocity(w), self.tree
        joint_twists = self.twists(v * np.repeat([0.0, 1.0], [self.model.b, len(v) - self.model.b]))
        screw_rates = bracket(joint_twists[tree.body_index], self.screws)
        twists, momenta = self.twists(w), momentum(self.inertias, self.twists(w))
        twist_rates = tree.is_moved.T @ (w[:, None] * screw_rates) - bracket(joint_twists, twists)
        wrenches = momentum(self.inertias, twist_rates) + dual_bracket(joint_twists, momenta)
        rows = screw_rates * (tree.is_moved @ momenta) + self.screws * (tree.is_moved @ wrenches)
        return self.restrict(jnp.sum(rows, axis=1))

    def jacobian(self, name: str) -> Expression:
        """Return the Jacobian of a frame in its own axes, linear first, (6,nv)."""
        body, rotation, position = self._frame_pose(name)
        linear = self.screws[:, :3] + jnp.cross(self.screws[:, 3:], position)
        rows = jnp.concatenate([linear @ rotation, self.screws[:, 3:] @ rotation], axis=1)
        return self.projected_columns((rows * self.tree.is_moved[:, body : body + 1]).T)

    def pose(self, name: str) -> Placement:
        """Return the pose of a frame in the inertial frame."""
        _, rotation, position = self._frame_pose(name)
        base_position = self.root_rotation @ position + self.root_position
        return Placement(JAX, self.root_rotation @ rotation, base_position[:, None])

    @cached_property
    def centre_of_mass_jacobian(self) -> Expression:
        """Jacobian of the centre of mass in inertial axes, (3,nv)."""
        rows = self.root_rotation @ self.unit_momenta[:, :3].T / self.lumped[0]
        return self.projected_columns(rows)

    def _frame_pose(self, name: str) -> tuple[int, Expression, Expression]:
        body, placement = self.tree.frame(name)
        if body < 0:
            raise ModelError(
                f"'{name}' stands beside the base; the export to JAX has no such frames"
            )
        rotation = self.rotation[body] @ placement.rotation
        return body, rotation, self.position[body] + self.rotation[body] @ placement.translation


def _planar_rotation(q: Expression) -> Expression:
    c, s = q[2], q[3]
    return jnp.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
