# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The floor as a port: what comes in is stored or dissipated, in every phase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vms_ph_dynamics import StateError
from vms_ph_hopping import Floor, Phase

small = st.floats(-0.02, 0.02)
speeds = st.floats(-2.0, 2.0)
frictions = st.sampled_from([None, 0.0, 0.3, 1.0])


@given(small, speeds, small, speeds, frictions, st.sampled_from([Phase.PRESSED, Phase.RELIEVED]))
@settings(max_examples=300, deadline=None)
def test_the_floor_never_gives_more_than_it_was_given(
    height: float,
    rate: float,
    deflection: float,
    along: float,
    friction: float | None,
    phase: Phase,
) -> None:
    floor = Floor(friction=friction)
    height = -abs(height)
    if (floor.pressure(height, rate) >= 0.0) != (phase is Phase.PRESSED):
        return
    if phase is Phase.PRESSED:
        phase = floor.contact_phase(height, rate, deflection, along)
    found, h = floor.force(phase, height, rate, deflection, along), 1e-7
    incoming = -(found.tangential * along + found.normal * rate)
    ahead, back = (
        floor.force(
            phase, height + s * h * rate, rate, deflection + s * h * found.deflection_rate, along
        )
        for s in (1, -1)
    )
    stored_rate = (ahead.stored - back.stored) / (2 * h)
    assert incoming == pytest.approx(stored_rate + found.dissipated_power, abs=1e-5)
    assert found.dissipated_power >= -1e-12 * abs(incoming)


@given(small, speeds, small, speeds, st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=200, deadline=None)
def test_a_floor_with_friction_stays_in_its_cone(
    height: float, rate: float, deflection: float, along: float, friction: float
) -> None:
    floor = Floor(friction=friction)
    height = -abs(height)
    phase = Phase.RELIEVED
    if floor.pressure(height, rate) > 0:
        phase = floor.contact_phase(height, rate, deflection, along)
    found = floor.force(phase, height, rate, deflection, along)
    assert found.normal >= 0.0
    assert abs(found.tangential) <= friction * found.normal + 1e-12
    if abs(found.tangential) < friction * found.normal:
        # It sticks: the deflection follows the foot.
        assert found.deflection_rate == along


def test_the_floor_of_the_source_pulls_sideways_without_pressing() -> None:
    found = Floor().force(Phase.RELIEVED, -1e-3, 0.05, 1e-3, 0.1)
    assert found.normal == 0.0
    assert found.tangential == pytest.approx(-110.0)
    physical = Floor(friction=10.0).force(Phase.RELIEVED, -1e-3, 0.05, 1e-3, 0.1)
    assert physical.tangential == 0.0


def test_the_floor_pushes_what_sinks_into_it() -> None:
    """[B (4.13), (4.14)] print the spring with the other sign."""
    assert Floor().force(Phase.PRESSED, -1e-3, 0.0, 0.0, 0.0).normal == pytest.approx(10.0)
    assert Floor().force(Phase.FLIGHT, 0.1, -1.0, 0.0, 1.0).normal == 0.0


def test_a_floor_that_is_none_is_refused() -> None:
    with pytest.raises(StateError, match="must be positive"):
        Floor(stiffness=(0.0, 1.0))
    with pytest.raises(StateError, match="friction must be None or not negative"):
        Floor(friction=-0.1)
    assert np.isfinite(Floor().stiffness).all()
