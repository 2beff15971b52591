"""An energy tank behind any law: what it may put into the robot, whatever is asked of it."""

from dataclasses import dataclass

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from .energy_tank import EnergyTank
from .held_sample import HeldSample


@dataclass(frozen=True, slots=True)
class Granted:
    """What the tank lets through.

    Attributes:
        share: in [0, 1] of what the law wants beyond holding the robot against gravity.
        reason: why it is less than one, in words; empty otherwise.
    """

    share: float
    reason: str


class TankLayer:
    """Pays every motion that a law makes from a tank, and fills it with what the law takes out.

    The net work of the held efforts, ``f^T (q_next - q)`` less the robot's gain of potential
    energy, is exact, sampling and clipping included. With the tank empty the law can only brake:
    the energy it has put into the robot never exceeds what the tank held at the start, whatever
    references, gains or rates come in.
    """

    def __init__(self, model: VMSModel) -> None:
        self._held = HeldSample(model)
        self.restart()

    def restart(self) -> None:
        """Begin with a tank filled anew."""
        self._tank: EnergyTank | None = None
        self._held.forget()

    @property
    def level(self) -> float:
        """What the tank holds, J; zero where there is none."""
        return 0.0 if self._tank is None else self._tank.level

    def begin(self, d: Evaluation, capacity: float, initial: float) -> None:
        """Settle the sample that has ended.

        Args:
            d: the present state.
            capacity: of the tank, J; 0: no tank.
            initial: what it holds after a reset, J.
        """
        if capacity <= 0.0:
            self.restart()
            return
        if self._tank is None:
            self._tank = EnergyTank(capacity, initial)
        self._tank.capacity = capacity
        self._tank.receive(self._held.left_over(d, -d.potential_energy))

    def grant(self, active: Array, v: Array, dt: float) -> Granted:
        """Return how much of the active efforts (nv,) can be paid for during a sample."""
        if self._tank is None:
            return Granted(1.0, "")
        wanted = dt * float(active @ v)
        if wanted <= 0.0 or wanted <= self._tank.budget:
            return Granted(1.0, "")
        share = self._tank.budget / wanted
        return Granted(share, f"the energy tank pays for {share:.0%} of the effort")

    def end(self, d: Evaluation, force: Array) -> None:
        """Remember the efforts (nv,) that are held from now on."""
        if self._tank is not None:
            self._held.hold(d, force, -d.potential_energy)

    def lose(self, safe: Array) -> None:
        """Know that the safe output (nv,) acts instead, while nobody sees the robot."""
        self._held.lose(safe)
