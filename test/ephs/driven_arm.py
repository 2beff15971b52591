# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An arm of two joints with motors, a battery and heat, for the tests of the engine ephs."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from vms_ph_dynamics import StandardForm, VMSModel
from vms_ph_dynamics.simulation import Simulation
from vms_ph_ephs.robot import Battery, Drives, EphsEngine, Motors

URDF = """
<robot name="driven">
  <link name="foot"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.2"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="foot"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="30" velocity="6"/>
    <dynamics damping="0.3" friction="0"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="15" velocity="6"/>
    <dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/>
    <origin xyz="0 0 -0.4"/></joint>
</robot>
"""

HOME = np.array([0.6, -0.4])


def arm() -> VMSModel:
    return VMSModel.from_urdf(URDF, base="fixed", end_effector="tip")


def drives(**changes: Any) -> Drives:
    """Small heat capacities, so that much happens within tenths of a second."""
    pair = np.ones(2)
    motors = Motors(
        torque_constant=np.array([4.0, 2.0]),
        resistance=np.array([0.8, 0.6]),
        temperature_coefficient=0.004 * pair,
        largest_current=8.0 * pair,
        winding_capacity=3.0 * pair,
        winding_conductance=2.0 * pair,
        housing_capacity=8.0 * pair,
        housing_conductance=1.0 * pair,
    )
    battery = Battery(full=42.0, empty=30.0, charge=400.0, resistance=0.1, heat_capacity=20.0)
    return replace(Drives(motors, battery, softening=0.02), **changes)


Law = Callable[[np.ndarray, np.ndarray], Any]


def swinging(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.array([-12.0 * (q[0] - 0.9), -6.0 * (q[1] + 0.9)]) - 0.3 * v


def simulation(
    law: Law = swinging, dt: float = 2e-3, home: np.ndarray = HOME, **options: Any
) -> Simulation:
    model = arm()

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Any:
        return SimpleNamespace(torque=np.asarray(law(q, v)), wrench_base=np.zeros(0))

    engine = EphsEngine(options.pop("drives", drives()), options.pop("scheme", None))
    effects = {"friction": True, "joint_stops": True, **options}
    return Simulation(StandardForm(model), home, dt, control, engine=engine, **effects)
