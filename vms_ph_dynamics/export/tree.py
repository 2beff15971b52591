# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The recursions over the kinematic tree of a robot, over an array namespace.

All exports share them: a namespace says how a library stacks and multiplies. Nothing is
differentiated.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..model import VMSModel
from ..robot.joints import motion_subspace
from ..robot.kinematic_tree import PARAMETERS
from .spatial import ArrayNamespace, BodyInertia, Expression, Placement, joint_pose


class Body(NamedTuple):
    """A body with the joint that carries it.

    Attributes:
        parent: index of the body that carries it, 0 for the world.
        rows: its entries of a full velocity.
        subspace: (6,k) of the joint in the axes of the body.
        placement: its pose in the parent.
        inertia: about the origin of the joint.
    """

    parent: int
    rows: slice
    subspace: Expression
    placement: Placement
    inertia: BodyInertia


class MimicMap:
    """Maps between the independent joints of a robot and all of them, with those that mimic others.

    Attributes:
        model: the robot.
        xp: the array namespace.
        projection: P (nv_full,nv) in it; None where no joint mimics another.
    """

    model: VMSModel
    xp: ArrayNamespace
    projection: Expression | None

    def full_configuration(self, q: Expression) -> Expression:
        """Return the configuration of all joints, (nq_full,) or (nq_full,1) as ``q``."""
        tree = self.model.tree
        if tree.projection is None:
            return q
        # The map is affine; its columns are found by evaluating it.
        offset = tree.full_configuration(np.zeros(self.model.nq))
        columns = [tree.full_configuration(e) - offset for e in np.eye(self.model.nq)]
        offset = offset.reshape(-1, *q.shape[1:])
        return self.xp.constant(np.stack(columns, axis=1)) @ q + self.xp.constant(offset)

    def full_velocity(self, v: Expression) -> Expression:
        """Return the velocity with the joints that mimic others, (nv_full,)."""
        return v if self.projection is None else self.projection @ v

    def restrict(self, force: Expression) -> Expression:
        """Return ``P^T force`` of a full generalised force, (nv,)."""
        return force if self.projection is None else self.projection.T @ force

    def projected_columns(self, jacobian: Expression) -> Expression:
        """Return ``jacobian P`` for a Jacobian of full velocities."""
        return jacobian if self.projection is None else jacobian @ self.projection

    def project(self, matrix: Expression) -> Expression:
        """Return ``P^T matrix P`` for a matrix of full velocities."""
        return self.projected_columns(self.restrict(matrix))


