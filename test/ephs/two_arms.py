# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms from two URDFs that carry one body, composed by ports, and one model of MuJoCo."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.simulation.contact.mujoco_robot import import_mujoco
from vms_ph_ephs import Equations, System, close_loops, compose
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.equations.assembly import port_powers

SIDES = ("left", "right")

# Of each arm: place of its foot along x, masses of its links, damping of its joints, start (rad).
_FOOT = {"left": -0.35, "right": 0.35}
_MASSES = {"left": (1.5, 1.0, 0.5), "right": (1.2, 0.8, 0.6)}
_DAMPING = {"left": 0.05, "right": 0.08}
_START = {"left": (0.2, 0.3, -0.5), "right": (0.25, -0.25, 0.45)}
_AXES = ("1 0 0", "0 1 0", "0 1 0")
_LENGTH = 0.3

# Mass, half of its length, and moments of inertia of the bar.
_MASS, _HALF, _INERTIA = 2.0, 0.3, (0.004, 0.06, 0.06)
_GRAVITY = (0.0, 0.0, -9.81)


def arm_urdf(side: str) -> str:
    """Return the URDF of an arm of three joints that hangs down, its links along z."""
    parts = [f'<robot name="{side}"><link name="foot"/>']
    for k, mass in enumerate(_MASSES[side]):
        position = (_FOOT[side], 0.0, 0.0) if k == 0 else (0.0, 0.0, -_LENGTH)
        long = mass * _LENGTH**2 / 12.0
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0 0 {-_LENGTH / 2}"/>'
            f'<mass value="{mass}"/><inertia ixx="{long!r}" iyy="{long!r}" izz="0.001" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="joint{k}" type="continuous">'
            f'<parent link="{"foot" if k == 0 else f"link{k - 1}"}"/><child link="link{k}"/>'
            f'<origin xyz="{position[0]} {position[1]} {position[2]}"/><axis xyz="{_AXES[k]}"/>'
            f'<dynamics damping="{_DAMPING[side]}" friction="0"/></joint>'
        )
    return "".join(parts) + "</robot>"


def _at(x: float, z: float) -> Array:
    pose = np.eye(4)
    pose[0, 3], pose[2, 3] = x, z
    return pose


def composed() -> System:
    """Return the system: two arms, each from its URDF, a bar, and a ball joint at either end."""
    arms = {
        side: mb.from_urdf(
            arm_urdf(side), "fixed", _GRAVITY, open_bodies=["link2"], heat=mb.Heat(50.0, 0.2)
        )
        for side in SIDES
    }
    end = {"left": -_HALF, "right": _HALF}
    grips = {
        f"{side}_grip": mb.joint(mb.Spherical(), _at(0.0, -_LENGTH / 2), _at(end[side], 0.0))
        for side in SIDES
    }
    bar = mb.rigid_body(_MASS, _INERTIA, _GRAVITY)
    junctions: dict[str, tuple[str, ...]] = {"bar": ("bar.p",)}
    outer = []
    for side in SIDES:
        junctions[f"{side}_hand"] = (f"{side}.link2", f"{side}_grip.p_1")
        junctions["bar"] += (f"{side}_grip.p_2",)
        for k in range(3):
            junctions[f"{side}_joint{k}"] = (f"{side}.joint{k}", f"{side}_joint{k}")
            outer.append(f"{side}_joint{k}")
    return compose({**arms, "bar": bar, **grips}, junctions, outer)


def flat(system: System) -> System:
    """Return the system of :func:`composed` as one mechanism, without boxes of arms."""
    parts = {side: system.fillings[side] for side in SIDES}
    bodies: dict[str, Any] = {"bar": system.fillings["bar"]}
    joints: dict[str, mb.Between] = {}
    for side, arm in parts.items():
        assert isinstance(arm, System)  # from a URDF
        last = mb.GROUND
        for k in range(3):
            bodies[f"{side}_link{k}"] = arm.fillings[f"link{k}"]
            joint: Any = arm.fillings[f"joint{k}"]
            joints[f"{side}_joint{k}"] = mb.Between(last, f"{side}_link{k}", joint)
            last = f"{side}_link{k}"
        grip: Any = system.fillings[f"{side}_grip"]
        joints[f"{side}_grip"] = mb.Between(last, "bar", grip)
    return mb.mechanism(bodies, joints)


def start_of(equations: Equations) -> Array:
    """Return the state at rest in which the bar hangs between the hands."""
    hand = _hand("left")
    pose = np.eye(4)
    pose[:3, 3] = hand + np.array([_HALF, 0.0, 0.0])
    dot = "." if "left.link0.q" in equations.layout.states else "_"
    joints = {f"{side}{dot}joint{k}": _START[side][k] for side in SIDES for k in range(3)}
    state = mb.consistent_state(equations, joints, poses={"bar": pose})
    return close_loops(equations, state)


