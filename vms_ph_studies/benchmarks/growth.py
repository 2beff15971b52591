# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Growth of computation times with the number of joints: serial arms of 1 to 60 joints."""

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import (
    DecoupledForm,
    MissingExtraError,
    Ports,
    StandardForm,
    VMSModel,
    VmsPhError,
)
from vms_ph_dynamics.robot.joints import make_root_joint

from . import Benchmark
from .timing import Case

JOINTS = (1, 2, 4, 8, 15, 30, 60)
_CHAIN = "chain"


def serial_arm(joints: int, base: str) -> VMSModel:
    """Return an arm of equal links, its joints about x, y and z in turn."""
    model = pin.Model()
    model.name = f"{_CHAIN} of {joints}"
    at, root = 0, make_root_joint(base)
    link = pin.Inertia.FromCylinder(0.5, 0.03, 0.1)
    if root is not None:
        at = model.addJoint(0, root, pin.SE3.Identity(), "base")
        model.appendBodyToJoint(at, pin.Inertia.FromBox(10.0, 0.3, 0.3, 0.3), pin.SE3.Identity())
    kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    up = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
    for k in range(joints):
        at = model.addJoint(at, kinds[k % 3](), up, f"joint_{k}")
        model.appendBodyToJoint(at, link, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05])))
    model.addBodyFrame("tip", at, up, 0)
    return VMSModel.from_pinocchio(model, "tip")


def _of_arm(joints: int, base: str) -> list[Case]:
    model, rng = serial_arm(joints, base), np.random.default_rng(0)
    m = model.pinocchio
    data = m.createData()
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    tau, ports = np.zeros(model.nv), Ports()
    standard, decoupled = StandardForm(model), DecoupledForm(model)
    x, x_hat = standard.state(q, v), decoupled.state(q, v)
    suffix = f", {joints} joint{'s' * (joints > 1)}"
    reference = f"pinocchio aba{suffix}"
    calls = {
        "pinocchio aba": lambda: pin.aba(m, data, q, v, tau),
        "pinocchio crba": lambda: pin.crba(m, data, q),
        "StandardForm.rate": lambda: standard.rate(x, ports),
        "DecoupledForm.rate": lambda: decoupled.rate(x_hat, ports),
    }
    try:
        rate = standard.casadi().rate
    except MissingExtraError:
        pass
    else:
        calls["StandardForm.casadi().rate"] = lambda: rate(x.q, x.z, 0, 0, 0)
    return [Case(name + suffix, call, reference=reference) for name, call in calls.items()]


def _cases(robot: str, base: str) -> list[Case]:
    if robot != _CHAIN:
        raise VmsPhError(f"the growth is measured on serial arms; omit --robot {robot}")
    return [case for joints in JOINTS for case in _of_arm(joints, base)]


BENCHMARK = Benchmark(
    id="growth",
    title="growth with the number of joints",
    reference="pinocchio aba, 1 joint",
    cases=_cases,
    robot=_CHAIN,
    ratios="Pinocchio's aba with as many joints",
)
