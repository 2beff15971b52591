# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Stops at the ends of the joints: inelastic, one-sided, and held over each step."""

import numpy as np

from ..arrays import Array
from .reduced import SimulatedForm, reduced

# Sweeps over the joints for the torques of several stops, and the change of speed at which they
# end, rad/s or m/s.
_SWEEPS, _CONVERGED = 400, 1e-12

# Distance from a stop beyond which no step needs to be watched, rad or m, besides what the present
# speed covers; and the time for which that holds, s: up to 2500 rad/s^2.
_NEAR, FORESEEN = 0.02, 4e-3


class JointStops:
    """Torques of the stops of joints that reach their limits.

    A stop only pushes, and only as much as a joint needs to end each step where it can still come
    to rest before the limit in the next: ``d >= dt |v| / 2`` for the distance d and a speed v
    towards the stop. The torque is constant over the step. It acts against the motion, so that
    its work, the torque times the displacement, is never positive: stops dissipate, and a joint
    lies on its stop at rest.

    Args:
        form: of the robot.
    """

    def __init__(self, form: SimulatedForm) -> None:
        self._form, joints = form, form.model.joints
        self._lower, self._upper = joints.lower, joints.upper
        self.exist = bool(np.isfinite(np.concatenate([self._lower, self._upper])).any())

    def near(self, q: Array, v: Array, time: float) -> bool:
        """Return whether a joint may reach a stop within ``time`` (s)."""
        below, above, rates = *self._distances(q), np.abs(v[self._form.model.b :])
        return bool((np.minimum(below, above) < _NEAR + 2.0 * time * rates).any())

    def passed(self, q: Array, v: Array, dt: float) -> bool:
        """Return whether a joint can no longer come to rest before its stop in a step."""
        below, above, way = *self._distances(q), 0.5 * dt * v[self._form.model.b :]
        return bool((below + np.minimum(way, 0.0) < 0.0).any()) or bool(
            (above - np.maximum(way, 0.0) < 0.0).any()
        )

    def torque(self, before: tuple[Array, Array], free: tuple[Array, Array], dt: float) -> Array:
        """Return the torques of the stops for a step, (n,), N m or N.

        Args:
            before: q (nq,) and v (nv,) at its start.
            free: q and v at its end without stops.
            dt: the step, s.
        """
        model, still = self._form.model, np.zeros(self._form.model.nv)
        inertia, joints, _ = reduced(self._form, free[0], still)
        mobility = joints @ np.linalg.inv(inertia) @ joints.T
        (below, above), half = self._distances(before[0]), 0.5 * before[1][model.b :]
        least = np.minimum(0.0, -below / dt - half)
        most = np.maximum(0.0, above / dt - half)
        return stop_impulses(mobility, free[1][model.b :], least, most) / dt

    def _distances(self, q: Array) -> tuple[Array, Array]:
        """Return the distances from the lower and from the upper limits, (n,) each."""
        at = self._form.model.joint_positions(q)
        return at - self._lower, self._upper - at


def stop_impulses(mobility: Array, free: Array, least: Array, most: Array) -> Array:
    """Return the impulses that keep joint rates within bounds, (n,), N m s or N s.

    They solve ``v = free + mobility impulse`` with ``least <= v <= most``, each impulse zero unless
    its rate is at a bound, and then directed away from it, by projected Gauss-Seidel sweeps.

    Args:
        mobility: (n,n) change of the rates per impulse.
        free: (n,) rates without impulses.
        least: (n,) lowest rates, minus infinity for none.
        most: (n,) highest rates, infinity for none.
    """
    impulse, rates = np.zeros(len(free)), free.copy()
    limited = np.flatnonzero(np.isfinite(least) | np.isfinite(most))
    for _ in range(_SWEEPS):
        change = 0.0
        for i in limited:
            alone = rates[i] - mobility[i, i] * impulse[i]
            wanted = (min(max(alone, least[i]), most[i]) - alone) / mobility[i, i]
            added = wanted - impulse[i]
            if added != 0.0:
                impulse[i] = wanted
                rates += mobility[:, i] * added
                change = max(change, abs(mobility[i, i] * added))
        if change < _CONVERGED:
            break
    return impulse
