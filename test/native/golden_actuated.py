# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Golden vectors of actuators that tilt, steer and spin, for the simulated hardware in C++.

``python -m native.golden_actuated`` in the folder test writes them anew.
"""

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from math import pi
from pathlib import Path

import numpy as np

from vms_ph_dynamics import Ports, Rotor, StandardForm, VMSModel
from vms_ph_dynamics.actuation.actuators import Actuator, Caster, Motor, ReactionWheel, Tilt
from vms_ph_dynamics.actuation.allocation import Actuators
from vms_ph_dynamics.simulation import FormEngine, Simulation
from vms_ph_io import robots
from vms_ph_io.settings.plugin_tags import allocation_tag

from .golden_format import FOLDER, Line, line, write

# A command is held for so many steps, of which there are so many in all.
HELD, COMMANDS = 10, 40

# Of the base: the rate at which it is braked, 1/s, and the acceleration by which it turns back from
# an angle of two rad, rad/s^2.
BRAKING, STIFFNESS = 4.0, 20.0


@dataclass(frozen=True)
class Case:
    """A robot of a golden file with actuators, and what its base is commanded.

    Attributes:
        name: of the file.
        robot: of a golden URDF.
        actuators: of its base.
        size: (b,) of the wrench that is commanded beside the weight, N and N m.
        swing: of the torques of its joints, N m.
        dt: length of the steps, s.
    """

    name: str
    robot: str
    actuators: tuple[Actuator, ...]
    size: tuple[float, ...]
    swing: float = 0.4
    dt: float = 0.002


def reaction_wheels() -> tuple[Actuator, ...]:
    """Return strong wheels that turn already; two of them reach their largest spin."""
    axes = ([1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1])
    motor = Motor(1.5, 0.05)
    return tuple(
        ReactionWheel(np.array(axis), 5.0, 300.0, 126.0, rate, 0.02, motor)
        for axis, rate in zip(axes, (120.0, -100.0, 125.0, 40.0), strict=True)
    )


def rotors(tilt: bool) -> tuple[Actuator, ...]:
    """Return six rotors around the base, whose propellers have an inertia."""
    found = []
    for k in range(6):
        angle = pi / 6 + k * pi / 3
        place = 0.3 * np.array([np.cos(angle), np.sin(angle), 0.1])
        away = np.array([np.cos(angle), np.sin(angle), 0.0])
        found.append(
            Rotor(
                place,
                np.array([0.0, 0.0, 1.0]),
                drag_ratio=0.016 * (-1) ** k,
                lower=0.05,
                upper=12.0,
                thrust_constant=8.5e-6,
                loss_ratio=0.018,
                time_constant=0.03,
                inertia=1e-5,
                tilt=Tilt(away, -0.6, 0.8, 5.0) if tilt else None,
                motor=Motor(0.0155, 0.08),
            )
        )
    return tuple(found)


def casters() -> tuple[Actuator, ...]:
    motor = Motor(0.5, 0.1)
    return tuple(
        Caster(np.array(place), 0.06, 0.03, angle, 8.0, 4.0, 0.02, motor)
        for place, angle in (([0.3, 0.2], 0.4), ([-0.3, 0.25], -1.1), ([0.0, -0.3], 2.5))
    )


CASES = (
    Case("reaction_wheels", "satellite_panda", reaction_wheels(), (0, 0, 0, 300, 250, 300)),
    Case("tilting_rotors", "hextilt", rotors(True), (2, 1.5, 3, 0.08, 0.06, 0.03), 1e-4),
    Case("spinning_rotors", "borinot", rotors(False), (0, 0, 12, 0.3, 0.3, 0.1), 1e-3),
    Case("casters", "omnidirectional_panda", casters(), (150, 120, 40)),
)


def file_of(case: Case) -> Path:
    return FOLDER / f"actuated-{case.name}.txt"


def tag_of(case: Case) -> str:
    base = robots.get(case.robot).base
    return ET.tostring(allocation_tag(Actuators(case.actuators, base)), encoding="unicode")


def recorded(case: Case) -> list[Line]:
    """Return what the simulation in Python does at the commands of a case."""
    known = robots.get(case.robot)
    xml = (FOLDER / f"{case.robot}.urdf").read_text()
    model = VMSModel.from_urdf(xml, known.base, known.end_effector, known.gravity)
    home = model.configuration(known.home)
    simulation = Simulation(
        StandardForm(model),
        home,
        case.dt,
        actuators=Actuators(case.actuators, known.base),
        engine=FormEngine("projected_rk4", native=False),
    )
    lines = [
        line("robot", f"{case.robot}.urdf {known.base} {known.end_effector}"),
        line("gravity", model.gravity),
        line("step", [case.dt]),
        line("actuators", tag_of(case)),
        line("start", home),
    ]
    size = np.concatenate([case.size, case.swing * np.ones(model.n)])
    phase = np.arange(model.nv)
    for _ in range(COMMANDS):
        sample = simulation.sample()
        d = model.evaluate(sample.q, sample.v)
        wave = size * np.sin((3.0 + 0.5 * phase) * sample.time + phase)
        wanted = -BRAKING * sample.v[: model.b]
        if model.b == 6:  # it is held upright, so that the motion is not chaotic
            wanted[3:] -= STIFFNESS * sample.q[3:6] * np.sign(sample.q[6])
        wrench = _rounded(d.g[: model.b] + d.M_b @ wanted + wave[: model.b])
        # The arm swings by its weight, and is braked as each joint is felt by its motor.
        felt = 1.0 / np.diag(np.linalg.inv(d.M))[model.b :]
        torque = _rounded(wave[model.b :] - 5.0 * felt * sample.v[model.b :])
        simulation.apply(Ports(torque=torque, wrench_base=wrench))
        simulation.advance(HELD, Ports(torque=torque, wrench_base=wrench))
        lines += [line("wrench_base", wrench), line("torque", torque), *measured(simulation)]
    assert not simulation.failures, simulation.failure
    return lines


def measured(simulation: Simulation) -> list[Line]:
    sample, actuation = simulation.sample(), simulation.actuation
    lost = sum(float(part.sum()) for part in actuation.lost_energies.values())
    work = sample.port_energy["wrench_base"]
    return [
        line("q", sample.q),
        line("v", sample.v),
        line("energy", [work, actuation.electric_energy, lost, actuation.kinetic_energy]),
    ]


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return the numbers that the file has."""
    return np.array([float(f"{x:.12g}") for x in values])


def main() -> None:
    for case in CASES:
        title = f"{case.name} of {case.robot}: see test/native/golden_actuated.py"
        write(file_of(case), title, recorded(case))
        print(file_of(case))


if __name__ == "__main__":
    main()
