"""The balance sheet of the energy of experiment VI, from the ports [B, 4.3.2]."""

from dataclasses import dataclass
from pathlib import Path

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.hopping import CHANNELS, HoppingRun, Phase, hop

from .experiments import Trial

# The source takes for the touch-down the kinetic energy lost in one step of its integrator.
TOUCH_DOWN = 5e-4


@dataclass(frozen=True)
class Ledger:
    """Where the energy went in a run; all in J, outflows positive.

    Attributes:
        external, joint: in through the base port and the joints, the latter with the radial damper
            taken off already.
        actuators: what the joints would have brought without the damper.
        radial_damping: what the damper took.
        floor: what the floor turned into heat.
        touch_down: the part of it within half a millisecond of each touch-down.
        kinetic_loss: the most that the kinetic energy has fallen by in that time, at the last.
        floor_stored: still in the floor.
        stored: what the robot's energy has grown by.
        touch_downs: how many.
    """

    external: float
    joint: float
    actuators: float
    radial_damping: float
    floor: float
    touch_down: float
    kinetic_loss: float
    floor_stored: float
    stored: float
    touch_downs: int

    @property
    def residual(self) -> float:
        """What the sheet misses: net inflow less floor and storage."""
        return self.external + self.joint - self.floor - self.floor_stored - self.stored

    @property
    def gross_residual(self) -> float:
        """The same with the damper as an outflow of its own."""
        gross = self.external + self.actuators - self.radial_damping
        return gross - self.floor - self.floor_stored - self.stored


def ledger(trial: Trial, run: HoppingRun) -> Ledger:
    """Return the balance sheet of a run."""
    landings = run.touch_downs()
    braked = [_braked(trial, event.state) for event in landings]

    def work(channel: str) -> float:
        return float(run.energy(channel)[-1])

    # The channels of the law itself, and not the port less something: the sum is a check.
    actuators = work("radial_spring") + work("regulator") + work("polar_spring")
    actuators -= work("polar_damping") + work("external")
    return Ledger(
        external=work("external"),
        joint=work("joint"),
        actuators=actuators,
        radial_damping=work("radial_damping"),
        floor=work("floor_dissipated"),
        touch_down=sum(heat for heat, _ in braked),
        kinetic_loss=braked[-1][1] if braked else 0.0,
        floor_stored=run.floor_stored(len(run.times) - 1),
        stored=run.leg(-1).energy - run.leg(0).energy,
        touch_downs=len(landings),
    )


def _braked(trial: Trial, y: Array) -> tuple[float, float]:
    """The heat of the floor and the kinetic energy lost just after a touch-down, J."""
    nv = trial.system.nv
    found = hop(
        trial.system,
        trial.leg.configuration(y[:nv]),
        y[nv : 2 * nv],
        TOUCH_DOWN,
        sample=TOUCH_DOWN / 50,
        tolerance=trial.tolerance,
        phase=Phase.PRESSED,
    )
    heat = float(found.energies[-1, CHANNELS.index("floor_dissipated")])
    kinetic = found.of(lambda leg: leg.kinetic)
    return heat, float((kinetic[0] - kinetic).max())


def draw_ledger(run: HoppingRun, file: Path) -> Path:
    """Draw the cumulative flows, the form of the source's figure 4.14f."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained", dpi=110)
    axes = figure.subplots()
    net = run.energy("external") + run.energy("joint")
    axes.plot(run.times, net, color="#bbbbbb", lw=0.7, label="net inflow")
    for values, name, colour in (
        (run.energy("external"), "external, in", "#1f4e79"),
        (run.energy("joint"), "joints net of the damper, in", "#1e8449"),
        (run.energy("floor_dissipated"), "floor, out", "#c0392b"),
        (run.energy("radial_damping"), "radial damper, out", "#7d3c98"),
    ):
        axes.plot(run.times, values, label=name, color=colour)
    axes.set(
        xlabel="time (s)",
        ylabel="energy since the start (J)",
        title="Experiment VI: cumulative flows of energy",
    )
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(file)
    return file
