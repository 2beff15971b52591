# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The systems that several tests look at: those of the library, with the golden parameters."""

import json
from pathlib import Path
from typing import Any

import numpy as np

import vms_ph_ephs as ephs
from vms_ph_dynamics.groups import SE3
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import TwoBodies, damped_oscillator, oscillator
from vms_ph_ephs.library import Damper

PARAMETERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "C_ephs.json").read_text()
)["params"]

__all__ = [
    "PARAMETERS",
    "Damper",
    "damped_oscillator",
    "golden_pose",
    "oscillator",
    "pendulum",
    "pendulum_state",
    "random_pose",
    "two_free_bodies",
    "two_free_bodies_state",
]


def golden_pose(name: str) -> np.ndarray:
    return np.array(PARAMETERS[name])


def two_free_bodies() -> ephs.System:
    return TwoBodies().free()


def two_free_bodies_state(equations: ephs.Equations) -> np.ndarray:
    return TwoBodies().free_state(equations)


def pendulum(heat: mb.Heat | None = None) -> ephs.System:
    return TwoBodies(heat=heat or mb.Heat()).pendulum()


def pendulum_state(equations: ephs.Equations) -> np.ndarray:
    return TwoBodies().pendulum_state(equations)


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return SE3().exp(rng.uniform(-1, 1, 6))
