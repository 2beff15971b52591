# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers in Python, hosted by a program in C++."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import Allocation, Rotor
from vms_ph_io import robots

from .hosted_replay import hosted, in_python, motion, words

BY_ROBOT: list[Any] = [
    pytest.param("panda", "TaskSpaceIDAPBC", {}, marks=pytest.mark.slow),
    ("panda", "TaskSpaceIDAPBC", {"tank_capacity": 2.0, "cancel_coupling": True}),
    ("omnidirectional_panda", "CartesianImpedance", {"hold_base": False}),
    ("hextilt", "DecoupledVMSController", {}),
    ("satellite_panda", "PushingImpedance", {"relative_to_base": True}),
]


def test_the_fallback_acts_and_the_calling_thread_allocates_nothing(native_folder: Path) -> None:
    """The other tests of the host run with the sanitizers, which replace malloc themselves."""
    done = subprocess.run(
        [
            Path(sys.executable).parent / "ctest",
            "-j2",
            "--output-on-failure",
            "-R",
            "fallback|allocates",
        ],
        cwd=native_folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "100% tests passed out of 2" in done.stdout


@pytest.mark.parametrize(("robot", "name", "gains"), BY_ROBOT)
def test_a_hosted_controller_gives_the_numbers_that_it_gives_in_python(
    native_folder: Path, robot: str, name: str, gains: dict[str, Any], tmp_path: Path
) -> None:
    known = robots.get(robot)
    model, kind = known.load(), f"vms_ph_controllers.{name}"
    (tmp_path / "robot.urdf").write_text(known.description())
    start = model.configuration(known.home)
    instants = list(motion(model, start, 100, seed=7))
    header = [
        f"kind {kind}",
        f"urdf {tmp_path / 'robot.urdf'}",
        f"base {known.base}",
        f"end_effector {known.end_effector}",
        f"gravity {words(np.array(known.gravity))}",
    ]
    rotors = None if known.ideal else Allocation(_tilted_hexagon())
    if rotors is not None:
        numbers = np.concatenate([rotors.matrix.T.ravel(), rotors.lower, rotors.upper])
        header.append(f"allocation {len(rotors.lower)} {words(numbers)}")
    controller = make_controller(kind, model, rotors)
    expected, said = in_python(controller, start, gains, instants)
    # The host is to run the law in Python, also where the core is installed.
    environment = {**os.environ, "VMS_PH_PYTHON": sys.prefix, "VMS_PH_NATIVE": "0"}
    given, heard = hosted(
        native_folder / "test/replay", environment, header, model, start, gains, instants
    )
    # The same code on the same numbers in another process: not a bit may differ.
    np.testing.assert_array_equal(given, expected)
    assert heard == said


def _tilted_hexagon() -> list[Rotor]:
    """Six rotors that can make any wrench, for a robot of some kilograms."""
    rotors = []
    for k, angle in enumerate(np.arange(6) * np.pi / 3):
        outwards = np.array([np.cos(angle), np.sin(angle), 0.0])
        turn = 0.4 * (-1) ** k
        axis = np.array([-np.sin(turn) * outwards[1], np.sin(turn) * outwards[0], np.cos(turn)])
        rotors.append(Rotor(0.4 * outwards, axis, 0.016 * (-1) ** k, 0.0, 10.0))
    return rotors
