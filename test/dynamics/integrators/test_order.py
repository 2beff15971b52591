# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The order of every scheme, by regression over step lengths, on every base."""

import numpy as np
import pytest

from vms_ph_dynamics import DecoupledForm, Friction, PHState, Ports, integrate
from vms_ph_dynamics.integrators import SCHEMES

SECONDS = 0.15
ORDERS = {
    "projected_rk4": 4,
    "projected_midpoint": 2,
    "discrete_gradient": 2,
    "rk4": 4,
    "rkmk4": 4,
}
# In proportion to the inertias behind the joints, so that nothing is stiff.
STRENGTH = np.array([1.0, 1.0, 0.5, 0.5, 0.05, 0.05, 0.01])
FRICTION = Friction(0.1 * STRENGTH, np.zeros(7))


def forced(t: float, x: PHState) -> Ports:
    """Torques, a wrench at the tool, friction, and a spring that pulls the base to the origin."""
    b = len(x.z) - 7
    spring = None
    if b:
        position = x.q[: 3 if b == 6 else 2]
        spring = np.zeros(b)
        spring[: len(position)] = -20.0 * position
        spring[-1] = 0.3 * np.cos(4 * t)
    wrench = np.array([5 * np.cos(7 * t), 0.0, 3.0, 0.0, 0.2, 0.0])
    return Ports(STRENGTH * np.sin(5 * t), spring, wrench, friction=FRICTION)


def free(t: float, x: PHState) -> Ports:
    return Ports()


def end(form: DecoupledForm, x: PHState, ports, scheme: str, steps: int) -> PHState:  # type: ignore[no-untyped-def]
    run = integrate(form, x, ports, dt=SECONDS / steps, steps=steps, scheme=scheme, stride=steps)
    assert not run.failures
    return run.states[-1]


def distance(form: DecoupledForm, x: PHState, y: PHState) -> float:
    apart = form.model.difference(x.q, y.q)
    return float(np.linalg.norm(np.concatenate([apart, x.z - y.z])))


_references: dict[tuple[str, str], PHState] = {}


def reference(form: DecoupledForm, x: PHState, ports) -> PHState:  # type: ignore[no-untyped-def]
    """Return the state at the end, computed once for all schemes of a base."""
    key = form.model.base, ports.__name__
    if key not in _references:
        _references[key] = end(form, x, ports, "rkmk4", 200)
    return _references[key]


def slope(counts: tuple[int, ...], errors: list[float]) -> float:
    return float(-np.polyfit(np.log(counts), np.log(errors), 1)[0])


@pytest.mark.parametrize("ports", [forced, free])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_order_of_a_scheme_is_what_it_says(
    scheme: str,
    ports,  # type: ignore[no-untyped-def]
    on_any_base: tuple[DecoupledForm, PHState],
) -> None:
    form, x = on_any_base
    exact = reference(form, x, ports)
    # The reference is good to 2e-10 at worst, and every error below is above ten times that of it
    # on the same robot.
    counts = (8, 16, 32)
    errors = [distance(form, exact, end(form, x, ports, scheme, n)) for n in counts]
    assert ORDERS[scheme] - 0.15 < slope(counts, errors) < ORDERS[scheme] + 0.3
