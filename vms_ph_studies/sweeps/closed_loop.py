# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A target of sweeps: a robot with a control law, pushed at its end effector."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers import Command, Controller, Reference, RobotState, Status
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Allocation, Array, OptionError, VMSModel
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io import Push, Trajectory, simulate
from vms_ph_io.robots.robot_settings import RobotSettings, assignments

# Steps between two samples of displacement and kinetic energy.
_SAMPLE_STEPS = 5
# Displacement below which the end effector has settled, as a share of the largest.
_SETTLED_SHARE = 0.05


def closed_loop(
    *,
    robot: str = "panda",
    base: str = "",
    end_effector: str = "",
    inertia: str = "",
    gravity: str = "",
    controller: str = "auto",
    gains: Mapping[str, float] | None = None,
    positions: Mapping[str, float] | None = None,
    spread: float = 0.0,
    force: Sequence[float] = (10.0, 0.0, 0.0),
    force_duration: float = 0.15,
    payload: float = 0.0,
    inertia_scale: float = 1.0,
    friction: bool = False,
    seconds: float = 1.0,
    step: float = 1e-3,
    native: bool | None = None,
    seed: int = 0,
) -> dict[str, object]:
    """Return the response of a controlled robot to a push at its end effector.

    Args:
        robot: name of a bundled robot, or path of a URDF, xacro or MJCF file.
        base: auto, fixed, planar or floating; the robot's if empty.
        end_effector: frame of the push; the robot's if empty.
        inertia: what is done about inertias of no rigid body, see :class:`RobotSettings`.
        gravity: three numbers, m/s^2; the robot's if empty.
        controller: as for ``vms-ph demo``, but "auto" is TaskSpaceIDAPBC on a fixed base of three
            joints or more, as in every study so far; it holds the pose at the start.
        gains: of the law, by name.
        positions: of joints at the start, rad or m, by name.
        spread: largest random change of every joint at the start, rad or m.
        force: (3,) at the end effector in world axes, N.
        force_duration: how long it acts from the start, s.
        payload: mass of a point at the end effector that the law does not know, kg.
        inertia_scale: inertia of every body of the robot relative to what the law knows.
        friction: whether the viscous friction of the joints acts.
        seconds: simulated time, s.
        step: control and integrator step, s.
        native: whether law and integrator run in C++; where they can, if None.
        seed: of the random start.

    Returns:
        Displacements of the end effector (m), its settling time (s), energies (J; supplied through
        each port, dissipated, and the error of their balance), the lowest tank level (J) and
        authority, and the shares of the samples with saturated and safe outputs.

    Raises:
        VmsPhError: a value is not accepted, or the motion cannot be integrated.
    """
    if not (0.0 < step <= seconds and force_duration >= 0.0):
        raise OptionError(
            f"step={step:g}, seconds={seconds:g}, force_duration={force_duration:g}: a step above "
            "zero and not above seconds, and no negative duration are accepted"
        )
    if len(force) != 3:
        raise OptionError(f"force={list(force)}: expected three numbers, N in world axes")
    settings = RobotSettings(robot, base, end_effector, inertia=inertia, gravity=gravity)
    model, allocation = _robot(settings)
    settings = replace(settings, initial_positions=assignments(positions or {}))
    start_q = settings.initial_configuration(model)
    if native is False:
        model = model.with_native(False)
    if controller == "auto" and not model.b and model.n > 2:
        controller = "TaskSpaceIDAPBC"
    law = make_controller(controller, model, allocation)
    law.gains = _with_gains(law, gains or {})
    joint_offsets = spread * np.random.default_rng(seed).uniform(-1.0, 1.0, model.n)
    q = model.integrate(start_q, np.concatenate([np.zeros(model.b), joint_offsets]))
    supervisor = Supervisor(law, allocation)
    supervisor.reset(RobotState(q, np.zeros(model.nv)))
    commands: list[tuple[float, float, int]] = []
    no_reference = Reference()

    def control(q: Array, v: Array, dt: float) -> Command:
        command = supervisor.update(RobotState(q, v), no_reference, dt)
        commands.append((command.energy.tank_level, command.authority, int(command.status)))
        return command

    wrench = [*force, 0.0, 0.0, 0.0]
    run = simulate(
        _with_errors(model, payload, inertia_scale),
        control,
        seconds,
        disturbances=[Push("wrench_end_effector", wrench, 0.0, force_duration, axes="world")],
        rate=1.0 / step,
        q=q,
        effects=["friction"] if friction else [],
        native=native,
        stride=_SAMPLE_STEPS,
    )
    return _summary(run, *np.array(commands).T)


