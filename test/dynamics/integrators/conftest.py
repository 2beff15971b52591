# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in motion, and their energy and momentum by Pinocchio alone."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import DecoupledForm, Form, PHState, Ports, VMSModel, integrate
from vms_ph_dynamics.integrators import make_stepper, step_with_retry
from vms_ph_io import robots

GOLDEN = Path(__file__).parents[2] / "golden"

# Deterministic, moderate: a rad/s or so in every joint, decimetres per second in the base.
RATES = np.array([0.76, -0.33, -0.68, 0.51, 0.55, -0.65, -0.38])
TWIST = np.array([0.1, -0.2, 0.15, 0.3, -0.25, 0.4])


@dataclass(frozen=True)
class Seen:
    """Energy, momentum about the inertial origin, and about the centre of mass, by Pinocchio."""

    kinetic: float
    potential: float
    linear: np.ndarray
    angular: np.ndarray
    about_centre: np.ndarray
    centre: np.ndarray

    @property
    def energy(self) -> float:
        return self.kinetic + self.potential

    def internal(self, mass: float, k: int = 3) -> float:
        """Kinetic energy less that of the centre of mass in its first k directions."""
        return self.kinetic - float(self.linear[:k] @ self.linear[:k]) / (2 * mass)


def seen(form: Form, x: PHState) -> Seen:
    """What Pinocchio makes of configuration and velocity, without any of this project's terms."""
    model = form.model.pinocchio
    data = model.createData()
    q, v = np.array(x.q), form.velocity(x)
    kinetic = pin.computeKineticEnergy(model, data, q, v)
    potential = pin.computePotentialEnergy(model, data, q)
    pin.computeCentroidalMomentum(model, data, q, v)
    centre, linear = np.array(data.com[0]), np.array(data.hg.linear)
    about = np.array(data.hg.angular)
    return Seen(kinetic, potential, linear, about + np.cross(centre, linear), about, centre)


def panda_on(base: str, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> VMSModel:
    return VMSModel.from_urdf(
        robots.get("panda").description(), base, "panda_link8", gravity=gravity
    )


def moving(model: VMSModel) -> tuple[DecoupledForm, PHState]:
    form = DecoupledForm(model)
    q = model.random_configuration(np.random.default_rng(3))
    q[model.nq_base :] = [0.05, -0.16, -0.49, -0.9, -0.08, 0.5, -0.07]
    twist = {0: TWIST[:0], 3: TWIST[[0, 1, 5]], 6: TWIST}[model.b]
    return form, form.state(q, np.concatenate([twist, RATES]))


@pytest.fixture(params=["fixed", "planar", "floating"])
def on_any_base(request: pytest.FixtureRequest) -> tuple[DecoupledForm, PHState]:
    return moving(panda_on(request.param))


@pytest.fixture(scope="session")
def satellite(golden_model: Callable[[str], pin.Model]) -> VMSModel:
    """The floating Panda of the golden data, in space."""
    model = golden_model("ff_panda")
    model.gravity.linear = np.zeros(3)
    return VMSModel.from_pinocchio(model)


@pytest.fixture
def reference(satellite: VMSModel) -> tuple[DecoupledForm, PHState, dict[str, list[float]]]:
    golden = json.loads((GOLDEN / "I_reference.json").read_text())
    form = DecoupledForm(satellite)
    q = satellite.neutral_configuration()
    q[7:] = golden["q0"]
    v = np.concatenate([golden["v0_lin"], golden["v0_ang"], golden["qd0"]])
    return form, form.state(q, v), golden


@pytest.fixture
def still_centre(satellite: VMSModel) -> tuple[DecoupledForm, PHState]:
    """The same motion with its centre of mass at rest, at the origin."""
    return centred(satellite)


def centred(model: VMSModel) -> tuple[DecoupledForm, PHState]:
    form, x = moving(model)
    q, v = np.array(x.q), np.array(form.velocity(x))
    k = {"planar": 2, "floating": 3}[model.base]
    v[:k] -= model.evaluate(q, v).p[:k] / model.total_mass
    q[:k] -= seen(form, x).centre[:k]
    return form, form.state(q, v)


def hover_late(scheme: str, native: bool = False) -> None:
    """Hold a robot still at a late hour: t + dt - t is dt to ten digits only then.

    That is more than the energies of a robot at rest.
    """
    model = panda_on("floating")
    form = DecoupledForm(model)
    q = model.random_configuration(np.random.default_rng(1))
    rest = model.evaluate(q, np.zeros(model.nv))
    hover = Ports(rest.g[6:], rest.g[:6])
    start, dt = 5000.0, 1e-3
    stepper = make_stepper(scheme, form, native=native)
    solver_state = stepper.begin(form.state(q, np.zeros(model.nv)), start)
    for step in range(50):
        step_result = step_with_retry(stepper, solver_state, hover, start + step * dt, dt)
        assert not step_result.failures
        solver_state = step_result.result.solver_state
    reached, v = stepper.motion(solver_state)
    assert np.abs(v).max() < 1e-9
    np.testing.assert_allclose(model.difference(q, reached), 0.0, atol=1e-9)


def brake_to_rest(scheme: str, dt: float, native: bool = False, rate: float = 8.0) -> None:
    """Stop a base that turns slowly, by wrenches at the base that leave the shape still.

    The energy left falls to the share 1e-10 of that at the start, and no shape moves that could
    take up the truncation of the steps.
    """
    model = panda_on("floating")
    form = DecoupledForm(model)
    q, v = model.random_configuration(np.random.default_rng(1)), np.zeros(model.nv)
    v[3:6] = (8.0 / rate) ** 2 * np.array([0.02, -0.01, 0.03])

    def brake(_: float, x: PHState) -> Ports:
        now = form.velocity(x)
        terms = model.evaluate(x.q, now)
        force = terms.M @ np.concatenate([-rate * now[:6], np.zeros(model.n)])
        force += terms.C @ now + terms.g
        return Ports(force[6:], force[:6])

    run = integrate(
        form,
        form.state(q, v),
        brake,
        dt=dt,
        steps=round(12.0 / rate / dt),
        scheme=scheme,
        native=native,
    )
    assert not run.failures
    assert np.linalg.norm(form.velocity(run.states[-1])[3:6]) < 1e-5 * np.linalg.norm(v[3:6])
    assert np.abs(run.audit.residual).max() < 1e-11
