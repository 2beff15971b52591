"""What a controller may spend on changes of its potential."""

from collections.abc import Callable

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from ..potentials.shaped_potential import ShapedPotential
from .energy_tank import EnergyTank
from .held_sample import HeldSample

# Halvings of a step that is too dear before it is not taken.
_HALVINGS = 4

# Costs below this, J, are rounding.
_FREE = 1e-12


class TankBudget:
    """Holds the potential in force, and changes it as far as the tank allows.

    The potential in force is ``authority * V``: where the tank cannot pay for all of V, or is in
    debt, the authority falls below one, and it rises again as the tank fills.

    Attributes:
        potential: V.
        authority: in [0, 1]; one where there is no tank.
        tank: where there is one.
        is_short: whether something waits for energy.
        was_in_debt: whether the tank has ever been overdrawn by sampling since the reset.
    """

    def __init__(self, model: VMSModel) -> None:
        self._held = HeldSample(model)
        self.tank: EnergyTank | None = None
        self.reset(ShapedPotential(model, model.neutral_configuration(), 0.0))

    def reset(self, potential: ShapedPotential) -> None:
        """Begin with a potential, and with a full tank where there is to be one."""
        self.potential = potential
        self.authority, self.is_short, self.was_in_debt = 1.0, False, False
        self.tank = None
        self._held.forget()

    def energy(self, q: Array) -> float:
        """Return the potential in force at a configuration (nq,), J."""
        return self.authority * self.potential.energy(q)

    def begin(self, d: Evaluation, limit_energy: float, capacity: float, initial: float) -> None:
        """Take stock of the sample that has ended: exact work of the held torque."""
        if capacity <= 0.0:
            self.tank, self.authority, self.is_short, self.was_in_debt = None, 1.0, False, False
            return
        if self.tank is None:
            self.tank = EnergyTank(capacity, initial)
            self._held.forget()
        self.tank.capacity = capacity
        self.tank.receive(self._held.left_over(d, self._store(d, limit_energy)))

    def change(self, q: Array, wanted: Callable[[float], ShapedPotential]) -> float:
        """Go to a new potential as far as can be paid; return what that put in at q, J.

        Args:
            q: where the robot is, (nq,).
            wanted: the potential after a share of the change.
        """
        before, self.is_short = self.energy(q), False
        new = wanted(1.0)
        tank = self.tank
        if tank is None:
            cost = 0.0 if _same(new, self.potential) else new.energy(q) - before
            self.potential = new
            return cost
        # First where the minimum is, at the authority there is; then the authority itself.
        share = 1.0
        for k in range(_HALVINGS + 1):
            share = 0.5**k if k < _HALVINGS else 0.0
            new = wanted(share)
            if self._fits(new, q, before, tank.budget):
                break
        self.was_in_debt |= tank.level < -_FREE
        self.potential = new
        whole = new.energy(q)
        self.authority = self._affordable(whole, before + tank.level)
        cost = self.authority * whole - before
        tank.pay(cost)
        self.is_short = share < 1.0 or self.authority < 1.0
        return cost

    def end(self, d: Evaluation, torque: Array, limit_energy: float) -> None:
        """Remember the torque that is held from now on."""
        if self.tank is not None:
            self._held.hold(d, torque, self._store(d, limit_energy))

    def lose(self, safe: Array) -> None:
        """Know that the safe output (n,) acts instead, while nobody sees the robot."""
        self._held.lose(safe)

    def _store(self, d: Evaluation, limit_energy: float) -> float:
        # The torque holds the robot's weight, so what gravity stores comes from the controller.
        return self.energy(d.q) + limit_energy - d.potential_energy

    def _fits(self, new: ShapedPotential, q: Array, before: float, budget: float) -> bool:
        if np.array_equal(new.q_star, self.potential.q_star):
            return True
        moved = ShapedPotential(new.model, new.q_star, self.potential.weight)
        return self.authority * moved.energy(q) - before <= budget + _FREE

    def _affordable(self, whole: float, purse: float) -> float:
        """Return the authority over ``whole`` joules that all there is can pay for."""
        return 1.0 if whole <= max(purse, _FREE) else max(0.0, purse / whole)


def _same(a: ShapedPotential, b: ShapedPotential) -> bool:
    if a.q_star is not b.q_star:
        return False
    if isinstance(a.weight, float) and isinstance(b.weight, float):
        return a.weight == b.weight
    return a.weight is b.weight
