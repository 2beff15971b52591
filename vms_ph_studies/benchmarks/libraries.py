# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Libraries side by side: the same robot in the same state, and the results compared."""

import os
import tempfile
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import MissingExtraError, VMSModel, VmsPhError, rate_derivatives
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import DecoupledForm, Ports, StandardForm
from vms_ph_io import robots

from . import Benchmark
from .mujoco_robot import FreeRobot
from .timing import Case

ACCELERATION = "acceleration"
MASS_MATRIX = "mass matrix"
DERIVATIVES = "derivatives"
BATCH = "acceleration in a batch"
QUANTITIES = (ACCELERATION, MASS_MATRIX, DERIVATIVES, BATCH)
"""What is timed: the acceleration by forward dynamics or a rate, the mass matrix, the derivatives
of the acceleration or the rate, and accelerations of many states in one call."""

_BATCH_SIZE = 1024

# Accelerations of libraries in double precision differ by rounding through the inverse of the mass
# matrix; more means another robot.
_TOLERANCE = 1e-6


class UnavailableError(Exception):
    """A library that is not installed or does not cover the robot; the message says which."""


@dataclass(frozen=True)
class Problem:
    """A robot in a state under joint torques, in no fluid and without friction.

    Attributes:
        model: the robot.
        xml: its URDF, with bodies and joints only.
        q, v, torque: the state and the torques (n,).
    """

    model: VMSModel
    xml: str
    q: Array
    v: Array
    torque: Array

    @property
    def base_rotation(self) -> Array:
        """The rotation of a floating base, (3,3)."""
        return np.asarray(pin.Quaternion(self.q[3:7]).matrix())

    def module(self, name: str, label: str, package: str) -> Any:
        """Return a module of a library.

        Raises:
            UnavailableError: the library is not installed.
        """
        try:
            return import_module(name)
        except ImportError:
            raise UnavailableError(f"{label} is not installed (pip install {package})") from None

    def require(self, label: str, *bases: str) -> None:
        """Check that the base is one of some, and that no joint turns endlessly.

        Raises:
            UnavailableError: it is not so.
        """
        model = self.model
        if model.base not in bases or model.nq - model.nq_base != model.n:
            raise UnavailableError(
                f"{label}: only {' and '.join(bases)} bases without continuous joints are compared"
            )


@dataclass(frozen=True)
class Contender:
    """A library with its calls.

    Attributes:
        name: of the library.
        calls: by quantity, the names and the calls without arguments.
        joint_accelerations: returns the accelerations (n,) of the problem, for a check; None
            where the calls are those of rates.
        version: of the library, where the page does not have it already.
    """

    name: str
    calls: Mapping[str, Mapping[str, Callable[[], object]]]
    joint_accelerations: Callable[[], Array] | None = None
    version: str = ""


def _pinocchio(problem: Problem) -> Contender:
    m, (q, v) = problem.model.pinocchio, (problem.q, problem.v)
    tau = np.concatenate([np.zeros(problem.model.b), problem.torque])
    data, a = m.createData(), np.zeros(m.nv)
    cores = os.cpu_count() or 1
    pool = pin.ModelPool(m, cores)
    batch = [np.tile(array[:, None], _BATCH_SIZE) for array in (q, v, tau, a)]
    return Contender(
        "Pinocchio",
        {
            ACCELERATION: {"aba": lambda: pin.aba(m, data, q, v, tau)},
            MASS_MATRIX: {"crba": lambda: pin.crba(m, data, q)},
            DERIVATIVES: {
                "computeABADerivatives": lambda: pin.computeABADerivatives(m, data, q, v, tau),
                "computeRNEADerivatives": lambda: pin.computeRNEADerivatives(m, data, q, v, a),
            },
            BATCH: {
                f"abaInParallel, {cores} threads": lambda: pin.abaInParallel(cores, pool, *batch)
            },
        },
        lambda: pin.aba(m, data, q, v, tau)[problem.model.b :].copy(),
    )


def _this_project(problem: Problem) -> Contender:
    model, ports = problem.model, Ports(torque=problem.torque)
    quantities: dict[str, dict[str, Callable[[], object]]] = {name: {} for name in QUANTITIES}
    quantities[MASS_MATRIX]["evaluate(q, v).M"] = lambda: model.evaluate(problem.q, problem.v).M
    for form in (StandardForm(model), DecoupledForm(model)):
        x, name = form.state(problem.q, problem.v), type(form).__name__
        Q, Z = (np.tile(state_part, (_BATCH_SIZE, 1)) for state_part in (x.q, x.z))
        quantities[ACCELERATION][f"{name}.rate"] = lambda f=form, x=x: f.rate(x, ports)  # type: ignore[misc]
        quantities[DERIVATIVES][f"{name}, rate_derivatives"] = lambda f=form, x=x: rate_derivatives(  # type: ignore[misc]
            f, x, ports
        )
        quantities[BATCH][f"{name}.rate_batch"] = lambda f=form, Q=Q, Z=Z: f.rate_batch(Q, Z, ports)  # type: ignore[misc]
    return Contender("vms_ph", quantities)


