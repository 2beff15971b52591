# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The drives of a simulated robot beside the same drives made of parts of the library."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from vms_ph_dynamics import StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_ephs import Environment, Quadratic, assemble, compose, momentum, simulate
from vms_ph_ephs.library import Damper, battery, gear, inverter, motor
from vms_ph_ephs.multibody import Conduction, HeatCapacity
from vms_ph_ephs.patterns import power
from vms_ph_ephs.robot import Battery, Drives, EphsEngine, Motors

THETA_0, DUTY, RATIO, SECONDS = 298.15, 0.6, 20.0, 0.4
INERTIA, DAMPING = 0.3, 0.3
URDF = f"""
<robot name="wheel"><link name="foot"/>
  <link name="wheel"><inertial><mass value="1"/>
    <inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  <joint name="axle" type="continuous"><parent link="foot"/><child link="wheel"/>
    <axis xyz="0 0 1"/><limit effort="1000" velocity="1000"/>
    <dynamics damping="{DAMPING}" friction="0"/></joint></robot>
"""
# Torque constant and resistance at the joint, of a motor of the library behind its gear.
CONSTANT, RESISTANCE, COPPER = 0.1 * RATIO, 0.5, 0.004
FULL, EMPTY, CHARGE, LEVEL, INNER = 42.0, 30.0, 400.0, 0.9, 0.1


def of_library() -> np.ndarray:
    """Return rate, temperatures of winding, housing and battery, and the charge that was drawn."""
    shaft = {"p": power(momentum)}
    system = compose(
        {
            "battery": battery(CHARGE, [EMPTY, FULL], INNER, capacity=20.0, theta=THETA_0),
            "inverter": inverter(DUTY),
            "motor": motor(
                CONSTANT / RATIO,
                RESISTANCE,
                coefficient=COPPER,
                reference=THETA_0,
                capacity=3.0,
                theta=THETA_0,
            ),
            "gear": gear(RATIO),
            "wheel": Quadratic(shaft, 1.0 / INERTIA),
            "bearing": Damper(viscous=DAMPING),
            "housing": HeatCapacity(8.0, THETA_0),
            "to_housing": Conduction(2.0),
            "to_air": Conduction(1.0),
            "of_battery": Conduction(0.5),
            "env": Environment(THETA_0),
        },
        {
            "bus": ("battery.q", "inverter.q"),
            "phi": ("inverter.phi", "motor.phi"),
            "in": ("motor.p", "gear.p_in"),
            "out": ("gear.p_out", "wheel.p", "bearing.p"),
            "winding": ("motor.s", "to_housing.a"),
            "shell": ("housing.s", "bearing.s", "to_housing.b", "to_air.a"),
            "cells": ("battery.s", "of_battery.a"),
            "env": ("env.s", "to_air.b", "of_battery.b"),
        },
    )
    equations = assemble(system)
    start = equations.states.vector({"battery.cell": LEVEL * CHARGE})
    motion = simulate(equations, start, 1.25e-3, round(SECONDS / 1.25e-3))
    theta = equations.storages.temperatures(motion.final)
    drawn = LEVEL * CHARGE - float(equations.states.value(motion.final, "battery.cell")[0])
    rate = float(equations.states.value(motion.final, "out")[0]) / INERTIA
    assert abs(motion.first_law).max() < 1e-6
    return np.array(
        [
            rate,
            theta["motor.coil.th.s"],
            theta["housing.s"],
            theta["battery.th.s"],
            drawn,
        ]
    )


def of_engine(dt: float) -> np.ndarray:
    """Return the same of the simulation, whose currents are held over a step."""
    one = np.ones(1)
    motors = Motors(
        torque_constant=CONSTANT * one,
        resistance=RESISTANCE * one,
        temperature_coefficient=COPPER * one,
        largest_current=1e3 * one,
        winding_capacity=3.0 * one,
        winding_conductance=2.0 * one,
        housing_capacity=8.0 * one,
        housing_conductance=1.0 * one,
    )
    cells = Battery(FULL, EMPTY, CHARGE, INNER, LEVEL, heat_capacity=20.0, conductance=0.5)
    drives = Drives(motors, cells, softening=0.0, idle=0.0, theta_0=THETA_0)

    def law(q: np.ndarray, v: np.ndarray, passed: float) -> Any:
        r = RESISTANCE * (1.0 + COPPER * (train().theta[0] - THETA_0))
        back = CONSTANT * v[0]
        # The bus at the current that the duty draws now: V = open - inner duty i.
        open_ = cells.voltage(train().charge)
        current = (DUTY * open_ - back) / (r + DUTY**2 * INNER)
        return SimpleNamespace(torque=np.array([CONSTANT * current]), wrench_base=np.zeros(0))

    found: list[EphsEngine] = []

    def train() -> Any:
        if found:
            return found[0].powertrain
        return SimpleNamespace(theta=np.array([THETA_0]), charge=LEVEL * CHARGE)

    model = VMSModel.from_urdf(URDF, base="fixed", end_effector="wheel")
    engine = EphsEngine(drives)
    home = model.neutral_configuration()
    run = Simulation(StandardForm(model), home, dt, law, friction=True, engine=engine)
    found.append(engine)
    run.advance(round(SECONDS / dt))
    wheel = run.sample()
    theta = engine.powertrain.theta
    return np.array([wheel.v[0], *theta, LEVEL * CHARGE - engine.powertrain.charge])


def test_the_drives_of_the_engine_are_those_of_the_library_as_their_steps_become_short() -> None:
    boxes = of_library()
    coarse, fine = of_engine(2e-3), of_engine(1e-3)
    changes = np.abs(boxes - np.array([0.0, THETA_0, THETA_0, THETA_0, 0.0]))
    assert (changes > np.array([1.0, 0.5, 0.02, 0.02, 0.1])).all()  # the drives have worked
    # A current that is held is half a step late, 1 ms beside 40 ms in which the motor starts: the
    # error is of first order, and what remains without it is of second.
    ratio = (coarse - boxes) / (fine - boxes)
    assert (np.abs(fine - boxes) / changes).max() < 0.04
    assert ratio.min() > 1.8
    assert ratio.max() < 2.2
    np.testing.assert_array_less(np.abs(2.0 * fine - coarse - boxes) / changes, 2e-3)
