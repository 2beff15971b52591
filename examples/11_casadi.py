# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The dynamics as CasADi functions: exact derivatives, for optimal control (optimal_swing.py)."""

import numpy as np

try:
    import casadi as ca
except ImportError:
    raise SystemExit("this example needs casadi: pip install 'vms-ph[casadi]'") from None

from vms_ph_dynamics import DecoupledForm, Ports
from vms_ph_io import robots

model = robots.load("panda")
form = DecoupledForm(model)
exported = form.casadi()
print(exported.rate)

x = form.state(model.home, np.full(model.nv, 0.1))
here = exported.rate(q=x.q, z=x.z, torque=np.ones(7))
there = form.rate(x, Ports(torque=np.ones(7)))
assert np.allclose(here["zdot"].full()[:, 0], there.zdot)

q, z = ca.SX.sym("q", model.nq), ca.SX.sym("z", model.nv)
slope = ca.Function("slope", [q, z], [ca.jacobian(exported.rate(q=q, z=z)["zdot"], q)])
print("d zdot / dq:", slope(x.q, x.z).shape)
