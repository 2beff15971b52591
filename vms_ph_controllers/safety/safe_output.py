# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The safe output of a moving robot: it holds against gravity and damps the motion."""

import numpy as np

from vms_ph_dynamics import Allocation, Array, Evaluation, VMSModel

from ..controller import Command, Status
from .base_actuation import BaseActuation
from .plausibility import braking_rate


class SafeOutput:
    """Gravity compensation plus damping, within the limits of joints and base actuators.

    The damping ``-k M v`` of locked motion and shape has the rate of :func:`.braking_rate`. What
    exceeds a limit is scaled down as a whole, so that it always takes energy out of the robot.
    """

    def __init__(
        self, model: VMSModel, allocation: Allocation | None = None, base_actuated: bool = True
    ) -> None:
        """Serve a robot with the actuators of its base; see :class:`BaseActuation`.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        self._model = model
        self._actuation = BaseActuation(model, allocation, base_actuated)

    def at(
        self, q: Array, v: Array, dt: float, compensation: Command | None = None, age: float = 0.0
    ) -> Command:
        """Return the safe output.

        Args:
            q: (nq,), finite.
            v: (nv,), finite.
            dt: time for which the output is held, s.
            compensation: efforts that hold the robot at rest; None for those of gravity.
            age: of the state, s.
        """
        d, b = Evaluation(self._model, q, v), self._model.b
        effort = self._model.joints.effort
        braking = -braking_rate(dt, age) * (d.M @ v)
        if compensation is None:
            base = self._actuation.apply(d.g[:b], d.g[:b]).wrench
            rest = d.g[b:] + d.A.T @ (base - d.g[:b])
        else:
            base, rest = compensation.wrench_base, compensation.torque
        rest = np.clip(rest, -effort, effort)
        wrench = self._actuation.apply(base + braking[:b], base).wrench
        # What the base does not apply must not act on the shape either.
        step = braking[b:] + d.A.T @ (wrench - base - braking[:b])
        room = np.where(step > 0.0, effort - rest, effort + rest)
        size = np.abs(step)
        share = min(1.0, float((room[size > 1e-12] / size[size > 1e-12]).min(initial=1.0)))
        torque = np.clip(rest + share * step, -effort, effort)
        return Command(wrench, torque, status=Status.HOLDING, reason="holding and damping")
