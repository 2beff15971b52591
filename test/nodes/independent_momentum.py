# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recomputes energy splits and momenta from a bag, using only Pinocchio, numpy and mcap.

Takes the robot from /robot_description, its state from /joint_states and /odom of the same stamp,
and compares with the recorded /vms_ph/energy and /vms_ph/momentum. The momentum of the whole robot
is a sum over its bodies; splits are computed by solving with the mass matrix. The added mass and
buoyancy of a fluid are added to the bodies from the numbers of its file.
"""

import math
from pathlib import Path
from typing import Any

import mcap.reader
import numpy as np
import pinocchio as pin

from .independent_audit import Cdr

BASES = {"fixed": None, "planar": pin.JointModelPlanar, "floating": pin.JointModelFreeFlyer}


def worst_differences(
    bag: Path, base: str, gravity: list[float], fluid: Any = None
) -> dict[str, float]:
    """Return the largest difference of every quantity, relative to its largest value in the bag.

    Args:
        bag: the folder.
        base: fixed, planar or floating.
        gravity: (3,) m/s^2.
        fluid: with density and bodies; None for none.
    """
    found = _read(bag)
    model = _model(found["urdf"], base, gravity)
    size = {"fixed": 0, "planar": 3, "floating": 6}[base]
    mine: dict[str, list[np.ndarray]] = {}
    theirs: dict[str, list[np.ndarray]] = {}
    stamps = found["energy"].keys() & found["momentum"].keys() & found["states"].keys()
    if size:
        stamps &= found["odom"].keys()
    for stamp in sorted(stamps):
        q, v = _state(model, found["states"][stamp], found["odom"].get(stamp), base)
        for name, value in _quantities(model, q, v, size, found["tool"], fluid).items():
            mine.setdefault(name, []).append(np.atleast_1d(value))
        for name, value in {**found["energy"][stamp], **found["momentum"][stamp]}.items():
            theirs.setdefault(name, []).append(np.atleast_1d(value))
    worst = {"samples": float(len(stamps))}
    scale = max(float(np.abs(np.array(mine["kinetic"])).max()), 1e-12)
    for name, values in mine.items():
        a, b = np.array(values), np.array(theirs[name])
        # Parts of a split energy are compared relative to the whole.
        largest = scale if name.startswith("kinetic") else float(np.abs(a).max())
        if np.isnan(a).all() and np.isnan(b).all():
            worst[name] = 0.0
            continue
        worst[name] = float(np.abs(a - b).max()) / (largest or 1.0)
    return worst


def _quantities(
    model: pin.Model, q: np.ndarray, v: np.ndarray, b: int, tool: str, fluid: Any
) -> dict[str, object]:
    data = model.createData()
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    immersed = [] if fluid is None else list(fluid.bodies)
    frames = [model.getFrameId(body.link) for body in immersed]
    jacobians = [pin.computeFrameJacobian(model, data, q, i, pin.LOCAL).copy() for i in frames]
    for body, jacobian in zip(immersed, jacobians, strict=True):
        mass = mass + jacobian.T @ body.added_mass @ jacobian
    kinetic = 0.5 * v @ mass @ v
    p = (mass @ v)[:b]
    locked = np.linalg.solve(mass[:b, :b], p) if b else np.zeros(0)
    connection = np.linalg.solve(mass[:b, :b], mass[:b, b:]) if b else np.zeros((0, model.nv))
    pi = (mass @ v)[b:]
    in_base = 0.5 * p @ locked if b else 0.0
    pin.forwardKinematics(model, data, q, v)
    pin.updateFramePlacements(model, data)
    momentum, turning, centre = np.zeros(3), np.zeros(3), np.zeros(3)
    for i in range(1, model.njoints):
        body, pose, twist = model.inertias[i], data.oMi[i], data.v[i]
        at = pose.translation + pose.rotation @ body.lever
        velocity = pose.rotation @ (twist.linear + np.cross(twist.angular, body.lever))
        momentum += body.mass * velocity
        spin = pose.rotation @ (body.inertia @ twist.angular)
        turning += spin + body.mass * np.cross(at, velocity)
        centre += body.mass * at
    lift = 0.0
    for body, jacobian, i in zip(immersed, jacobians, frames, strict=True):
        pose, own = data.oMf[i], body.added_mass @ (jacobian @ v)
        momentum += pose.rotation @ own[:3]
        turning += pose.rotation @ own[3:] + np.cross(pose.translation, pose.rotation @ own[:3])
        lift += (
            fluid.density * body.volume * model.gravity.linear @ pose.act(body.centre_of_buoyancy)
        )
    total = sum(model.inertias[i].mass for i in range(1, model.njoints))
    centre = centre / total
    jacobian = pin.computeFrameJacobian(
        model, data, q, model.getFrameId(tool), pin.LOCAL_WORLD_ALIGNED
    )[:3]
    in_task = np.nan  # the task inertia is undefined at a singular configuration
    if np.linalg.matrix_rank(jacobian) == 3:
        task = np.linalg.inv(jacobian @ np.linalg.solve(mass, jacobian.T))
        in_task = 0.5 * (jacobian @ v) @ task @ (jacobian @ v)
    potential = lift - total * model.gravity.linear @ centre
    base = _in_space(p), _in_space(locked)
    return {
        "total": kinetic + potential,
        "kinetic": kinetic,
        "potential": potential,
        "kinetic_base": in_base,
        "kinetic_shape": kinetic - in_base,
        "kinetic_task": in_task,
        "kinetic_null": kinetic - in_task,
        "linear": momentum,
        "spatial_angular": turning,
        "centroidal_angular": turning - np.cross(centre, momentum),
        "centre_of_mass": centre,
        "base_linear": base[0][:3],
        "base_angular": base[0][3:],
        "locked_velocity": base[1],
        "joint_momentum": pi,
        "shape_momentum": pi - connection.T @ p,
    }


def _in_space(x: np.ndarray) -> np.ndarray:
    if len(x) == 3:
        return np.array([x[0], x[1], 0, 0, 0, x[2]])
    return x if len(x) else np.zeros(6)


def _model(urdf: str, base: str, gravity: list[float]) -> pin.Model:
    root = BASES[base]
    model = pin.buildModelFromXML(urdf, root()) if root else pin.buildModelFromXML(urdf)
    model.gravity.linear = np.array(gravity)
    return model


def _state(
    model: pin.Model, state: tuple, odom: tuple | None, base: str
) -> tuple[np.ndarray, np.ndarray]:
    q, v = pin.neutral(model), np.zeros(model.nv)
    for name, position, rate in zip(*state[:3], strict=True):
        joint = model.joints[model.getJointId(name)]
        if joint.nq == 2:
            q[joint.idx_q : joint.idx_q + 2] = math.cos(position), math.sin(position)
        else:
            q[joint.idx_q] = position
        v[joint.idx_v] = rate
    if odom is not None and base != "fixed":
        pose, twist = odom
        if base == "floating":
            q[:7], v[:6] = pose, twist
        else:
            angle = 2 * math.atan2(pose[5], pose[6])
            q[:4] = pose[0], pose[1], math.cos(angle), math.sin(angle)
            v[:3] = twist[0], twist[1], twist[5]
    return q, v


def _read(bag: Path) -> dict:
    found: dict = {"states": {}, "odom": {}, "energy": {}, "momentum": {}, "urdf": "", "tool": ""}
    with next(bag.glob("*.mcap")).open("rb") as file:
        for _, channel, message in mcap.reader.make_reader(file).iter_messages():
            cdr = Cdr(message.data)
            if channel.topic == "/robot_description":
                found["urdf"] = cdr.text()
            elif channel.topic == "/vms_ph/wrench_end_effector":
                _, found["tool"] = cdr.header()
            elif channel.topic == "/joint_states":
                stamp, _ = cdr.header()
                names = [cdr.text() for _ in range(cdr.take("I", 4))]
                found["states"][stamp] = (names, cdr.sequence(), cdr.sequence())
            elif channel.topic == "/odom":
                stamp, _ = cdr.header()
                cdr.text()
                pose = cdr.doubles(7)
                cdr.doubles(36)
                found["odom"][stamp] = (pose, cdr.doubles(6))
            elif channel.topic == "/vms_ph/energy":
                stamp, _ = cdr.header()
                names = ("total", "kinetic", "potential", "kinetic_base", "kinetic_shape")
                values = cdr.doubles(7)
                found["energy"][stamp] = dict(
                    zip((*names, "kinetic_task", "kinetic_null"), values, strict=True)
                )
            elif channel.topic == "/vms_ph/momentum":
                stamp, _ = cdr.header()
                cdr.text()
                found["momentum"][stamp] = _momentum(cdr)
    return found


def _momentum(cdr: Cdr) -> dict[str, np.ndarray]:
    names = ("linear", "spatial_angular", "centroidal_angular", "centre_of_mass")
    values = {name: np.array(cdr.doubles(3)) for name in (*names, "base_linear", "base_angular")}
    values["locked_velocity"] = np.array(cdr.doubles(6))
    for _ in range(cdr.take("I", 4)):
        cdr.text()
    values["joint_momentum"] = np.array(cdr.sequence())
    values["shape_momentum"] = np.array(cdr.sequence())
    return values