def _summary(
    run: Trajectory, tank_levels: Array, authorities: Array, statuses: Array
) -> dict[str, object]:
    model, zero = run.model, np.zeros(run.model.nv)
    positions = [model.evaluate(q, zero).placement(model.end_effector)[:3, 3] for q in run.q]
    displacement = np.linalg.norm(np.array(positions) - positions[0], axis=1)
    unsettled_times = run.t[displacement > _SETTLED_SHARE * np.max(displacement)]
    settling_time = unsettled_times[-1] if len(unsettled_times) else 0.0
    supplied_energies = {port: energy[-1] for port, energy in run.port_energy.items()}
    stored_energy = run.energy[-1] - run.energy[0]
    return {
        "peak_displacement": np.max(displacement),
        "final_displacement": displacement[-1],
        "settling_time": settling_time if settling_time < run.t[-1] else None,
        "peak_kinetic_energy": np.max(run.kinetic_energy),
        "final_kinetic_energy": run.kinetic_energy[-1],
        **{f"supplied_{port}": energy for port, energy in supplied_energies.items()},
        "dissipated": run.dissipated[-1],
        "balance_error": stored_energy + run.dissipated[-1] - sum(supplied_energies.values()),
        "lowest_tank_level": np.min(tank_levels),
        "lowest_authority": np.min(authorities),
        "saturated_share": np.mean(statuses == Status.SATURATED),
        "holding_share": np.mean(statuses == Status.HOLDING),
    }


@lru_cache(maxsize=16)
def _robot(settings: RobotSettings) -> tuple[VMSModel, Allocation | None]:
    """Return model and actuators; a worker reads a description once."""
    return settings.model(settings.description()), settings.allocation()


def _with_gains(law: Controller, changes: Mapping[str, float]) -> Any:
    """Return the gains of a law with some of them changed.

    Raises:
        OptionError: a gain is unknown or out of its bounds.
    """
    gain_fields = {field.name: field for field in dataclasses.fields(law.gains)}
    for name, value in changes.items():
        if name not in gain_fields:
            hint = did_you_mean(name, gain_fields)
            raise OptionError(
                f"{type(law).__name__} has no gain '{name}'{hint}; it has {', '.join(gain_fields)}"
            )
        low, high = (gain_fields[name].metadata.get(key) for key in ("low", "high"))
        if low is not None and high is not None and not low <= value <= high:
            raise OptionError(f"gain {name}={value:g}: accepted are {low:g} to {high:g}")
    # A whole number in a study file is a number like any other.
    gain_types = {name: type(getattr(law.gains, name)) for name in changes}
    return replace(law.gains, **{name: gain_types[name](value) for name, value in changes.items()})


def _with_errors(model: VMSModel, payload: float, scale: float) -> VMSModel:
    """Return the robot that is simulated: with a payload, and inertias relative to the model's.

    Raises:
        OptionError: a mass is not positive, or the robot is one that cannot be changed so.
    """
    if payload == 0.0 and scale == 1.0:
        return model
    if payload < 0.0 or scale <= 0.0:
        raise OptionError(
            f"payload={payload:g}, inertia_scale={scale:g}: a payload of at least zero and a scale "
            "above zero are accepted"
        )
    if not model.is_plain:
        raise OptionError(
            f"'{model.name}' has joints that mimic others or a fluid; payload and inertia_scale "
            "are for robots without"
        )
    m = model.pinocchio
    for k in range(1, m.njoints):
        body = m.inertias[k]
        m.inertias[k] = pin.Inertia(scale * body.mass, body.lever, scale * body.inertia)
    frame = m.frames[m.getFrameId(model.end_effector)]
    point_mass = pin.Inertia(payload, np.zeros(3), np.zeros((3, 3)))
    m.inertias[frame.parentJoint] += frame.placement.act(point_mass)
    return VMSModel.from_pinocchio(m, model.end_effector, inertia="as_given", tools=model.tools)