def _exported_to_casadi(problem: Problem) -> Contender:
    standard_form = StandardForm(problem.model)
    try:
        form = standard_form.casadi()
    except MissingExtraError:
        raise UnavailableError("CasADi is not installed (pip install 'vms-ph[casadi]')") from None
    import casadi as ca

    x = standard_form.state(problem.q, problem.v)
    q, z = ca.SX.sym("q", len(x.q)), ca.SX.sym("z", len(x.z))
    symbolic_rate = form.rate(q=q, z=z, torque=problem.torque)
    rates = ca.vertcat(symbolic_rate["qdot"], symbolic_rate["zdot"])
    rate = ca.Function("rate", [q, z], [rates])
    jacobians = ca.Function("slope", [q, z], [ca.jacobian(rates, q), ca.jacobian(rates, z)])
    batch_rate = rate.map(_BATCH_SIZE)
    batch_inputs = [np.tile(state_part[:, None], _BATCH_SIZE) for state_part in (x.q, x.z)]
    return Contender(
        "vms_ph in CasADi",
        {
            ACCELERATION: {"StandardForm.casadi().rate": lambda: rate(x.q, x.z)},
            MASS_MATRIX: {"StandardForm.casadi().mass_matrix": lambda: form.mass_matrix(x.q)},
            DERIVATIVES: {"jacobian of rate": lambda: jacobians(x.q, x.z)},
            BATCH: {"rate.map": lambda: batch_rate(*batch_inputs)},
        },
        version=metadata.version("casadi"),
    )


def _mujoco(problem: Problem) -> Contender:
    mujoco = problem.module("mujoco", "MuJoCo", "mujoco")
    robot = FreeRobot(problem.model, "Euler")
    robot.begin(problem.q, problem.v, 1e-3)
    robot.set_torque(problem.torque)
    return Contender(
        "MuJoCo",
        {
            ACCELERATION: {"mj_forward": robot.accelerate},
            MASS_MATRIX: {"mj_kinematics, mj_comPos, mj_crb": robot.compute_mass_matrix},
        },
        robot.joint_accelerations,
        mujoco.__version__,
    )


def _drake(problem: Problem) -> Contender:
    plants = problem.module("pydrake.multibody.plant", "Drake", "drake")
    parsing = problem.module("pydrake.multibody.parsing", "Drake", "drake")
    problem.require("Drake", "fixed", "floating")
    model, plant = problem.model, plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(problem.xml, "urdf")
    if model.base == "fixed":
        root = plant.GetBodyByName(model.link_names[0])
        plant.WeldFrames(plant.world_frame(), root.body_frame())
    plant.mutable_gravity_field().set_gravity_vector(model.gravity)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = [plant.GetJointByName(name) for name in model.joint_names]
    q_indices = [joint.position_start() for joint in joints]
    v_indices = [joint.velocity_start() for joint in joints]
    q, v = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities())
    q[q_indices], v[v_indices] = problem.q[model.nq_base :], problem.v[model.b :]
    if model.b:
        rotation = problem.base_rotation
        q[:7] = [problem.q[6], *problem.q[3:6], *problem.q[:3]]
        v[:3], v[3:6] = rotation @ problem.v[3:6], rotation @ problem.v[:3]
    force = np.zeros(len(v))
    force[v_indices] = problem.torque
    plant.get_applied_generalized_force_input_port().FixValue(context, force)
    output = plant.get_generalized_acceleration_output_port()

    def accelerate() -> Any:
        # The state is set each time, since results are cached until it changes.
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        return output.Eval(context)

    def mass_matrix() -> object:
        plant.SetPositions(context, q)
        return plant.CalcMassMatrix(context)

    return Contender(
        "Drake",
        {
            ACCELERATION: {"MultibodyPlant, generalized_acceleration": accelerate},
            MASS_MATRIX: {"MultibodyPlant.CalcMassMatrix": mass_matrix},
        },
        lambda: accelerate()[v_indices],
        metadata.version("drake"),
    )


