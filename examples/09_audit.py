# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Where the energy of a recording went: friction that the description does not know."""

import tempfile
from pathlib import Path

import numpy as np

from vms_ph_io import audit, robots
from vms_ph_io.audits import document

model = robots.load("panda")
# A recording as a file with columns would have it: the first joint swings, with 0.5 N m s/rad.
t = np.linspace(0.0, 2.0, 501)
q, v, effort = np.zeros((501, 7)), np.zeros((501, 7)), np.zeros((501, 7))
q[:, 0], v[:, 0] = 0.5 * np.sin(3 * t), 1.5 * np.cos(3 * t)
inertia = model.evaluate(q[0], v[0]).M[0, 0]
effort[:, 0] = -4.5 * inertia * np.sin(3 * t) + 0.5 * v[:, 0]

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "run.npz"
    np.savez(file, time=t, position=q, velocity=v, effort=effort, joints=model.joint_names)
    found = document(audit(file, model))
joint = found["ledger"]["joint"]["panda_joint1"]
print(f"supplied by joint 1: {joint['supplied']:+.3f} J")
print(f"unaccounted: {found['unaccounted']:+.3f} J, of joint 1: {joint['residual']:+.3f} J")
power = (0.5 - model.joints.damping[0]) * v[:, 0] ** 2
lost = float(np.diff(t) @ (power[1:] + power[:-1])) / 2
print(f"work of the friction that the description leaves out: {-lost:+.3f} J")
assert abs(found["unaccounted"] + lost) < 0.05 * lost
