# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Engines that simulate robots, each behind the same calls: steps, motion, kinetic energy.

All read one URDF of bodies and joints, without limits, friction, damping, motors and contacts.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.integrators import has_compiled

from ..benchmarks.integrators import Motion, Run, project_scheme
from ..benchmarks.mujoco_robot import FreeRobot

_ORIGIN = np.zeros(3)  # of the base


@dataclass(frozen=True)
class PassiveRobot:
    """A robot without actuation, friction and limits, in its first state.

    Attributes:
        model: of the URDF; it gives the coordinates.
        urdf: bodies and joints; every joint but the root has one coordinate.
        q, v: configuration (nq,) and velocity (nv,).
    """

    model: VMSModel
    urdf: str
    q: Array
    v: Array

    @property
    def is_free(self) -> bool:
        """Whether the base floats."""
        return self.model.base == "floating"

    def joints(self) -> Iterator[tuple[str, float, float]]:
        """Return name, position and rate of every joint."""
        n = self.model.n
        return zip(self.model.joint_names, self.q[-n:], self.v[-n:], strict=True)

    def motion(self, positions: ArrayLike, rates: ArrayLike, pose: Array, twist: Array) -> Motion:
        """Return configuration and velocity from those of joints and base."""
        return np.r_[pose[: self.model.nq_base], positions], np.r_[twist[: self.model.b], rates]


@dataclass(frozen=True)
class Engine:
    """An engine with one of its schemes.

    Attributes:
        name: name in tables.
        package: distribution on PyPI; that of Pinocchio for this project.
        order: of the energy error; infinite for rounding alone, 0 for damping.
        start: returns a simulation of a robot at a step, s.
        rounding: relative error of one operation.
    """

    name: str
    package: str
    order: float
    start: Callable[[PassiveRobot, float], Run]
    rounding: float = 2.0**-53

    @property
    def family(self) -> str:
        """The simulator of the engine, the first word of its name."""
        return self.name.replace(",", "").split()[0]


def _repeat_steps(step: Callable[[], object]) -> Callable[[int], None]:
    def advance(count: int) -> None:
        for _ in range(count):
            step()

    return advance


def _world_velocities(robot: PassiveRobot, point: Array) -> Motion:
    """Return the first linear velocity of a point of the base, and the angular velocity."""
    rotation, (linear, angular) = pin.XYZQUATToSE3(robot.q[:7]).rotation, np.split(robot.v[:6], 2)
    return rotation @ (linear + np.cross(angular, point)), rotation @ angular


def _twist(pose: Array, linear: Array, angular: Array, point: Array) -> Array:
    """Return the base twist from the velocities of a point of the base in world axes."""
    rotation = pin.Quaternion(pose[3:]).normalized().matrix().T
    linear, angular = rotation @ linear, rotation @ angular
    return np.r_[linear - np.cross(angular, point), angular]


def _vms_ph(scheme: str, robot: PassiveRobot, dt: float) -> Run:
    native = has_compiled(scheme, StandardForm(robot.model))
    run = project_scheme(robot.model, scheme, native).start(robot.q, robot.v, dt)
    return replace(run, kinetic_energy=lambda: robot.model.evaluate(*run.motion()).kinetic_energy)


def _mujoco(integrator: str, robot: PassiveRobot, dt: float) -> Run:
    mujoco_robot = FreeRobot(robot.model, integrator)
    mujoco_robot.begin(robot.q, robot.v, dt)
    return Run(mujoco_robot.advance, mujoco_robot.motion, mujoco_robot.kinetic_energy)


def _dart(robot: PassiveRobot, dt: float) -> Run:
    dart = import_module("dartpy")
    loader, world = dart.utils.DartLoader(), dart.simulation.World()
    root_type = dart.utils.DartLoaderRootJointType(int(not robot.is_free))
    loader.setOptions(dart.utils.DartLoaderOptions(defaultRootJointType=root_type))
    skeleton = loader.parseSkeletonString(robot.urdf, dart.common.Uri())
    world.setTimeStep(dt)
    world.setGravity(robot.model.gravity)
    world.addSkeleton(skeleton)
    root, joints = skeleton.getRootJoint(), []
    for name, x, rate in robot.joints():
        joints.append(skeleton.getJoint(name))
        joints[-1].setLimitEnforcement(False)
        joints[-1].setPosition(0, x)
        joints[-1].setVelocity(0, rate)
    if robot.is_free:
        pose = pin.XYZQUATToSE3(robot.q[:7]).homogeneous
        root.setPositions(dart.dynamics.FreeJoint.convertToPositions(pose))
        root.setRelativeSpatialVelocity(np.r_[robot.v[3:6], robot.v[:3]])

    def motion() -> Motion:
        pose = pin.SE3(root.getRelativeTransform().matrix())
        twist = root.getRelativeSpatialVelocity()[[3, 4, 5, 0, 1, 2]]
        x, rates = np.array([[joint.getPosition(0), joint.getVelocity(0)] for joint in joints]).T
        return robot.motion(x, rates, pin.SE3ToXYZQUAT(pose), twist)

    return Run(_repeat_steps(world.step), motion, skeleton.computeKineticEnergy)


