# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source E: a closed loop of the joints of a free-floating robot rotates its base."""

from pathlib import Path

import numpy as np

from vms_ph_dynamics import Array, FreeFloating, VMSModel, VmsPhError
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_io import robots
from vms_ph_io.progress import Progress

from ..check import Check, bounded, compared, verdict_of
from ..figures import Panel, draw
from ..reorientation import EllipticLoop, base_motion, displace, turn_by_curvature
from ..study import Outcome, Parameter, Settings, Stages, Study

_SE3, _SO3 = SE3(), SO3()


def _momentum_error(model: VMSModel, home: Array, loop: EllipticLoop, step_count: int) -> float:
    """Integrate [E 37] along the loop from rest and return the largest share of momentum left."""
    form, dt = FreeFloating(model), loop.duration / step_count
    twist, max_momentum, momentum_scale = np.zeros(6), 0.0, 0.0

    def acceleration(t: float, twist: Array) -> Array:
        offset, qdot, qddot = loop(t)
        e = form.evaluate(displace(model, home, offset), np.concatenate([twist, qdot]))
        # The velocities of [E] are inertial; here the base is followed in its own axes.
        x_ddot = np.linalg.solve(e.H_0, -e.H_0m @ qddot - e.bias[:6])
        transport = np.cross(twist[3:], twist[:3])
        centripetal = np.cross(twist[3:], np.cross(twist[3:], form.base_centre))
        return e.from_inertial[:6, :6] @ x_ddot - np.append(transport + centripetal, np.zeros(3))

    for k in range(step_count):
        t = k * dt
        k1 = acceleration(t, twist)
        k2 = acceleration(t + dt / 2, twist + dt / 2 * k1)
        k3 = acceleration(t + dt / 2, twist + dt / 2 * k2)
        k4 = acceleration(t + dt, twist + dt * k3)
        twist = twist + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        motion = loop(t + dt)
        velocity = np.concatenate([twist, motion.rate])
        d = model.evaluate(displace(model, home, motion.offset), velocity)
        max_momentum = max(max_momentum, float(np.abs(d.p).max()))
        momentum_scale = max(momentum_scale, float(np.abs(d.M_bm @ motion.rate).max()))
    return max_momentum / momentum_scale


def _centre_of_mass(model: VMSModel, home: Array) -> Array:
    """Return the centre of mass (3,) of the robot in the axes of its base."""
    pose = model.base_pose(home)
    centre = FreeFloating(model).evaluate(home, np.zeros(model.nv)).r_g
    return pose[:3, :3].T @ (centre - pose[:3, 3])


def _tool_loop(model: VMSModel, home: Array, radius: float, step_count: int) -> tuple[float, Array]:
    """Move the tool once around a circle at zero momentum by the generalised Jacobian.

    Returns:
        Distance between end and start of the tool (m), and final configuration of the robot, (nq,).
    """
    form, dt, q = FreeFloating(model), 1.0 / step_count, home
    start_pose = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)

    def velocity(t: float, q: Array) -> Array:
        e = form.evaluate(q, np.zeros(model.nv))
        phase, tool_speed = 2 * np.pi * t, 2 * np.pi * radius
        twist = np.array([0.0, -np.sin(phase), np.cos(phase), 0.0, 0.0, 0.0]) * tool_speed
        qdot = np.linalg.pinv(e.J_g) @ twist
        return np.concatenate([-e.d.A @ qdot, qdot])

    for k in range(step_count):
        t = k * dt
        q_half = model.integrate(q, 0.5 * dt * velocity(t, q))
        q = model.integrate(q, dt * velocity(t + 0.5 * dt, q_half))
    end_pose = model.evaluate(q, np.zeros(model.nv)).placement(model.end_effector)
    return float(np.abs(_SE3.log(np.linalg.inv(start_pose) @ end_pose)).max()), q


