# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Golden vectors of the laws of moving bases, for the C++ tests that run without Python.

``python -m native.golden_base_laws`` in the folder test writes them anew.
"""

from dataclasses import fields
from pathlib import Path

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, Reference

from .base_law_cases import Case, Loaded, OnWheels
from .base_law_runs import SCRIPTS, Drive, is_for
from .golden_format import FOLDER, Line, line, write

CASES = (
    Case("omnidirectional_panda", rotors="wheels"),
    Case("hextilt", rotors="hextilt"),
    Case("borinot", rotors="upright"),
    Case("satellite_panda", endless=True),
    Case("satellite_panda", base_actuated=False),
    Case("borinot", rotors="weak", law="UnderactuatedFlight"),
    Case("satellite_panda", rotors="reaction_wheels", law="AttitudeControl"),
    Case("hextilt", rotors="hextilt", law="PoseIDAPBC"),
    Case("panda", law="CartesianImpedance"),
    Case("hextilt", rotors="hextilt", law="CartesianImpedance"),
    Case("satellite_panda", base_actuated=False, law="PushingImpedance"),
    Case("omnidirectional_panda", rotors="wheels", law="MobileManipulation"),
    Case("satellite_panda", base_actuated=False, law="ResolvedMotion"),
    OnWheels(),
    OnWheels(law="WheeledImpedance"),
    Loaded(),
)

# Of a reference.
PARTS = ("position", "velocity", "pose", "twist", "joints", "wrench")


def file_of(case: Case) -> Path:
    return FOLDER / f"base_law-{case.label}.txt"


class Recorder(Drive):
    """Writes down what the Python law was given and what it gave."""

    def __init__(self, case: Case, dt: float) -> None:
        super().__init__(case, dt)
        robot = f"{case.robot}{'-endless' if case.endless else ''}"
        self.urdf = f"{robot}.urdf"
        self.lines: list[Line] = [
            line("robot", f"{self.urdf} {self.model.base} {self.model.end_effector}"),
            line("law", case.law),
            line("gravity", self.model.gravity),
            line("base_actuated", [float(case.base_actuated)]),
        ]
        if case.payload_rate:
            self.lines.append(line("payload_rate", [case.payload_rate]))
        self.lines += [line("wheel", f"{w} {r}") for w, r in case.wheels().items()]
        if self.allocation is not None:
            rows = self.allocation
            # To the last digit: the rank of the matrix counts.
            self.lines += [line("rotors", " ".join(map(repr, row))) for row in rows.matrix.tolist()]
            self.lines += [line("lower", rows.lower), line("upper", rows.upper)]

    def _configuration(self, q: np.ndarray) -> np.ndarray:
        """Nine digits, and rotations of length one in all digits of the file.

        What one of another length does to bodies and velocities depends on the algorithm.
        """
        q = _rounded(q)
        for rotation in self.model.tree.rotations:
            length = float(np.linalg.norm(q[rotation.entries]))
            if abs(length - 1.0) < 1e-6:  # others are mistakes, which the law is to notice
                q[rotation.entries] /= length
        return _rounded(q, 12)

    def reset(self, q: np.ndarray) -> bool:
        q = self._configuration(q)
        taken = super().reset(q)
        self.lines += [line("reset", q), line("taken", [float(taken)])]
        return taken

    def set(self, **gains: float) -> None:
        rounded = {name: float(_rounded(value)) for name, value in gains.items()}
        super().set(**rounded)
        self.lines += [line("gain", f"{name} {value:.12g}") for name, value in rounded.items()]

    def carry(self, mass: float, moment: np.ndarray, deviation: float) -> None:
        mass, deviation, moment = (
            float(_rounded(mass)),
            float(_rounded(deviation)),
            _rounded(moment),
        )
        super().carry(mass, moment, deviation)
        self.lines.append(line("payload", [mass, *moment, deviation]))

    def update(self, q: np.ndarray, v: np.ndarray, reference: Reference, dt: float) -> Command:
        q, v = self._configuration(q), _rounded(v)
        parts = {name: getattr(reference, name) for name in PARTS}
        reference = Reference(
            **{name: _rounded(part) for name, part in parts.items() if part is not None}
        )
        self.lines += [line("update", ""), line("q", q), line("v", v)]
        for name in PARTS:
            if getattr(reference, name) is not None:
                self.lines.append(line(name, getattr(reference, name).ravel()))
        if self.measured is not None:
            self.measured = _rounded(self.measured)
            self.lines.append(line("measured_wrench", self.measured))
        self.lines.append(line("dt", [dt]))
        told = super().update(q, v, reference, dt)
        self.lines += expected(told)
        return told


def expected(told: Command) -> list[Line]:
    return [
        line("status", str(int(told.status))),
        line("reason", told.reason or "-"),
        line("wrench_base", told.wrench_base),
        line("torque", told.torque),
        line("energy", [getattr(told.energy, field.name) for field in fields(ControlEnergy)]),
        line("rest", [told.task_error, told.smallest_singular_value, told.authority]),
    ]


def record(case: Case, steps: int = 8) -> Recorder:
    recorder = Recorder(case, 0.02)
    rng = np.random.default_rng(7)
    for script in SCRIPTS:
        if is_for(script, case):
            script(recorder, rng, steps)
    return recorder


def _rounded(x: object, digits: int = 9) -> np.ndarray:
    """Digits that the file has."""
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[float])(x)


if __name__ == "__main__":
    for case in CASES:
        recorder = record(case)
        if case.robot != "panda":  # which golden_task_space writes
            (FOLDER / recorder.urdf).write_text(case.description() + "\n")
        write(
            file_of(case),
            f"{case.law} in Python; test/native/golden_base_laws.py writes it.",
            recorder.lines,
        )
