# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""An arm in space turns its satellite, and comes back to another attitude: no force acted."""

import numpy as np

from vms_ph_dynamics import FreeFloating, StandardForm, integrate
from vms_ph_io import robots

model = robots.load("satellite_panda")
space = FreeFloating(model)
q = model.configuration(robots.get("satellite_panda").home)
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
