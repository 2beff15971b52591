"""An energy tank for any law: it bounds the energy that the law puts into the robot."""

from dataclasses import dataclass

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from .energy_tank import EnergyTank
from .held_sample import HeldSample


@dataclass(frozen=True, slots=True)
class Granted:
    """The share of an effort that the tank covers.

    Attributes:
        share: in [0, 1], of the effort beyond gravity compensation.
        reason: explanation in words where the share is less than one; empty otherwise.
    """

    share: float
    reason: str


class TankLayer:
    """Withdraws the energy of a law's efforts from a tank and stores what the law recovers.

    The net work of the held efforts, ``f^T (q_next - q)`` less the increase of the robot's
    potential energy, is exact, sampling and clipping included. With an empty tank the law can only
    brake: the energy it has put into the robot never exceeds the initial level of the tank, for all
    references, gains and sample rates.
    """

    def __init__(self, model: VMSModel) -> None:
        self._held = HeldSample(model)
        self.restart()

    def restart(self) -> None:
        """Restart with a tank at its initial level."""
        self._tank: EnergyTank | None = None
        self._held.forget()

    @property
    def level(self) -> float:
        """Energy in the tank, J; zero without a tank."""
        return 0.0 if self._tank is None else self._tank.level

    def begin_sample(self, d: Evaluation, capacity: float, initial: float) -> None:
        """Add the energy recovered over the sample that ends now.

        Args:
            d: the present state.
            capacity: of the tank, J; 0 for no tank.
            initial: level after a reset, J.
        """
        if capacity <= 0.0:
            self.restart()
            return
        if self._tank is None:
            self._tank = EnergyTank(capacity, initial)
        self._tank.capacity = capacity
        self._tank.receive(self._held.recovered_energy(d, -d.potential_energy))

    def grant(self, active: Array, v: Array, dt: float) -> Granted:
        """Return the share of the active efforts (nv,) that the tank covers for one sample."""
        if self._tank is None:
            return Granted(1.0, "")
        wanted = dt * float(active @ v)
        if wanted <= 0.0 or wanted <= self._tank.available:
            return Granted(1.0, "")
        share = self._tank.available / wanted
        return Granted(share, f"the energy tank covers {share:.0%} of the effort")

    def end_sample(self, d: Evaluation, force: Array) -> None:
        """Hold the efforts (nv,) from now on."""
        if self._tank is not None:
            self._held.hold(d, force, -d.potential_energy)

    def missed_updates(self, safe: Array) -> None:
        """Note that the safe output (nv,) acts instead of the held efforts."""
        self._held.missed_updates(safe)
