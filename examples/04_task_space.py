# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Split the motion of a redundant arm into a task and its null space, and follow the energy."""

import numpy as np

from vms_ph_dynamics import Ports, PositionTask, TaskSpaceForm
from vms_ph_io import robots

model = robots.load("panda")
form = TaskSpaceForm(model, PositionTask(model))  # three numbers, so four are left
q = model.home
rng = np.random.default_rng(4)
x = form.state(q, rng.normal(size=model.nv))
t = form.evaluate(x.q, form.velocity(x))
print("effective mass along x, y, z:", np.round(1.0 / np.diag(np.linalg.inv(t.Lambda_t)), 2), "kg")
print(f"kinetic energy: task {t.kinetic_task:.3f} J, null space {t.kinetic_null:.3f} J")
print(f"null space to task: {t.coupling.exchange:+.3f} W, by inertia alone")
print("power of unit torques at both ports:", form.task_power(x, Ports(torque=np.ones(model.n))))
whole = model.evaluate(q, form.velocity(x)).kinetic_energy
assert abs(t.kinetic_task + t.kinetic_null - whole) < 1e-12 * whole
