"""The bookkeeping of energy from sample to sample."""

import numpy as np
import pytest

from vms_ph_dynamics.energy.audit import EnergyAudit, Flow

NONE = {"torque": 0.0, "end_effector": 0.0, "base": 0.0}


def flow(time: float, energy: float, torque: float = 0.0, **more: object) -> Flow:
    power = {**NONE, "torque": torque}
    return Flow(round(time * 1e9), energy, power, 0.0, **more)  # type: ignore[arg-type]


def test_a_balanced_robot_shows_no_drift() -> None:
    audit = EnergyAudit()
    for t in np.linspace(0.0, 1.0, 101):
        audit.add(flow(t, 3.0 + t**2, torque=2 * t))
    # The trapezoidal rule is exact for a power linear in time.
    assert audit.work["torque"] == pytest.approx(1.0)
    assert audit.stored == pytest.approx(1.0)
    assert audit.unaccounted_energy == pytest.approx(0.0, abs=1e-12)
    assert audit.residual == pytest.approx(0.0, abs=1e-9)


def test_energy_from_nowhere_shows_as_drift_and_residual() -> None:
    audit = EnergyAudit()
    audit.add(flow(0.0, 1.0))
    audit.add(flow(0.5, 1.25))
    assert audit.unaccounted_energy == pytest.approx(0.25)
    assert audit.residual == pytest.approx(0.5)
    audit.add(flow(1.0, 1.25))
    assert audit.unaccounted_energy == pytest.approx(0.25)
    assert audit.residual == pytest.approx(0.0)


def test_works_told_by_the_simulator_are_taken_as_they_are() -> None:
    audit = EnergyAudit()
    told = {**NONE, "dissipated": 0.0}
    audit.add(flow(0.0, 0.0, torque=100.0, work=told))
    audit.add(flow(0.1, 0.7, torque=100.0, work={**told, "torque": 1.0, "dissipated": 0.3}))
    assert audit.exact
    assert audit.work["torque"] == 1.0
    assert audit.unaccounted_energy == pytest.approx(0.0)


@pytest.mark.parametrize(
    "later",
    [
        flow(2.0, 9.0, work={**NONE, "dissipated": 0.0}, resets=1),
        flow(0.5, 9.0, work={**NONE, "dissipated": 0.0}),
        flow(2.5, 9.0),
    ],
    ids=["reset", "time went back", "works no longer told"],
)
def test_a_break_in_the_data_starts_a_new_audit(later: Flow) -> None:
    audit = EnergyAudit()
    told = {**NONE, "dissipated": 0.0}
    audit.add(flow(0.0, 0.0, work=told))
    audit.add(flow(1.0, 5.0, work=told))
    assert audit.unaccounted_energy == 5.0
    audit.add(later)
    assert (audit.stored, audit.unaccounted_energy, audit.residual) == (0.0, 0.0, 0.0)
    assert audit.exact == (later.work is not None)


def test_a_sample_whose_works_were_lost_on_the_way_is_passed_over() -> None:
    audit = EnergyAudit()
    told = {**NONE, "dissipated": 0.0}
    audit.add(flow(0.0, 0.0, work=told))
    audit.add(flow(0.1, 0.5, work={**told, "torque": 0.5}))
    audit.add(flow(0.2, 0.7))
    assert audit.stored == 0.5
    audit.add(flow(0.3, 0.9, work={**told, "torque": 0.9}))
    assert audit.stored == pytest.approx(0.9)
    assert audit.unaccounted_energy == pytest.approx(0.0)
    assert audit.exact
