# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A controller between flat arrays, and what it holds a robot with when it is not heard."""

from dataclasses import dataclass

import numpy as np
import pytest

from vms_ph_controllers import (
    CartesianImpedance,
    Command,
    Controller,
    DecoupledVMSController,
    Reference,
    RobotState,
    Status,
    TaskSpaceIDAPBC,
)
from vms_ph_controllers.controller import gain, switch
from vms_ph_controllers.hosting.hosted_controller import (
    HostedController,
    describe,
)
from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_io import robots


class Remembers(Controller):
    """Keeps the very arrays that it is given, as a user's class may."""

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        stiffness: float = gain(2.0, "of every joint, N m/rad", 0.0, 9.0)
        steps: int = gain(3, "a whole number", 1, 5)
        on: bool = switch(True, "pull at all")

    def __init__(self, model: VMSModel) -> None:
        super().__init__(model)
        self.gains = self.Gains()
        self.seen: list[RobotState] = []
        self.references: list[Reference] = []

    def reset(self, state: RobotState) -> None:
        self.seen = [state]

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        self.seen.append(state)
        self.references.append(reference)
        away = state.q - self.seen[0].q
        return Command(np.zeros(self.model.b), -self.gains.stiffness * self.gains.on * away)


def hosted(model: VMSModel) -> HostedController:
    return HostedController(f"{__name__}.Remembers", model, True)


def test_what_a_controller_keeps_of_a_state_is_not_written_over(panda: VMSModel) -> None:
    host, q = hosted(panda), panda.neutral_configuration()
    host.inputs[:7] = q
    host.reset()
    for k in (1, 2):
        host.inputs[:7] = q + 0.1 * k
        host.inputs[host.layout["inputs"]["age"]] = 0.01 * k
        host.update()
        np.testing.assert_allclose(host.outputs[:7], -0.2 * k, rtol=1e-12)
    assert isinstance(host.controller, Remembers)
    np.testing.assert_array_equal([s.q[0] for s in host.controller.seen], q[0] + [0, 0.1, 0.2])
    assert [s.age for s in host.controller.seen] == [0.0, 0.01, 0.02]
    with pytest.raises(ValueError, match="read-only"):
        host.controller.seen[0].q[0] = 1.0


def test_a_law_gets_the_parts_of_a_reference_that_are_flagged(panda: VMSModel) -> None:
    host, q = hosted(panda), panda.neutral_configuration()
    parts, numbers = host.layout["flags"], host.layout["inputs"]
    pose = panda.evaluate(q, np.zeros(7)).placement(panda.end_effector)
    host.inputs[:7] = q
    host.inputs[numbers["pose"]], host.inputs[numbers["wrench"]] = pose.ravel(), np.arange(6.0)
    host.reset()
    host.update()
    host.flags[parts["pose"]] = host.flags[parts["wrench"]] = 1
    host.update()
    nothing, given = host.controller.references  # type: ignore[attr-defined]
    assert nothing == Reference()
    np.testing.assert_array_equal(given.pose, pose)
    np.testing.assert_array_equal(given.wrench, np.arange(6.0))
    assert given.position is given.velocity is given.twist is given.joints is None
    assert host.outputs[host.layout["outputs"]["status"]].tolist() == [Status.OK]


def test_gains_keep_their_types(panda: VMSModel) -> None:
    host = hosted(panda)
    assert [row[0] for row in host.gains()] == ["stiffness", "steps", "on"]
    assert host.gains()[2][2:] == (1.0, 0.0, 1.0, 1.0, True)
    host.set_gain("steps", 4.0)
    host.set_gain("on", 0.0)
    assert host.controller.gains == Remembers.Gains(steps=4, on=False)
    assert isinstance(host.controller.gains.steps, int)
    assert host.controller.gains.on is False


def test_a_class_that_does_not_say_otherwise_is_held_by_gravity_torques(panda: VMSModel) -> None:
    host = hosted(panda)
    q = host.inputs[:7] = np.linspace(-0.3, 0.4, 7)
    host.reset()
    np.testing.assert_allclose(host.outputs[7:14], panda.evaluate(q, np.zeros(7)).g, atol=1e-12)


@pytest.mark.parametrize(
    ("law", "robot"),
    [
        (TaskSpaceIDAPBC, "panda"),
        (CartesianImpedance, "panda"),
        (CartesianImpedance, "hextilt"),
        (DecoupledVMSController, "hextilt"),
    ],
)
def test_the_safe_output_is_what_a_law_gives_for_a_state_that_is_none(
    law: type[Controller], robot: str
) -> None:
    known = robots.get(robot)
    model = known.load()
    controller = law(model)
    q = model.configuration(known.home)
    controller.reset(RobotState(q, np.zeros(model.nv)))
    controller.update(RobotState(q, np.full(model.nv, 0.1)), Reference(), 1e-3)
    safe = controller.safe_output(q)
    nowhere = controller.update(RobotState(q * np.nan, np.zeros(model.nv)), Reference(), 1e-3)
    assert safe.status is nowhere.status is Status.HOLDING
    np.testing.assert_array_equal(safe.torque, nowhere.torque)
    np.testing.assert_array_equal(safe.wrench_base, nowhere.wrench_base)
    assert max(np.abs(safe.torque).max(), np.abs(safe.wrench_base).max(initial=0.0)) > 1.0


def test_a_users_mistake_is_a_sentence_and_a_bug_a_traceback() -> None:
    assert describe(ModelError("no such frame")) == "no such frame"
    with pytest.raises(ZeroDivisionError) as raised:
        divmod(1, 0)
    assert "test_hosted_controller.py" in describe(raised.value)
