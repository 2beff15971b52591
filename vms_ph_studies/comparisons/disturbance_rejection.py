# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparison of decoupled and decentralised PD control of vehicle-manipulators under disturbances.

This comparison is not in the sources: source A proposes the coordinates, but no controller.
"""

from pathlib import Path

import numpy as np

from vms_ph_controllers import DecoupledVMSController, Reference
from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_io import Push, Trajectory, robots, simulate
from vms_ph_io.progress import Progress

from ..check import Check, verdict_of
from ..figures import Panel, draw
from ..study import Outcome, Parameter, Settings, Stages, Study
from .decentralised import DecentralisedPD

_SE3, _SO3 = SE3(), SO3()
# Scale of the push for each robot: smaller for a hexarotor of 2 kg.
_PUSHES = {"satellite_panda": 1.0, "omnidirectional_panda": 1.0, "hextilt": 0.1}
_ROBOTS = tuple(_PUSHES)


def _excursions(run: Trajectory) -> Array:
    """Return displacement (m) and rotation (deg) of the base from its start, (N+1,2)."""
    poses = [run.model.base_pose(q) for q in run.q]
    errors = [_SE3.inverse(poses[0]) @ pose for pose in poses]
    rotations = np.degrees([np.linalg.norm(_SO3.log(error[:3, :3])) for error in errors])
    return np.column_stack([np.linalg.norm([error[:3, 3] for error in errors], axis=1), rotations])


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    chosen_robot, duration = str(settings["robot"]), float(settings["seconds"])
    robot_names = _ROBOTS if chosen_robot == "all" else (chosen_robot,)
    checks: list[Check] = []
    excursions: dict[tuple[str, str, str], Array] = {}
    stages = Stages(progress, 4 * len(robot_names))
    for name in robot_names:
        model = robots.load(name)
        law = DecoupledVMSController(model)
        law.gains = DecoupledVMSController.Gains(
            frequency_base=float(settings["frequency_base"]),
            frequency_shape=float(settings["frequency_shape"]),
        )
        laws = {"decentralised": DecentralisedPD.like(law, model, None), "decoupled": law}
        push_wrench = [_PUSHES[name] * float(settings["push"]), *np.zeros(5)]
        push = Push("wrench_end_effector", push_wrench, duration=0.5, axes="world")
        joints = model.joint_positions(model.home)
        joints[:2] += float(settings["swing"])
        for case, disturbances, reference in (
            ("pushed at the tool", [push], None),
            ("while the arm moves", [], Reference(joints=joints)),
        ):
            for title, controller in laws.items():
                stages.begin(f"{name} {case}, {title}")
                run = simulate(
                    model, controller, duration, disturbances=disturbances, reference=reference
                )
                excursions[name, case, title] = _excursions(run)
            checks += _excursion_checks(
                name, case, *(excursions[name, case, title].max(axis=0) for title in laws)
            )
    files = [] if out is None else [_plot(excursions, out / "disturbance-rejection.png")]
    return Outcome(checks, files)


def _excursion_checks(robot: str, case: str, baseline: Array, obtained: Array) -> list[Check]:
    quantities = (("displacement", "mm", 1e3), ("rotation", "deg", 1.0))
    return [
        Check(
            f"{robot} {case}: largest {quantity} of the base",
            unit,
            scale * float(baseline[k]),
            "baseline",
            scale * float(obtained[k]),
            None,
            verdict_of(bool(obtained[k] <= baseline[k])),
            "" if k else "The baseline is decentralised PD control; less is better.",
        )
        for k, (quantity, unit, scale) in enumerate(quantities)
    ]


def _plot(excursions: dict[tuple[str, str, str], Array], file: Path) -> Path:
    panels = []
    for robot, case in sorted({(robot, case) for robot, case, _ in excursions}):
        curves = {
            title: (1e-3 * np.arange(len(excursion)), 1e3 * excursion[:, 0])
            for (of_robot, in_case, title), excursion in excursions.items()
            if (of_robot, in_case) == (robot, case)
        }
        panels.append(
            Panel(f"{robot}, {case}", "time (s)", "displacement of the base (mm)", curves)
        )
    return draw(panels, file)


STUDY = Study(
    id="disturbance-rejection",
    source="a comparison of this project",
    title="Decoupled control beside decentralised PD control of the same stiffness and damping",
    parameters={
        "robot": Parameter("all", "which robot", ("all", *_ROBOTS)),
        "push": Parameter(
            5.0, "along x at the tool for half a second, N; a tenth of it on hextilt"
        ),
        "swing": Parameter(0.6, "by which the first two joints move, rad"),
        "seconds": Parameter(8.0, "simulated, s", above=0.0),
        "frequency_base": Parameter(5.0, "of both laws, rad/s"),
        "frequency_shape": Parameter(8.0, "of both laws, rad/s"),
    },
    compute=_compute,
)
