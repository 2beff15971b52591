# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What holds a simulated robot whose controller has ended."""

from vms_ph_controllers.safety.safe_output import SafeOutput
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.simulation import External


class Brake:
    """Compensates gravity and damps the motion, as drives of robots do after their timeout."""

    def __init__(self, model: VMSModel, allocation: Allocation | None) -> None:
        self._outputs = {
            actuated: SafeOutput(model, allocation, actuated) for actuated in (True, False)
        }

    def acting(self, q: Array, v: Array, dt: float, external: External, base: bool) -> External:
        """Return the external efforts with those of the brake.

        Args:
            q: (nq,) present configuration.
            v: (nv,) present velocity.
            dt: time for which the efforts are held, s.
            external: all other efforts.
            base: whether the base has actuators.
        """
        held = self._outputs[base].at(q, v, dt)
        return External(
            held.torque,
            held.wrench_base,
            external.wrench_end_effector,
            external.in_tool_axes,
        )
