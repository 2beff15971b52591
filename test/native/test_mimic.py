# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints that mimic others in C++: terms, rates, motions and laws are those of Python."""

from types import ModuleType

import numpy as np
import pytest
from dynamics.conftest import state_of
from dynamics.robot.test_mimic import geared, joint, link

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    PoseIDAPBC,
    Reference,
    ResolvedMotion,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import DecoupledForm, Form, Friction, Ports, StandardForm, VMSModel, integrate
from vms_ph_dynamics.integrators import COMPILED
from vms_ph_io import read_urdf, robots

from .conftest import native_model
from .test_integrators import assert_same
from .test_terms import near

BASES = ("fixed", "planar", "floating")
PANDA = read_urdf(robots.get("panda").path())


def before_its_leader() -> str:
    """A joint that mimics one further out, across a free one, and a slide that mimics an angle."""
    names = ("root", "link_a", "link_b", "link_c", "link_d")
    return (
        '<robot name="reversed">'
        + "".join(link(name, k + 1) for k, name in enumerate(names))
        + joint("a", "root", "revolute", "0 0 1", '<mimic joint="c" multiplier="-1.5"/>')
        + joint("b", "link_a", "continuous", "0 1 0")
        + joint("c", "link_b", "revolute", "1 0 0", '<dynamics damping="0.1" friction="0.3"/>')
        + joint("d", "root", "prismatic", "0 1 0", '<mimic joint="c" offset="0.1"/>')
        + "</robot>"
    )


URDFS = {"geared": geared(), "reversed": before_its_leader(), "panda": PANDA}


def robot(which: str, base: str) -> VMSModel:
    model = VMSModel.from_urdf(URDFS[which], base)  # type: ignore[arg-type]
    if which != "panda":
        # The rotor of a joint that follows is felt with the square of its multiplier.
        source = model.pinocchio
        rotors = np.linspace(0.1, 0.4, source.nv - model.b)
        source.armature = np.r_[np.zeros(model.b), rotors]
        model = VMSModel(source, mimics=model.tree.mimics)
    return model.with_native(False)


@pytest.fixture(params=[(which, base) for which in URDFS for base in BASES], ids="-".join)
def model(request: pytest.FixtureRequest) -> VMSModel:
    return robot(*request.param)


def test_limits_and_sizes_are_those_of_the_joints_that_lead(
    native: ModuleType, parity: ModuleType, model: VMSModel
) -> None:
    ours = native_model(native, model)
    assert (ours.nq, ours.nv, ours.b, ours.n) == (model.nq, model.nv, model.b, model.n)
    assert tuple(ours.joint_names) == model.joint_names
    limits = dict(zip(("lower", "upper", "effort", "velocity"), parity.limits(ours), strict=False))
    for name, limit in limits.items():
        near(np.nan_to_num(limit), np.nan_to_num(getattr(model.joints, name)))


def test_the_terms_are_those_projected_in_python(
    native: ModuleType, model: VMSModel, rng: np.random.Generator
) -> None:
    core = native.Dynamics(native_model(native, model))
    frame = model.end_effector_id
    for _ in range(5):
        q, v = state_of(model, rng)
        d = model.evaluate(q, v)
        near(core.mass(q), d.M)
        near(core.coriolis(q, v), d.C)
        near(core.gravity(q), d.g)
        near(core.potential_energy(q), d.potential_energy, 10.0)
        near(core.kinetic_energy(q, v), d.kinetic_energy)
        near(core.momentum(q, v), d.momentum)
        near(core.jacobian(q, frame, False), d.J_end_effector)
        near(core.jacobian_rate(q, v, frame, False), d.jacobian_rate(frame))
        near(core.mass_rates(q, v[None])[0], d.C + d.C.T)
        near(core.shape_inertia(q), d.M_hat_m)
        near(core.shape_momentum(q, v), d.pi_hat)
        if model.b:
            near(core.connection(q), d.A)
            near(core.locked_velocity(q, v), d.v_hat)
            near(core.locked_inverse(q), d.M_b_inverse)


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
def test_the_rates_and_gradients_of_both_forms_are_those_of_python(
    native: ModuleType, model: VMSModel, kind: type[Form], rng: np.random.Generator
) -> None:
    core, form = native.Dynamics(native_model(native, model)), kind(model)
    decoupled = kind is DecoupledForm
    for _ in range(3):
        x = form.state(*state_of(model, rng))
        torque, wrench = rng.normal(size=model.n), rng.normal(size=6)
        ports = Ports(torque, wrench_end_effector=wrench)
        expected = form.rate(x, ports)
        acting = [(model.end_effector_id, wrench)]
        efforts = torque, None, acting, None, None, 1.0, True, True
        v, rate = core.rate(decoupled, x.q, x.z, *efforts)
        near(v, expected.qdot)
        near(rate, expected.zdot, float(np.abs(expected.zdot).max()))
        by_q, by_z, _ = core.energy_derivatives(decoupled, x.q, x.z, False)
        near(np.concatenate([by_z[: model.b], by_q[model.b :], by_z[model.b :]]), form.gradient(x))


