# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches at several frames of a robot: two hands, a hand and a foot."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.forms import (
    DecoupledForm,
    Form,
    PHState,
    Ports,
    StandardForm,
    TaskSpaceForm,
    linear_port_hamiltonian,
)
from vms_ph_dynamics.integrators import integrate
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from ..conftest import random_tree, state_of
from .dirac_structures import coupled_structure


def two_armed(base: str = "fixed") -> VMSModel:
    known = robots.get("baxter")
    return VMSModel.from_urdf(
        known.description(),
        base,  # type: ignore[arg-type]
        "right_gripper",
        tools=["left_gripper", "right_lower_elbow"],
    )


def loaded(model: VMSModel, rng: np.random.Generator) -> Ports:
    return Ports(
        rng.uniform(-5, 5, model.n),
        rng.uniform(-5, 5, model.b),
        rng.uniform(-5, 5, 6),
        wrench_tools={name: rng.uniform(-5, 5, 6) for name in model.tools},
    )


def forms(model: VMSModel) -> list[Form]:
    return [
        StandardForm(model),
        *([DecoupledForm(model)] if model.b else []),
        TaskSpaceForm(model, PositionTask(model)),
    ]


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_wrenches_at_tools_accelerate_as_in_articulated_body_dynamics(
    base: str, rng: np.random.Generator
) -> None:
    model = two_armed(base)
    q, v = state_of(model, rng)
    ports = loaded(model, rng)
    robot, data = model.tree.pinocchio, model.tree.pinocchio.createData()
    outside = [pin.Force.Zero() for _ in range(robot.njoints)]
    assert ports.wrench_tools is not None
    wrenches = {model.end_effector: ports.wrench_end_effector, **ports.wrench_tools}
    for name, wrench in wrenches.items():
        frame = robot.frames[robot.getFrameId(name)]
        outside[frame.parentJoint] += frame.placement.act(pin.Force(wrench))
    force = np.concatenate([ports.wrench_base, ports.torque])  # type: ignore[arg-type, list-item]
    expected = pin.aba(robot, data, q, v, force, outside)
    h = 1e-6
    form = StandardForm(model)
    x = form.state(q, v)
    rate = form.rate(x, ports)
    ahead, behind = (
        form.velocity(type(x)(model.integrate(q, s * h * v), x.z + s * h * rate.zdot))
        for s in (1.0, -1.0)
    )
    np.testing.assert_allclose((ahead - behind) / (2 * h), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_the_power_balance_of_all_ports_closes(base: str, rng: np.random.Generator) -> None:
    model = two_armed(base)
    q, v = state_of(model, rng)
    ports = loaded(model, rng)
    for form in forms(model):
        balance = form.power_balance(form.state(q, v), ports)
        assert list(balance.supplied) == [
            "torque", "wrench_base", "wrench_end_effector", "left_gripper", "right_lower_elbow",
        ]  # fmt: skip
        assert abs(balance.residual) < 1e-11 * sum(map(abs, balance.supplied.values()))
    twist = pin.getFrameVelocity(*_moved(model, q, v, "left_gripper"), pin.LOCAL).vector
    assert ports.wrench_tools is not None
    given = ports.wrench_tools["left_gripper"] @ twist
    assert balance.supplied["left_gripper"] == pytest.approx(given, rel=1e-12)


def _moved(model: VMSModel, q: np.ndarray, v: np.ndarray, name: str) -> tuple[object, object, int]:
    robot, data = model.tree.pinocchio, model.tree.pinocchio.createData()
    pin.forwardKinematics(robot, data, q, v)
    return robot, data, robot.getFrameId(name)


def test_the_dirac_structure_has_a_port_for_every_tool(rng: np.random.Generator) -> None:
    model = two_armed("floating")
    form = StandardForm(model)
    structure = coupled_structure(form, form.state(*state_of(model, rng)))
    assert {"wrench_end_effector", *model.tools} <= set(structure.ports)
    matrix = form.dirac(form.state(*state_of(model, rng)))
    assert len(matrix) == model.b + 2 * model.n + 2 * model.nv + 18
    np.testing.assert_allclose(matrix, -matrix.T, atol=1e-14)


@pytest.mark.parametrize(
    "scheme", ["projected_rk4", "projected_midpoint", "discrete_gradient", "rk4", "rkmk4"]
)
def test_every_scheme_accounts_for_the_energy_of_all_tools(
    scheme: str, rng: np.random.Generator
) -> None:
    model = random_tree(5).with_tools(["joint_1"])
    q, v = state_of(model, rng)
    form = StandardForm(model)
    ports = loaded(model, rng)
    run = integrate(form, form.state(q, v), lambda t, x: ports, dt=1e-3, steps=50, scheme=scheme)
    assert np.abs(run.audit.supplied["joint_1"]).max() > 1e-4
    limit = 1e-12 if scheme.startswith(("projected", "discrete")) else 1e-6
    assert np.abs(run.audit.residual).max() < limit


def test_the_linear_model_knows_wrenches_at_tools(rng: np.random.Generator) -> None:
    model = random_tree(2).with_tools(["joint_1"])
    q, v = state_of(model, rng)
    form, ports, h = StandardForm(model), loaded(model, rng), 1e-6
    x, b = form.state(q, v), model.b
    linear = linear_port_hamiltonian(form, x, ports)
    by_state = np.linalg.solve(linear.coordinates, linear.A @ linear.coordinates)
    for k in range(b, model.nv):
        dq = h * np.eye(model.nv)[k]
        ahead, behind = (
            form.rate(PHState(model.integrate(q, s * dq), x.z), ports) for s in (1, -1)
        )
        slope = (ahead.zdot - behind.zdot) / (2 * h)
        np.testing.assert_allclose(by_state[model.nv + b :, k], slope[b:], rtol=0, atol=1e-4)


def test_a_simulation_accounts_for_pushes_at_both_hands() -> None:
    model = two_armed()
    home = model.configuration(robots.get("baxter").home)

    def energy(sample: object) -> float:
        d = model.evaluate(sample.q, sample.v)  # type: ignore[attr-defined]
        return d.kinetic_energy + d.potential_energy

    simulation = Simulation(StandardForm(model), home, 1e-3, None)
    left = np.array([0.0, 0, 20, 0, 0.5, 0])
    both = in_world_axes(
        model,
        Ports(
            wrench_end_effector=np.array([0.0, 10, 0, 0, 0, 0.3]),
            wrench_tools={"left_gripper": left},
        ),
        ["left_gripper"],
    )
    simulation.apply(both)
    first = simulation.sample()
    simulation.advance(200, both)
    last = simulation.sample()
    assert abs(last.port_energy["left_gripper"]) > 0.05
    assert last.port_energy["right_lower_elbow"] == 0.0
    stored = energy(last) - energy(first)
    assert sum(last.port_energy.values()) == pytest.approx(stored, rel=0, abs=1e-10)
    axes = model.evaluate(last.q, last.v).placement("left_gripper")[:3, :3]
    np.testing.assert_allclose(axes @ last.wrench_tools["left_gripper"][:3], left[:3], atol=1e-12)


@pytest.mark.parametrize(
    ("tools", "why"),
    [
        (["nowhere"], "nowhere"),
        (["right_gripper"], "is the end effector"),
        (["left_gripper", "left_gripper"], "twice"),
        (["torque"], "another port"),
        ("left_gripper", "a list of names"),
    ],
)
def test_a_tool_that_cannot_be_is_refused(tools: list[str], why: str) -> None:
    with pytest.raises(ModelError, match=why):
        two_armed().with_tools(tools)


def test_a_wrench_at_an_unknown_tool_is_refused(rng: np.random.Generator) -> None:
    model = two_armed()
    form = StandardForm(model)
    x = form.state(*state_of(model, rng))
    with pytest.raises(StateError, match=r"'foot' is no tool .* left_gripper, right_lower_elbow"):
        form.rate(x, Ports(wrench_tools={"foot": np.zeros(6)}))
    with pytest.raises(StateError, match="left_gripper"):
        form.rate(x, Ports(wrench_tools={"left_gripper": np.zeros(3)}))
    bare = StandardForm(robots.load("panda"))
    with pytest.raises(StateError, match="its tools: none; give their names to the model"):
        bare.rate(bare.state(np.zeros(7), np.zeros(7)), Ports(wrench_tools={"foot": np.zeros(6)}))
