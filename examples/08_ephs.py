# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A mass on a spring whose friction heats it: both laws of thermodynamics, by construction."""

import numpy as np

from vms_ph_ephs import Environment, assemble, compose, flatten, simulate
from vms_ph_ephs.examples import oscillator
from vms_ph_ephs.library import Damper

# Boxes with ports; a name on the right is a junction of the ports in its list.
system = compose(
    {"osc": oscillator(stiffness=2.0, mass=3.0), "mf": Damper(0.7), "env": Environment(300.0)},
    {"p": ("osc.p", "mf.p"), "s": ("mf.s", "env.s")},
)
equations = assemble(system)
print("boxes:", ", ".join(flatten(system).pattern.boxes))
motion = simulate(equations, equations.states.vector({"osc.q": 1.0}), dt=2e-3, steps=500)
print(f"energy that appeared or vanished: {abs(motion.first_law).max():.0e} J")
print(f"entropy made by friction: {motion.entropy[-1] - motion.entropy[0]:.2e} J/K, never less")
assert abs(motion.first_law).max() < 1e-10
assert np.diff(motion.entropy).min() >= 0.0
