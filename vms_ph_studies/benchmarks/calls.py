# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Computation times of terms, rates and laws, against Pinocchio's algorithms."""

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from vms_ph_controllers import (
    CartesianImpedance,
    Controller,
    DecoupledVMSController,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_dynamics import MissingExtraError, VMSModel, VmsPhError
from vms_ph_dynamics.forms import DecoupledForm, Ports, StandardForm, TaskSpaceForm
from vms_ph_dynamics.robot.joints import make_root_joint
from vms_ph_dynamics.tasks import PositionTask
from vms_ph_io import robots

from . import Benchmark
from .timing import Case

JOINT_COUNTS = (1, 2, 4, 8, 15, 30, 60)

_ABA, _CRBA, _CHAIN = "pinocchio aba", "pinocchio crba", "chain"
_TERMS = "pinocchio crba + computeJointJacobians"

# All blocks of the equations of motion, with energies and momenta, which follow from them.
_BLOCKS = ("M", "A", "M_hat_m", "v_hat", "p", "pi", "pi_hat", "C", "g", "J_end_effector")
# Matrices of the task-space form without derivatives, and those with derivatives.
_MATRICES = ("J_bar", "J_bar_inverse", "Lambda_bar", "P", "stacked_velocity", "pi", "pi_nu")
_DERIVATIVES = ("J_z",)


def _pinocchio_calls(
    model: VMSModel, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> dict[str, Callable[[], object]]:
    """Return the calls of Pinocchio by name."""
    m, data = model.pinocchio, model.pinocchio.createData()
    return {
        _CRBA: lambda: pin.crba(m, data, q),
        "pinocchio rnea": lambda: pin.rnea(m, data, q, v, tau),
        "pinocchio coriolis": lambda: pin.computeCoriolisMatrix(m, data, q, v),
        _ABA: lambda: pin.aba(m, data, q, v, tau),
        _TERMS: lambda: (pin.crba(m, data, q), pin.computeJointJacobians(m, data, q)),
    }


def terms_call(evaluate: Callable[[], object], names: tuple[str, ...]) -> Callable[[], object]:
    """Return a call that evaluates a state and computes its terms."""

    def call() -> None:
        terms = evaluate()
        for name in names:
            getattr(terms, name)

    return call


def _dynamics_cases(robot: str, base: str) -> list[Case]:
    model, rng = robots.load(robot, base=base), np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    tau = rng.uniform(-10, 10, model.nv)
    ports = Ports(torque=tau[model.b :], wrench_base=tau[: model.b])
    standard_form, decoupled_form = StandardForm(model), DecoupledForm(model)
    x, x_hat = standard_form.state(q, v), decoupled_form.state(q, v)
    calls = _pinocchio_calls(model, q, v, tau)
    del calls[_TERMS]
    return [
        *(Case(name, call) for name, call in calls.items()),
        Case(
            "DecoupledForm.rate_arrays",
            lambda: decoupled_form.rate_arrays(x_hat.q, x_hat.z, ports),
            max_ratio=9.0,
        ),
        Case("DecoupledForm.rate", lambda: decoupled_form.rate(x_hat, ports), max_ratio=14.0),
        Case("StandardForm.rate", lambda: standard_form.rate(x, ports)),
        Case(
            "VMSModel.evaluate, all blocks",
            terms_call(lambda: model.evaluate(q, v), _BLOCKS),
            max_ratio=16.0,
        ),
        Case("matrices of the decoupled form", lambda: decoupled_form.interconnection(x_hat)),
    ]


def _update_case(
    start_state: RobotState,
    state: RobotState,
    name: str,
    law: Controller,
    reference: Reference,
    max_median: float | None,
) -> Case:
    law.reset(start_state)
    return Case(name, lambda: law.update(state, reference, 1e-3), max_median=max_median)


def _control_cases(robot: str, base: str) -> list[Case]:
    if base == "fixed":
        raise VmsPhError("these laws need a planar or floating base; given: fixed")
    model, rng = robots.load(robot, base=base), np.random.default_rng(0)
    q, v = model.random_configuration(rng), 0.1 * rng.uniform(-1, 1, model.nv)
    calls, state = _pinocchio_calls(model, q, v, np.zeros(model.nv)), RobotState(q, v)
    moving_reference = Reference(twist=np.array([0.1, 0, 0, 0, 0, 0.1]))
    name = "DecoupledVMSController.update"
    laws = (
        (f"{name}, resting reference", DecoupledVMSController(model), Reference(), 200e-6),
        (f"{name}, moving reference", DecoupledVMSController(model), moving_reference, 200e-6),
        ("CartesianImpedance.update", CartesianImpedance(model), Reference(), None),
    )
    return [
        *(Case(name, calls[name]) for name in (_CRBA, _ABA)),
        *(_update_case(state, state, *law_case) for law_case in laws),
    ]


def _task_cases(robot: str, base: str) -> list[Case]:
    if base != "fixed":
        raise VmsPhError(f"this controller needs a fixed base; given: {base}")
    model, rng = robots.load(robot, base=base), np.random.default_rng(0)
    q, v = model.home + rng.uniform(-0.1, 0.1, model.nv), rng.uniform(-0.5, 0.5, model.nv)
    form = TaskSpaceForm(model, PositionTask(model), reference=model.home)
    x, ports = form.state(q, v), Ports(np.zeros(model.n))
    start_state, state = RobotState(model.home, np.zeros(model.nv)), RobotState(q, v)
    moving_reference = Reference(velocity=np.array([0.0, 0.0, 1e-6]))
    tank = TaskSpaceIDAPBC.Gains(tank_capacity=1.0)
    name = "TaskSpaceIDAPBC.update"
    laws = (
        (name, TaskSpaceIDAPBC(model), Reference(), 150e-6),
        (f"{name}, moving reference", TaskSpaceIDAPBC(model), moving_reference, 150e-6),
        (f"{name}, with a tank", TaskSpaceIDAPBC(model, gains=tank), Reference(), 150e-6),
        (
            f"{name}, coupling cancelled",
            TaskSpaceIDAPBC(model, TaskSpaceIDAPBC.Gains(cancel_coupling=True)),
            Reference(),
            400e-6,
        ),
    )
    return [
        Case(_TERMS, _pinocchio_calls(model, q, v, np.zeros(model.nv))[_TERMS]),
        Case(
            "TaskSpaceForm, all matrices without derivatives",
            terms_call(lambda: form.evaluate(q, v), _MATRICES),
        ),
        Case(
            "TaskSpaceForm, all matrices, G and J_z too",
            terms_call(lambda: form.evaluate(q, v), (*_MATRICES, *_DERIVATIVES)),
        ),
        Case("TaskSpaceForm.rate", lambda: form.rate(x, ports)),
        *(_update_case(start_state, state, *law_case) for law_case in laws),
    ]


def serial_arm(joint_count: int, base: str) -> VMSModel:
    """Return an arm of equal links, its joints about x, y and z in turn."""
    model = pin.Model()
    model.name = f"{_CHAIN} of {joint_count}"
    joint, root = 0, make_root_joint(base)
    link = pin.Inertia.FromCylinder(0.5, 0.03, 0.1)
    if root is not None:
        joint = model.addJoint(0, root, pin.SE3.Identity(), "base")
        model.appendBodyToJoint(joint, pin.Inertia.FromBox(10.0, 0.3, 0.3, 0.3), pin.SE3.Identity())
    joint_types = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    joint_offset = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))
    for k in range(joint_count):
        joint = model.addJoint(joint, joint_types[k % 3](), joint_offset, f"joint_{k}")
        model.appendBodyToJoint(joint, link, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05])))
    model.addBodyFrame("tip", joint, joint_offset, 0)
    return VMSModel.from_pinocchio(model, "tip")