@pytest.mark.parametrize("scheme", COMPILED)
@pytest.mark.parametrize("which", URDFS)
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_a_motion_is_that_of_python(
    native: ModuleType, which: str, base: str, scheme: str, rng: np.random.Generator
) -> None:
    model = robot(which, base)
    form = DecoupledForm(model)
    x = form.state(*state_of(model, rng))
    joints = model.joints
    ports = Ports(
        rng.uniform(-0.1, 0.1, model.n),
        wrench_end_effector=rng.uniform(-0.1, 0.1, 6),
        friction=Friction(joints.damping, joints.friction, 0.1),
    )
    runs = [
        integrate(form, x, ports, dt=1e-3, steps=10, scheme=scheme, native=how)
        for how in (True, False)
    ]
    assert_same(*runs, rtol=1e-10)


@pytest.mark.parametrize("which", URDFS)
@pytest.mark.parametrize("base", BASES)
def test_a_motion_by_the_scheme_of_robots_in_a_fluid_is_that_of_python(
    native: ModuleType, which: str, base: str, rng: np.random.Generator
) -> None:
    model = robot(which, base)
    form = StandardForm(model)
    x = form.state(*state_of(model, rng))
    torque, wrench = rng.uniform(-0.1, 0.1, model.n), rng.uniform(-0.1, 0.1, 6)
    ports = Ports(torque, wrench_end_effector=wrench)
    end = integrate(form, x, ports, dt=1e-3, steps=5, scheme="rkmk4", native=False).states[-1]
    ours = native_model(native, model)
    core = native.Scheme(ours, "rkmk4")
    start = core.begin(x.q, form.velocity(x))
    after, _, steps = core.run(start, native.Ports(ours, torque, None, wrench), 0.0, 1e-3, 0, 5)
    q, v = core.motion(after)
    assert steps == 5
    near(model.difference(end.q, q), np.zeros(model.nv))
    near(v, form.velocity(end))


@pytest.mark.parametrize(
    ("base", "law"),
    [
        *(("fixed", law) for law in (TaskSpaceIDAPBC, PoseIDAPBC, CartesianImpedance)),
        *(("floating", law) for law in (DecoupledVMSController, PoseIDAPBC, ResolvedMotion)),
    ],
)
def test_a_guarded_law_is_that_of_python(
    native: ModuleType, base: str, law: type[Controller], rng: np.random.Generator
) -> None:
    model = robot("panda", base)
    guards = [Supervisor(law(model.with_native(how))) for how in (True, False)]
    q, v = state_of(model, rng)
    v = 0.01 * v
    joints = np.clip(0.1, model.joints.lower, model.joints.upper)
    reference = Reference() if base == "fixed" else Reference(joints=joints)
    for guard in guards:
        guard.reset(RobotState(q, v))
    for _ in range(20):
        ours, theirs = (guard.update(RobotState(q, v), reference, 1e-3) for guard in guards)
        assert (ours.status, ours.reason) == (theirs.status, theirs.reason)
        near(ours.torque, theirs.torque, 10.0)
        near(ours.wrench_base, theirs.wrench_base, 10.0)
        q = model.integrate(q, 1e-3 * v)


def test_what_cannot_mimic_is_refused_by_name(native: ModuleType) -> None:
    source = robot("reversed", "fixed").pinocchio
    for mimics, said in (
        ([("b", "c", 1.0, 0.0)], "joint 'b' mimics 'c': 'b' is continuous"),
        ([("x", "c", 1.0, 0.0)], "there is no moving joint 'x'"),
        ([("a", "c", 1.0, 0.0), ("d", "a", 1.0, 0.0)], "'a' mimics another one itself"),
        ([("a", "c", 1.0, 5.0)], "the limits of joint 'a' cannot be met"),
    ):
        with pytest.raises(ValueError, match=said):
            native.Model(source, "", mimics)
