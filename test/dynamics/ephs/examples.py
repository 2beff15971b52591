# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The systems that several tests look at: those of the library, with the golden parameters."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import ephs
from vms_ph_dynamics.ephs import multibody as mb
from vms_ph_dynamics.ephs.examples import TwoBodies, damped_oscillator, damper, oscillator
from vms_ph_dynamics.groups import SE3

PARAMETERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden" / "C_ephs.json").read_text()
)["params"]

__all__ = [
    "PARAMETERS",
    "damped_oscillator",
    "damper",
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
