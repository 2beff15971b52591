# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The goals of a task about its payload."""

from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import Payload

# Largest change of the momentum of robot and body where nothing pushes them, relative.
_KEPT = 1e-6


class PayloadJudge:
    """How far a payload was from where it was wanted, seen from places of its handle.

    Attributes:
        handle: (3,) place at which it is taken, m.
    """

    def __init__(self, payload: Payload, model: VMSModel, home: Array) -> None:
        """Begin.

        Args:
            payload: the body.
            model: the robot without it.
            home: (nq,) its configuration at the start.
        """
        self._payload, self._gravity = payload, model.gravity
        d = model.evaluate(home, np.zeros(model.nv))
        self.handle: Array = d.placement(model.end_effector)[:3, 3] + payload.place
        self._sunk = 0.0

    def see(self, place: Array) -> None:
        """Take a place (3,) of its handle while it is carried; it may not go below its support."""
        if np.any(self._gravity):
            up = -self._gravity / np.linalg.norm(self._gravity)
            above = float(up @ (place - self.handle))
            to = self._payload.to
            lowest = 0.0 if to is None else min(0.0, float(up @ to))
            self._sunk = max(self._sunk, lowest - above)

    def goals(
        self,
        taken: float | None,
        place: Array,
        is_set_down: bool,
        kept: tuple[Array, Array] | None,
    ) -> dict[str, dict[str, Any]]:
        """Return what was to be reached with it.

        Args:
            taken: how far the end effector was from the handle when it took it, m; None before.
            place: (3,) of the handle at the end, m.
            is_set_down: whether it has been set down.
            kept: momentum at the start and at the end, where nothing changes it.
        """
        payload = self._payload
        found: dict[str, tuple[str, float, float | None]] = {
            "taken": ("distance to the handle when it is taken (m)", payload.reach, taken)
        }
        if payload.to is not None:
            there = taken is not None and (is_set_down or payload.release is None)
            away = float(np.linalg.norm(place - self.handle - payload.to))
            what = "distance of the payload from its place (m)"
            found["payload"] = (what, payload.within, away if there else None)
        if np.any(self._gravity):
            what = "depth of the payload below its support (m)"
            found["support"] = (what, payload.within, self._sunk)
        if kept is not None:
            before, after = kept
            for name, part in (("linear", slice(3)), ("angular", slice(3, 6))):
                change = np.linalg.norm(after[part] - before[part])
                share = float(change / max(np.linalg.norm(before[part]), 1e-9))
                found[f"{name}_momentum"] = (f"change of the {name} momentum (1)", _KEPT, share)
        return {
            name: {
                "what": what,
                "wanted": most,
                "obtained": value,
                "met": value is not None and value <= most,
            }
            for name, (what, most, value) in found.items()
        }
