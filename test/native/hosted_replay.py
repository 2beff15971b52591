# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A controller hosted in C++ and the same in Python, over the same motion."""

import subprocess
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np

from vms_ph_controllers import Command, Controller, Reference, RobotState
from vms_ph_dynamics import Array, VMSModel


@dataclass(frozen=True)
class Instant:
    """One update."""

    state: RobotState
    reference: Reference
    dt: float


def motion(model: VMSModel, home: Array, steps: int, seed: int) -> Iterator[Instant]:
    """A random walk around a posture, with references of every kind now and then."""
    rng = np.random.default_rng(seed)
    q, pose = home, np.eye(4)
    # A fixed arm's position task; for the others the pose is of the base or end effector.
    tip = model.evaluate(home, np.zeros(model.nv)).placement(model.end_effector)
    for k in range(steps):
        v = rng.normal(size=model.nv) * 0.3
        q = model.integrate(q, 0.02 * v)
        reference = Reference()
        if k % 10 == 3:
            reference = Reference(
                position=tip[:3, 3] + 0.02 * rng.normal(size=3), velocity=0.01 * rng.normal(size=3)
            )
        if k % 10 == 5:
            pose = np.array(tip)
            pose[:3, 3] += 0.05 * rng.normal(size=3)
            reference = Reference(pose=pose, twist=0.01 * rng.normal(size=6))
        if k % 10 == 8:
            joints = model.joint_positions(home) + 0.1 * rng.normal(size=model.n)
            reference = Reference(joints=joints, wrench=rng.uniform(-5.0, 5.0, 6))
        yield Instant(RobotState(q, v), reference, float(rng.uniform(0.5e-3, 2e-3)))


def flat(command: Command) -> Array:
    """All numbers of a command, in the order in which native/test/replay.cpp prints them."""
    return np.array(
        [
            int(command.status),
            *astuple(command.energy),
            command.task_error,
            command.smallest_singular_value,
            command.authority,
            *command.wrench_base,
            *command.torque,
        ],
        dtype=np.float64,
    )


def in_python(
    controller: Controller, start: Array, gains: dict[str, float], instants: list[Instant]
) -> tuple[Array, list[str]]:
    """Every command's numbers and reason."""
    controller.gains = replace(controller.gains, **gains)
    controller.reset(RobotState(start, np.zeros(controller.model.nv)))
    commands = [controller.update(i.state, i.reference, i.dt) for i in instants]
    return np.array([flat(c) for c in commands]), [c.reason for c in commands]


def hosted(
    replay: Path,
    environment: dict[str, str],
    header: list[str],
    model: VMSModel,
    start: Array,
    gains: dict[str, float],
    instants: list[Instant],
) -> tuple[Array, list[str]]:
    """The same from the host."""
    lines = [*header, "begin", *(f"gain {name} {float(value)!r}" for name, value in gains.items())]
    lines.append(f"reset {words(start)} {words(np.zeros(model.nv))}")
    for instant in instants:
        line = f"update {words(instant.state.q)} {words(instant.state.v)} {instant.dt!r}"
        for item in fields(instant.reference):
            value = getattr(instant.reference, item.name)
            if value is not None:
                line += f" {item.name} {words(value)}"
        lines.append(line)
    done = subprocess.run(
        [replay], input="\n".join(lines) + "\n", capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    return np.array([[float(x) for x in row.split()] for row in printed[::2]]), printed[1::2]


def words(values: Array) -> str:
    """The shortest numbers that read back the same."""
    return " ".join(repr(float(value)) for value in np.ravel(values))
