# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The forms as functions of CasADi, against the forms themselves."""

import sys
from collections.abc import Callable
from functools import cache

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import (
    CanonicalForm,
    CentreOfMassTask,
    DecoupledForm,
    DistanceTask,
    Evaluation,
    Form,
    Friction,
    MissingExtraError,
    ModelError,
    OrientationTask,
    PHState,
    Ports,
    PoseTask,
    PositionTask,
    StackedTask,
    StandardForm,
    Task,
    TaskSpaceForm,
    VMSModel,
    rate_derivatives,
)
from vms_ph_dynamics.export.casadi import CasadiForm
from vms_ph_dynamics.forms import PHRate
from vms_ph_io import robots

from ...conftest import _inertia, random_tree, state_of

STATES = 8
# What the export is for: the same numbers. Seen on all robots: 6e-14.
RATE = 1e-12


def efforts(model: VMSModel, friction: Friction | None, rng: np.random.Generator) -> Ports:
    tools = {name: rng.uniform(-10, 10, 6) for name in model.tools}
    return Ports(
        rng.uniform(-10, 10, model.n),
        rng.uniform(-10, 10, model.b),
        rng.uniform(-10, 10, 6),
        friction=friction,
        wrench_tools=tools,
    )


def given(x: PHState, ports: Ports) -> dict[str, np.ndarray]:
    inputs = {
        "q": x.q,
        "z": x.z,
        "torque": ports.torque,
        "wrench_base": ports.wrench_base,
        "wrench_end_effector": ports.wrench_end_effector,
    }
    if ports.wrench_tools:
        inputs["wrench_tools"] = np.concatenate(list(ports.wrench_tools.values()))
    return inputs


def apart(found: object, expected: object) -> float:
    """The largest difference beside the largest entry."""
    one, other = np.array(found, dtype=float), np.array(expected, dtype=float)
    if other.size == 0:
        return float(one.size)
    return float(np.abs(one.reshape(other.shape) - other).max() / max(np.abs(other).max(), 1e-300))


def rough(model: VMSModel, rng: np.random.Generator) -> Friction:
    return Friction(rng.uniform(0, 1, model.n), rng.uniform(0, 1, model.n), slip=0.5)


def both(
    form: Form, exported: CasadiForm, x: PHState, ports: Ports
) -> tuple[dict[str, object], PHRate]:
    return exported.rate(**given(x, ports)), form.rate(x, ports)


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
def test_the_rates_of_every_bundled_robot_are_those_of_the_form(
    bundled: VMSModel, kind: type[StandardForm] | type[DecoupledForm], rng: np.random.Generator
) -> None:
    form, friction = kind(bundled), rough(bundled, rng)
    exported = form.casadi(friction=friction)
    for _ in range(STATES):
        x = form.state(*state_of(bundled, rng))
        found, expected = both(form, exported, x, efforts(bundled, friction, rng))
        assert apart(found["qdot"], expected.qdot) < RATE
        assert apart(found["zdot"], expected.zdot) < RATE


