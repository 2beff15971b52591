# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Many states, and many runs, in one call; on all cores where the C++ core is installed."""

import numpy as np

from vms_ph_dynamics import DecoupledForm, Ports, integrate_batch
from vms_ph_io import robots

model = robots.load("hextilt")
rng = np.random.default_rng(0)
Q = np.array([model.random_configuration(rng) for _ in range(200)])
V = rng.normal(size=(200, model.nv))
d = model.evaluate_batch(Q, V, terms=("M", "kinetic_energy"))
print("mass matrices", d.M.shape, "mean kinetic energy", round(d.kinetic_energy.mean(), 3), "J")
assert np.allclose(d.M[7], model.evaluate(Q[7], V[7]).M)

form = DecoupledForm(model)
states = [form.state(q, 0.1 * v) for q, v in zip(Q[:5], V[:5], strict=True)]
efforts = [Ports(torque=0.01 * k * np.ones(model.n)) for k in range(5)]
runs = integrate_batch(form, states, efforts, dt=1e-3, steps=50, stride=50)
print("runs", runs.q.shape, f"largest residual {abs(runs.residual).max():.0e} J")
assert abs(runs.residual).max() < 1e-9
