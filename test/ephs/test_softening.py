# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Viscous friction that falls with the temperature of what it heats."""

import numpy as np
import pytest

from vms_ph_ephs import StructureError, System, assemble
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.notation import build, describe
from vms_ph_ephs.symbolic import symbolic


def hinge() -> System:
    friction = mb.Coulomb(0.3, 0.1, softening=0.02, reference=300.0)
    joint = mb.joint(mb.Revolute(), friction=friction, heat=mb.Heat(2.0, theta_0=300.0))
    body = mb.rigid_body(1.0, [0.1, 0.1, 0.1])
    return mb.mechanism({"b": body}, {"j": mb.Between(mb.GROUND, "b", joint)})


def test_the_force_is_that_of_the_law_and_its_work_becomes_heat() -> None:
    equations = assemble(hinge())
    heat = equations.layout.components["j.mf"]
    for theta in (300.0, 340.0):
        e = np.array([1.5, theta - 300.0])
        flow = heat.flows((np.zeros(1),), e, 300.0)  # type: ignore[attr-defined]
        viscous = 0.3 * np.exp(-0.02 * (theta - 300.0))
        assert flow[0] == pytest.approx(1.5 * viscous + 0.1 * np.tanh(150.0))
        assert flow[1] == pytest.approx(-1.5 * flow[0] / theta)
    assert heat.is_lawful  # type: ignore[attr-defined]


def test_files_and_symbols_know_it() -> None:
    system = hinge()
    same = assemble(build(describe(system)))
    equations = assemble(system)
    warm = 2.0 * np.log(345.0 / 300.0)
    x = mb.consistent_state(equations, {"j": 0.2}, {"j": 1.0}, others={"j.s": warm})
    rate = equations.rates(x).tangent
    assert same.rates(x).tangent == pytest.approx(rate, abs=1e-14)
    at = equations.layout.states["j.s"].tangent
    text = str(symbolic(assemble(build(describe(system)))).rate("j.s")[0])
    assert "exp(" in text
    force = 0.3 * np.exp(-0.02 * 45.0) + 0.1 * np.tanh(100.0)
    assert rate[at][0] == pytest.approx(force / 345.0)


def test_a_softening_below_zero_is_refused() -> None:
    with pytest.raises(StructureError, match="friction must not be negative"):
        mb.Coulomb(0.3, 0.0, softening=-0.1)