def regular_state(form: TaskSpaceForm, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    while True:
        q, v = state_of(form.model, rng)
        t = form.evaluate(q, v)
        if t.is_regular and t.alignment > 0.5:
            return q, v


TASKS = {
    "panda": PoseTask,
    "baxter": PositionTask,
    "omnidirectional_panda": CentreOfMassTask,
    "hextilt": lambda m: StackedTask(CentreOfMassTask(m), OrientationTask(m)),
    "borinot": CentreOfMassTask,
    "satellite_panda": PoseTask,
    "bluerov2_alpha5": PoseTask,
}


@pytest.mark.parametrize("name", TASKS)
def test_the_rates_of_a_task_are_those_of_the_form(name: str, rng: np.random.Generator) -> None:
    # The momenta of light links beside a heavy base, and the inverse of the Jacobian of a task near
    # a singular state, are differences of larger numbers: how much larger tells the change of a
    # rate by one rounding of q. With a condition of the mass matrix of 1e6 it is up to 1e-10.
    model = robots.load(name)
    form, friction = TaskSpaceForm(model, TASKS[name](model)), rough(model, rng)
    exported, seen, rounded = form.casadi(friction=friction), [], []
    for _ in range(30):
        x, ports = form.state(*regular_state(form, rng)), efforts(model, friction, rng)
        found, expected = both(form, exported, x, ports)
        near = x.q * (1.0 + rng.choice([-1, 1], model.nq) * np.finfo(float).eps)
        other = form.rate(PHState(model.normalise_configuration(near), x.z), ports)
        seen.append((apart(found["qdot"], expected.qdot), apart(found["zdot"], expected.zdot)))
        rounded.append((apart(other.qdot, expected.qdot), apart(other.zdot, expected.zdot)))
    # The largest of all states each; a product of matrices rounds some ten times.
    assert np.all(np.max(seen, axis=0) < 10 * np.max(rounded, axis=0) + RATE)


@cache
def tree_with_every_joint(base: str) -> VMSModel:
    """Helical, continuous, revolute and prismatic joints with armature, in two branches."""
    robot, rng = pin.Model(), np.random.default_rng(5)
    robot.name = "every joint"
    root = 0
    if base != "fixed":
        kind = pin.JointModelPlanar() if base == "planar" else pin.JointModelFreeFlyer()
        root = robot.addJoint(0, kind, pin.exp6(0.3 * rng.normal(size=6)), "root")
        robot.appendBodyToJoint(root, _inertia(rng), pin.SE3.Identity())
    axis = np.array([0.6, 0.0, 0.8])
    kinds = (
        pin.JointModelHZ(0.2),
        pin.JointModelRUBY(),
        pin.JointModelRevoluteUnaligned(axis),
        pin.JointModelPrismaticUnaligned(axis),
        pin.JointModelHelicalUnaligned(axis, -0.1),
        pin.JointModelRUBX(),
    )
    at = root
    for k, kind in enumerate(kinds):
        at = root if k == 3 else at
        at = robot.addJoint(at, kind, pin.exp6(0.5 * rng.normal(size=6)), f"joint_{k}")
        robot.appendBodyToJoint(at, _inertia(rng), pin.SE3.Identity())
    first = 0 if root == 0 else robot.joints[root].nv
    armature = np.zeros(robot.nv)
    armature[first:] = rng.uniform(0.1, 0.2, robot.nv - first)
    robot.armature = armature
    robot.addBodyFrame("hand", at, pin.exp6(rng.normal(size=6)), 0)
    robot.addBodyFrame("other hand", root + 3, pin.exp6(rng.normal(size=6)), 0)
    return VMSModel.from_pinocchio(robot, "hand", tools=["other hand"])


@cache
def with_fingers(base: str) -> VMSModel:
    xml = robots.get("panda").path().read_text()
    return VMSModel.from_urdf(xml, base, "panda_rightfinger")


MODELS: dict[str, Callable[[], VMSModel]] = {
    f"{kind.__name__} {base}": lambda kind=kind, base=base: kind(base)
    for kind in (tree_with_every_joint, with_fingers)
    for base in ("fixed", "planar", "floating")
} | {f"tree {seed}": lambda seed=seed: random_tree(seed) for seed in range(3, 6)}


MORE = ("tree 3", "tree 4", "tree 5")  # in the campaign; other trees are on the same bases


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in MORE else name for name in MODELS],
)
@pytest.mark.parametrize("kind", ["standard", "decoupled", "task"])
def test_energy_structure_and_powers_are_those_of_the_form(
    name: str, kind: str, rng: np.random.Generator
) -> None:
    model = MODELS[name]()
    if kind == "task":
        # One dimension: every robot has a null space beside it.
        task = TaskSpaceForm(model, DistanceTask(model, to=(0.1, 0.2, 5.0)))
        form: Form = task
    else:
        form = {"standard": StandardForm, "decoupled": DecoupledForm}[kind](model)
    friction = rough(model, rng)
    exported, b = form.casadi(friction=friction), model.b
    for _ in range(2):
        q, v = regular_state(task, rng) if kind == "task" else state_of(model, rng)
        x, ports = form.state(q, v), efforts(model, friction, rng)
        energy, found = form.hamiltonian(x), exported.hamiltonian(q=x.q, z=x.z)
        for part, value in found.items():
            own = energy.kinetic if part == "kinetic" else getattr(energy, part)
            np.testing.assert_allclose(float(value), own, rtol=1e-10, atol=1e-10)
        gradient = np.array(exported.gradient(x.q, x.z))[:, 0]
        j, r, g = (
            np.array(function(x.q, x.z))
            for function in (exported.interconnection, exported.dissipation, exported.input_map)
        )
        assert apart(gradient, form.gradient(x)) < 1e-10
        assert apart(j, form.interconnection(x)) < 1e-10
        assert apart(g, form.input_map(x)) < 1e-12
        # The equation itself: J and R act on the gradient, G on all other forces.
        rates = exported.rate(**given(x, ports))
        rate = PHRate(*(np.array(rates[k])[:, 0] for k in ("qdot", "zdot")))
        d = model.evaluate(q, rate.qdot)
        force = Ports(**{**_fields(ports), "friction": None}).force(d)
        whole = (j - r) @ gradient + g @ force
        np.testing.assert_allclose(form.layout(rate), whole, atol=1e-9 * np.abs(whole).max())
        np.testing.assert_allclose(r, r.T, atol=1e-12)
        powers, balance = exported.power(**given(x, ports)), form.power_balance(x, ports)
        assert float(powers["torque_power"]) == pytest.approx(balance.supplied["torque"], rel=1e-9)
        at_tool = powers["wrench_end_effector_power"]
        assert float(at_tool) == pytest.approx(balance.supplied["wrench_end_effector"], rel=1e-9)
        base = balance.supplied["wrench_base"] if b else 0.0
        assert float(powers["wrench_base_power"]) == pytest.approx(base, rel=1e-9)
        if model.tools:
            tools = sum(balance.supplied[tool] for tool in model.tools)
            assert float(powers["wrench_tools_power"]) == pytest.approx(tools, rel=1e-9)
        assert float(powers["dissipated"]) == pytest.approx(balance.dissipated, rel=1e-9)
        assert apart(exported.momenta(q, v), x.z) < 1e-12