def _adam(problem: Problem) -> Contender:
    name = "'adam-robotics[casadi]'"
    computations = problem.module("adam.casadi.computations", "adam", name).KinDynComputations
    ca = problem.module("casadi", "adam", name)
    problem.require("adam", "floating")
    model = problem.model
    gravity = np.concatenate([model.gravity, np.zeros(3)])
    robot = computations(problem.xml, list(model.joint_names), gravity=gravity)
    representation = import_module("adam").Representations.BODY_FIXED_REPRESENTATION
    robot.set_frame_velocity_representation(representation)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = problem.base_rotation, problem.q[:3]
    state = (pose, problem.q[7:], problem.v[:6], problem.v[6:], problem.torque)
    aba, mass_matrix = robot.aba_fun(), robot.mass_matrix_fun()
    symbols = [ca.SX.sym(f"x{i}", aba.sparsity_in(i)) for i in range(aba.n_in())]
    acceleration = aba(*symbols)
    jacobians = [ca.jacobian(acceleration, ca.vec(symbol)) for symbol in symbols[1:4]]
    derivatives = ca.Function("derivatives", symbols, jacobians)
    return Contender(
        "adam",
        {
            ACCELERATION: {"aba_fun in CasADi": lambda: aba(*state)},
            MASS_MATRIX: {"mass_matrix_fun in CasADi": lambda: mass_matrix(pose, problem.q[7:])},
            DERIVATIVES: {"jacobian of aba_fun": lambda: derivatives(*state)},
        },
        lambda: np.array(aba(*state))[6:, 0],
        metadata.version("adam-robotics"),
    )


def _jax(problem: Problem, label: str, package: str) -> Any:
    # As frax recommends; JAX reads them when it is imported.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    jax = problem.module("jax", label, package)
    jax.config.update("jax_enable_x64", True)
    return jax


def _exported_to_jax(problem: Problem) -> Contender:
    label = "vms_ph in JAX"
    jax = _jax(problem, label, "'vms-ph[jax]'")
    quantities: dict[str, dict[str, Callable[[], object]]] = {name: {} for name in QUANTITIES}
    wait = jax.block_until_ready
    for form in (StandardForm(problem.model), DecoupledForm(problem.model)):
        jax_form, x = form.jax(), form.state(problem.q, problem.v)

        def rate(q: Any, z: Any, torque: Any, exported_rate: Any = jax_form.rate) -> Any:
            return exported_rate(q, z, torque=torque)

        jitted_rate, batch_rate = jax.jit(rate), jax.jit(jax.vmap(rate))
        jacobian = jax.jit(jax.jacfwd(rate, (0, 1)))
        state = [jax.numpy.asarray(state_part) for state_part in (x.q, x.z, problem.torque)]
        states = [jax.numpy.tile(state_part, (_BATCH_SIZE, 1)) for state_part in state]
        name = f"{type(form).__name__}.jax()"
        quantities[ACCELERATION][f"{name}.rate"] = lambda f=jitted_rate, s=state: wait(f(*s))  # type: ignore[misc]
        quantities[DERIVATIVES][f"jacfwd of {name}.rate"] = lambda f=jacobian, s=state: wait(f(*s))  # type: ignore[misc]
        quantities[BATCH][f"vmap of {name}.rate"] = lambda f=batch_rate, s=states: wait(f(*s))  # type: ignore[misc]
        inertia = jax.jit(jax_form.mass_matrix)
        quantities[MASS_MATRIX][f"{name}.mass_matrix"] = lambda f=inertia, s=state: wait(f(s[0]))  # type: ignore[misc]
    return Contender(label, quantities, version=metadata.version("jax"))