class ExportedTree(MimicMap):
    """Kinematics and inertia of a robot as expressions of its configuration.

    Recursions run over the bodies in their own axes.

    Attributes:
        model: the robot.
        xp: the array namespace.
        q: (nq,1) the configuration.
        parameters: (10 bodies,1) the inertial parameters.
    """

    def __init__(
        self,
        model: VMSModel,
        xp: ArrayNamespace,
        q: Expression,
        parameters: Expression | None = None,
    ) -> None:
        """Create the tree at a configuration.

        Args:
            model: the robot.
            xp: the array namespace.
            q: (nq,1), a symbol or numbers of the namespace.
            parameters: (10 bodies,1) likewise; those of the model when None.
        """
        self.model, self.xp, self.q, self._pin = model, xp, q, model.tree.pinocchio
        P, model_parameters = model.tree.projection, model.tree.inertial_parameters()[:, None]
        self.projection = None if P is None else xp.constant(P)
        self.parameters = xp.constant(model_parameters) if parameters is None else parameters
        self.bodies = self._bodies()

    @cached_property
    def composite(self) -> list[BodyInertia]:
        """The inertia of each body with all that it carries; the first entry is the whole robot."""
        sums = [body.inertia for body in self.bodies]
        for i in reversed(range(1, len(sums))):
            body = self.bodies[i]
            sums[body.parent] = sums[body.parent].plus(sums[i].in_parent(body.placement))
        return sums

    @cached_property
    def M(self) -> Expression:
        """Mass matrix, (nv,nv): composite rigid bodies."""
        xp, bodies, count = self.xp, self.bodies, len(self.bodies)
        blocks = {}
        for i in range(1, count):
            momentum, index = self._map_columns(self.composite[i].momentum, bodies[i].subspace), i
            while index > 0:
                blocks[index, i] = bodies[index].subspace.T @ momentum
                momentum = self._map_columns(bodies[index].placement.wrench_in_parent, momentum)
                index = bodies[index].parent
        widths = [body.subspace.shape[1] for body in bodies]
        rows = [
            xp.hstack([blocks.get((i, k), xp.zeros(widths[i], widths[k])) for k in range(1, count)])
            for i in range(1, count)
        ]
        armature = xp.constant(np.diag(np.asarray(self._pin.armature)))
        return self.project(xp.symmetric_from_upper(armature + xp.vstack(rows)))

    @cached_property
    def centre_of_mass_jacobian(self) -> Expression:
        """Jacobian of the centre of mass in inertial axes, without added mass, (3,nv)."""
        columns = []
        for i, body in enumerate(self.bodies[1:], 1):
            momentum = self._map_columns(self.composite[i].rigid_momentum, body.subspace)
            linear_momentum, index = momentum[:3, :], i
            while index > 0:
                linear_momentum = self.bodies[index].placement.rotation @ linear_momentum
                index = self.bodies[index].parent
            columns.append(linear_momentum)
        return self.projected_columns(self.xp.hstack(columns) / self.composite[0].mass)

    def slope(self, v: Expression) -> Expression:
        """Return ``C^T v``, (nv,): of the momentum rates, what inertia alone contributes.

        Row k is ``S_k^T ad_V^T P`` with the twist V of the body and the momentum P of all that it
        carries: ``ad_v^T p`` for the base, the gradient of the kinetic energy for a joint.
        """
        twists = self._twists(self.full_velocity(v))
        momenta = self._subtree_momenta(twists)
        rows = [
            b.subspace.T @ self.xp.coad(t, p)
            for (b, t), p in zip(self._with_bodies(twists), momenta[1:], strict=True)
        ]
        return self.restrict(self.xp.vstack(rows))

    def mass_rate_times(self, v: Expression, w: Expression) -> Expression:
        """Return ``Mdot w`` along the velocity v, (nv,), for a constant w."""
        v, w, zero = self.full_velocity(v), self.full_velocity(w), self.xp.zeros(6, 1)
        twists, twist_rates = self._twists(w), [zero]
        for i, body in enumerate(self.bodies[1:], 1):
            joint_twist = body.subspace @ v[body.rows, :]
            parent_twist = twists[i] - body.subspace @ w[body.rows, :]
            rate = body.placement.twist_in_body(twist_rates[body.parent])
            twist_rates.append(rate - self.xp.ad(joint_twist, parent_twist))
        momenta = self._subtree_momenta(twists)
        wrenches = [zero, *(b.inertia.momentum(t) for b, t in self._with_bodies(twist_rates))]
        rows: list[Expression] = [None] * len(self.bodies)
        for i in reversed(range(1, len(self.bodies))):
            body = self.bodies[i]
            rows[i] = body.subspace.T @ wrenches[i]
            wrench = wrenches[i] - self.xp.coad(body.subspace @ v[body.rows, :], momenta[i])
            wrenches[body.parent] = wrenches[body.parent] + body.placement.wrench_in_parent(wrench)
        return self.restrict(self.xp.vstack(rows[1:]))

    @cached_property
    def gravity(self) -> Expression:
        """The generalised force that holds the robot at rest, (nv,): gravity less buoyancy."""
        body_gravity, rows = [self.xp.constant(self.model.gravity[:, None])], []
        for i, body in enumerate(self.bodies[1:], 1):
            body_gravity.append(body.placement.rotation.T @ body_gravity[body.parent])
            rows.append(-body.subspace.T @ self.composite[i].weight_wrench(body_gravity[i]))
        return self.restrict(self.xp.vstack(rows))

    @cached_property
    def potential(self) -> Expression:
        """Potential of gravity and buoyancy, J, zero at the origin of the inertial frame."""
        return -self.xp.constant(self.model.gravity[None]) @ self.composite[0].net_moment

    def pose(self, frame: str) -> Placement:
        """Return the pose of a frame in the inertial frame."""
        index, pose = self._frame(frame)
        while index > 0:
            pose, index = self.bodies[index].placement.compose(pose), self.bodies[index].parent
        return pose

    def jacobian(self, frame: str) -> Expression:
        """Return the Jacobian of a frame in its own axes, linear first, (6,nv)."""
        index, pose = self._frame(frame)
        blocks = {}
        while index > 0:
            body = self.bodies[index]
            blocks[index] = self._map_columns(pose.twist_in_body, body.subspace)
            pose, index = body.placement.compose(pose), body.parent
        columns = [
            blocks.get(i, self.xp.zeros(6, body.subspace.shape[1]))
            for i, body in enumerate(self.bodies[1:], 1)
        ]
        return self.projected_columns(self.xp.hstack(columns))

    def _with_bodies(self, values: list[Expression]) -> list[tuple[Body, Expression]]:
        return list(zip(self.bodies[1:], values[1:], strict=True))

    def _twists(self, v: Expression) -> list[Expression]:
        twists = [self.xp.zeros(6, 1)]
        for body in self.bodies[1:]:
            relative = body.subspace @ v[body.rows, :]
            twists.append(body.placement.twist_in_body(twists[body.parent]) + relative)
        return twists

    def _subtree_momenta(self, twists: list[Expression]) -> list[Expression]:
        """The momentum of each body with all that it carries, (6,1)."""
        momenta = (body.inertia.momentum(twist) for body, twist in self._with_bodies(twists))
        sums = [self.xp.zeros(6, 1), *momenta]
        for i in reversed(range(1, len(self.bodies))):
            body = self.bodies[i]
            sums[body.parent] = sums[body.parent] + body.placement.wrench_in_parent(sums[i])
        return sums

    def _frame(self, name: str) -> tuple[int, Placement]:
        frame = self._pin.frames[self.model.frame_id(name)]
        return int(frame.parentJoint), self._pose_of(frame.placement)

    def _map_columns(self, operator: Callable[[Expression], Expression], matrix: Expression) -> Any:
        return self.xp.hstack([operator(matrix[:, k : k + 1]) for k in range(matrix.shape[1])])

    def _pose_of(self, placement: Any) -> Placement:
        rotation = self.xp.constant(np.asarray(placement.rotation))
        position = self.xp.constant(np.asarray(placement.translation)[:, None])
        return Placement(self.xp, rotation, position)

    def _bodies(self) -> list[Body]:
        xp = self.xp
        massless = BodyInertia.of_parameters(xp, xp.zeros(PARAMETERS, 1))
        world = Body(-1, slice(0, 0), xp.zeros(6, 0), self._pose_of(pin.SE3.Identity()), massless)
        bodies, q_full = [world], self.full_configuration(self.q)
        for i in range(1, self._pin.njoints):
            joint, subspace = self._pin.joints[i], motion_subspace(self._pin, i)
            pose = joint_pose(xp, joint, subspace, q_full[joint.idx_q : joint.idx_q + joint.nq, :])
            parameters = self.parameters[PARAMETERS * (i - 1) : PARAMETERS * i, :]
            bodies.append(
                Body(
                    int(self._pin.parents[i]),
                    slice(joint.idx_v, joint.idx_v + joint.nv),
                    xp.constant(subspace),
                    self._pose_of(self._pin.jointPlacements[i]).compose(pose),
                    self._with_fluid(i, BodyInertia.of_parameters(xp, parameters)),
                )
            )
        return bodies

    def _with_fluid(self, joint: int, inertia: BodyInertia) -> BodyInertia:
        fluid = self.model.fluid
        if fluid is None:
            return inertia
        for body in fluid.bodies:
            frame = self._pin.frames[self.model.frame_id(body.link)]
            if frame.parentJoint == joint:
                action = np.asarray(frame.placement.inverse().action)
                added_mass = action.T @ body.added_mass @ action
                centre = frame.placement.act(np.asarray(body.centre_of_buoyancy))
                inertia = inertia.in_fluid(added_mass, fluid.density * body.volume, centre)
        return inertia
