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
