# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The kinematic tree of a robot in CasADi expressions."""

from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pinocchio as pin

from ...arrays import Array
from ...model import VMSModel
from .configurations import joint_pose
from .spatial import BodyInertia, Expression, Placement, ad, coad

PARAMETERS = 10
"""Inertial parameters of a body, in Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""


class Body(NamedTuple):
    """A body with the joint that carries it.

    Attributes:
        parent: index of the body that carries it, 0 for the world.
        rows: its entries of a full velocity.
        subspace: (6,k) of the joint in the axes of the body.
        at: its pose in the parent.
        inertia: about the origin of the joint.
    """

    parent: int
    rows: slice
    subspace: Expression
    at: Placement
    inertia: BodyInertia


class SymbolicTree:
    """Kinematics and inertia of a robot as expressions of its configuration.

    Recursions run over the bodies in their own axes; nothing is differentiated.

    Attributes:
        model: the robot.
        q: (nq,) the symbol of the configuration.
        parameters: (10 bodies,) the symbol of the inertial parameters, or their values.
    """

    def __init__(self, model: VMSModel, parameters: bool = False) -> None:
        self.model, self._pin = model, model.tree.pinocchio
        self.q = ca.SX.sym("q", model.nq)
        values = inertial_parameters(model)
        self.parameters = ca.SX.sym("phi", len(values)) if parameters else ca.SX(values)
        self.bodies = self._bodies()

    @cached_property
    def composite(self) -> list[BodyInertia]:
        """The inertia of each body with all that it carries; the first entry is the whole robot."""
        none = BodyInertia.of_parameters(ca.SX(PARAMETERS, 1))
        found = [none, *(body.inertia for body in self.bodies[1:])]
        for i in reversed(range(1, len(found))):
            body = self.bodies[i]
            found[body.parent] = found[body.parent].plus(found[i].outside(body.at))
        return found

    @cached_property
    def M(self) -> Expression:
        """Mass matrix, (nv,nv): composite rigid bodies."""
        upper = ca.SX(ca.diag(ca.DM(np.asarray(self._pin.armature))))
        for i in range(1, len(self.bodies)):
            body = self.bodies[i]
            for k in range(body.subspace.shape[1]):
                row = body.rows.start + k
                force, at = self.composite[i].momentum(body.subspace[:, k]), i
                own = body.subspace.T @ force
                for m in range(k + 1):
                    upper[body.rows.start + m, row] += own[m]
                while (above := self.bodies[at].parent) > 0:
                    force, at = self.bodies[at].at.wrench_outside(force), above
                    upper[self.bodies[at].rows, row] = self.bodies[at].subspace.T @ force
        return self.projected(ca.triu2symm(upper))

    @cached_property
    def centre_of_mass_jacobian(self) -> Expression:
        """Jacobian of the centre of mass in inertial axes, without added mass, (3,nv)."""
        columns = []
        for i in range(1, len(self.bodies)):
            body = self.bodies[i]
            for k in range(body.subspace.shape[1]):
                force, at = self.composite[i].rigid_momentum(body.subspace[:, k])[:3], i
                while at > 0:
                    force, at = self.bodies[at].at.rotation @ force, self.bodies[at].parent
                columns.append(force)
        return self.columns(ca.horzcat(*columns) / self.composite[0].mass)

    def slope(self, v: Expression) -> Expression:
        """Return ``C^T v``, (nv,): of the momentum rates, what inertia alone contributes.

        Row k is ``S_k^T ad_V^T P`` with the twist V of the body and the momentum P of all that it
        carries: ``ad_v^T p`` for the base, the gradient of the kinetic energy for a joint.
        """
        twists = self._twists(self.full_velocity(v))
        momenta = self._carried([b.inertia.momentum(t) for b, t in self._with(twists)])
        rows = [
            b.subspace.T @ coad(t, p)
            for (b, t), p in zip(self._with(twists), momenta[1:], strict=True)
        ]
        return self.restricted(ca.vertcat(*rows))

    def mass_rate_times(self, v: Expression, w: Expression) -> Expression:
        """Return ``Mdot w`` along the velocity v, (nv,), for a constant w."""
        v, w = self.full_velocity(v), self.full_velocity(w)
        along, rates = self._twists(w), [ca.SX(6, 1)]
        for i, body in enumerate(self.bodies[1:], 1):
            step = body.subspace @ v[body.rows]
            own = body.subspace @ w[body.rows]
            rates.append(body.at.twist_inside(rates[body.parent]) - ad(step, along[i] - own))
        momenta = [b.inertia.momentum(t) for b, t in self._with(along)]
        slopes = [ca.SX(6, 1)] + [b.inertia.momentum(t) for b, t in self._with(rates)]
        momenta = [ca.SX(6, 1), *momenta]
        rows: list[Expression] = [None] * len(self.bodies)
        for i in reversed(range(1, len(self.bodies))):
            body = self.bodies[i]
            rows[i] = body.subspace.T @ slopes[i]
            slope = slopes[i] - coad(body.subspace @ v[body.rows], momenta[i])
            slopes[body.parent] = slopes[body.parent] + body.at.wrench_outside(slope)
            up = body.at.wrench_outside(momenta[i])
            momenta[body.parent] = momenta[body.parent] + up
        return self.restricted(ca.vertcat(*rows[1:]))

    @cached_property
    def gravity(self) -> Expression:
        """The generalised force that holds the robot at rest, (nv,): gravity less buoyancy."""
        fields, rows = [ca.SX(self.model.gravity)], []
        for i, body in enumerate(self.bodies[1:], 1):
            fields.append(body.at.rotation.T @ fields[body.parent])
            rows.append(-body.subspace.T @ self.composite[i].weight_at(fields[i]))
        return self.restricted(ca.vertcat(*rows))

    @cached_property
    def potential(self) -> Expression:
        """Potential of gravity and buoyancy, J, zero at the origin of the inertial frame."""
        return -ca.dot(ca.SX(self.model.gravity), self.composite[0].weight_moment)

    def pose(self, frame: str) -> Placement:
        """Return the pose of a frame in the inertial frame."""
        at, pose = self._frame(frame)
        while at > 0:
            pose, at = self.bodies[at].at.then(pose), self.bodies[at].parent
        return pose

    def jacobian(self, frame: str) -> Expression:
        """Return the Jacobian of a frame in its own axes, linear first, (6,nv)."""
        at, pose = self._frame(frame)
        matrix = ca.SX(6, self._pin.nv)
        while at > 0:
            body = self.bodies[at]
            for k in range(body.subspace.shape[1]):
                column = pose.twist_inside(body.subspace[:, k])
                matrix[:, body.rows.start + k] = column
            pose, at = body.at.then(pose), body.parent
        return self.columns(matrix)

    def full_velocity(self, v: Expression) -> Expression:
        """Return the velocity with the joints that mimic others, (nv_full,)."""
        p = self.model.tree.projection
        return v if p is None else ca.DM(p) @ v

    def restricted(self, force: Expression) -> Expression:
        """Return ``P^T force`` of a full generalised force, (nv,)."""
        p = self.model.tree.projection
        return force if p is None else ca.DM(p).T @ force

    def columns(self, jacobian: Expression) -> Expression:
        """Return ``jacobian P`` for a Jacobian of full velocities."""
        p = self.model.tree.projection
        return jacobian if p is None else jacobian @ ca.DM(p)

    def projected(self, matrix: Expression) -> Expression:
        """Return ``P^T matrix P`` for a matrix of full velocities."""
        p = self.model.tree.projection
        return matrix if p is None else ca.DM(p).T @ matrix @ ca.DM(p)

    def _with(self, values: list[Expression]) -> list[tuple[Body, Expression]]:
        return list(zip(self.bodies[1:], values[1:], strict=True))

    def _twists(self, v: Expression) -> list[Expression]:
        twists = [ca.SX(6, 1)]
        for body in self.bodies[1:]:
            own = body.subspace @ v[body.rows]
            twists.append(body.at.twist_inside(twists[body.parent]) + own)
        return twists

    def _carried(self, momenta: list[Expression]) -> list[Expression]:
        total = [ca.SX(6, 1), *momenta]
        for i in reversed(range(1, len(self.bodies))):
            body = self.bodies[i]
            total[body.parent] = total[body.parent] + body.at.wrench_outside(total[i])
        return total

    def _frame(self, name: str) -> tuple[int, Placement]:
        frame = self._pin.frames[self.model.frame_id(name)]
        return int(frame.parentJoint), _constant(frame.placement)

    def _bodies(self) -> list[Body]:
        nothing = BodyInertia.of_parameters(ca.SX(PARAMETERS, 1))
        world = Placement(ca.SX.eye(3), ca.SX(3, 1))
        bodies = [Body(-1, slice(0, 0), ca.SX(6, 0), world, nothing)]
        full, neutral = self._full_configuration(), pin.neutral(self._pin)
        for i in range(1, self._pin.njoints):
            joint = self._pin.joints[i]
            data = joint.createData()
            joint.calc(data, neutral)
            subspace = np.asarray(data.S).reshape(6, joint.nv)
            entries = full[joint.idx_q : joint.idx_q + joint.nq]
            moved = joint_pose(joint, subspace, entries)
            share = self.parameters[PARAMETERS * (i - 1) : PARAMETERS * i]
            bodies.append(
                Body(
                    int(self._pin.parents[i]),
                    slice(joint.idx_v, joint.idx_v + joint.nv),
                    ca.SX(ca.sparsify(ca.DM(subspace))),
                    _constant(self._pin.jointPlacements[i]).then(moved),
                    self._immersed(i, BodyInertia.of_parameters(share)),
                )
            )
        return bodies

    def _immersed(self, joint: int, inertia: BodyInertia) -> BodyInertia:
        fluid = self.model.fluid
        if fluid is None:
            return inertia
        for body in fluid.bodies:
            frame = self._pin.frames[self.model.frame_id(body.link)]
            if frame.parentJoint == joint:
                inverse = np.asarray(frame.placement.inverse().action)
                added = inverse.T @ body.added_mass @ inverse
                centre = frame.placement.act(np.asarray(body.centre_of_buoyancy))
                inertia = inertia.in_fluid(added, fluid.density * body.volume, centre)
        return inertia

    def _full_configuration(self) -> Expression:
        tree = self.model.tree
        if tree.projection is None:
            return self.q
        # The map is affine; its columns are found by evaluating it.
        offset = tree.full_configuration(np.zeros(self.model.nq))
        columns = [tree.full_configuration(e) - offset for e in np.eye(self.model.nq)]
        return ca.sparsify(ca.DM(np.stack(columns, axis=1))) @ self.q + ca.DM(offset)


def inertial_parameters(model: VMSModel) -> Array:
    """Return the inertial parameters of all bodies in the order of the joints, (10 bodies,).

    Ten of each: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of its joint.
    """
    inertias = list(model.tree.pinocchio.inertias)[1:]
    return np.concatenate([np.asarray(body.toDynamicParameters()) for body in inertias])


def _constant(placement: Any) -> Placement:
    rotation = ca.sparsify(ca.DM(np.asarray(placement.rotation)))
    position = ca.sparsify(ca.DM(np.asarray(placement.translation)))
    return Placement(ca.SX(rotation), ca.SX(position))
