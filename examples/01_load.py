# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Load a robot from a URDF and read the terms of its equations of motion."""

import numpy as np

from vms_ph_io import robots

# A bundled robot by its name; any URDF, xacro or MJCF file by its path.
panda = robots.load("panda")
flying = robots.load("panda", base="floating")
print(panda)
print(flying)

# A configuration from joint names, an evaluation at a state: each term is computed on first use.
q = panda.configuration({"panda_joint2": -0.5, "panda_joint4": -2.0, "panda_joint6": 1.5})
d = panda.evaluate(q, np.full(panda.nv, 0.1))
print("mass matrix", d.M.shape, "kinetic energy", round(d.kinetic_energy, 4), "J")
print("torques that hold it:", np.round(d.g, 2), "N m")

# On a floating base the matrix has blocks: base, coupling, arm.
f = flying.evaluate(flying.neutral_configuration(), np.zeros(flying.nv))
print("blocks", f.M_b.shape, f.M_bm.shape, f.M_m.shape)
assert np.allclose(f.A, np.linalg.solve(f.M_b, f.M_bm))  # the mechanical connection
