# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy balance from sample to sample."""

import numpy as np
import pytest

from vms_ph_dynamics import Friction, Ports, VMSModel
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies, PowerQuadrature

NONE = {"torque": 0.0, "wrench_base": 0.0, "wrench_end_effector": 0.0}


def flow(
    time: float,
    energy: float,
    exact: PortEnergies | None = None,
    dissipated: float = 0.0,
    **power: float,
) -> EnergySample:
    return EnergySample(round(time * 1e9), energy, {**NONE, **power}, dissipated, exact)


def exact(dissipated: float = 0.0, resets: int = 0, **supplied: float) -> PortEnergies:
    return PortEnergies({**NONE, **supplied}, dissipated, resets)


def test_a_balanced_robot_shows_no_unaccounted_energy() -> None:
    audit = EnergyAudit()
    for t in np.linspace(0.0, 1.0, 101):
        audit.add(flow(t, 3.0 + 0.75 * t**2, torque=2 * t, dissipated=0.5 * t))
    # The trapezoidal rule is exact for a power linear in time.
    assert audit.port_energy["torque"] == pytest.approx(1.0)
    assert audit.dissipated == pytest.approx(0.25)
    assert audit.stored == pytest.approx(0.75)
    assert audit.unaccounted_energy == pytest.approx(0.0, abs=1e-12)
    assert audit.unaccounted_power == pytest.approx(0.0, abs=1e-9)


def test_energy_that_no_port_has_brought_is_unaccounted_and_gives_a_residual() -> None:
    audit = EnergyAudit()
    audit.add(flow(0.0, 1.0))
    audit.add(flow(0.5, 1.25))
    assert audit.unaccounted_energy == pytest.approx(0.25)
    assert audit.unaccounted_power == pytest.approx(0.5)
    audit.add(flow(1.0, 1.25))
    assert audit.unaccounted_energy == pytest.approx(0.25)
    assert audit.unaccounted_power == pytest.approx(0.0)


def test_port_energies_of_the_simulator_are_used_as_they_are() -> None:
    audit = EnergyAudit()
    audit.add(flow(0.0, 0.0, exact(torque=2.0, dissipated=0.2), torque=100.0))
    audit.add(flow(0.1, 0.7, exact(torque=3.0, dissipated=0.5), torque=100.0))
    assert audit.is_simulated
    assert audit.port_energy["torque"] == 1.0
    assert audit.dissipated == pytest.approx(0.3)
    assert audit.unaccounted_energy == pytest.approx(0.0)


@pytest.mark.parametrize("source", ["simulator", "samples"])
def test_tool_ports_count_like_the_others(source: str) -> None:
    audit = EnergyAudit()
    for t in (0.0, 0.5, 1.0):
        told = exact(torque=t, left_hand=2.0 * t) if source == "simulator" else None
        audit.add(flow(t, 3.0 * t, told, torque=1.0, left_hand=2.0))
    assert audit.port_energy == {**NONE, "torque": 1.0, "left_hand": 2.0}
    assert audit.unaccounted_energy == pytest.approx(0.0)


@pytest.mark.parametrize(
    "later",
    [
        flow(2.0, 9.0, exact(resets=1)),
        flow(0.5, 9.0, exact()),
        flow(2.5, 9.0),
        flow(2.0, 9.0, exact(left_hand=4.0)),
    ],
    ids=["reset", "time went back", "no port energies any more", "another port"],
)
def test_a_break_in_the_data_starts_a_new_audit(later: EnergySample) -> None:
    audit = EnergyAudit()
    audit.add(flow(0.0, 0.0, exact()))
    audit.add(flow(1.0, 5.0, exact()))
    assert audit.unaccounted_energy == 5.0
    audit.add(later)
    assert (audit.stored, audit.unaccounted_energy, audit.unaccounted_power) == (0.0, 0.0, 0.0)
    assert audit.is_simulated == (later.simulated is not None)


def test_a_sample_whose_port_energies_were_lost_on_the_way_is_passed_over() -> None:
    audit = EnergyAudit()
    audit.add(flow(0.0, 0.0, exact()))
    audit.add(flow(0.1, 0.5, exact(torque=0.5)))
    audit.add(flow(0.2, 0.7))
    assert audit.stored == 0.5
    audit.add(flow(0.3, 0.9, exact(torque=0.9)))
    assert audit.stored == pytest.approx(0.9)
    assert audit.unaccounted_energy == pytest.approx(0.0)
    assert audit.is_simulated


def test_a_quadrature_adds_what_ports_supply_and_friction_takes(panda: VMSModel) -> None:
    v = np.linspace(-0.3, 0.3, 7)
    torque, viscous = np.linspace(1.0, 2.0, 7), 0.4
    acting = Ports(torque, friction=Friction(np.full(7, viscous), np.zeros(7), 0.1))
    energies, durations = PowerQuadrature(), (0.1, 0.25)
    for duration in durations:
        energies.add(acting, panda.evaluate(panda.neutral_configuration(), v), duration)
    assert energies.supplied["torque"] == pytest.approx(sum(durations) * float(torque @ v))
    assert energies.dissipated == pytest.approx(sum(durations) * viscous * float(v @ v))
    assert energies.sum == pytest.approx(energies.supplied["torque"] - energies.dissipated)