def _fields(ports: Ports) -> dict[str, object]:
    return {name: getattr(ports, name) for name in Ports.__dataclass_fields__}


@pytest.mark.parametrize("joint", ["revolute", "continuous"])
@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
def test_a_robot_with_one_joint_on_a_fixed_base_has_all_functions(
    kind: type[StandardForm] | type[DecoupledForm], joint: str
) -> None:
    door = VMSModel.from_urdf(
        f"""<robot name="door"><link name="frame"/><link name="leaf"><inertial>
        <origin xyz="0.1 0 -0.1"/><mass value="1.2"/><inertia ixx="0.02" iyy="0.02" izz="0.03"/>
        </inertial></link>
        <joint name="hinge" type="{joint}"><parent link="frame"/><child link="leaf"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="3"/></joint></robot>"""
    )
    form, wrench = kind(door), np.arange(6.0)
    ports = Ports(np.ones(1), None, wrench)
    q = door.integrate(door.neutral_configuration(), np.array([0.3]))
    exported, x = form.casadi(), form.state(q, np.array([0.7]))
    inputs = {"q": x.q, "z": x.z, "torque": 1.0, "wrench_end_effector": wrench}
    derivatives = exported.rate_derivatives(**inputs)
    for name, value in vars(rate_derivatives(form, x, ports, parameters=False)).items():
        if value.size:
            assert apart(derivatives[name], value) < RATE
    assert apart(exported.rate(**inputs)["zdot"], form.rate(x, ports).zdot) < RATE
    assert apart(exported.gradient(q=x.q, z=x.z)["dH"], form.gradient(x)) < RATE
    assert apart(exported.interconnection(q=x.q, z=x.z)["J"], form.interconnection(x)) < RATE
    assert apart(exported.momenta(q=x.q, v=0.7)["z"], x.z) < RATE
    energies = exported.hamiltonian(q=x.q, z=x.z)
    assert apart(energies["total"], form.hamiltonian(x).total) < RATE


@pytest.mark.parametrize("base", ["fixed", "planar", "floating"])
def test_configurations_move_as_those_of_the_model(base: str, rng: np.random.Generator) -> None:
    model = tree_with_every_joint(base)
    exported = StandardForm(model).casadi()
    q, v = state_of(model, rng)
    for size in (1e-9, 1e-3, 0.03, 1.0, 3.0):
        moved = np.array(exported.integrate(q, size * v))[:, 0]
        if base == "floating":  # a quaternion and its negative are the same rotation
            moved[3:7] *= np.sign(moved[6] * model.integrate(q, size * v)[6])
        np.testing.assert_allclose(moved, model.integrate(q, size * v), atol=1e-14)
    slope = (model.integrate(q, 1e-6 * v) - model.integrate(q, -1e-6 * v)) / 2e-6
    # A central difference: STEP^2 of its third derivative, rounding over STEP.
    np.testing.assert_allclose(exported.coordinate_rate(q, v), slope[:, None], atol=1e-9)


@pytest.mark.parametrize(
    "task",
    [
        PositionTask,
        OrientationTask,
        PoseTask,
        CentreOfMassTask,
        lambda m: DistanceTask(m, to="panda_link2"),
        lambda m: StackedTask(DistanceTask(m), PositionTask(m, "panda_link5")),
    ],
)
def test_the_terms_of_every_task_are_those_of_the_form(
    task: Callable[[VMSModel], Task], rng: np.random.Generator
) -> None:
    model = with_fingers("fixed")
    form = TaskSpaceForm(model, task(model))
    exported = form.casadi()
    motion = regular_state(form, rng)
    t = form.evaluate(*motion)
    for name, value in exported.terms(q=motion[0], v=motion[1]).items():
        assert apart(value, getattr(t, name)) < 1e-11, name
    z = form.state(*motion).z
    assert apart(exported.coupling(motion[0], z), t.G) < 1e-9