def frax_robot(problem: Problem) -> Any:
    """Return the robot in frax.

    Raises:
        UnavailableError: frax is not installed, or does not cover the robot.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frax = problem.module("frax.core.robot", "frax", "frax")
    problem.require("frax", "fixed", "floating")
    model = problem.model
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(problem.xml)
        return frax.Robot(str(file), floating_base="quaternion" if model.b else None)


def _frax(problem: Problem) -> Contender:
    jax, model = _jax(problem, "frax", "frax"), problem.model
    robot = frax_robot(problem)
    names = list(robot.joint_names)[-model.n :]
    indices = np.array([names.index(name) for name in model.joint_names])
    q, v, tau = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    q[model.nq_base + indices] = problem.q[model.nq_base :]
    v[model.b + indices], tau[model.b + indices] = problem.v[model.b :], problem.torque
    if model.b:
        q[:7] = [*problem.q[:3], problem.q[6], *problem.q[3:6]]
        v[:3], v[3:6] = problem.base_rotation @ problem.v[:3], problem.v[3:6]

    def forward_dynamics(q: Any, v: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, v, tau, None)

    aba, mass_matrix = jax.jit(forward_dynamics), jax.jit(robot.mass_matrix)
    jacobian = jax.jit(jax.jacfwd(forward_dynamics, argnums=(0, 1, 2)))
    batch_forward = jax.jit(jax.vmap(forward_dynamics))
    batch_inputs = [jax.numpy.tile(array, (_BATCH_SIZE, 1)) for array in (q, v, tau)]
    wait_for = jax.block_until_ready
    return Contender(
        "frax",
        {
            ACCELERATION: {"forward_dynamics in JAX": lambda: wait_for(aba(q, v, tau))},
            MASS_MATRIX: {"mass_matrix in JAX": lambda: wait_for(mass_matrix(q))},
            DERIVATIVES: {"jacfwd of forward_dynamics": lambda: wait_for(jacobian(q, v, tau))},
            BATCH: {"vmap of forward_dynamics": lambda: wait_for(batch_forward(*batch_inputs))},
        },
        lambda: np.array(aba(q, v, tau))[-model.n :][indices],
        metadata.version("frax"),
    )


LIBRARIES: tuple[Callable[[Problem], Contender], ...] = (
    _pinocchio,
    _this_project,
    _exported_to_casadi,
    _exported_to_jax,
    _mujoco,
    _drake,
    _adam,
    _frax,
)


def available_libraries(problem: Problem) -> tuple[list[Contender], list[str]]:
    """Return the libraries that compute the problem, and why the others do not.

    A library whose accelerations are not those of Pinocchio is left out: it times another robot.
    """
    contenders: list[Contender] = []
    reasons: list[str] = []
    reference = None
    for make_contender in LIBRARIES:
        try:
            contender = make_contender(problem)
        except UnavailableError as reason:
            reasons.append(str(reason))
            continue
        if contender.joint_accelerations is not None:
            accelerations = contender.joint_accelerations()
            reference = accelerations if reference is None else reference
            error = np.abs(accelerations - reference).max() / np.abs(reference).max()
            if not error < _TOLERANCE:
                reasons.append(
                    f"{contender.name} computes other accelerations (off by {error:.1e}), and is "
                    "not compared"
                )
                continue
        contenders.append(contender)
    return contenders, reasons


def problem_of(robot: str, base: str) -> Problem:
    """Return a bundled robot on a base in a random state.

    Raises:
        VmsPhError: the robot is in a fluid, which other libraries do not cover.
    """
    model, rng = robots.load(robot, base=base), np.random.default_rng(0)
    if model.fluid is not None:
        raise VmsPhError(f"other libraries compute robots in a vacuum; {robot} is in a fluid")
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    return Problem(model, bare_urdf(model.urdf), q, v, rng.uniform(-10, 10, model.n))


def bare_urdf(xml: str) -> str:
    """Return a URDF with bodies and joints only, without friction: what all libraries read."""
    root = ET.fromstring(xml)
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
    ignored_tags = {"visual", "collision", "dynamics", "safety_controller", "calibration"}
    for element in root:
        for child in [child for child in element if child.tag in ignored_tags]:
            element.remove(child)
    return ET.tostring(root, encoding="unicode")


_versions: dict[str, str] = {}
_skip_reasons: list[str] = []


def _cases(robot: str, base: str) -> list[Case]:
    contenders, _skip_reasons[:] = available_libraries(problem_of(robot, base))
    _versions.clear()
    _versions.update(
        {c.name.removeprefix("vms_ph in "): c.version for c in contenders if c.version}
    )
    cases: list[Case] = []
    for quantity in QUANTITIES:
        calls = {
            f"{quantity}: {contender.name} {name}": call
            for contender in contenders
            for name, call in contender.calls.get(quantity, {}).items()
        }
        reference, units = next(iter(calls)), _BATCH_SIZE if quantity == BATCH else 1
        cases += [Case(name, c, units=units, reference=reference) for name, c in calls.items()]
    return cases


def _note() -> str:
    return "skipped: " + "; ".join(_skip_reasons) if _skip_reasons else ""


BENCHMARKS = [
    Benchmark(
        "libraries",
        "libraries side by side",
        "acceleration: Pinocchio aba",
        _cases,
        note=_note,
        versions=lambda: dict(_versions),
        ratios="the first call of each quantity",
    )
]
