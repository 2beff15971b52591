# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An energy guard before a law that knows no energy: it gives its budget, and no more."""

import numpy as np

from vms_ph_controllers import EnergyGuard
from vms_ph_dynamics import DecoupledForm, Ports, integrate
from vms_ph_io import robots

model, dt = robots.load("panda"), 2e-3
home = model.home


def unstable(q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    """Return torques with the wrong sign of the damping: the robot accelerates without bound."""
    d = model.evaluate(q, v)
    return d.g + d.M @ (4.0 * v + 1.0)


law = EnergyGuard(unstable, budget=1.0, model=model)
form = DecoupledForm(model)
x, changed = form.state(home, np.zeros(model.nv)), 0
for _ in range(300):
    command = law(x.q, form.velocity(x), dt)
    changed += command.status.name != "OK"
    x = integrate(form, x, Ports(torque=command.torque), dt=dt, steps=1).states[-1]
d = model.evaluate(x.q, form.velocity(x))
print(f"kinetic energy after 0.6 s: {d.kinetic_energy:.4f} J, {changed} of 300 samples changed")
print(law.certificate)
assert d.kinetic_energy < 1.0 + 1e-6
