# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A stiff contact: two bodies, a foot without mass of its own, a floor of spring and dashpot."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import DecoupledForm, IntegrationError, PHState, Ports, VMSModel, integrate
from vms_ph_dynamics.integrators import Event

STIFFNESS, DASHPOT = 1e4, 1e3  # N/m, N s/m
LEG = 0.3  # m
HEIGHT = 0.05  # of the foot above the floor at the start, m


def hopper() -> VMSModel:
    """A body of 1 kg and a leg of 50 g that ends in a foot: a point that has no mass itself."""
    model = pin.Model()
    root = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
    body = pin.Inertia(1.0, np.zeros(3), np.diag([0.01, 0.01, 0.01]))
    model.appendBodyToJoint(root, body, pin.SE3.Identity())
    hip = model.addJoint(root, pin.JointModelRY(), pin.SE3.Identity(), "hip")
    thigh = pin.Inertia(0.05, np.array([0.0, 0.0, -0.1]), np.diag([2e-4, 2e-4, 1e-5]))
    model.appendBodyToJoint(hip, thigh, pin.SE3.Identity())
    foot = pin.SE3(np.eye(3), np.array([0.0, 0.0, -LEG]))
    model.addBodyFrame("foot", hip, foot, 0)
    return VMSModel.from_pinocchio(model, "foot")


def drop() -> tuple[DecoupledForm, PHState]:
    form = DecoupledForm(hopper())
    q = form.model.neutral_configuration()
    q[2], q[7] = HEIGHT + LEG * np.cos(0.3), 0.3
    return form, form.state(q, np.zeros(7))


class Floor:
    """Pushes up on the foot while it is below zero, and drags on it sideways."""

    def __init__(self, form: DecoupledForm) -> None:
        self._form = form

    def height(self, t: float, x: PHState) -> float:
        return float(self._form.model.evaluate(x.q, np.zeros(7)).placement("foot")[2, 3])

    def __call__(self, t: float, x: PHState) -> Ports:
        d = self._form.evaluation(x)
        pose = d.placement("foot")
        if pose[2, 3] >= 0.0:
            return Ports()
        velocity = pose[:3, :3] @ (d.J_end_effector @ d.v)[:3]
        force = -DASHPOT * velocity
        force[2] = max(0.0, force[2] - STIFFNESS * pose[2, 3])
        wrench = np.concatenate([pose[:3, :3].T @ force, np.zeros(3)])
        return Ports(wrench_end_effector=wrench)


def test_the_contact_is_stiff_at_a_millisecond() -> None:
    form, x = drop()
    d = form.evaluation(x)
    pose = d.placement("foot")
    jacobian = (pose[:3, :3] @ d.J_end_effector[:3])[0]
    inertia = 1.0 / (jacobian @ np.linalg.solve(d.M, jacobian))
    assert 1e-3 * DASHPOT / inertia > 20


def test_a_stiff_contact_runs_at_a_millisecond_without_blowing_up() -> None:
    form, x = drop()
    floor = Floor(form)
    run = integrate(form, x, floor, dt=1e-3, steps=125, scheme="discrete_gradient")
    # Gravity and a floor that only takes: the energy never rises above its start.
    assert run.energy.max() < run.energy[0] + 1e-9
    assert run.audit.supplied["wrench_end_effector"].sum() < 0
    heights = [floor.height(t, state) for t, state in zip(run.t, run.states, strict=True)]
    assert min(heights) < 0
    assert min(heights) > -0.02
    # The energy balance closes in contact too.
    np.testing.assert_allclose(run.audit.residual, 0.0, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_a_contact_at_a_millisecond_follows_that_at_twenty_microseconds() -> None:
    form, x = drop()
    floor = Floor(form)
    coarse = integrate(form, x, floor, dt=1e-3, steps=160, scheme="discrete_gradient")
    fine = integrate(form, x, floor, dt=2e-5, steps=8000, scheme="rkmk4", stride=50)
    np.testing.assert_allclose(fine.t, coarse.t, atol=1e-12)
    apart = [
        np.abs(form.model.difference(a.q, b.q)).max()
        for a, b in zip(coarse.states, fine.states, strict=True)
    ]
    assert max(apart) < 1e-3
    # What is lost at 1 ms: the force acts as it is in the middle of the step, so what an impact
    # takes between its beginning and the end of that step is taken one step late; and decays much
    # faster than the step ring through a few steps, with the factor (1 - x/2) / (1 + x/2).
    late = np.abs(coarse.energy - fine.energy) / (fine.energy[0] - fine.energy[-1])
    touched = coarse.t > np.sqrt(2 * HEIGHT / 9.81)
    assert late.max() < 0.1
    assert late[touched][4:].max() < 0.005
    assert late[-1] < 1e-3


def test_the_event_of_touch_down_is_on_the_parabola_of_the_fall() -> None:
    form, x = drop()
    floor = Floor(form)
    touch = Event("touch-down", floor.height, direction="down", terminal=True)
    run = integrate(form, x, floor, dt=1e-3, steps=400, scheme="discrete_gradient", events=[touch])
    (event,) = run.events
    # Nothing turns during the fall: the foot falls as the centre of mass does.
    assert event.t == pytest.approx(np.sqrt(2 * HEIGHT / 9.81), abs=1e-12)
    assert floor.height(event.t, event.state) == pytest.approx(0.0, abs=1e-12)
    assert run.t[-1] == event.t


def test_an_explicit_scheme_does_not_pass_over_a_contact_too_stiff_for_it() -> None:
    form, x = drop()
    with pytest.raises(IntegrationError, match="fails even at dt="):
        integrate(form, x, Floor(form), dt=1e-3, steps=400, scheme="projected_rk4")