def _growth_cases(robot: str, base: str) -> list[Case]:
    if robot != _CHAIN:
        raise VmsPhError(f"the growth is measured on serial arms; omit --robot {robot}")
    return [case for joint_count in JOINT_COUNTS for case in _arm_cases(joint_count, base)]


def _arm_cases(joint_count: int, base: str) -> list[Case]:
    model, rng = serial_arm(joint_count, base), np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.uniform(-1, 1, model.nv)
    standard_form, decoupled_form, ports = StandardForm(model), DecoupledForm(model), Ports()
    x, x_hat = standard_form.state(q, v), decoupled_form.state(q, v)
    pinocchio_calls = _pinocchio_calls(model, q, v, np.zeros(model.nv))
    calls: dict[str, Callable[[], object]] = {
        **{name: pinocchio_calls[name] for name in (_ABA, _CRBA)},
        "StandardForm.rate": lambda: standard_form.rate(x, ports),
        "DecoupledForm.rate": lambda: decoupled_form.rate(x_hat, ports),
    }
    try:
        rate = standard_form.casadi().rate
    except MissingExtraError:
        pass
    else:
        calls["StandardForm.casadi().rate"] = lambda: rate(x.q, x.z, 0, 0, 0)
    suffix = f", {joint_count} joint{'s' * (joint_count > 1)}"
    return [Case(name + suffix, call, reference=_ABA + suffix) for name, call in calls.items()]


BENCHMARKS = [
    Benchmark(
        "dynamics", "terms of the equations of motion and rates of the forms", _ABA, _dynamics_cases
    ),
    Benchmark(
        "growth",
        "growth with the number of joints",
        f"{_ABA}, 1 joint",
        _growth_cases,
        robot=_CHAIN,
        ratios="Pinocchio's aba with as many joints",
    ),
    Benchmark("control", "one update of the control laws", _ABA, _control_cases),
    Benchmark(
        "task-space", "the task-space form and its controller", _TERMS, _task_cases, base="fixed"
    ),
]
