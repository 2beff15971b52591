# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""CartesianImpedance beside laws of others on an arm that differs from what they know.

``python impedance_peers.py RESULTS.parquet`` prints the table of impedance_peers.md.
"""

import sys

import pyarrow.parquet

from vms_ph_dynamics import VMSModel
from vms_ph_io import load, robots
from vms_ph_studies.comparisons.cartesian_impedance import LAWS, Arm, make_phases, run_phase

URDF = "package://vms_ph/urdf"
ARMS = {
    "fr3": ("fr3", 0.0),
    "iiwa14": (f"{URDF}/iiwa14.urdf", 0.0),
    "ur10e": (f"{URDF}/ur10e.urdf", 0.1),
}
"""The arms, and the inertia of a rotor that the description lacks, kg m^2."""

CONDITIONS = {
    "nominal": {},
    "delay 3": {"delay": 3},
    "noise x10": {"noise": 10.0},
    "payload 1 kg": {"payload": 1.0},
    "250 Hz": {"rate": 250.0},
    "all of these": {"delay": 3, "noise": 10.0, "payload": 1.0, "rate": 250.0},
}
"""What differs from an arm driven as an FR3 at 1 kHz, one sample late."""

# By the column of the table: phase, quantity, scale of its unit and digits.
COLUMNS = {
    "figure, mm": ("figure of eight", "position_error", 1e3, 1),
    "wall, N": ("wall", "force", 1.0, 1),
    "x10, J": ("stiffness times ten", "work", 1.0, 2),
    "jump, J": ("jump", "work", 1.0, 2),
    "jitter, N m": ("figure of eight", "jitter", 1.0, 3),
    "hand, N": ("hand at 0.1 m/s", "force", 1.0, 1),
}
NAMES = dict(zip(LAWS[:-1], ("ours", "crisp", "franka"), strict=True))


def impedance_peers(*, arm: str, gains: str, condition: str, seconds: float = 9.0) -> dict:
    """Return what the laws do, in MuJoCo; nothing for a law that diverged."""
    source, armature = ARMS[arm]
    model = robots.load(source) if source in robots.names() else load(source)
    if armature:
        tree = model.pinocchio
        tree.armature[:] = armature
        model = VMSModel.from_pinocchio(tree, model.end_effector).with_home(model.home)
    plant = Arm(model, "mujoco", **CONDITIONS[condition])
    phases = make_phases(seconds, plant.reach, plant.max_push)
    outcome = {}
    for law, name in NAMES.items():
        titles = dict.fromkeys(column[0] for column in COLUMNS.values())
        results = {t: run_phase(phases[t], plant, law, gains == "published") for t in titles}
        for column, (title, quantity, scale, _) in COLUMNS.items():
            result = results[title]
            value = None if result.failed else scale * getattr(result, quantity)
            outcome[f"{column}: {name}"] = value
    return outcome


def cell(row: dict, column: str) -> str:
    """Return the values of the laws, that of this project in bold where another is less."""
    values = [row[f"{column}: {name}"] for name in NAMES.values()]
    texts = ["–" if x is None or x > 1e3 else f"{x:.{COLUMNS[column][3]}f}" for x in values]
    others = [float(text) for text in texts[1:] if text != "–"]
    if texts[0] == "–" or float(texts[0]) > min(others, default=float(texts[0])):
        texts[0] = f"**{texts[0]}**"
    return "/".join(texts)


if __name__ == "__main__":
    print(f"| arm, gains, condition | {' | '.join(COLUMNS)} |")
    print("|---" * (1 + len(COLUMNS)) + "|")
    for point in pyarrow.parquet.read_table(sys.argv[1]).to_pylist():
        title = ", ".join(str(point[name]) for name in ("arm", "gains", "condition"))
        print(f"| {title} | {' | '.join(cell(point, column) for column in COLUMNS)} |")
