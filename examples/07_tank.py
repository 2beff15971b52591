# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An energy guard before a controller that knows no energy: it gives its budget, and no more."""

import numpy as np

from vms_ph_controllers.guard import EnergyGuard, EnergyGuardSettings
from vms_ph_dynamics import DecoupledForm, Ports, integrate
from vms_ph_io import robots

model, dt = robots.load("panda"), 2e-3
home = model.configuration(robots.get("panda").home)
guard = EnergyGuard(model, EnergyGuardSettings(tank_capacity=1.0, tank_initial=1.0), period=dt)
guard.engage(home, np.zeros(model.nv))


def of_somebody_else(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return torques with the wrong sign of the damping: the robot accelerates without bound."""
    d = model.evaluate(q, v)
    return d.g + d.M @ (4.0 * v + 1.0)


form = DecoupledForm(model)
x, scaled = form.state(home, np.zeros(model.nv)), 0
for _ in range(300):
    q, v = x.q, form.velocity(x)
    sent = guard.update(q, v, of_somebody_else(q, v), dt)
    scaled += sent.status.name != "OK"
    x = integrate(form, x, Ports(torque=sent.effort), dt=dt, steps=1).states[-1]
d = model.evaluate(x.q, form.velocity(x))
print(f"kinetic energy after 0.6 s: {d.kinetic_energy:.4f} J, {scaled} of 300 samples changed")
for line in guard.certificate().lines():
    print(line)
assert d.kinetic_energy < 1.0 + 1e-6