def _hand(side: str) -> Array:
    import pinocchio as pin

    model = pin.buildModelFromXML(arm_urdf(side))
    data, q = model.createData(), pin.neutral(model)
    for k, angle in enumerate(_START[side]):
        q[2 * k : 2 * k + 2] = np.cos(angle), np.sin(angle)
    pin.forwardKinematics(model, data, q)
    return np.array(data.oMi[-1].act(np.array([0.0, 0.0, -_LENGTH])))


def box_powers(equations: Equations, system: System, x: Array) -> dict[str, dict[str, float]]:
    """Return the powers into the boxes of a system through their ports, by junction and box, W.

    Args:
        equations: of the system.
        system: of any depth; its own junctions and boxes are meant.
        x: state vector.
    """
    powers = port_powers(equations, x)
    flat = equations.system.pattern
    powers_by_junction: dict[str, dict[str, float]] = {}
    for junction in system.pattern.junctions:
        parts: dict[str, float] = {}
        for end in flat.junctions[junction]:
            box, dot, _ = end.partition(".")
            if dot and end in powers:  # state ports pass no power
                parts[box] = parts.get(box, 0.0) + powers[end]
        powers_by_junction[junction] = parts
    return powers_by_junction


def mjcf(dt: float) -> str:
    """Return one MJCF of both arms and the bar, which is a child of the left hand."""
    arms = []
    moments = " ".join(map(str, _INERTIA))
    bar = (
        f'<body name="bar" pos="0 0 {-_LENGTH}"><joint name="ball" type="ball"/>'
        f'<inertial pos="{_HALF} 0 0" mass="{_MASS}" diaginertia="{moments}"/>'
        f'<site name="bar_end" pos="{2 * _HALF} 0 0"/>'
        f'<site name="middle" pos="{_HALF} 0 0"/></body>'
    )
    for side in SIDES:
        inner = bar if side == "left" else f'<site name="hand" pos="0 0 {-_LENGTH}"/>'
        for k in reversed(range(3)):
            mass = _MASSES[side][k]
            long = mass * _LENGTH**2 / 12.0
            position = f"{_FOOT[side]} 0 0" if k == 0 else f"0 0 {-_LENGTH}"
            inner = (
                f'<body name="{side}{k}" pos="{position}"><joint name="{side}_joint{k}" '
                f'type="hinge" axis="{_AXES[k]}" damping="{_DAMPING[side]}"/>'
                f'<inertial pos="0 0 {-_LENGTH / 2}" mass="{mass}" '
                f'diaginertia="{long!r} {long!r} 0.001"/>{inner}</body>'
            )
        arms.append(inner)
    return (
        f'<mujoco><option timestep="{dt!r}" gravity="0 0 -9.81" integrator="Euler" '
        'tolerance="1e-14" iterations="100"/>'
        f"<worldbody>{''.join(arms)}</worldbody><equality>"
        f'<connect site1="bar_end" site2="hand" solref="{2 * dt!r} 1" '
        'solimp="0.9999 0.9999 0.001"/></equality></mujoco>'
    )


def by_mujoco(start: Mapping[str, Any], seconds: float, dt: float) -> Array:
    """Return the angles of the six joints and the middle of the bar at the end, (9,).

    Raises:
        MissingExtraError: MuJoCo is not installed.
    """
    mujoco = import_mujoco()
    model = mujoco.MjModel.from_xml_string(mjcf(dt))
    data = mujoco.MjData(model)
    for name, value in start.items():
        at = model.joint(name).qposadr[0]
        data.qpos[at : at + np.size(value)] = value
    for _ in range(round(seconds / dt)):
        mujoco.mj_step(model, data)
    mujoco.mj_kinematics(model, data)
    angles = [data.qpos[model.joint(f"{s}_joint{k}").qposadr[0]] for s in SIDES for k in range(3)]
    return np.array([*angles, *data.site("middle").xpos])


def by_ports(equations: Equations, x: Array) -> Array:
    """Return the same of a state vector."""
    joint_positions = mb.joint_positions(equations, x)
    positions = {name.replace(".", "_"): q for name, q in joint_positions.items()}
    angles = [positions[f"{side}_joint{k}"][0] for side in SIDES for k in range(3)]
    return np.array([*angles, *equations.states.value(x, "bar.q")[:3, 3]])


def starts(equations: Equations, x: Array) -> dict[str, Any]:
    """Return the same state for MuJoCo, by joint."""
    import pinocchio as pin

    positions: dict[str, Any] = dict(
        zip(
            [f"{side}_joint{k}" for side in SIDES for k in range(3)],
            by_ports(equations, x)[:6],
            strict=True,
        )
    )
    bar = equations.states.value(x, "bar.q")[:3, :3]
    hand = equations.states.value(x, "left.link2.q")[:3, :3]
    turn = pin.Quaternion(hand.T @ bar).coeffs()
    positions["ball"] = np.array([turn[3], *turn[:3]])
    return positions
