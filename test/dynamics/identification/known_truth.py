# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of robots whose payload and friction are known, with the defects of real ones."""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification.windows import SLIP

DURATION, RATE = 15.0, 250.0


@dataclass(frozen=True)
class Defects:
    """What is wrong with a recording; standard deviations unless said otherwise."""

    position: float = 1e-5  # rad
    quantum: float = 2e-5  # rad, of the encoder
    velocity: float = 2e-3  # rad/s
    effort: float = 0.01  # share of the effort of each joint
    jitter: float = 1e-4  # s, of the stamps
    lag: float = 0.004  # s, of the velocities
    effort_lag: float = 0.002  # s, largest, of the efforts
    base: float = 1e-5  # m and rad, of the pose


@dataclass(frozen=True)
class Truth:
    """The payload at the end effector and the friction of the joints; values by their names."""

    values: dict[str, float]
    payload: pin.Inertia
    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    excess: np.ndarray  # of dry friction at low speed (Stribeck), and the speed where it ends
    low_speed: np.ndarray
    slip: float = SLIP  # speed over which dry friction reverses


def random_truth(
    model: VMSModel, rng: np.random.Generator, mass: float, stribeck: bool = False
) -> Truth:
    """Return a payload of about this mass and friction that a robot of this size may have."""
    m = mass * rng.uniform(0.5, 2.0)
    centre = rng.uniform(-0.08, 0.08, 3)
    sides = rng.uniform(0.03, 0.2, 3)
    moments = m / 12 * (np.sum(sides**2) - sides**2)
    turn = pin.exp3(rng.normal(size=3))
    payload = pin.Inertia(m, centre, turn @ np.diag(moments) @ turn.T)
    # Of the torque that the weight beyond a joint may take.
    scale = typical_effort(model)
    viscous = scale * rng.uniform(0.01, 0.06, model.n)
    coulomb = scale * rng.uniform(0.01, 0.06, model.n)
    offset = scale * rng.uniform(-0.02, 0.02, model.n)
    values = {"payload_mass": m}
    values |= {f"payload_centre_{axis}": c for axis, c in zip("xyz", centre, strict=True)}
    for j, name in enumerate(model.joint_names):
        values[f"friction.{name}.viscous"] = viscous[j]
        values[f"friction.{name}.coulomb"] = coulomb[j]
        values[f"friction.{name}.offset"] = offset[j]
    excess, low_speed = np.zeros(model.n), np.ones(model.n)
    if stribeck:
        excess = coulomb * rng.uniform(0.2, 1.0, model.n)
        low_speed = rng.uniform(0.03, 0.3, model.n)
    return Truth(values, payload, viscous, coulomb, offset, excess, low_speed)


def typical_effort(model: VMSModel) -> np.ndarray:
    """Return the largest effort of gravity, or of a brisk motion, of each joint."""
    rng = np.random.default_rng(1)
    tree, data = model.tree.pinocchio, model.tree.pinocchio.createData()
    efforts = []
    for _ in range(30):
        q = model.tree.full_configuration(model.random_configuration(rng))
        efforts.append(pin.rnea(tree, data, q, np.zeros(tree.nv), rng.normal(size=tree.nv)))
    return np.abs(efforts).max(axis=0)[model.b :]


def arm_mass(model: VMSModel) -> float:
    """Return the mass of all bodies but the base."""
    return sum(i.mass for i in list(model.tree.pinocchio.inertias)[2 if model.b else 1 :])


