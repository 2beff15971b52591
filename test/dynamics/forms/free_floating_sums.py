# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source E's sums over bodies, as E prints them, and the robots they are tried on.

From the centres of mass, axes and rotational inertias that Pinocchio gives in inertial axes; joints
that slide, which E has not, add ``k`` in place of ``k x (r - p)``.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from hypothesis import strategies as st

from vms_ph_dynamics import FreeFloating, VMSModel
from vms_ph_dynamics.forms.free_floating import FreeFloatingEvaluation
from vms_ph_dynamics.groups import skew
from vms_ph_io import robots

from ..conftest import random_tree, state_of

# Every third seed makes a tree on a floating base.
floating_trees = st.integers(0, 2**29).map(lambda k: random_tree(3 * k + 2))
seeds = st.integers(0, 2**31)
FLOATING = [
    name
    for name in robots.names()
    if robots.get(name).base == "floating" and not robots.get(name).fluid
]
# How far a misprint is off at least, in SI units, for a robot of some kilograms moving with 1/s.
WRONG = 1e-3

Space = tuple["Sums", FreeFloatingEvaluation]


@dataclass(frozen=True)
class Body:
    """One of E's links, in inertial axes; J_T, J_R have zero columns for joints beyond it."""

    m: float
    r: np.ndarray
    inertia: np.ndarray
    J_T: np.ndarray
    J_R: np.ndarray
    rdot: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class Sums:
    """What E needs for its sums: body 0 is the base, its centre of mass is r_0 = p_0."""

    bodies: tuple[Body, ...]
    V_0: np.ndarray
    w_0: np.ndarray
    phidot: np.ndarray
    p_r: np.ndarray
    J_tool: np.ndarray
    V_tool: np.ndarray

    @property
    def M(self) -> float:
        return sum(body.m for body in self.bodies)

    @property
    def r_0(self) -> np.ndarray:
        return self.bodies[0].r

    @property
    def r_g(self) -> np.ndarray:
        return sum(body.m * body.r for body in self.bodies) / self.M

    @property
    def links(self) -> tuple[Body, ...]:
        return self.bodies[1:]

    def total(self, term) -> np.ndarray:  # type: ignore[no-untyped-def]
        """The sum of a term of one body over i = 0 to n."""
        return sum(term(body) for body in self.bodies)

    @property
    def P(self) -> np.ndarray:
        return self.total(lambda i: i.m * i.rdot)  # [6]

    @property
    def L(self) -> np.ndarray:
        return self.total(lambda i: i.inertia @ i.w + np.cross(i.r, i.m * i.rdot))  # [7]

    @property
    def J_Tw(self) -> np.ndarray:
        return self.total(lambda i: i.m * i.J_T)

    @property
    def H_omega(self) -> np.ndarray:
        r_0 = self.r_0
        return self.total(lambda i: i.inertia + i.m * skew(i.r - r_0).T @ skew(i.r - r_0))

    @property
    def H_omega_phi(self) -> np.ndarray:
        return self.total(lambda i: i.m * skew(i.r - self.r_0) @ i.J_T + i.inertia @ i.J_R)

    @property
    def H_0(self) -> np.ndarray:
        lever = self.M * skew(self.r_g - self.r_0)
        return np.block([[self.M * np.eye(3), lever.T], [lever, self.H_omega]])  # [20]

    @property
    def H_0m(self) -> np.ndarray:
        return np.vstack([self.J_Tw, self.H_omega_phi])  # [23]

    @property
    def H_phi(self) -> np.ndarray:
        return self.total(lambda i: i.J_R.T @ i.inertia @ i.J_R + i.m * i.J_T.T @ i.J_T)

    @property
    def x0dot(self) -> np.ndarray:
        return np.concatenate([self.V_0, self.w_0])  # [22]


def columns(model: pin.Model, data: pin.Data, i: int, point: np.ndarray) -> tuple:
    """Levers k x (point - p) and axes k of every joint that carries body i; zeros of the others."""
    linear, angular = np.zeros((3, model.nv - 6)), np.zeros((3, model.nv - 6))
    while i > 1:
        joint = model.joints[i]
        jdata = joint.createData()
        joint.calc(jdata, pin.neutral(model)[joint.idx_q : joint.idx_q + joint.nq], np.zeros(1))
        subspace = np.array(jdata.S).ravel()
        column = joint.idx_v - 6
        if joint.shortname().startswith("JointModelP"):
            linear[:, column] = data.oMi[i].rotation @ subspace[:3]
        else:
            k = data.oMi[i].rotation @ subspace[3:]
            linear[:, column] = np.cross(k, point - data.oMi[i].translation)
            angular[:, column] = k
        i = model.parents[i]
    return linear, angular


def sums_of(model: VMSModel, q: np.ndarray, v: np.ndarray) -> Sums:
    source = model.pinocchio
    data = source.createData()
    pin.forwardKinematics(source, data, q, v)
    bodies = []
    for i in range(1, source.njoints):
        rotation, inertia = data.oMi[i].rotation, source.inertias[i]
        r = data.oMi[i].act(inertia.lever)
        linear, angular = columns(source, data, i, r)
        moving = pin.getVelocity(source, data, i, pin.LOCAL)
        w = rotation @ moving.angular
        rdot = rotation @ (moving.linear + np.cross(moving.angular, inertia.lever))
        tensor = rotation @ inertia.inertia @ rotation.T
        bodies.append(Body(inertia.mass, r, tensor, linear, angular, rdot, w))
    frame = source.getFrameId(model.end_effector)
    p_r = pin.updateFramePlacement(source, data, frame).translation.copy()
    tool = columns(source, data, source.frames[frame].parentJoint, p_r)
    twist = pin.getFrameVelocity(source, data, frame, pin.LOCAL_WORLD_ALIGNED).vector.copy()
    first = bodies[0]
    return Sums(tuple(bodies), first.rdot, first.w, v[6:], p_r, np.vstack(tool), twist)


def case(model: VMSModel, rng: np.random.Generator) -> Space:
    """A robot at a random state: E's sums, and what the library says."""
    q, v = state_of(model, rng)
    return sums_of(model, q, v), FreeFloating(model).evaluate(q, v)


def light_satellite() -> VMSModel:
    """So light that its arm moves it about, and no term is small by chance."""
    return robots.load("satellite_panda", bus_mass="20", bus_ixx="1", bus_iyy="1", bus_izz="1")


def own_floating_joint() -> VMSModel:
    """From a URDF with a floating joint of its own, below a link that stays in the world."""
    body = """<link name="{}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/><inertia
        ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    return VMSModel.from_urdf(
        '<robot name="probe"><link name="station"/>'
        + body.format("bus")
        + body.format("boom")
        + '<joint name="free" type="floating"><origin xyz="1 2 3" rpy="0.3 -0.5 0.2"/>'
        '<parent link="station"/><child link="bus"/></joint>'
        '<joint name="hinge" type="continuous"><parent link="bus"/><child link="boom"/>'
        '<origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint></robot>'
    )


def agree(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-11) -> None:
    """Agreement relative to the largest entry; sums of bodies at some metres round at 1e-13."""
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)


def differs(printed: np.ndarray, right: np.ndarray) -> None:
    assert np.abs(printed - right).max() > WRONG
