# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Golden vectors of the Python law for the tests of the C++ core that run without Python.

``python test/native/golden_task_space.py`` writes them anew. A file holds one word a line and what
belongs to it: ``robot`` file and end effector, ``gain`` name and value, ``reset`` (nq,), ``update``
q, v, position, velocity and dt, followed by what the Python law says: ``status``, ``reason``,
``torque``, ``energy`` in the order of ControlEnergy, and ``rest`` (task error, smallest singular
value, authority). A dash stands for nothing.
"""

import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from vms_ph_controllers import Command, ControlEnergy, Reference, RobotState, TaskSpaceIDAPBC
from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import robots

sys.path.insert(0, str(Path(__file__).parent.parent))
from native.task_space_scenarios import SCENARIOS, Loop

FOLDER = Path(__file__).parent.parent / "golden" / "native"
END_EFFECTORS = {"panda": "panda_link8", "crane": "tip"}
_HOMES = {
    "panda": robots.get("panda").home,
    "crane": {"yaw": 0.5, "lift": -0.4, "slide": 0.2, "nod": 0.7, "roll": -0.3},
}
_SAMPLES = 3  # the least that the scenarios can be made of


def panda_urdf() -> str:
    """Return the description of the Panda without what is only to be seen or touched."""
    root = ET.fromstring(robots.get("panda").description())
    for link in root.findall("link"):
        for kind in ("visual", "collision"):
            for part in link.findall(kind):
                link.remove(part)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def golden_arm(name: str) -> VMSModel:
    """Return an arm of the golden data."""
    return VMSModel.from_urdf((FOLDER / f"{name}.urdf").read_text(), "fixed", END_EFFECTORS[name])


class Recorder:
    """Calls the Python law and writes down what it is told and what it says."""

    def __init__(self, model: VMSModel) -> None:
        self.law, self.lines = TaskSpaceIDAPBC(model), list[str]()

    def reset(self, q: Array) -> None:
        self.law.reset(RobotState(q, np.zeros(self.law.model.nv)))
        self.lines.append(_line("reset", q))

    def set_gains(self, **gains: float) -> None:
        switches = {f.name for f in fields(self.law.gains) if isinstance(f.default, bool)}
        typed = {name: bool(x) if name in switches else x for name, x in gains.items()}
        self.law.gains = replace(self.law.gains, **typed)
        self.lines += [f"gain {name} {float(value)!r}" for name, value in gains.items()]

    def update(
        self, q: Array, v: Array, position: Array | None, velocity: Array | None, dt: float
    ) -> Array:
        if not all(np.shape(x) in ((), (3,)) for x in (position, velocity)):
            return np.zeros(self.law.model.n)  # a core that takes three numbers cannot be given it
        command = self.law.update(RobotState(q, v), Reference(position, velocity), dt)
        self.lines.append("update")
        for name, value in (("q", q), ("v", v), ("position", position), ("velocity", velocity)):
            self.lines.append(_line(name, value))
        self.lines += [_line("dt", [dt]), *_said(command)]
        return command.torque


def record(name: str) -> list[str]:
    """Return the lines of an arm's golden file."""
    model, lines = golden_arm(name), [f"robot {name}.urdf {END_EFFECTORS[name]}"]
    for scenario in SCENARIOS:
        recorder = Recorder(model)
        scenario(Loop(model, recorder, model.configuration(_HOMES[name])), _SAMPLES)
        lines += [f"scenario {scenario.__name__}", *recorder.lines]
    return lines


def _said(command: Command) -> list[str]:
    energy = [getattr(command.energy, field.name) for field in fields(ControlEnergy)]
    rest = [command.task_error, command.smallest_singular_value, command.authority]
    return [
        f"status {int(command.status)}",
        f"reason {command.reason or '-'}",
        _line("torque", command.torque),
        _line("energy", energy),
        _line("rest", rest),
    ]


def _line(word: str, numbers: Iterable[float] | None) -> str:
    if numbers is None:
        return f"{word} -"
    return " ".join([word, *(repr(float(x)) for x in numbers)])


if __name__ == "__main__":
    (FOLDER / "panda.urdf").write_text(panda_urdf())
    for arm in END_EFFECTORS:
        (FOLDER / f"task_space_{arm}.txt").write_text("\n".join(record(arm)) + "\n")