def recording(
    model: VMSModel,
    truth: Truth,
    rng: np.random.Generator,
    defects: Defects | None = None,
    still: tuple[int, ...] = (),
    duration: float = DURATION,
) -> MotionSamples:
    """Return samples of an exciting motion; the joints ``still`` do not move."""
    d = defects or Defects()
    t = np.arange(0.0, duration, 1.0 / RATE)
    s, v, a = _motion(model, t, rng, still)
    q = _configurations(model, s, t)
    torque = _efforts(model, truth, q, v, a)
    late = d.effort_lag * rng.uniform()
    measured = _shifted(t, torque, late)
    level = np.sqrt(np.mean(torque**2, axis=0)) + 1e-9
    measured = measured + d.effort * level * rng.normal(size=torque.shape)
    seen = q + 0.0
    arm = slice(model.nq_base, model.nq)
    seen[:, arm] += d.position * rng.normal(size=seen[:, arm].shape)
    if d.quantum:
        seen[:, arm] = d.quantum * np.rint(seen[:, arm] / d.quantum)
    if model.b:
        for k in range(len(t)):
            dv = np.zeros(model.nv)
            dv[: model.b] = d.base * rng.normal(size=model.b)
            seen[k, : model.nq_base] = model.integrate(q[k], dv)[: model.nq_base]
    velocity = _shifted(t, v, d.lag) + d.velocity * rng.normal(size=v.shape)
    stamps = t + d.jitter * np.clip(rng.normal(size=t.size), -3, 3)
    wrenches = {}
    if model.b:
        wrench = np.zeros((len(t), 6))
        wrench[:, [0, 1, 5] if model.b == 3 else slice(0, 6)] = measured[:, : model.b]
        wrenches["base"] = wrench
    return MotionSamples(stamps, seen, velocity, measured[:, model.b :], wrenches)


def _motion(model, t, rng, still):
    """Return accumulated steps, velocities and accelerations: sums of sines, from rest."""
    count = model.nv
    # Base translation, base rotation, joints.
    amplitude = np.full(count, 1.2)
    # A heavy base moves less, so that its energy does not drown that of the arm.
    amplitude[: model.b] = 0.3 * np.sqrt(arm_mass(model) / model.total_mass)
    s, v, a = (np.zeros((t.size, count)) for _ in range(3))
    for harmonic in range(1, 6):
        w = 2 * np.pi * 0.12 * harmonic
        size = amplitude * rng.normal(size=count) / harmonic / 1.5
        phase = rng.uniform(0, 2 * np.pi, count)
        s += size * np.sin(w * t[:, None] + phase)
        v += size * w * np.cos(w * t[:, None] + phase)
        a -= size * w**2 * np.sin(w * t[:, None] + phase)
    for j in still:
        for x in (s, v, a):
            x[:, model.b + j] = 0.0
    return s, v, a


def _configurations(model, s, t):
    """Return the configurations of a motion; its base velocities are those of the base frame."""
    q = np.empty((len(t), model.nq))
    middle = np.zeros(model.nv)
    lower, upper = model.joints.lower, model.joints.upper
    middle[model.b :] = np.where(np.isfinite(lower + upper), 0.5 * (lower + upper), 0.0)
    neutral = model.integrate(model.neutral_configuration(), middle)
    if model.b == 0:
        return neutral + s
    # Rates that commute with themselves make the accumulated steps the logarithm of the pose:
    # the base turns about one axis and moves along it, or in the plane by small steps.
    q[0] = neutral
    arm = slice(model.nq_base, model.nq)
    for k in range(1, len(t)):
        step = np.zeros(model.nv)
        step[: model.b] = s[k, : model.b] - s[k - 1, : model.b]
        q[k] = model.integrate(q[k - 1], step)
    q[:, arm] = neutral[arm] + s[:, model.b :]
    return q


def _efforts(model, truth, q, v, a):
    tree = model.tree.pinocchio.copy()
    frame = tree.frames[model.end_effector_id]
    joint = frame.parentJoint
    tree.inertias[joint] = tree.inertias[joint] + frame.placement.act(truth.payload)
    data = tree.createData()
    efforts = np.array([pin.rnea(tree, data, *x).copy() for x in zip(q, v, a, strict=True)])
    if model.fluid is not None:
        fluid = model.fluid
        for k in range(len(q)):
            d = model.evaluate(q[k], v[k])
            inertial = fluid.added_mass(d) @ a[k] + fluid.coriolis(d) @ v[k]
            efforts[k] += inertial - fluid.buoyancy(d) - fluid.drag(d)
    rate = v[:, model.b :]
    dry = truth.coulomb + truth.excess * np.exp(-((rate / truth.low_speed) ** 2))
    efforts[:, model.b :] += truth.viscous * rate + dry * np.tanh(rate / truth.slip) + truth.offset
    return efforts


def _shifted(t, values, lag):
    return np.stack([np.interp(t - lag, t, x) for x in values.T], axis=1)
