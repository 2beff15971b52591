# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The integrator in C++ of robots on wheels that do not slip."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from dynamics.nonholonomic.carts import RADIUS, bicycle, differential_drive, swinging_fork

from vms_ph_dynamics import Array, Friction, Ports
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.nonholonomic.stepper import NonholonomicRK4
from vms_ph_dynamics.robot.algorithms import native_robot

CARTS: dict[str, Callable[[], NonholonomicForm]] = {
    "left right": differential_drive,
    "rear front": bicycle,
}


def scheme(native: ModuleType, form: NonholonomicForm, wheels: str, gravity: bool = True) -> Any:
    robot = native_robot(native, form.model.tree, form.model.end_effector)
    return native.Scheme(robot, "projected_rk4", gravity, dict.fromkeys(wheels.split(), RADIUS))


def start(form: NonholonomicForm) -> tuple[Array, Array]:
    """Return a motion that the wheels allow."""
    rng = np.random.default_rng(3)
    model = form.model
    q = model.integrate(model.neutral_configuration(), rng.uniform(-0.3, 0.3, model.nv))
    basis = form.basis(model.evaluate(q, np.zeros(model.nv)))
    return q, np.asarray(basis @ rng.uniform(-0.5, 0.5, form.dimension))


@pytest.mark.parametrize("wheels", CARTS)
def test_the_motion_and_the_energies_are_those_of_the_scheme_in_python(
    native: ModuleType, wheels: str
) -> None:
    form = CARTS[wheels]()
    model, rng = form.model, np.random.default_rng(1)
    torque, wrench = rng.uniform(-1.0, 1.0, model.n), rng.uniform(-2.0, 2.0, 6)
    viscous, coulomb = np.full(model.n, 0.05), np.full(model.n, 0.02)
    friction = Friction(viscous=viscous, coulomb=coulomb, slip=0.01)
    ports = Ports(torque=torque, wrench_end_effector=wrench, friction=friction)
    theirs, ours = NonholonomicRK4(form), scheme(native, form, wheels)
    held = native.Ports(
        native_robot(native, model.tree, model.end_effector),
        torque=torque,
        wrench_end_effector=wrench,
        viscous=viscous,
        coulomb=coulomb,
        slip=0.01,
    )
    q, v = start(form)
    here, there = ours.begin(q, v), theirs.begin(form.state(q, v), 0.0)
    for _ in range(50):
        here, result = ours.step(here, held, 0.0, 0.01)
        part = theirs.step(there, ports, 0.0, 0.01)
        there = part.solver_state
        assert not result.failed
        assert sum(result.supplied_energy) == pytest.approx(sum(part.supplied.values()), abs=1e-10)
        assert result.dissipated_energy == pytest.approx(part.dissipated, abs=1e-10)
    for found, expected in zip(ours.motion(here), theirs.motion(there), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wheels", CARTS)
def test_wheels_do_not_slip_and_the_books_close_over_many_steps(
    native: ModuleType, wheels: str, many: int
) -> None:
    form = CARTS[wheels]()
    model = form.model
    torque = np.array([0.0 if name == "steer" else 0.3 for name in model.joint_names])
    viscous = np.full(model.n, 0.3)
    held = native.Ports(
        native_robot(native, model.tree),
        torque=torque,
        viscous=viscous,
        coulomb=np.zeros(model.n),
    )
    core = scheme(native, form, wheels)
    q, v = start(form)
    x, begin = core.begin(q, v), model.evaluate(q, v)
    supplied, crossed = 0.0, 0.0
    for k in range(100):
        x, result, steps = core.run(x, held, 0.0, 1e-3, many * k, many)
        assert steps == many, result.reason
        supplied += sum(result.supplied_energy) - result.dissipated_energy
        crossed += abs(sum(result.supplied_energy)) + result.dissipated_energy
    q, v = core.motion(x)
    end = model.evaluate(q, v)
    rolling = form.constraint_jacobian(end) @ v
    assert np.abs(rolling).max() < 1e-12 * max(1.0, float(np.abs(v).max()))
    stored = end.kinetic_energy + end.potential_energy
    stored -= begin.kinetic_energy + begin.potential_energy
    assert crossed > 1.0
    assert abs(stored - supplied) < 1e-6 * crossed


def test_a_fork_passes_a_quarter_turn_as_in_python(native: ModuleType) -> None:
    form = bicycle()
    model, (q, v, ports) = form.model, swinging_fork(form)
    ours, theirs = scheme(native, form, "rear front"), NonholonomicRK4(form)
    held = native.Ports(native_robot(native, model.tree), torque=ports.torque)
    here, there = ours.begin(q, v), theirs.begin(form.state(q, v), 0.0)
    for _ in range(60):
        here, result = ours.step(here, held, 0.0, 4e-3)
        there = theirs.step(there, ports, 0.0, 4e-3).solver_state
        assert not result.failed
    assert model.joint_positions(there.q)[model.joint_index("steer")] > 0.5 * np.pi
    for found, expected in zip(ours.motion(here), theirs.motion(there), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-10)


def test_the_scheme_is_of_fourth_order(native: ModuleType) -> None:
    form = differential_drive()
    robot = native_robot(native, form.model.tree)
    held = native.Ports(robot, torque=np.array([1.0, -0.5, 0.7, 0.3]))
    core = scheme(native, form, "left right")

    def end(steps: int) -> Array:
        x, _, done = core.run(core.begin(*start(form)), held, 0.0, 0.4 / steps, 0, steps)
        assert done == steps
        return np.concatenate(core.motion(x))

    exact = end(1600)
    errors = [np.abs(end(steps) - exact).max() for steps in (10, 20, 40)]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert (orders > 3.6).all(), (errors, orders)


def test_what_cannot_roll_is_refused_in_words(native: ModuleType) -> None:
    form = differential_drive()
    robot = native_robot(native, form.model.tree)
    with pytest.raises(ValueError, match=r"has the scheme 'projected_rk4'; given: 'rk4'"):
        native.Scheme(robot, "rk4", True, {"left": RADIUS})
    with pytest.raises(ValueError, match=r"'middle' is no joint"):
        native.Scheme(robot, "projected_rk4", True, {"middle": RADIUS})
    core = scheme(native, form, "left right")
    held = native.Ports(robot, torque=np.full(form.model.n, 1e300))
    _, result = core.step(core.begin(*start(form)), held, 0.0, 0.1)
    assert result.failed
    assert "not finite" in result.reason
