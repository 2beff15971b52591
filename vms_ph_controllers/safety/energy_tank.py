"""An energy tank: what a controller may spend beyond what its potential holds."""


class EnergyTank:
    """Keeps account of the energy a sampled controller takes out of a robot and puts into it.

    A torque that is held over a sample does exactly the work ``tau^T (q_next - q)``, whatever the
    velocity was believed to be. With ``store(q)`` the potential that stands behind the torque, the
    tank receives ``store(q) - store(q_next) - tau^T (q_next - q)`` every sample: what the damping
    took out, less what sampling, quantised velocities and clipped torques have made up. It pays for
    whatever changes the potential itself: a reference that moves, gains that rise. As long as the
    level is not negative, no more energy has come out of the controller than was put into tank and
    potential at the start: it is passive, whatever reference, gains and rates come in (Ferraguti,
    Secchi, Fantuzzi 2013; the exact sampled work is that of Stramigioli et al. 2005).

    Attributes:
        capacity: what does not fit in is lost, J.
        level: present content, J.
        unaccounted_energy: all that sampling and clipping have brought in so far, J.
    """

    def __init__(self, capacity: float, level: float) -> None:
        self.capacity = capacity
        self.level = min(level, capacity)
        self.unaccounted_energy = 0.0

    def receive(self, energy: float) -> None:
        """Take in what a sample left over, J; a negative amount was made up by sampling."""
        if energy < 0.0:
            self.unaccounted_energy -= energy
        self.level = min(self.capacity, self.level + energy)

    def pay(self, energy: float) -> None:
        """Give for a change of the potential; a negative amount flows back, J."""
        self.level = min(self.capacity, self.level - energy)

    @property
    def budget(self) -> float:
        """What may be spent now, J."""
        return max(0.0, self.level)
