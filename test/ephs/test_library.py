# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of the library obey their equations and both laws."""

import numpy as np
import pytest

from vms_ph_ephs import (
    Environment,
    Equations,
    Quadratic,
    StructureError,
    System,
    assemble,
    compose,
    momentum,
    power,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.components import KINDS
from vms_ph_ephs.library import (
    Battery,
    Damper,
    Radiator,
    battery,
    gear,
    inverter,
    motor,
    propeller,
    spring,
    winding,
)

K, R_20, BUS = 0.05, 0.4, [9.0, 10.8, 11.4, 12.6]


def drive(inductance: float = 5e-4) -> System:
    """A battery that drives a load with spring and damper, through an elastic gear."""
    return compose(
        {
            "battery": battery(7200.0, BUS, 0.05, capacity=200.0),
            "inverter": inverter(),
            "motor": motor(K, R_20, inductance, inertia=2e-5, viscous=1e-5, capacity=20.0),
            "gear": gear(20.0, stiffness=300.0, efficiency=0.9, viscous=0.01, slip=1.0),
            "load": Quadratic({"p": power(momentum)}, 1.0 / 0.02),
            "damper": Damper(viscous=0.1),
            "spring": spring(5.0, grounded=True, viscous=0.01),
            "hot": Radiator(0.2, area=0.01, emissivity=0.9),
            "warm": Radiator(0.5),
            "env": Environment(298.15),
        },
        {
            "bus": ("battery.q", "inverter.q"),
            "phi": ("inverter.phi", "motor.phi"),
            "u": ("inverter.u", "u"),
            "in": ("motor.p", "gear.p_in"),
            "out": ("gear.p_out", "load.p", "damper.p", "spring.p", "p"),
            "coil": ("motor.s", "hot.a"),
            "cells": ("battery.s", "warm.a"),
            "env": ("env.s", "hot.b", "warm.b", "gear.s", "damper.s", "spring.s"),
        },
        ["u", "p"],
    )


@pytest.mark.parametrize("inductance", [5e-4, 0.0])
def test_a_drive_obeys_both_laws_and_has_a_lower_bound_of_its_energy(inductance: float) -> None:
    equations = assemble(drive(inductance))
    assert equations.storages.unbounded_boxes() == []
    x = equations.states.vector({"battery.cell": 5000.0, "u": 0.8})
    motion = simulate(equations, x, 1e-4, 30, scheme="discrete_gradient")
    # The scheme balances energy to rounding; the batteries and heats hold a hundred kilojoules.
    assert np.abs(motion.first_law).max() < 1e-14 * abs(equations.storages.energy(x))
    assert np.diff(motion.entropy).min() > 0.0
    theta = equations.storages.temperatures(motion.final)
    assert theta["motor.coil.th.s"] > theta["battery.th.s"] > 298.15


def _rate(equations: Equations, x: np.ndarray, name: str, **inputs: float) -> float:
    rates = equations.rates(x, {port: np.array([value]) for port, value in inputs.items()})
    return float(rates.tangent[equations.layout.entries[name]][0])


def test_a_motor_has_the_current_and_torque_of_its_constants_at_its_temperature() -> None:
    system = compose(
        {"m": motor(K, R_20, inertia=1e-4, capacity=10.0, conductance=0.1)},
        {"phi": ("m.phi", "phi"), "p": ("m.p", "p")},
        ["phi", "p"],
    )
    equations = assemble(system)
    hot = 10.0 * np.log(350.0 / 298.15)
    x = equations.states.vector({"p": 1e-4 * 30.0, "m.coil.th.s": hot})
    current = (6.0 - K * 30.0) / (R_20 * (1.0 + 0.00393 * (350.0 - 293.15)))
    assert _rate(equations, x, "p", phi=6.0) == pytest.approx(K * current, rel=1e-12)


def test_an_elastic_gear_loses_its_share_of_the_transmitted_power() -> None:
    unit = Quadratic({"p": power(momentum)}, 1.0)
    system = compose(
        {
            "g": gear(10.0, stiffness=200.0, efficiency=0.8, slip=0.01),
            "a": unit,
            "b": unit,
            "env": Environment(),
        },
        {"a": ("a.p", "g.p_in"), "b": ("b.p", "g.p_out"), "s": ("g.s", "env.s")},
    )
    equations = assemble(system)
    x = equations.states.vector({"a": 10.0, "b": 1.0, "g.q": 0.02})
    # The shaft carries 4 N m; a tenth of it acts at p_in, and four fifths arrive at p_out.
    assert _rate(equations, x, "a") == pytest.approx(-0.4, rel=1e-12)
    assert _rate(equations, x, "b") == pytest.approx(0.8 * 4.0, rel=1e-9)


def test_a_rigid_gear_moves_both_sides_as_one_inertia() -> None:
    system = compose(
        {
            "g": gear(7.0),
            "a": Quadratic({"p": power(momentum)}, 1.0 / 2e-3),
            "b": Quadratic({"p": power(momentum)}, 1.0 / 0.3),
        },
        {"a": ("a.p", "g.p_in"), "b": ("b.p", "g.p_out", "p")},
        ["p"],
    )
    equations = assemble(system)
    rate = _rate(equations, equations.states.vector(), "b", p=2.0) / 0.3
    assert rate == pytest.approx(2.0 / (0.3 + 49.0 * 2e-3), rel=1e-12)


def test_the_energy_of_a_battery_is_the_integral_of_its_voltage_and_has_a_bound() -> None:
    cell = Battery(7200.0, BUS)
    q = np.linspace(0.0, 7200.0, 20001)
    volts = np.array([cell.differential(np.array([each]))[0] for each in q])
    integral = float(((volts[1:] + volts[:-1]) / 2.0 * np.diff(q)).sum())
    assert cell.energy(np.array([7200.0])) == pytest.approx(integral, rel=1e-9)
    assert volts[0] == 9.0
    assert volts[-1] == pytest.approx(12.6)
    empty = -9.0 / (1.8 / 2400.0)
    assert cell.differential(np.array([empty]))[0] == pytest.approx(0.0, abs=1e-12)
    assert cell.energy(np.array([empty])) == pytest.approx(cell.lower_bound)


@pytest.mark.parametrize("spin", [1, -1])
def test_a_propeller_lifts_its_body_and_turns_it_by_its_drag(spin: int) -> None:
    hub = np.eye(4)
    hub[:3, 3] = 0.2, 0.1, 0.03
    system = compose(
        {
            "body": mb.rigid_body(1.2, [0.02, 0.02, 0.03]),
            "prop": propeller(8e-6, 1.2e-7, 4e-5, spin=spin, pose=hub),
            "env": Environment(),
        },
        {"b": ("body.p", "prop.b"), "p": ("prop.p", "p"), "s": ("prop.s", "env.s")},
        ["p"],
    )
    equations = assemble(system)
    w = spin * 600.0
    omega = np.array([0.3, -0.2, 0.0])
    x = equations.states.vector(
        {"prop.rotor": 4e-5 * w, "b": np.concatenate([np.zeros(3), [0.02, 0.02, 0.03] * omega])}
    )
    # The hub moves along z, so that the shaft needs the power of climbing too.
    climb = float(np.cross(omega, hub[:3, 3])[2])
    torque = spin * 1.2e-7 * w * w + spin * 8e-6 * abs(w) * climb
    rates = equations.rates(x, {"p": np.array([torque])})
    at = equations.layout.entries
    np.testing.assert_allclose(rates.tangent[at["prop.rotor"]], 0.0, atol=1e-15)
    wrench = rates.tangent[at["b"]]
    lift = np.array([0.0, 0.0, 8e-6 * w * w])
    weight = np.array([0.0, 0.0, -1.2 * 9.81])
    np.testing.assert_allclose(wrench[:3], lift + weight, atol=1e-12)
    h = np.array([0.0, 0.0, 4e-5 * w])
    expected = np.cross(hub[:3, 3], lift) - np.cross(omega, h) - [0.0, 0.0, torque]
    expected -= np.cross(omega, [0.02, 0.02, 0.03] * omega)
    np.testing.assert_allclose(wrench[3:], expected, atol=1e-14)


def test_a_radiator_passes_the_heat_of_convection_and_of_stefan_and_boltzmann() -> None:
    flow = Radiator(0.3, area=0.02, emissivity=0.8).flows((), np.array([100.0, 0.0]), 300.0)
    heat = 0.3 * 100.0 + 0.8 * 5.670374419e-8 * 0.02 * (400.0**4 - 300.0**4)
    np.testing.assert_allclose(flow, [heat / 400.0, -heat / 300.0], rtol=1e-14)


def test_every_part_says_what_its_parameters_are_and_which_values_it_accepts() -> None:
    numbers = [
        (kind.name, parameter)
        for kind in KINDS.values()
        for parameter in kind.parameters.values()
        if parameter.is_number
    ]
    assert ("winding", "resistance") in [(kind, parameter.name) for kind, parameter in numbers]
    assert KINDS["winding"].parameters["resistance"].spec.unit == "ohm"  # type: ignore[union-attr]
    assert {name for name, parameter in numbers if parameter.spec is None} == {"foot"}
    with pytest.raises(StructureError, match=r"resistance of a winding must be .* above 0 \(ohm\)"):
        winding(-1.0)
    with pytest.raises(StructureError, match="which a rigid gear does not know; give a stiffness"):
        gear(10.0, efficiency=0.9)
    with pytest.raises(StructureError, match="numbers above zero that increase"):
        battery(100.0, [12.0, 11.0], 0.1)
    with pytest.raises(StructureError, match="must be 1 or -1; given: 2"):
        propeller(1e-6, 1e-7, 1e-5, spin=2)
