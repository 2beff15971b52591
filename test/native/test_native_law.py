# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law in C++ behind the interface of the laws in Python, as hosts in other languages use it."""

from dataclasses import fields, replace
from types import ModuleType

import numpy as np
import pytest

import vms_ph_controllers
from vms_ph_controllers import Reference, RobotState, Status
from vms_ph_controllers.hosting.hosted_controller import HostedController
from vms_ph_controllers.hosting.native_law import NativeLaw, in_cpp
from vms_ph_dynamics import StateError
from vms_ph_io import robots

LAWS = {
    "panda": "PoseIDAPBC",
    "hextilt": "MobileManipulation",
    "bluerov2_alpha5": "EndEffectorImpedance",
}


@pytest.mark.parametrize("name", LAWS)
def test_it_commands_what_the_law_in_python_does(native: ModuleType, name: str) -> None:
    robot = robots.get(name)
    model, rotors = robot.load(), robot.allocation()
    kind = getattr(vms_ph_controllers, LAWS[name])
    taken = {"allocation": rotors} if model.b else {}
    slow = in_cpp(kind(model, **taken), rotors, native=False)
    fast = in_cpp(kind(model, **taken), rotors, native=True)
    assert type(slow) is kind
    assert isinstance(fast, NativeLaw)
    q = model.configuration(robot.home, robot.home_base or None)
    begins = {0: "reset", 30: "resume"}
    for k in range(60):
        v = 0.1 * np.sin(0.2 * k + np.arange(model.nv))
        q = model.integrate(q, 0.005 * v)
        for law in (slow, fast):
            if k in begins:
                getattr(law, begins[k])(RobotState(q, v))
            if k == 20:
                first = fields(law.gains)[0]
                law.gains = replace(law.gains, **{first.name: 2.0 * first.default})
            if k == 45:
                law.missed_updates()
        asked = Reference(joints=q[model.nq - model.n :] + 0.1)
        one, two = (law.update(RobotState(q, v), asked, 0.005) for law in (slow, fast))
        assert (two.status, two.reason) == (one.status, one.reason)
        np.testing.assert_allclose(two.torque, one.torque, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(two.wrench_base, one.wrench_base, rtol=0.0, atol=1e-9)
        assert two.energy.tank_level == pytest.approx(one.energy.tank_level, abs=1e-9)
    wrong = RobotState(np.full(model.nq, np.nan), np.zeros(model.nv))
    assert fast.update(wrong, Reference(), 0.005).status is Status.HOLDING
    with pytest.raises(StateError):
        fast.reset(wrong)


def test_hosts_take_laws_of_this_library_in_cpp_and_those_of_others_as_they_are(
    native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = robots.load("panda")
    kind = "vms_ph_controllers.PoseIDAPBC"
    hosted = HostedController(kind, model, (), True)
    assert isinstance(hosted.controller, NativeLaw)
    names = [name for name, *_ in hosted.gains()]
    hosted.set_gain(names[0], 7.0)
    assert getattr(hosted.controller.law.gains, names[0]) == 7.0
    monkeypatch.setenv("VMS_PH_NATIVE", "0")
    assert not isinstance(HostedController(kind, model, (), True).controller, NativeLaw)
