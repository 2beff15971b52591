# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The same identification from the torque regressor, for comparison."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..energy.energy_path import EnergyPath
from ..energy.regressor import EnergyRegressor
from ..energy.samples import smoothed
from ..model import VMSModel
from .result import EFFORT_LAG, Unknown
from .windows import Motion, Windows, WindowSettings, armature_of, joint_columns

EVERY = 10  # samples to a row: accelerations of neighbours share their samples


def torque_windows(
    model: VMSModel,
    motion: Motion,
    unknowns: Sequence[Unknown],
    settings: WindowSettings,
    every: int = EVERY,
) -> Windows:
    """Return rows ``effort = regressor x`` at samples, with accelerations from the positions.

    Each row is one joint at one sample, divided by the root mean square of the joint's effort. The
    accelerations are slopes of the velocities by local cubics of half the length of a window.

    Args:
        model: the robot.
        motion: the recording.
        unknowns: whose columns are wanted.
        settings: of the windows of the energy balance.
        every: samples to a row.
    """
    samples, b, n = motion.samples, model.b, model.n
    regressor = EnergyRegressor(model)
    body, transform = regressor.of_frame(settings.payload_frame)
    dt = float(np.median(np.diff(samples.t)))
    width = max(3, round(0.5 * settings.length / dt))
    acceleration = smoothed(samples.t, motion.v, width)[1]
    efforts, changes = smoothed(samples.t, samples.torque, width)
    chosen = np.arange(width, len(samples) - width, max(1, min(every, width)))
    tree = model.tree
    data = tree.pinocchio.createData()
    armature = armature_of(model)
    kinds = {
        kind: [k for k, u in enumerate(unknowns) if u.kind == kind]
        for kind in ("payload", "inertia")
    }
    index = {u.name: k for k, u in enumerate(unknowns)}
    columns = np.zeros((len(chosen), n, len(unknowns)))
    rate, target = motion.v[chosen, b:], efforts[chosen]
    for port, wrench in samples.wrenches.items():
        if port != "base":
            path, frame = EnergyPath(model), model.frame_id(port)
            target += path.generalised(samples.q[chosen], wrench[chosen], frame)[:, b:]
    if settings.friction is not None:
        target -= settings.friction(rate)
    for row, k in enumerate(chosen):
        v, a = motion.v[k], acceleration[k]
        full = tree.full_configuration(samples.q[k]), tree.full_velocity(v), tree.full_velocity(a)
        rows = pin.computeJointTorqueRegressor(tree.pinocchio, data, *full)
        rows = (rows if tree.projection is None else tree.projection.T @ rows)[b:]
        target[row] -= rows @ regressor.parameters + armature * a[b:]
        if model.fluid is not None:
            target[row] -= _fluid_torque(model, samples.q[k], v, a)
        for name, drag in _drag_columns(model, unknowns, samples.q[k], v).items():
            columns[row][:, index[name]] = drag
            # The known forces have all of the drag; the unknown is the factor on it.
            target[row] += drag
        if kinds["payload"]:
            columns[row][:, kinds["payload"]] = rows[:, 10 * body : 10 * body + 10] @ transform
        if kinds["inertia"]:
            columns[row][:, kinds["inertia"]] = rows
    of_joints = joint_columns(model, rate, efforts[chosen])
    for j, joint in enumerate(model.joint_names):
        of_joints[f"armature.{joint}"] = j, acceleration[chosen, b + j]
        if f"gain.{joint}" in index:
            target[:, j] -= efforts[chosen, j]
    for name in of_joints.keys() & index.keys():
        j, column = of_joints[name]
        columns[:, j, index[name]] = column
    if EFFORT_LAG in index:
        columns[:, :, index[EFFORT_LAG]] = -changes[chosen]
    size = np.sqrt(np.mean(efforts**2, axis=0)) + 1e-9
    flat = (columns / size[:, None]).reshape(-1, len(unknowns))
    t = np.repeat(samples.t[chosen], n)
    ones = np.ones(t.size)
    # The place of the sizes of the joints is that of the gross work of windows.
    return Windows(
        t, t, (target / size).reshape(-1), flat, np.tile(size, len(chosen)), ones, 0.0 * ones
    )


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
