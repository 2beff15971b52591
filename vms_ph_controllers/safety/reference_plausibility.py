# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a reference can be meant: finite, near the robot, no faster than it may move."""

from dataclasses import replace
from math import hypot

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel

from ..controller import Reference, usable
from .plausibility import PlausibilityBounds

_FIELDS = {"position": (3,), "velocity": (3,), "pose": (4, 4), "twist": (6,)}


class ReferencePlausibility:
    """Removes from a reference what a robot cannot be meant to follow; the last one is kept."""

    def __init__(self, model: VMSModel, bounds: PlausibilityBounds | None = None) -> None:
        """Serve a robot; bounds are the defaults when None."""
        self._bounds = PlausibilityBounds() if bounds is None else bounds
        self._model = model
        self._lower, self._upper = self._bounds.positions(model)
        # Unlimited joints may turn often, but a number with digits left must remain.
        self._lower = np.maximum(self._lower, -1e4)
        self._upper = np.minimum(self._upper, 1e4)
        self._shapes = {**_FIELDS, "joints": (model.n,)}

    def checked(self, reference: Reference, q: Array) -> tuple[Reference, str]:
        """Return the plausible part of a reference, and why the rest is refused, in words.

        Args:
            reference: as received.
            q: (nq,) present configuration.
        """
        problems: dict[str, str] = {}
        for name, shape in self._shapes.items():
            value = getattr(reference, name)
            if value is None:
                continue
            checked = usable(value, shape)
            problem = "is not finite" if checked is None else self._problem(name, checked, q)
            if problem:
                problems[name] = problem
        if not problems:
            return reference, ""
        name, problem = next(iter(problems.items()))
        plausible = replace(reference, **dict.fromkeys(problems))
        return plausible, f"the reference {name} is refused: it {problem}"

    def _problem(self, name: str, value: Array, q: Array) -> str:
        bounds = self._bounds
        if name == "joints":
            outside = (value < self._lower) | (value > self._upper)
            if not outside.any():
                return ""
            return f"is out of bounds at {self._model.joint_names[int(outside.argmax())]}"
        if name == "pose":
            turn = value[:3, :3]
            if not np.abs(turn @ turn.T - np.eye(3)).max() < 1e-2 or np.linalg.det(turn) < 0.0:
                return "has no rotation"
        if name in ("pose", "position"):
            position = value[:3, 3] if name == "pose" else value
            most = bounds.reference_distance
            far = self._distance(position, q, most)
            return "" if far <= most else f"is {far:.3g} m away, the bound is {most:g} m"
        linear, angular = _norm(value[:3]), _norm(value[3:])
        if linear <= bounds.base_speed and angular <= bounds.base_turn:
            return ""
        return f"is faster than {bounds.base_speed:g} m/s or {bounds.base_turn:g} rad/s"

    def _distance(self, position: Array, q: Array, most: float) -> float:
        """Return the distance (m) to the nearest of origin, base and end effector.

        Which of them a law moves, and whether relative to the base, only the law knows. One within
        ``most`` is near enough to end the search.
        """
        far = _norm(position)
        if far > most:
            far = min(far, _norm(position - self._model.base_pose(q)[:3, 3]))
        if far > most:
            d = Evaluation(self._model, q, np.zeros(self._model.nv))
            far = min(far, _norm(position - d.placement(self._model.end_effector)[:3, 3]))
        return far


def _norm(values: Array) -> float:
    return hypot(*values)  # it does not overflow where the squares would
