# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The tank budget: changes of a potential that are granted out of the available tank energy."""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..potentials.shaped_potential import ShapedPotential
from .energy_tank import EnergyTank
from .held_sample import HeldSample
from .limits import TorqueLimits
from .sample_grant import Granted, SampleGrant, strongest_brake

# Number of times a change that the tank does not cover is halved before it is refused.
_HALVINGS = 4

# Energies below this, J, are rounding errors.
_ROUNDING = 1e-12


class TankBudget:
    """Holds the potential in force and changes it as far as the tank allows.

    The potential in force is ``authority * V``. Where the tank does not cover all of V, or is
    overdrawn, the authority is below one; it rises again as the tank fills.

    Attributes:
        potential: V.
        authority: in [0, 1]; one without a tank.
        tank: the tank, or None.
        is_short: whether the last change was not fully covered by the tank.
    """

    tank: EnergyTank | None
    authority: float
    is_short: bool

    def __init__(self, model: VMSModel) -> None:
        self._held, self._grant = HeldSample(model), SampleGrant(model)
        self.reset(ShapedPotential(model, model.neutral_configuration(), 0.0))

    def reset(self, potential: ShapedPotential) -> None:
        """Restart with a potential; a tank begins at its initial level."""
        self._remove_tank()
        self.resume(potential)

    def resume(self, potential: ShapedPotential) -> None:
        """Continue with a potential at its minimum; a tank keeps its level."""
        self.potential = potential
        self.authority, self.is_short = 1.0, False
        self._held.forget()

    def energy(self, q: Array) -> float:
        """Return the potential in force at a configuration (nq,), J."""
        return self.authority * self.potential.energy(q)

    def begin_sample(
        self, d: Evaluation, limit_energy: float, capacity: float, initial: float, dt: float
    ) -> None:
        """Add the energy recovered over the sample that ends now.

        Args:
            d: the present state.
            limit_energy: potential of the joint limits, J.
            capacity: of the tank, J; 0 for no tank.
            initial: level after a reset, J.
            dt: time since the last update, s.
        """
        if capacity <= 0.0:
            self._remove_tank()
            return
        if self.tank is None:
            self.tank = EnergyTank(capacity, initial)
            self._held.forget()
        self.tank.capacity = capacity
        self.tank.receive(self._held.recovered_energy(d, self._stored(d, limit_energy), dt))

    def change(self, q: Array, wanted: Callable[[float], ShapedPotential]) -> float:
        """Change the potential as far as the tank covers it; return the energy added at q, J.

        Args:
            q: present configuration, (nq,).
            wanted: function from a share of the change to the potential after it.
        """
        tank, self.is_short = self.tank, False
        if tank is None:
            new = wanted(1.0)
            added = 0.0 if _same(new, self.potential) else new.energy(q) - self.energy(q)
            self.potential = new
            return added
        before = self.energy(q)
        # First the minimum is moved at the present authority; then the authority is adapted.
        share = 1.0
        for k in range(_HALVINGS + 1):
            share = 0.5**k if k < _HALVINGS else 0.0
            new = wanted(share)
            if self._is_covered(new, q, before, tank.available):
                break
        self.potential = new
        whole = new.energy(q)
        self.authority = _authority(whole, before + tank.level)
        added = self.authority * whole - before
        tank.withdraw(added)
        self.is_short = share < 1.0 or self.authority < 1.0
        return added

    def grant(
        self,
        d: Evaluation,
        torque: Array,
        resting: Array,
        limit_energy: float,
        limits: TorqueLimits,
        dt: float,
    ) -> Granted:
        """Return the share of a torque (n,) whose work tank and potential cover.

        The spring forces take their work from the potential; what tank and potential hold together
        is therefore the budget of a sample.
        """
        if self.tank is None:
            return Granted(torque, 1.0, True)
        budget = self.tank.level + self.energy(d.q) + limit_energy
        granted = self._grant.grant(d, torque, resting, budget, dt)
        if granted.is_covered:
            return granted
        brake = strongest_brake(d, dt)
        share = limits.share_within(resting, brake)
        force = self._grant.brake(granted, resting, resting + share * (brake - resting))
        return Granted(force, granted.share, False)

    def end_sample(self, d: Evaluation, torque: Array, limit_energy: float) -> None:
        """Hold the torque from now on."""
        if self.tank is not None:
            self._held.hold(d, torque, self._grant.way, self._stored(d, limit_energy))

    def missed_updates(self, safe: Array) -> None:
        """Note that the safe output (n,) acts instead of the held torque."""
        self._held.missed_updates(safe)

    def _remove_tank(self) -> None:
        self.tank = None
        self.authority, self.is_short = 1.0, False

    def _stored(self, d: Evaluation, limit_energy: float) -> float:
        # The torque compensates gravity, so the gravitational energy comes from the controller.
        return self.energy(d.q) + limit_energy - d.potential_energy

    def _is_covered(self, new: ShapedPotential, q: Array, before: float, available: float) -> bool:
        if np.array_equal(new.q_star, self.potential.q_star):
            return True
        moved = ShapedPotential(new.model, new.q_star, self.potential.weight)
        return self.authority * moved.energy(q) - before <= available + _ROUNDING


def _authority(whole: float, available: float) -> float:
    """Return the share of a potential of ``whole`` joules that the available energy covers."""
    return 1.0 if whole <= max(available, _ROUNDING) else max(0.0, available / whole)


def _same(a: ShapedPotential, b: ShapedPotential) -> bool:
    if a.q_star is not b.q_star:
        return False
    if isinstance(a.weight, float) and isinstance(b.weight, float):
        return a.weight == b.weight
    return a.weight is b.weight
