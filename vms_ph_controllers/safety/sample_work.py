# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy that an effort transfers while it is held over a sample."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel
from vms_ph_dynamics.groups import base_group

# Bound of the error for turning axes: relative to the work, and the square of the angle.
_TURNING = 0.1


@dataclass(frozen=True, slots=True)
class _Start:
    """The beginning of a sample.

    Attributes:
        q, v: configuration (nq,) and velocity (nv,).
        force: held effort (nv,).
        displacement: displacement (nv,) that is predicted for the sample.
        store: stored energy, J.
    """

    q: Array
    v: Array
    force: Array
    displacement: Array
    store: float


class SampleWork:
    """The effort held since the last update, and the energy that it has transferred.

    The work of a held effort is exactly ``f^T (q_next - q)``. A wrench that is held in the axes of
    a base that turns does the work ``w^T int v_b dt`` instead; the integral is the displacement
    less ``dt^2 / 12 [v_b, v_b_next]`` (Magnus expansion). The rest is of fifth order; a bound of it
    is added to the work.

    If the safe output has acted for a part of the sample, it is unknown how far the robot moved
    under each of the two efforts.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.restart()

    def restart(self) -> None:
        """Restart; no effort is held."""
        self._start: _Start | None = None
        self._safe: Array | None = None

    def hold(self, d: Evaluation, force: Array, displacement: Array, store: float) -> None:
        """Hold efforts (nv,) from a state on, where ``store`` joules are stored.

        ``displacement`` (nv,) is what the efforts are predicted to cause in the sample.
        """
        self._start, self._safe = (
            _Start(np.array(d.q), np.array(d.v), force, displacement, store),
            None,
        )

    def missed_updates(self, safe: Array) -> None:
        """Note that the safe output (nv,) has replaced the held effort."""
        self._safe = safe

    def recovered_energy(self, d: Evaluation, store: float, dt: float) -> float:
        """Return the decrease of the stored energy less the work of the held effort, J.

        After missed updates the largest work that the two efforts can have done is used: that of
        one of them alone, or of the held effort over the predicted displacement and of the other
        one over the rest. The result is then never positive: nothing is credited for motion that
        was not observed.

        Args:
            d: the present state.
            store: energy stored now, J.
            dt: time since the last update, s.
        """
        if self._start is None:
            return 0.0
        start, safe = self._start, self._safe
        displacement = self._model.difference(start.q, d.q)
        work = float(start.force @ displacement)
        if safe is not None:
            both = float(
                start.force @ start.displacement + safe @ (displacement - start.displacement)
            )
            return min(start.store - store - max(work, float(safe @ displacement), both), 0.0)
        if self._model.b:
            work += self._turning(start, d, dt)
        return start.store - store - work

    def _turning(self, start: _Start, d: Evaluation, dt: float) -> float:
        """Return an upper bound of the work that turning axes add to ``f^T (q_next - q)``, J."""
        b = self._model.b
        force, before, after = start.force[:b], start.v[:b], d.v[:b]
        bracket = dt * dt / 12.0 * (base_group(self._model.base).ad(before) @ after)
        linear = 3 if b == 6 else 2
        f, m = float(np.linalg.norm(force[:linear])), float(np.linalg.norm(force[linear:]))
        most = np.maximum(np.abs(before), np.abs(after))
        displacement = dt * float(np.linalg.norm(most[:linear]))
        angle = dt * float(np.linalg.norm(most[linear:]))
        bound = f * float(np.linalg.norm(bracket[:linear]))
        bound += m * float(np.linalg.norm(bracket[linear:]))
        return (
            bound
            + _TURNING * angle * angle * (f * displacement + m * angle)
            - float(force @ bracket)
        )
