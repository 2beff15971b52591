# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An arm in space turns its satellite, and comes back to another attitude: no force acted."""

import numpy as np

from vms_ph_dynamics import FreeFloating, StandardForm, integrate
from vms_ph_io import robots

model = robots.load("satellite_panda")
space = FreeFloating(model)
q = model.home
rates = np.array([0.4, -0.3, 0.5, 0.2, -0.4, 0.3, 0.6])
d = model.evaluate(q, np.zeros(model.nv))
base = -d.A @ rates  # zero momentum: the base reacts by the mechanical connection
e = space.evaluate(q, np.concatenate([base, rates]))
print("momentum:", f"{np.linalg.norm(e.P):.0e} kg m/s, {np.linalg.norm(e.L):.0e} kg m^2/s")
print("twist of the hand, from the generalised Jacobian:", np.round(e.J_g @ rates, 3))
print("joint motions that do not turn the base:", e.reaction_null_space.shape[1])
assert np.linalg.norm(e.P) < 1e-9

form = StandardForm(model)
run = integrate(form, form.state(q, np.concatenate([base, rates])), dt=5e-3, steps=200)
turned = model.difference(q, run.states[-1].q)[3:6]
print(f"after 1 s the base has turned by {np.degrees(np.linalg.norm(turned)):.3f} degrees")
print(f"spatial momentum still {abs(run.spatial_momentum).max():.0e}")
assert abs(run.spatial_momentum).max() < 1e-9
