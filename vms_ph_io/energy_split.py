# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How the kinetic energy of a robot is divided: into task and null space, or into base and shape.

A law fills the pair of fields that belongs to its closed loop; what is shown of a run follows it,
so that the parts add up to the whole.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

ODOM = "odom"
"""The inertial frame of a robot on a moving base (REP-105)."""

# Rounding of an energy, relative to the energies that it is made of.
_ROUNDING = 1e-9


EnergySplit = tuple[str, str]
"""Two parts of a kinetic energy: their fields in records and messages."""

TASK: EnergySplit = ("kinetic_task", "kinetic_null")
BASE: EnergySplit = ("kinetic_base", "kinetic_shape")


def is_moving_base(inertial_frame: str) -> bool:
    """Return whether a robot is on a moving base, by its inertial frame with any prefix."""
    return inertial_frame.endswith(ODOM)


def split_of_law(value_of: Callable[[str], Any], base_moves: bool) -> EnergySplit | None:
    """Return the split in which a law gives the kinetic energy of its closed loop.

    Args:
        value_of: gives the value of a field of the control energy record: a number or a series.
        base_moves: whether the base moves, which decides where nothing has moved yet.

    Returns:
        The split whose parts add up to the kinetic energy; None if neither does.
    """
    splits = (BASE, TASK) if base_moves else (TASK, BASE)
    return next(filter(partial(_adds_up, value_of), splits), None)


def _adds_up(value_of: Callable[[str], Any], split: EnergySplit) -> bool:
    closed_loop, potential = value_of("closed_loop_energy"), value_of("shaped_potential")
    a, b = (value_of(field) for field in split)
    scale = np.abs(closed_loop) + np.abs(potential) + np.abs(a) + np.abs(b)
    return bool(np.all(np.abs(closed_loop - potential - a - b) <= _ROUNDING * scale))


class LawSplit:
    """The split of a running law, from its records one by one."""

    def __init__(self) -> None:
        self.base_moves = False
        self._last_split: EnergySplit | None = None

    @property
    def split(self) -> EnergySplit:
        """The split of the last record; before the first, that of the base."""
        return self._last_split or (BASE if self.base_moves else TASK)

    def update(self, value_of: Callable[[str], Any]) -> None:
        """Take a record into account; at rest all splits fit, and the last one stays."""
        base_moves = self.base_moves if self._last_split is None else self._last_split is BASE
        self._last_split = split_of_law(value_of, base_moves) or self._last_split


def parts_of_law(value_of: Callable[[str], Any], split: EnergySplit | None) -> dict[str, Any]:
    """Return the potential and the kinetic parts of a closed loop, which add up to its energy."""
    potential_energy = value_of("shaped_potential")
    if split is None or not _adds_up(value_of, split):
        kinetic_energy = value_of("closed_loop_energy") - potential_energy
        return {"shaped_potential": potential_energy, "kinetic": kinetic_energy}
    return {"shaped_potential": potential_energy, **{field: value_of(field) for field in split}}


def parts_of_robot(value_of: Callable[[str], Any], split: EnergySplit | None) -> dict[str, Any]:
    """Return the potential and the kinetic parts of a robot's energy, which add up to its total.

    At a singular configuration there is no task energy; the parts are then base and shape.
    """
    if split is None or any(np.any(np.isnan(value_of(field))) for field in split):
        split = BASE
    return {field: value_of(field) for field in ("potential", *split)}
