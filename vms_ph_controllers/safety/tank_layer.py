# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An energy tank for any law: it bounds the energy that the law puts into the robot."""

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from .energy_tank import EnergyTank
from .held_sample import HeldSample
from .sample_grant import Granted, SampleGrant


class TankLayer:
    """Withdraws the energy of a law's efforts from a tank and stores what the law recovers.

    The net work of the held efforts, ``f^T (q_next - q)`` less the increase of the robot's
    potential energy, is exact, sampling and clipping included. Before a sample its work is
    predicted, and the share of the effort is granted that the tank covers: with an empty tank the
    law can only brake, and the energy it has put into the robot never exceeds the initial level of
    the tank, for all references, gains and sample rates.
    """

    def __init__(self, model: VMSModel) -> None:
        self._held, self._grant = HeldSample(model), SampleGrant(model)
        self.restart()

    def restart(self) -> None:
        """Restart with a tank at its initial level."""
        self._tank: EnergyTank | None = None
        self.forget_sample()

    def forget_sample(self) -> None:
        """Keep the level, and account for nothing that happened since the last update."""
        self._held.forget()

    @property
    def exists(self) -> bool:
        """Whether there is a tank."""
        return self._tank is not None

    @property
    def level(self) -> float:
        """Energy in the tank, J; zero without a tank."""
        return 0.0 if self._tank is None else self._tank.level

    def begin_sample(self, d: Evaluation, capacity: float, initial: float, dt: float) -> None:
        """Add the energy recovered over the sample that ends now.

        Args:
            d: the present state.
            capacity: of the tank, J; 0 for no tank.
            initial: level after a reset, J.
            dt: time since the last update, s.
        """
        if capacity <= 0.0:
            self.restart()
            return
        if self._tank is None:
            self._tank = EnergyTank(capacity, initial)
        self._tank.capacity = capacity
        self._tank.receive(self._held.recovered_energy(d, -d.potential_energy, dt))

    def grant(self, d: Evaluation, force: Array, resting: Array, dt: float) -> Granted:
        """Return the share of an effort (nv,) that the tank covers; see :class:`SampleGrant`."""
        if self._tank is None:
            return Granted(force, 1.0, True)
        return self._grant.grant(d, force, resting, self._tank.level, dt)

    def brake(self, granted: Granted, resting: Array, strongest: Array) -> Array:
        """Return the brake where the grant is not covered; see :meth:`SampleGrant.brake`."""
        return self._grant.brake(granted, resting, strongest)

    def end_sample(self, d: Evaluation, force: Array, resting: Array) -> None:
        """Hold the efforts (nv,) from now on; gravity that ``resting`` leaves is not counted."""
        if self._tank is not None:
            counted = force - (resting - d.g)
            self._held.hold(d, counted, self._grant.way, -d.potential_energy)

    def missed_updates(self, weight: Array) -> None:
        """Note that the compensation of gravity (nv,) acts instead of the held efforts."""
        self._held.missed_updates(weight)
