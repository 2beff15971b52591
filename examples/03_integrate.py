# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integrate a motion with an exact energy balance, and find an event in it."""

import numpy as np

from vms_ph_dynamics import DecoupledForm, Friction, Ports, integrate
from vms_ph_dynamics.integrators import Event
from vms_ph_io import robots

model = robots.load("panda")
form = DecoupledForm(model)
start = form.state(model.home, np.zeros(model.nv))
friction = Friction(np.full(model.n, 2.0), np.zeros(model.n))  # viscous, Coulomb


def push(t: float, x: object) -> Ports:
    """10 N to the side, in the axes of the hand, during the first half second."""
    force = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0]) * (t < 0.5)
    return Ports(wrench_end_effector=force, friction=friction)


low = Event("elbow straightens", lambda t, x: x.q[3] + 1.0)
run = integrate(form, start, push, dt=2e-3, steps=400, events=[low])
audit = run.audit
print(run)
print(
    f"stored {audit.stored.sum():+.3f} J = "
    f"supplied {sum(port.sum() for port in audit.supplied.values()):+.3f} J "
    f"- dissipated {audit.dissipated.sum():.3f} J, residual {audit.residual.sum():+.0e} J"
)
print("events:", [(found.event, round(found.t, 3)) for found in run.events])
assert abs(audit.residual.sum()) < 1e-9
