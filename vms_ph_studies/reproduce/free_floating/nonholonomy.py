# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source E: a closed loop of the joints of a free-floating robot rotates its base."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms import DecoupledForm
from vms_ph_dynamics.forms.free_floating import FreeFloating
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_io import robots
from vms_ph_io.progress import Progress, Stages

from ...check import Check, bounded, compared, verdict_of
from ...study import Outcome, Parameter, Settings, Study

_SE3, _SO3 = SE3(), SO3()

# The two Gauss points of a step and the weights of the commutator-free scheme of order four.
_GAUSS = 0.5 - np.sqrt(3) / 6, 0.5 + np.sqrt(3) / 6
_EARLY, _LATE = 0.25 + np.sqrt(3) / 6, 0.25 - np.sqrt(3) / 6

JointPath = Callable[[float], tuple[Array, Array, Array]]
"""Joint positions, rates and accelerations as a function of time."""


@dataclass(frozen=True)
class _Loop:
    """An ellipse in the plane of two joints, run through once, at rest at both ends."""

    model: VMSModel
    home: Array
    joints: tuple[int, int]
    amplitude: float
    duration: float
    sense: float = 1.0

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        s = t / self.duration
        # A quintic from 0 to 1 with no velocity and no acceleration at its ends.
        turn = 2 * np.pi * self.sense
        angle = turn * s**3 * (10 + s * (6 * s - 15))
        rate = turn * 30 * s**2 * (1 - s) ** 2 / self.duration
        acceleration = turn * 60 * s * (1 - s) * (1 - 2 * s) / self.duration**2
        i, j = self.joints
        q, qdot, qddot = self.home.copy(), 0.0 * self.home, 0.0 * self.home
        c, d = self.amplitude * np.cos(angle), self.amplitude * np.sin(angle)
        q[[i, j]] += [c - self.amplitude, d]
        qdot[[i, j]] = [-d * rate, c * rate]
        qddot[[i, j]] = [-d * acceleration - c * rate**2, c * acceleration - d * rate**2]
        return q, qdot, qddot

    @property
    def area(self) -> float:
        """Area enclosed in the plane of the joints, rad^2."""
        return self.sense * np.pi * self.amplitude**2


def _at(pose: Array, joints: Array) -> Array:
    return np.concatenate([pin.SE3ToXYZQUAT(pin.SE3(pose)), joints])


def _base_motion(loop: _Loop, steps: int) -> list[Array]:
    """Return the base poses (4,4) along a loop at zero momentum: ``v = -A(q) qdot``."""
    model, dt = loop.model, loop.duration / steps
    pose: Array = np.eye(4)
    poses: list[Array] = [pose]
    for k in range(steps):
        early, late = (_twist(model, loop((k + c) * dt)) for c in _GAUSS)
        first = _SE3.exp(dt * (_EARLY * early + _LATE * late))
        pose = pose @ first @ _SE3.exp(dt * (_LATE * early + _EARLY * late))
        poses.append(pose)
    return poses


def _twist(model: VMSModel, path: tuple[Array, Array, Array]) -> Array:
    """Return the base twist at zero momentum, (6,)."""
    q, qdot, _ = path
    d = model.evaluate(_at(np.eye(4), q), np.concatenate([np.zeros(6), qdot]))
    return -d.A @ qdot


def _momentum_along(loop: _Loop, steps: int) -> float:
    """Integrate [E 37] along the loop from rest and return the largest share of momentum left."""
    model, robot, dt = loop.model, FreeFloating(loop.model), loop.duration / steps
    twist, largest, scale = np.zeros(6), 0.0, 0.0

    def acceleration(t: float, twist: Array) -> Array:
        q, qdot, qddot = loop(t)
        e = robot.evaluate(_at(np.eye(4), q), np.concatenate([twist, qdot]))
        # The velocities of [E] are inertial; here the base is followed in its own axes.
        x_ddot = np.linalg.solve(e.H_0, -e.H_0m @ qddot - e.bias[:6])
        offset = e.from_inertial[:6, :6]
        turning = np.concatenate([-np.cross(twist[3:], twist[:3]), np.zeros(3)])
        centre = robot.base_centre
        centripetal = np.cross(twist[3:], np.cross(twist[3:], centre))
        return offset @ x_ddot + turning - np.concatenate([centripetal, np.zeros(3)])

    for k in range(steps):
        t = k * dt
        k1 = acceleration(t, twist)
        k2 = acceleration(t + dt / 2, twist + dt / 2 * k1)
        k3 = acceleration(t + dt / 2, twist + dt / 2 * k2)
        k4 = acceleration(t + dt, twist + dt * k3)
        twist = twist + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q, qdot, _ = loop(t + dt)
        d = model.evaluate(_at(np.eye(4), q), np.concatenate([twist, qdot]))
        largest = max(largest, float(np.abs(d.p).max()))
        scale = max(scale, float(np.abs(d.M_bm @ qdot).max()))
    return largest / scale


