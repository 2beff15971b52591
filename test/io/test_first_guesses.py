# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What somebody guesses who knows other libraries: each error names the remedy."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vms_ph_controllers
import vms_ph_dynamics
import vms_ph_io
from vms_ph_controllers import (
    AttitudeControl,
    CartesianImpedance,
    DecoupledVMSController,
    EnergyGuard,
    PoseIDAPBC,
    PushingImpedance,
    Reference,
    ResolvedMotion,
    RobotState,
    TaskSpaceIDAPBC,
    UnderactuatedFlight,
)
from vms_ph_controllers.laws.twinned_controller import TwinnedController
from vms_ph_controllers.observers import MomentumObserver
from vms_ph_dynamics import StandardForm, VMSModel
from vms_ph_dynamics.simulation import Payload
from vms_ph_io import Push, audit, robots, simulate
from vms_ph_io.audits import JointFriction, answers

PANDA = robots.load("panda")
REST = np.zeros(7)
BATCH = PANDA.evaluate_batch(np.zeros((2, 7)), np.zeros((2, 7)))
RUN = simulate("panda", lambda q, v, dt: -v, 0.01, guard=EnergyGuard(budget=1.0))


def law(q: Any, v: Any, dt: float) -> Any:
    return 5.0 * v


GUESSES: list[tuple[Callable[[], Any], str]] = [
    (lambda: PANDA.crba(REST), r"use evaluate\(q, v\)\.M"),  # type: ignore[attr-defined]
    (lambda: PANDA.torque_limits, "use joints.effort"),  # type: ignore[attr-defined]
    (lambda: PANDA.gripper, "it has armature, b, base, "),  # type: ignore[attr-defined]
    (lambda: PANDA.jacobian(REST, "panda_hand"), r"jacobian\('hand', q\)"),  # type: ignore[arg-type]
    (lambda: PANDA.evaluate(REST, REST).R, r"use StandardForm\(model\)\.dissipation"),  # type: ignore[attr-defined]
    (lambda: StandardForm(PANDA).J, "use interconnection"),  # type: ignore[attr-defined]
    (lambda: StandardForm("panda"), "StandardForm is made for the model"),  # type: ignore[arg-type]
    (lambda: CartesianImpedance("panda"), r"robots\.load\(name\)"),  # type: ignore[arg-type]
    (lambda: CartesianImpedance(PANDA, stiffness=1.0), r"CartesianImpedance\.Gains\(stiffness="),  # type: ignore[call-arg]
    (
        lambda: CartesianImpedance(PANDA, CartesianImpedance.Gains(stiffness=[1.0])),  # type: ignore[arg-type]
        "a number from 0 to 5000, times those of the axes, stiffness_share_x, ",
    ),
    (lambda: CartesianImpedance(PANDA).step(), r"use law\(q, v, dt\)"),  # type: ignore[attr-defined]
    (lambda: EnergyGuard(law, limit=1.0), r"no option 'limit'; it takes law, budget \(J\)"),
    (lambda: EnergyGuard(CartesianImpedance, budget=1.0), r"CartesianImpedance\(model\)"),
    (lambda: vms_ph_controllers.PDController, r"a function \(q, v, dt\)"),
    (lambda: vms_ph_controllers.Nothing, "it has AttitudeControl, "),
    (lambda: vms_ph_dynamics.load_urdf, "use load of vms_ph_io"),
    (lambda: vms_ph_io.plot, r"use run\.plot\(\)"),
    (lambda: robots.panda, r"robots\.load\('panda'\)"),  # type: ignore[attr-defined]
    (lambda: vms_ph_io.load("panda"), "loads a bundled robot"),
    (lambda: simulate("hexarotor"), r"hextilt \(Hextilt, a fully actuated hexarotor"),
    (lambda: simulate("panda", budget=1.0), r"use guard=EnergyGuard"),  # type: ignore[arg-type]
    (lambda: simulate("panda", uncertainty=0.1), "Uncertainty"),  # type: ignore[arg-type]
    (lambda: simulate("panda", seconds=0.1, rate=1.0), "a step of 1/rate"),
    (lambda: simulate("panda", lambda t, q, v: -v), "not with the time 't'"),
    (lambda: simulate("panda", lambda q, v, dt: None), "returned None"),
    (lambda: simulate("panda", disturbances=Push("panda_link8", REST)), "is at 'panda_link8'"),
    (
        lambda: simulate("hextilt", DecoupledVMSController, reference=[0.5, 0.0, 1.0]),
        r"follows no position of a reference; give Reference\(pose=\.\.\., ",
    ),
    (lambda: RUN.energy_balance, "use audit"),  # type: ignore[attr-defined]
    (lambda: audit(simulate("panda", seconds=0.01)), r"run\.audit"),  # type: ignore[arg-type]
    (lambda: Payload(1.0, np.ones(3), "panda_hand"), r"capture_time .* must be zero"),  # type: ignore[arg-type]
    (lambda: Payload(1.0, position=REST), r"Payload\(\) has no argument 'position'; use place"),  # type: ignore[call-arg]
    (
        lambda: Payload(mass=1.0, moment=REST, capture_time=1.0),
        r"did you mean 'moments'\?\); its arguments are mass,",
    ),  # type: ignore[call-arg]
    (lambda: Reference(orientation=REST), r"use pose, \(4,4\)"),  # type: ignore[call-arg]
    (
        lambda: CartesianImpedance.Gains(stifness=1.0),
        r"CartesianImpedance\.Gains\(\) has no .*'stiffness'",
    ),  # type: ignore[call-arg]
    (lambda: MomentumObserver(PANDA, gain=30.0), "use bandwidth"),  # type: ignore[call-arg]
    (lambda: MomentumObserver(PANDA).update(REST), r"use add\(impulse\)"),  # type: ignore[attr-defined]
    (lambda: vms_ph_controllers.MomentumObserver, "that of vms_ph_controllers.observers"),
    (lambda: vms_ph_dynamics.forward_dynamics_batch, r"use StandardForm\(model\)\.rate_batch"),
    (lambda: PANDA.batch(REST), r"use evaluate_batch\(Q, V\)"),  # type: ignore[attr-defined]
    (lambda: BATCH.forward_dynamics, r"StandardForm\(model\)\.rate_batch\(Q, momentum, ports\)"),
    (lambda: BATCH.M_bb, r"did you mean 'M_b'\?"),
    (lambda: PANDA.evaluate(REST, REST).end_effector_pose, r"placement\(model\.end_effector\)"),  # type: ignore[attr-defined]
    (lambda: PANDA.evaluate(REST, REST).task_inertia, r"TaskSpaceForm\(.*Lambda_t"),  # type: ignore[attr-defined]
    (lambda: RUN.base_pose, r"use model\.base_pose\(run\.q\[k\]\)"),  # type: ignore[attr-defined]
    (lambda: PANDA.full_configuration, r"use evaluate\(q, v\)\.q_full"),  # type: ignore[attr-defined]
    (lambda: RUN.task_error, r"placement\(frame\), to compare"),  # type: ignore[attr-defined]
    (lambda: RUN.audit.unaccounted, "use residual"),  # type: ignore[attr-defined]
    (lambda: RUN.certificate.max_energy, "use largest_given"),  # type: ignore[union-attr]
    (lambda: robots.load("ur5.urdf"), r"vms_ph_io\.load_urdf\(path\)"),
    (lambda: audit("run.csv", "panda", friction="none"), r"JointFriction\.none\(model\)"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("guess", "remedy"), GUESSES)
def test_a_wrong_guess_is_answered_by_its_remedy(guess: Callable[[], Any], remedy: str) -> None:
    with pytest.raises(
        (AttributeError, ImportError, ValueError, vms_ph_dynamics.VmsPhError), match=remedy
    ):
        guess()


@pytest.mark.parametrize(
    ("kind", "robot"),
    [
        (CartesianImpedance, "panda"),
        (PoseIDAPBC, "panda"),
        (PushingImpedance, "panda"),
        (TaskSpaceIDAPBC, "panda"),
        (DecoupledVMSController, "hextilt"),
        (UnderactuatedFlight, "borinot"),
        (AttitudeControl, "satellite_panda"),
        (ResolvedMotion, "satellite_panda"),
    ],
)
def test_a_law_ignores_what_it_says_that_it_ignores(
    kind: type[TwinnedController], robot: str
) -> None:
    model: VMSModel = robots.load(robot)
    needs_rotors = kind in (UnderactuatedFlight, AttitudeControl)
    options = {"allocation": robots.get(robot).own_actuators().allocation} if needs_rotors else {}
    pose = np.eye(4)
    pose[:3, 3] = 0.3, 0.1, 0.4
    whole = Reference(
        pose[:3, 3], np.full(3, 0.1), pose, np.full(6, 0.1), np.full(model.n, 0.2), np.full(6, 2.0)
    )
    followed = replace(whole, **dict.fromkeys(kind.IGNORES))
    assert kind.IGNORES
    state = RobotState(model.home, np.zeros(model.nv))
    efforts = []
    for reference in (whole, followed, Reference()):
        controller = kind(model, kind.Gains(), **options)
        controller.reset(state)
        for _ in range(5):
            command = controller.update(state, reference, 1e-3)
        efforts.append(np.concatenate([command.wrench_base, command.torque]))
    np.testing.assert_array_equal(efforts[0], efforts[1])
    assert np.abs(efforts[0] - efforts[2]).max() > 1e-6


def test_an_audit_names_the_sentences_and_sums_that_are_looked_for(tmp_path: Path) -> None:
    found = audit(RUN.save(tmp_path / "run"), PANDA, friction=JointFriction.none(PANDA))
    assert (found.friction, answers(found)[0][:14]) == ("given", "No problem was")
    for guess, remedy in ("unaccounted", "ledger.unaccounted"), ("summary", r"answers\(audit\)"):
        with pytest.raises(AttributeError, match=f"use {remedy}"):
            getattr(found, guess)
