# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A slow, literal Newton-Euler recursion in numpy: what the forms are compared with in a fluid.

Of Pinocchio it takes the poses and motion subspaces of single joints and the rigid inertias only.
"""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import VMSModel


def cross_matrix(x: np.ndarray) -> np.ndarray:
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


def motion_cross(twist: np.ndarray) -> np.ndarray:
    """``V x``, (6,6), linear first."""
    v, w = cross_matrix(twist[:3]), cross_matrix(twist[3:])
    return np.block([[w, v], [np.zeros((3, 3)), w]])


def to_child(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The map of twists from a frame to one at this pose in it, (6,6)."""
    turned = rotation.T @ -cross_matrix(position)
    return np.block([[rotation.T, turned], [np.zeros((3, 3)), rotation.T]])


@dataclass(frozen=True)
class Equations:
    """``mass vdot + bias = passive + applied``."""

    mass: np.ndarray
    bias: np.ndarray  # of the motion alone
    gravity: np.ndarray  # generalised force of weight and buoyancy
    drag: np.ndarray  # generalised force of drag


def equations(robot: VMSModel, q: np.ndarray, v: np.ndarray) -> Equations:
    """Kirchhoff's equations ``(M_r + M_a) Vdot + V x* (M_r + M_a) V = F`` of every body, summed."""
    model, nv = robot.pinocchio, robot.nv
    jacobian = {0: np.zeros((6, nv))}
    twist = {0: np.zeros(6)}
    drift = {0: np.zeros(6)}  # acceleration of the body while vdot = 0
    turn = {0: np.eye(3)}
    mass, bias = np.zeros((nv, nv)), np.zeros(nv)
    gravity, drag = np.zeros(nv), np.zeros(nv)
    for i in range(1, model.njoints):
        parent, joint = model.parents[i], model.joints[i]
        data = joint.createData()
        joint.calc(data, q)
        pose = model.jointPlacements[i] * data.M
        down = to_child(pose.rotation, pose.translation)
        columns = slice(joint.idx_v, joint.idx_v + joint.nv)
        subspace = np.zeros((6, nv))
        subspace[:, columns] = np.array(data.S).reshape(6, joint.nv)
        jacobian[i] = down @ jacobian[parent] + subspace
        relative = subspace @ v
        twist[i] = down @ twist[parent] + relative
        drift[i] = down @ drift[parent] + motion_cross(twist[i]) @ relative
        turn[i] = turn[parent] @ pose.rotation
        body = model.inertias[i]
        inertia = body.matrix()
        weight = turn[i].T @ (body.mass * robot.gravity)
        static = np.concatenate([weight, np.cross(body.lever, weight)])
        resistance = np.zeros(6)
        for immersed in robot.fluid.bodies if robot.fluid is not None else ():
            frame = model.frames[robot.frame_id(immersed.link)]
            if frame.parentJoint != i:
                continue
            there = to_child(frame.placement.rotation, frame.placement.translation)
            inertia = inertia + there.T @ immersed.added_mass @ there
            up = -robot.fluid.density * immersed.volume * robot.gravity
            up = (turn[i] @ frame.placement.rotation).T @ up
            lift = np.concatenate([up, np.cross(immersed.centre_of_buoyancy, up)])
            static = static + there.T @ lift
            flow = there @ twist[i]
            held_back = -immersed.linear_drag * flow
            held_back -= immersed.quadratic_drag * np.abs(flow) * flow
            resistance = resistance + there.T @ held_back
        momentum = inertia @ twist[i]
        mass += jacobian[i].T @ inertia @ jacobian[i]
        bias += jacobian[i].T @ (inertia @ drift[i] - motion_cross(twist[i]).T @ momentum)
        gravity += jacobian[i].T @ static
        drag += jacobian[i].T @ resistance
    return Equations(mass, bias, gravity, drag)


def accelerations(robot: VMSModel, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
    """The acceleration under a generalised force (nv,), weight, buoyancy and drag."""
    e = equations(robot, q, v)
    return np.linalg.solve(e.mass, force + e.gravity + e.drag - e.bias)