def _curvature(loop: _Loop) -> Array:
    """Return the turn of the base per area of a small loop, (3,): ``-(dA + [A, A])``."""
    model, (i, j) = loop.model, loop.joints
    form = DecoupledForm(model)
    x = form.state(_at(np.eye(4), loop.home), np.zeros(model.nv))
    t = form.terms(x)
    a_i, a_j = t.d.A[:, i], t.d.A[:, j]
    tensor = t.dA[i][:, j] - t.dA[j][:, i] - _SE3.ad(a_i) @ a_j
    return -tensor[3:]


def _centre_of_mass(loop: _Loop, pose: Array, t: float) -> Array:
    robot, q = FreeFloating(loop.model), _at(pose, loop(t)[0])
    return robot.evaluate(q, np.zeros(loop.model.nv)).r_g


def _tool_loop(model: VMSModel, home: Array, radius: float, steps: int) -> tuple[float, Array]:
    """Move the tool once around a circle at zero momentum by the generalised Jacobian.

    Returns:
        Distance between end and start of the tool (m), and final configuration of the robot, (nq,).
    """
    robot, dt = FreeFloating(model), 1.0 / steps
    q = _at(np.eye(4), home)
    start = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)

    def velocity(t: float, q: Array) -> Array:
        e = robot.evaluate(q, np.zeros(model.nv))
        angle, rate = 2 * np.pi * t, 2 * np.pi * radius
        along = np.array([0.0, -np.sin(angle), np.cos(angle), 0.0, 0.0, 0.0]) * rate
        qdot = np.linalg.pinv(e.J_g) @ along
        return np.concatenate([-e.d.A @ qdot, qdot])

    for k in range(steps):
        t = k * dt
        half = model.integrate(q, 0.5 * dt * velocity(t, q))
        q = model.integrate(q, dt * velocity(t + 0.5 * dt, half))
    end = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)
    return float(np.abs(_SE3.log(np.linalg.inv(start) @ end)).max()), q


