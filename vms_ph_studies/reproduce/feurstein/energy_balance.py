# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy balance of a hopping run, from its power ports [B, 4.3.2]."""

from dataclasses import dataclass

from vms_ph_dynamics import Array
from vms_ph_hopping import CHANNELS, HoppingRun, Phase, hop

from ...check import Check, bounded
from .experiments import Trial

# The source counts as touch-down loss the kinetic energy lost in one step of its integrator.
TOUCH_DOWN_TIME = 5e-4


@dataclass(frozen=True)
class EnergyBalance:
    """The energies exchanged in a run; all in J, outflows positive.

    Attributes:
        external: port energy of the base.
        joint: port energy of the joints, net of the radial damper.
        actuators: the same without the damper.
        radial_damping: dissipated by the radial damper.
        floor: dissipated by the floor.
        touch_down: the part of it within half a millisecond of each touch-down.
        kinetic_loss: largest loss of kinetic energy in that time, at the last touch-down.
        floor_stored: stored in the floor at the end.
        stored: growth of the energy of the robot.
        touch_downs: their number.
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
        """Unaccounted energy: net inflow less floor and storage, J."""
        return self.external + self.joint - self.floor - self.floor_stored - self.stored

    @property
    def gross_residual(self) -> float:
        """The same with the damper as a separate outflow, J."""
        gross = self.external + self.actuators - self.radial_damping
        return gross - self.floor - self.floor_stored - self.stored


def energy_balance(trial: Trial, run: HoppingRun) -> EnergyBalance:
    """Return the energy balance of a run."""
    landings = run.touch_downs()
    losses = [_touch_down_losses(trial, event.state) for event in landings]

    def energy(channel: str) -> float:
        return float(run.energy(channel)[-1])

    # From the channels of the law itself, independent of the port: the sum is a check.
    actuators = energy("radial_spring") + energy("regulator") + energy("polar_spring")
    actuators -= energy("polar_damping") + energy("external")
    return EnergyBalance(
        external=energy("external"),
        joint=energy("joint"),
        actuators=actuators,
        radial_damping=energy("radial_damping"),
        floor=energy("floor_dissipated"),
        touch_down=sum(heat for heat, _ in losses),
        kinetic_loss=losses[-1][1] if losses else 0.0,
        floor_stored=run.floor_stored(len(run.times) - 1),
        stored=run.leg(-1).energy - run.leg(0).energy,
        touch_downs=len(landings),
    )


def _touch_down_losses(trial: Trial, y: Array) -> tuple[float, float]:
    """Return the heat of the floor and the loss of kinetic energy after a touch-down, J."""
    nv = trial.system.nv
    run = hop(
        trial.system,
        trial.leg.configuration(y[:nv]),
        y[nv : 2 * nv],
        TOUCH_DOWN_TIME,
        sample_interval=TOUCH_DOWN_TIME / 50,
        tolerance=trial.tolerance,
        phase=Phase.PRESSED,
    )
    floor_heat = float(run.energies[-1, CHANNELS.index("floor_dissipated")])
    kinetic_energy = run.of(lambda leg: leg.kinetic)
    return floor_heat, float((kinetic_energy[0] - kinetic_energy).max())


def balance_check(run: HoppingRun) -> Check:
    """Return the check that stored and supplied energy are equal at the end of a run."""
    supplied_energy = float(run.energies[-1, :3].sum())
    unaccounted_energy = run.leg(-1).energy - run.leg(0).energy - supplied_energy
    return bounded("unaccounted energy of the run", unaccounted_energy, 1e-6, "J")
