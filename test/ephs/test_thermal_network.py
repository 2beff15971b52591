# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Heat between capacities and the environment: against the assembled system, and both laws."""

import numpy as np
import pytest

from vms_ph_ephs import Environment, assemble, compose, simulate
from vms_ph_ephs.multibody import Conduction, HeatCapacity
from vms_ph_ephs.robot import Conductor, ThermalNetwork

THETA_0 = 300.0
CAPACITIES = np.array([2.0, 5.0, 1.0])
PATHS = [Conductor(0, 1, 0.8), Conductor(1, None, 0.3), Conductor(2, 1, 0.1)]


def test_temperatures_are_those_of_the_assembled_heat_capacities_and_conductions() -> None:
    boxes = {f"c{k}": HeatCapacity(c, THETA_0) for k, c in enumerate(CAPACITIES)}
    wires = {f"s{k}": [f"c{k}.s"] for k in range(3)} | {"out": ["env.s"]}
    for k, path in enumerate(PATHS):
        boxes[f"h{k}"] = Conduction(path.conductance)  # type: ignore[assignment]
        wires[f"s{path.first}"].append(f"h{k}.a")
        wires["out" if path.second is None else f"s{path.second}"].append(f"h{k}.b")
    equations = assemble(compose({**boxes, "env": Environment(THETA_0)}, wires))
    start = np.array([350.0, 310.0, 290.0])
    entropies = {f"s{k}": CAPACITIES[k] * np.log(start[k] / THETA_0) for k in range(3)}
    motion = simulate(equations, equations.states.vector(entropies), 0.02, 100)
    found = equations.storages.temperatures(motion.final)
    errors = []
    for steps in (20, 40):
        network, theta = ThermalNetwork(CAPACITIES, PATHS, THETA_0, 2.0 / steps), start
        for _ in range(steps):
            theta = network.step(theta, np.zeros(3)).theta
        errors.append(max(abs(found[f"c{k}.s"] - theta[k]) for k in range(3)))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4)


def test_every_step_conserves_energy_and_produces_entropy_however_long_it_is(
    rng: np.random.Generator,
) -> None:
    for dt in (1e-3, 0.1, 30.0):
        network = ThermalNetwork(CAPACITIES, PATHS, THETA_0, dt)
        theta = np.array([400.0, 320.0, 280.0])
        for _ in range(20):
            heat = rng.uniform(0.0, 2.0, 3)
            step = network.step(theta, heat)
            assert (step.destroyed >= -1e-25).all()
            gained = CAPACITIES @ (step.theta - theta)
            assert gained == pytest.approx(heat.sum() - step.heat[1], abs=1e-11)
            entropy = CAPACITIES @ np.log(step.theta / theta) + step.heat[1] / THETA_0
            produced = (heat / step.mean_theta).sum() + step.destroyed.sum() / THETA_0
            assert entropy == pytest.approx(produced, abs=1e-12)
            theta = step.theta