def _drake(is_discrete: bool, robot: PassiveRobot, dt: float) -> Run:
    plants, parsing = (import_module(f"pydrake.multibody.{n}") for n in ("plant", "parsing"))
    analysis = import_module("pydrake.systems.analysis")
    plant = plants.MultibodyPlant(dt if is_discrete else 0.0)
    parsing.Parser(plant).AddModelsFromString(robot.urdf, "urdf")
    if not robot.is_free:
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("body_0"))
    base = plant.GetBodyByName(f"body_{int(robot.is_free)}")
    plant.mutable_gravity_field().set_gravity_vector(robot.model.gravity)
    plant.Finalize()
    simulator = analysis.Simulator(plant)
    context = simulator.get_mutable_context()
    joints = [plant.GetJointByName(name) for name in robot.model.joint_names]
    q, v = plant.GetPositions(context), plant.GetVelocities(context)
    for joint, (_, x, rate) in zip(joints, robot.joints(), strict=True):
        q[joint.position_start()], v[joint.velocity_start()] = x, rate
    if robot.is_free:
        q[:7], (v[3:6], v[:3]) = robot.q[[6, 3, 4, 5, 0, 1, 2]], _world_velocities(robot, _ORIGIN)
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    if not is_discrete:
        analysis.ResetIntegratorFromFlags(simulator, "runge_kutta3", dt)
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.Initialize()
    step_count = [0]

    def advance(count: int) -> None:
        step_count[0] += count
        simulator.AdvanceTo(step_count[0] * dt)

    def motion() -> Motion:
        q, v = plant.GetPositions(context), plant.GetVelocities(context)
        x = [q[joint.position_start()] for joint in joints]
        rates = [v[joint.velocity_start()] for joint in joints]
        pose = pin.SE3ToXYZQUAT(pin.SE3(base.EvalPoseInWorld(context).GetAsMatrix4()))
        world_velocity = base.EvalSpatialVelocityInWorld(context)
        twist = _twist(pose, world_velocity.translational(), world_velocity.rotational(), _ORIGIN)
        return robot.motion(x, rates, pose, twist)

    return Run(advance, motion, lambda: float(plant.EvalKineticEnergy(context)))