def _turn_degrees(pose: Array) -> float:
    return float(np.degrees(np.linalg.norm(_SO3.log(pose[:3, :3]))))


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    bus_data = {name: str(settings[name]) for name in ("bus_mass", "bus_ixx", "bus_iyy", "bus_izz")}
    model = robots.load("satellite_panda", **bus_data)
    joint_pair = (int(settings["joint_a"]) - 1, int(settings["joint_b"]) - 1)
    if joint_pair[0] == joint_pair[1] or not all(0 <= joint < model.n for joint in joint_pair):
        raise VmsPhError(f"joint_a and joint_b must be two of the joints 1 to {model.n}")
    home = model.configuration(robots.get("satellite_panda").home)
    amplitude, duration = float(settings["amplitude"]), float(settings["duration"])
    step_count = int(settings["steps"])
    axes = amplitude * np.eye(model.n)[list(joint_pair)]
    loop = EllipticLoop(axes[0], axes[1], 1, duration)
    stages = Stages(progress, 4)
    stages.begin("loop of the joints")
    poses = base_motion(model, home, loop, step_count)
    back = base_motion(model, home, EllipticLoop(axes[0], axes[1], -1, duration), step_count)[-1]
    start_pose, centre = model.base_pose(home), _centre_of_mass(model, home)
    centre_shift = poses[-1][:3, :3] @ centre + poses[-1][:3, 3] - centre
    stages.begin("small loop")
    small_loop = EllipticLoop(1e-3 * axes[0], 1e-3 * axes[1], 1, duration)
    area = np.pi * (1e-3 * amplitude) ** 2
    turn_per_area = _SO3.log(base_motion(model, home, small_loop, step_count)[-1][:3, :3]) / area
    predicted_turn = turn_by_curvature(model, home, small_loop) / area
    stages.begin("loop of the tool")
    tool_error, final_q = _tool_loop(model, home, float(settings["radius"]), 4 * step_count)
    tool_turn = _turn_degrees(np.linalg.inv(start_pose) @ model.base_pose(final_q))
    arm_change = float(np.degrees(np.abs(model.difference(home, final_q)[model.b :]).max()))
    stages.begin("equations of motion along the loop")
    momentum_error = _momentum_error(model, home, loop, step_count)
    checks = [
        # The error of a Runge-Kutta scheme over the default number of steps.
        bounded("[37] keeps zero momentum along the loop", momentum_error, 1e-6),
        bounded("centre of mass stays where it is", np.abs(centre_shift).max(), 1e-9, "m"),
        _change_check("base attitude after a closed loop of the joints", _turn_degrees(poses[-1])),
        bounded(
            "the loop run backwards turns it back", _turn_degrees(poses[-1] @ back), 1e-6, "deg"
        ),
        compared(
            "turn per area of a small loop: curvature of the connection",
            float(np.linalg.norm(predicted_turn)),
            float(predicted_turn @ turn_per_area / np.linalg.norm(predicted_turn)),
            # The curvature varies along a loop of finite size.
            5e-3 * amplitude * float(np.linalg.norm(predicted_turn)),
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
        _change_check("base attitude after a closed loop of the tool", tool_turn),
        _change_check("arm configuration after a closed loop of the tool", arm_change),
    ]
    files = (
        []
        if out is None
        else [_plot(model, home, loop, poses, out / "free-floating-nonholonomy.png")]
    )
    return Outcome(checks, files)


def _change_check(name: str, degrees: float) -> Check:
    # Far above the errors of the integration, far below the values found.
    obtained = f"differs by {degrees:.4g}"
    return Check(
        name, "deg", "not the same", "published", obtained, None, verdict_of(degrees > 1e-5)
    )


def _plot(model: VMSModel, home: Array, loop: EllipticLoop, poses: Array, file: Path) -> Path:
    times = np.linspace(0.0, loop.duration, len(poses))
    angles = np.degrees([_SO3.log(pose[:3, :3]) for pose in poses])
    moved_joints = np.flatnonzero(loop.max_offset - loop.min_offset)
    offsets = np.array([loop(time).offset[moved_joints] for time in times])
    path = np.degrees(model.joint_positions(home)[moved_joints] + offsets)
    first_label, second_label = (f"{model.joint_names[joint]} (deg)" for joint in moved_joints)
    rotations = {axis: (times, series) for axis, series in zip("xyz", angles.T, strict=True)}
    panels = [
        Panel("joints", first_label, second_label, {"closed loop": (path[:, 0], path[:, 1])}),
        Panel("attitude of the base", "time (s)", "rotation vector (deg)", rotations),
    ]
    return draw(panels, file, 2)


STUDY = Study(
    id="free-floating-nonholonomy",
    source="Free-floating equations of motion, after Umetani and Yoshida; section on [16], [19]",
    title="A closed loop of the joints turns a satellite at zero momentum",
    parameters={
        "joint_a": Parameter(1, "number of one joint of the loop"),
        "joint_b": Parameter(2, "number of the other"),
        "amplitude": Parameter(0.8, "half width of the loop, rad", above=0.0),
        "duration": Parameter(20.0, "of the loop, s", above=0.0),
        "radius": Parameter(0.05, "of the circle that the tool is led around, m"),
        "steps": Parameter(400, "of the integration along the loop", least=1),
        "bus_mass": Parameter(2550.0, "of the satellite without its arm, kg"),
        "bus_ixx": Parameter(6200.0, "its inertia about x, kg m^2"),
        "bus_iyy": Parameter(3541.0, "its inertia about y, kg m^2"),
        "bus_izz": Parameter(7090.0, "its inertia about z, kg m^2"),
    },
    compute=_compute,
)
