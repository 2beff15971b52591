# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How far robots on wheels that do not slip use them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics import Evaluation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.nonholonomic import NonholonomicForm

# Velocity of a point of contact that is rounding, m/s.
_NO_SLIP = 1e-12


class WheelUse:
    """The largest velocities of points of contact, and shares of the rates of wheels."""

    def __init__(self, form: NonholonomicForm, wheels: Mapping[str, float]) -> None:
        model = form.model
        self._form = form
        joints = [model.joint_index(name) for name in wheels]
        limits = model.joints.velocity[joints]
        self._wheels = model.b + np.array(joints)
        self._limits = np.where(limits > 0.0, limits, np.inf)
        self._slip = self._rates = 0.0

    def see(self, q: Array, v: Array) -> None:
        """Take a motion."""
        rows = self._form.constraint_jacobian(Evaluation(self._form.model, q, v))
        self._slip = max(self._slip, float(np.abs(rows @ v).max()))
        self._rates = max(self._rates, float((np.abs(v[self._wheels]) / self._limits).max()))

    def goals(self) -> dict[str, dict[str, Any]]:
        """Return them as goals."""
        found = {
            "rates": ("rates of wheels, share of their limits", 1.0, self._rates),
            "slip": ("velocity of the wheels' points of contact (m/s)", _NO_SLIP, self._slip),
        }
        return {
            name: {"what": what, "wanted": most, "obtained": value, "met": value <= most}
            for name, (what, most, value) in found.items()
        }