def _pybullet(has_damping: bool, robot: PassiveRobot, dt: float) -> Run:
    bullet = import_module("pybullet")
    client = import_module("pybullet_utils.bullet_client").BulletClient(bullet.DIRECT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "robot.urdf"
        # Bullet breaks lines of more than 1023 characters, within names and numbers.
        file.write_text(robot.urdf.replace("><", ">\n<"))
        flags = bullet.URDF_USE_INERTIA_FROM_FILE
        body = client.loadURDF(str(file), useFixedBase=not robot.is_free, flags=flags)
    client.setTimeStep(dt)
    client.setGravity(*robot.model.gravity)
    joint_indices = range(client.getNumJoints(body))
    link_indices = {client.getJointInfo(body, index)[1].decode(): index for index in joint_indices}
    robot_joints = [link_indices[name] for name in robot.model.joint_names]
    for i in [] if has_damping else [-1, *joint_indices]:
        no_damping = dict.fromkeys(("linearDamping", "angularDamping", "jointDamping"), 0.0)
        client.changeDynamics(body, i, **no_damping)
    for i, (_, x, rate) in zip(robot_joints, robot.joints(), strict=True):
        client.changeDynamics(body, i, maxJointVelocity=1e6)
        client.resetJointState(body, i, x, rate)
        client.setJointMotorControl2(body, i, bullet.VELOCITY_CONTROL, force=0.0)
    centre = pin.XYZQUATToSE3(np.hstack(client.getDynamicsInfo(body, -1)[3:5]))
    if robot.is_free:
        centre_pose = pin.SE3ToXYZQUAT(pin.XYZQUATToSE3(robot.q[:7]) * centre)
        client.resetBasePositionAndOrientation(body, centre_pose[:3], centre_pose[3:])
        client.resetBaseVelocity(body, *_world_velocities(robot, centre.translation))

    def motion() -> Motion:
        x, rates = np.array([state[:2] for state in client.getJointStates(body, robot_joints)]).T
        centre_pose = pin.XYZQUATToSE3(np.hstack(client.getBasePositionAndOrientation(body)))
        pose = pin.SE3ToXYZQUAT(centre_pose * centre.inverse())
        linear, angular = map(np.array, client.getBaseVelocity(body))
        twist = _twist(pose, linear, angular, centre.translation)
        return robot.motion(x, rates, pose, twist)

    return Run(_repeat_steps(client.stepSimulation), motion)


def _newton(solver: str, robot: PassiveRobot, dt: float) -> Run:
    newton: Any = import_module("newton")
    builder = newton.ModelBuilder()
    builder.add_urdf(robot.urdf, floating=robot.is_free)
    m = builder.finalize(device="cpu")
    m.set_gravity(robot.model.gravity)
    options = {} if solver == "MuJoCo" else {"angular_damping": 0.0}
    engine = getattr(newton.solvers, f"Solver{solver}")(m, **options)
    labels = [label.split("/")[-1] for label in m.joint_label]
    joints = [labels.index(name) for name in robot.model.joint_names]
    q_indices, v_indices = m.joint_q_start.numpy()[joints], m.joint_qd_start.numpy()[joints]
    states, control, centre = [m.state(), m.state()], m.control(), m.body_com.numpy()[0]
    x, rates = m.joint_q.numpy(), m.joint_qd.numpy()
    _, x[q_indices], rates[v_indices] = zip(*robot.joints(), strict=True)
    if robot.is_free:
        x[:7], rates[:6] = robot.q[:7], np.hstack(_world_velocities(robot, centre))
    states[0].joint_q.assign(x)
    states[0].joint_qd.assign(rates)
    newton.eval_fk(m, states[0].joint_q, states[0].joint_qd, states[0])

    def step() -> None:
        engine.step(states[0], states[1], control, None, dt)
        states.reverse()

    def motion() -> Motion:
        if solver == "SemiImplicit":
            newton.eval_ik(m, states[0], states[0].joint_q, states[0].joint_qd)
        x, rates = states[0].joint_q.numpy()[q_indices], states[0].joint_qd.numpy()[v_indices]
        pose, twist = (a.numpy()[0].astype(float) for a in (states[0].body_q, states[0].body_qd))
        return robot.motion(x, rates, pose, _twist(pose, twist[:3], twist[3:], centre))

    def kinetic_energy() -> float:
        poses, twists = states[0].body_q.numpy().astype(float), states[0].body_qd.numpy()
        rotations = [pin.XYZQUATToSE3(pose).rotation for pose in poses]
        omega = np.einsum("bji,bj->bi", rotations, twists[:, 3:])
        inertial_part = np.einsum("bi,bij,bj", omega, m.body_inertia.numpy(), omega)
        return 0.5 * float(m.body_mass.numpy() @ (twists[:, :3] ** 2).sum(axis=1) + inertial_part)

    return Run(_repeat_steps(step), motion, kinetic_energy)


_EXACT_SCHEMES = ("projected_rk4", "projected_midpoint", "discrete_gradient")

ENGINES: Sequence[Engine] = (
    *(Engine(f"vms_ph {name}", "pin", np.inf, partial(_vms_ph, name)) for name in _EXACT_SCHEMES),
    Engine("vms_ph rk4", "pin", 4, partial(_vms_ph, "rk4")),
    Engine("MuJoCo Euler", "mujoco", 1, partial(_mujoco, "Euler")),
    Engine("MuJoCo implicitfast", "mujoco", 1, partial(_mujoco, "implicitfast")),
    Engine("MuJoCo RK4", "mujoco", 4, partial(_mujoco, "RK4")),
    Engine("DART", "dartpy", 1, _dart),
    Engine("Drake discrete", "drake", 1, partial(_drake, True)),
    Engine("Drake Runge-Kutta 3", "drake", 3, partial(_drake, False)),
    Engine("PyBullet", "pybullet", 1, partial(_pybullet, False)),
    Engine("PyBullet, default damping", "pybullet", 0, partial(_pybullet, True)),
    Engine("Newton Featherstone", "newton", 1, partial(_newton, "Featherstone"), 2.0**-24),
    Engine("Newton SemiImplicit", "newton", 1, partial(_newton, "SemiImplicit"), 2.0**-24),
    Engine("Newton MuJoCo-Warp", "newton", 1, partial(_newton, "MuJoCo"), 2.0**-24),
)
"""The engines, with the default first and those that compile for minutes last."""
