# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The same identification from the torque regressor, for comparison."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..energy.regressor import EnergyRegressor
from ..energy.samples import MotionSamples, smoothed
from ..model import VMSModel
from .result import EFFORT_LAG, Unknown
from .windows import SLIP, FrictionLaw, Motion, Windows

EVERY = 10  # samples to a row: accelerations of neighbours share their samples


def torque_windows(
    model: VMSModel,
    motion: Motion,
    unknowns: Sequence[Unknown],
    *,
    payload_frame: str,
    friction: FrictionLaw | None,
    length: float,
    every: int = EVERY,
) -> Windows:
    """Return rows ``effort = regressor x`` at samples, with accelerations from the positions.

    Each row is one joint at one sample, divided by the root mean square of the joint's effort. The
    accelerations are slopes of the velocities by local cubics of half the length of a window.

    Args:
        model: the robot.
        motion: the recording.
        unknowns: whose columns are wanted.
        payload_frame: at which the payload is fixed.
        friction: a known law of friction, or None.
        length: of a window of the energy balance, s.
        every: samples to a row.
    """
    samples, b, n = motion.samples, model.b, model.n
    regressor = EnergyRegressor(model)
    body, transform = regressor.of_frame(payload_frame)
    dt = float(np.median(np.diff(samples.t)))
    width = max(3, round(0.5 * length / dt))
    acceleration = smoothed(samples.t, motion.v, width)[1]
    efforts = smoothed(samples.t, samples.torque, width)[0]
    chosen = np.arange(width, len(samples) - width, max(1, min(every, width)))
    tree = model.tree
    data = tree.pinocchio.createData()
    joints = [tree.pinocchio.joints[tree.pinocchio.getJointId(x)].idx_v for x in model.joint_names]
    armature = np.asarray(tree.pinocchio.armature)[joints]
    places = {
        kind: [k for k, u in enumerate(unknowns) if u.kind == kind]
        for kind in ("payload", "inertia")
    }
    changing = smoothed(samples.t, samples.torque, width)[1]
    index = {u.name: k for k, u in enumerate(unknowns)}
    columns = np.zeros((len(chosen), n, len(unknowns)))
    target = np.empty((len(chosen), n))
    for row, k in enumerate(chosen):
        v, a = motion.v[k], acceleration[k]
        full = tree.full_configuration(samples.q[k]), tree.full_velocity(v), tree.full_velocity(a)
        rows = pin.computeJointTorqueRegressor(tree.pinocchio, data, *full)
        rows = rows if tree.projection is None else tree.projection.T @ rows
        rows = rows[b:]
        rate = v[b:]
        outside = _outside(model, samples, int(k), full[0])
        torque = efforts[k] + outside - rows @ regressor.parameters - armature * a[b:]
        drag = _drag_columns(model, unknowns, samples.q[k], v)
        if model.fluid is not None:
            torque = torque - _fluid_torque(model, samples.q[k], v, a)
            # The known forces have all of the drag; the unknown is the factor on it.
            torque = torque + np.sum([np.zeros(n), *drag.values()], axis=0)
        for key, value in drag.items():
            columns[row][:, index[key]] = value
        if friction is not None:
            torque = torque - friction(rate[None, :])[0]
        slip = np.tanh(rate / SLIP)
        carried = rows[:, 10 * body : 10 * body + 10] @ transform
        if places["payload"]:
            columns[row][:, places["payload"]] = carried
        if places["inertia"]:
            columns[row][:, places["inertia"]] = rows
        for j, name in enumerate(model.joint_names):
            of_joint = {
                f"friction.{name}.viscous": rate[j],
                f"friction.{name}.coulomb": slip[j],
                f"friction.{name}.offset": 1.0,
                f"friction.{name}.load": abs(efforts[k, j]) * slip[j],
                f"gain.{name}": -efforts[k, j],
                f"armature.{name}": a[b + j],
            }
            of_joint[EFFORT_LAG] = -changing[k, j]
            for key, value in of_joint.items():
                if key in index:
                    columns[row, j, index[key]] = value
            if f"gain.{name}" in index:
                torque[j] -= efforts[k, j]
        target[row] = torque
    size = np.sqrt(np.mean(efforts**2, axis=0)) + 1e-9
    flat = (columns / size[:, None]).reshape(-1, len(unknowns))
    t = np.repeat(samples.t[chosen], n)
    ones = np.ones(t.size)
    # The place of the sizes of the joints is that of the gross work of windows.
    return Windows(
        t, t, (target / size).reshape(-1), flat, np.tile(size, len(chosen)), ones, 0.0 * ones
    )


def _outside(model: VMSModel, samples: MotionSamples, k: int, q: Array) -> Array:
    """Return the joint efforts of the wrenches at the tools, (n,)."""
    total = np.zeros(model.n)
    for port, wrench in samples.wrenches.items():
        if port == "base":
            continue
        tree = model.tree
        jacobian = pin.computeFrameJacobian(
            tree.pinocchio, tree.data(), q, model.frame_id(port), pin.ReferenceFrame.LOCAL
        )
        total += (tree.columns(jacobian).T @ wrench[k])[model.b :]
    return total


def _fluid_torque(model: VMSModel, q: Array, v: Array, a: Array) -> Array:
    """Return the joint efforts that the fluid needs, (n,)."""
    fluid = model.fluid
    assert fluid is not None
    d = model.evaluate(q, v)
    inertial = fluid.added_mass(d) @ a + fluid.coriolis(d) @ v
    return np.asarray(inertial - fluid.buoyancy(d) - fluid.drag(d))[model.b :]


def _drag_columns(
    model: VMSModel, unknowns: Sequence[Unknown], q: Array, v: Array
) -> dict[str, Array]:
    """Return the joint efforts against each drag that is unknown, (n,) by name."""
    names = [u.name for u in unknowns if u.kind == "drag"]
    if model.fluid is None or not names:
        return {}
    d, columns = model.evaluate(q, v), {}
    for body in model.fluid.bodies:
        jacobian = d.jacobian(body.link)
        twist = jacobian @ v
        linear = jacobian.T @ (body.linear_drag * twist)
        quadratic = jacobian.T @ (body.quadratic_drag * np.abs(twist) * twist)
        columns[f"drag.{body.link}.linear"] = linear[model.b :]
        columns[f"drag.{body.link}.quadratic"] = quadratic[model.b :]
    return {name: columns[name] for name in names}
