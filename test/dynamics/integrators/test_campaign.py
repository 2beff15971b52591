# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A million steps: invariants stay constant, without growth; recomputed by Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import Array, DecoupledForm, PHState, Ports, integrate
from vms_ph_dynamics.integrators import make_stepper
from vms_ph_dynamics.integrators.robot_stepper import RobotStepper

from .conftest import moving, panda_on, seen

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

STEPS = 1_000_000
SAMPLES = 200
SPACE = Ports(gravity=False)


def motions(stepper: RobotStepper, x: PHState, dt: float, ports: Ports):  # type: ignore[no-untyped-def]
    """Time, configuration and velocity of every so many steps; the motion itself, no momenta."""
    solver_state = stepper.begin(x, 0.0)
    for k in range(STEPS):
        solver_state = stepper.step(solver_state, ports, k * dt, dt).solver_state
        if (k + 1) % (STEPS // SAMPLES) == 0:
            yield (k + 1) * dt, *stepper.motion(solver_state)


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize(("scheme", "limit"), [("projected_rk4", 1e-13), ("discrete_gradient", 0)])
def test_a_million_steps_of_a_free_floating_arm(
    scheme: str, limit: float, dt: float, still_centre: tuple[DecoupledForm, PHState]
) -> None:
    form, x = still_centre
    run = integrate(form, x, SPACE, dt=dt, steps=STEPS, scheme=scheme, stride=STEPS // SAMPLES)
    assert not run.failures
    first, later = seen(form, x), [seen(form, state) for state in run.states]
    energy = np.array([abs(s.kinetic / first.kinetic - 1) for s in later])
    momentum = np.array(
        [np.abs([*(s.angular - first.angular), *(s.linear - first.linear)]).max() for s in later]
    )
    print(f"{scheme} dt={dt:g}: energy {energy.max():.1e}, momentum {momentum.max():.1e}")
    assert energy.max() < (limit or {1e-3: 1e-11, 1e-2: 1e-10}[dt])
    assert momentum.max() < 1e-11
    # Without growth: the second half is no worse than the first, but for rounding.
    half = SAMPLES // 2
    assert energy[half:].max() < energy[:half].max() + 3e-15
    assert momentum[half:].max() < momentum[:half].max() + 3e-15


@pytest.mark.parametrize("scheme", ["projected_rk4", "discrete_gradient"])
def test_a_million_steps_of_free_fall(scheme: str) -> None:
    form, x = moving(panda_on("floating"))
    model = form.model.pinocchio
    data = model.createData()
    mass, gravity = form.model.total_mass, np.array([0.0, 0.0, -9.81])
    first = seen(form, x)
    before = first.internal(mass)
    energy, parabola = [], []
    for t, q, v in motions(make_stepper(scheme, form), x, 1e-3, Ports()):
        energy.append(abs(_internal(model, data, q, v) / before - 1))
        straight = first.centre + t * first.linear / mass + 0.5 * t**2 * gravity
        away = np.array(pin.centerOfMass(model, data, q)) - straight
        # Relative to the 5000 km that the robot falls.
        parabola.append(np.abs(away).max() / max(1.0, np.abs(straight).max()))
    print(f"{scheme}: internal energy {max(energy):.1e}, parabola {max(parabola):.1e}")
    # At 10 km/s the velocity of the base is rounded to 1e-12 m/s.
    assert max(energy) < (1e-13 if scheme == "projected_rk4" else 1e-11)
    assert max(parabola) < 1e-12


def _internal(model: object, data: object, q: Array, v: Array) -> float:
    """Kinetic energy seen from the centre of mass, by Pinocchio."""
    pin.centerOfMass(model, data, q, v)
    rotation = pin.XYZQUATToSE3(q[:7]).rotation
    around = v.copy()
    around[:3] -= rotation.T @ np.array(data.vcom[0])  # type: ignore[attr-defined]
    return float(pin.computeKineticEnergy(model, data, q, around))


@pytest.mark.parametrize("dt", [1e-3, 1e-2])
@pytest.mark.parametrize(("scheme", "limit"), [("projected_rk4", 1e-13), ("discrete_gradient", 0)])
def test_a_hundred_thousand_steps_of_a_fixed_arm_under_gravity(
    scheme: str, limit: float, dt: float
) -> None:
    form, x = moving(panda_on("fixed"))
    run = integrate(form, x, dt=dt, steps=100_000, scheme=scheme, stride=500)
    first, later = seen(form, x), [seen(form, state) for state in run.states]
    drift = max(abs(s.energy - first.energy) for s in later)
    # Relative to what comes and goes: kinetic energy of up to some 100 J.
    largest = max(s.kinetic for s in later)
    print(f"{scheme} dt={dt:g}: energy {drift / largest:.1e} of {largest:.0f} J, halved in")
    print(f"  {len({f.t for f in run.failures})} steps")
    assert drift < (limit or {1e-3: 1e-11, 1e-2: 1e-10}[dt]) * largest