def test_a_frame_has_its_pose_and_jacobian(rng: np.random.Generator) -> None:
    model = with_fingers("floating")
    exported, (q, v) = DecoupledForm(model).casadi(), state_of(model, rng)
    d = model.evaluate(q, v)
    found = exported.frame("panda_link5")(q=q)
    np.testing.assert_allclose(found["T"], d.placement("panda_link5"), atol=1e-14)
    np.testing.assert_allclose(found["J"], d.jacobian("panda_link5"), atol=1e-14)
    np.testing.assert_allclose(exported.frame()(q=q)["J"], d.J_end_effector, atol=1e-14)
    np.testing.assert_allclose(exported.connection(q), d.A, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(exported.mass_matrix(q), d.M, atol=1e-14)
    np.testing.assert_allclose(exported.generalised_gravity(q)[:, 0], d.g[:, None], atol=1e-12)
    with pytest.raises(ModelError, match="'nowhere' is not a frame"):
        exported.frame("nowhere")


@pytest.mark.parametrize("kind", [StandardForm, DecoupledForm])
def test_inertial_parameters_are_an_input_where_they_are_asked_for(
    kind: type[StandardForm] | type[DecoupledForm], rng: np.random.Generator
) -> None:
    model = robots.load("borinot")
    heavier = model.pinocchio
    for i in range(1, heavier.njoints):
        heavier.inertias[i] = heavier.inertias[i] + pin.Inertia.FromSphere(0.1 * i, 0.05)
    other = VMSModel.from_pinocchio(heavier, model.end_effector)
    phi = np.concatenate([inertia.toDynamicParameters() for inertia in heavier.inertias[1:]])
    form, exported = kind(other), kind(model).casadi(parameters=True)
    x = form.state(*state_of(other, rng))
    ports = efforts(model, None, rng)
    found, expected = exported.rate(**given(x, ports), parameters=phi), form.rate(x, ports)
    assert apart(found["zdot"], expected.zdot) < RATE
    energy = exported.hamiltonian(q=x.q, z=x.z, parameters=phi)
    assert apart(energy["total"], form.hamiltonian(x).total) < RATE


def test_without_gravity_nothing_falls(panda_on: VMSModel) -> None:
    form = CanonicalForm(panda_on) if panda_on.b == 0 else StandardForm(panda_on)
    q, z = panda_on.neutral_configuration(), np.zeros(panda_on.nv)
    np.testing.assert_array_equal(form.casadi(gravity=False).rate(q=q, z=z)["zdot"], 0.0)
    assert np.abs(np.array(form.casadi().rate(q=q, z=z)["zdot"])).max() > 1.0


def test_friction_and_its_slope_are_finite_at_rest(panda: VMSModel) -> None:
    form = StandardForm(panda)
    friction = Friction(np.full(7, 0.3), np.full(7, 0.2), slip=0.1)
    exported = form.casadi(gravity=False, friction=friction)
    z = ca.SX.sym("z", 7)
    q = panda.neutral_configuration()
    slope = ca.Function("slope", [z], [ca.jacobian(exported.rate(q=q, z=z)["zdot"], z)])
    minv = np.linalg.inv(panda.evaluate(q, np.zeros(7)).M)
    np.testing.assert_allclose(slope(np.zeros(7)), -(0.3 + 0.2 / 0.1) * minv, rtol=1e-10)


def test_what_has_no_export_is_refused_by_name(panda: VMSModel) -> None:
    class OwnTask(Task):
        """A task of a user."""

        dimension = 3

        def jacobian(self, d: Evaluation) -> np.ndarray:
            return d.jacobian("panda_hand")[:3]

        def jacobian_rate(self, d: Evaluation) -> np.ndarray:
            return 0.0 * self.jacobian(d)

    with pytest.raises(ModelError, match="a OwnTask has no export; exported are"):
        TaskSpaceForm(panda, OwnTask(panda)).casadi()
    with pytest.raises(ModelError, match="friction must be that of 7 joints; given: 3"):
        StandardForm(panda).casadi(friction=Friction(np.zeros(3), np.zeros(3)))


def test_without_casadi_the_error_names_the_extra(
    panda: VMSModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("vms_ph_dynamics.export.casadi")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'vms-ph\[casadi\]'"):
        StandardForm(panda).casadi()
