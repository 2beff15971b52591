# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The three port-Hamiltonian forms of one robot: the same motion in other momenta."""

import numpy as np

from vms_ph_dynamics import DecoupledForm, Ports, PositionTask, StandardForm, TaskSpaceForm
from vms_ph_io import robots

model = robots.load("satellite_panda")
rng = np.random.default_rng(1)
q, v = model.random_configuration(rng), 0.3 * rng.normal(size=model.nv)
ports = Ports(torque=np.ones(model.n), wrench_base=np.zeros(6))

for form in (StandardForm(model), DecoupledForm(model), TaskSpaceForm(model, PositionTask(model))):
    x = form.state(q, v)  # (q, z): z are the momenta of the form
    J = form.interconnection(x)
    balance = form.power_balance(x, ports)
    print(
        f"{type(form).__name__:14} H = {form.hamiltonian(x).total:.6f} J, "
        f"skew to {abs(J + J.T).max():.0e}, torques supply {balance.supplied['torque']:+.6f} W, "
        f"residual {balance.residual:+.0e} W"
    )
    assert np.allclose(form.velocity(x), v)
    assert abs(balance.residual) < 1e-10