def _degrees(pose: Array) -> float:
    return float(np.degrees(np.linalg.norm(_SO3.log(pose[:3, :3]))))


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    bus = {name: str(settings[name]) for name in ("bus_mass", "bus_ixx", "bus_iyy", "bus_izz")}
    model = robots.load("satellite_panda", **bus)
    joints = (int(settings["joint_a"]) - 1, int(settings["joint_b"]) - 1)
    if joints[0] == joints[1] or not all(0 <= j < model.n for j in joints):
        raise VmsPhError(f"joint_a and joint_b must be two of the joints 1 to {model.n}")
    home = model.joint_positions(model.configuration(robots.get("satellite_panda").home))
    amplitude, duration = float(settings["amplitude"]), float(settings["duration"])
    steps = int(settings["steps"])
    if amplitude <= 0 or duration <= 0 or steps < 1:
        raise VmsPhError("amplitude, duration and steps must be positive")
    loop = _Loop(model, home, joints, amplitude, duration)
    stages = Stages(progress, 4)
    stages.begin("loop of the joints")
    poses = _base_motion(loop, steps)
    back = _base_motion(_Loop(model, home, joints, amplitude, duration, -1.0), steps)[-1]
    shift = _centre_of_mass(loop, poses[-1], duration) - _centre_of_mass(loop, np.eye(4), 0.0)
    stages.begin("small loop")
    small = _Loop(model, home, joints, 1e-3 * amplitude, duration)
    turn = _SO3.log(_base_motion(small, steps)[-1][:3, :3]) / small.area
    predicted = _curvature(small)
    stages.begin("loop of the tool")
    tool_error, end = _tool_loop(model, home, float(settings["radius"]), 4 * steps)
    tool_turn = _degrees(_base_of(end))
    rearrangement = float(np.degrees(np.abs(model.joint_positions(end) - home).max()))
    stages.begin("equations of motion along the loop")
    momentum = _momentum_along(loop, steps)
    checks = [
        # The error of a Runge-Kutta scheme over the default number of steps.
        bounded("[37] keeps zero momentum along the loop", momentum, 1e-6),
        bounded("centre of mass stays where it is", np.abs(shift).max(), 1e-9, "m"),
        _changed("base attitude after a closed loop of the joints", _degrees(poses[-1])),
        bounded("the loop run backwards turns it back", _degrees(poses[-1] @ back), 1e-6, "deg"),
        compared(
            "turn per area of a small loop: curvature of the connection",
            float(np.linalg.norm(predicted)),
            float(predicted @ turn / np.linalg.norm(predicted)),
            # The curvature varies along a loop of finite size.
            5e-3 * amplitude * float(np.linalg.norm(predicted)),
            "1/rad",
            "the curvature by the formula, the turn by integration along a small loop",
            "independent",
        ),
        bounded(
            "the tool, led around a circle, is back",
            tool_error,
            1e-6,
            "m, rad",
            ""
            if tool_error < 1e-6
            else "The circle meets a singularity of the generalised Jacobian.",
        ),
        _changed("base attitude after a closed loop of the tool", tool_turn),
        _changed("arm configuration after a closed loop of the tool", rearrangement),
    ]
    files = [] if out is None else [_plot(loop, poses, out / "free-floating-nonholonomy.png")]
    return Outcome(checks, files)


def _base_of(q: Array) -> Array:
    return np.array(pin.XYZQUATToSE3(q[:7]).homogeneous)


def _changed(name: str, degrees: float) -> Check:
    # Far above the errors of the integration, far below the values found.
    obtained = f"differs by {degrees:.4g}"
    return Check(
        name, "deg", "not the same", "published", obtained, None, verdict_of(degrees > 1e-5)
    )


def _plot(loop: _Loop, poses: list[Array], file: Path) -> Path:
    from matplotlib.figure import Figure

    times = np.linspace(0.0, loop.duration, len(poses))
    angles = np.degrees([_SO3.log(pose[:3, :3]) for pose in poses])
    path = np.degrees([loop(t)[0][list(loop.joints)] for t in times])
    figure = Figure(figsize=(10, 4.2), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    names = [loop.model.joint_names[j] for j in loop.joints]
    left.plot(path[:, 0], path[:, 1], color="#1f4e79")
    left.set(
        xlabel=f"{names[0]} (deg)", ylabel=f"{names[1]} (deg)", title="closed loop of two joints"
    )
    for axis, colour, series in zip(
        "xyz", ("#c0392b", "#1e8449", "#1f4e79"), angles.T, strict=True
    ):
        right.plot(times, series, label=axis, color=colour)
    right.set(xlabel="time (s)", ylabel="rotation vector (deg)", title="attitude of the base")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(file)
    return file


STUDY = Study(
    id="free-floating-nonholonomy",
    source="Free-floating equations of motion, after Umetani and Yoshida; section on [16], [19]",
    title="A closed loop of the joints turns a satellite at zero momentum",
    parameters={
        "joint_a": Parameter(1, "number of one joint of the loop"),
        "joint_b": Parameter(2, "number of the other"),
        "amplitude": Parameter(0.8, "half width of the loop, rad"),
        "duration": Parameter(20.0, "of the loop, s"),
        "radius": Parameter(0.05, "of the circle that the tool is led around, m"),
        "steps": Parameter(400, "of the integration along the loop"),
        "bus_mass": Parameter(2550.0, "of the satellite without its arm, kg"),
        "bus_ixx": Parameter(6200.0, "its inertia about x, kg m^2"),
        "bus_iyy": Parameter(3541.0, "its inertia about y, kg m^2"),
        "bus_izz": Parameter(7090.0, "its inertia about z, kg m^2"),
    },
    compute=_compute,
)
