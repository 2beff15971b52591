# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Both laws are checked for the whole system, whatever its components claim."""

import numpy as np
import pytest

from vms_ph_ephs import (
    Environment,
    Equations,
    Irreversible,
    Quadratic,
    Reversible,
    StructureError,
    System,
    assemble,
    compose,
    power,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.equations.assembly import check_laws, port_powers
from vms_ph_ephs.examples import EXAMPLES, HoppingLeg, TwoBodies
from vms_ph_ephs.quantities import displacement, entropy, momentum

# A joint without bodies has equations only within a system.
COMPLETE = [name for name in EXAMPLES if name != "joint"]

MASS = Quadratic({"p": power(momentum)}, 1.0)


def state_of_example(name: str, equations: Equations) -> np.ndarray:
    """Return a state in which an example moves."""
    two = TwoBodies()
    if name in ("pendulum", "heated_pendulum"):
        return two.pendulum_state(equations)
    if name == "hopping_leg":
        return HoppingLeg.state(equations)
    if name == "two_bodies":
        return two.free_state(equations)
    if name in ("oscillator", "damped_oscillator"):
        q = "q" if name == "oscillator" else "osc.q"
        return equations.states.vector({q: 1.0})
    values = {"p": np.array([0.3, 0.0, 0.5, 0.01, 0.02, 0.0])} if name == "body" else None
    return equations.states.vector(values)


def with_coupling(skew: object) -> System:
    spring = Quadratic({"q": power(displacement)}, 2.0)
    coupling = Reversible({"q": power(displacement), "p": power(momentum)}, skew=skew)
    return compose(
        {"pe": spring, "ke": MASS, "pkc": coupling},
        {"q": ("pe.q", "pkc.q"), "p": ("ke.p", "pkc.p")},
    )


def with_friction(d: float) -> System:
    def onsager(states: object, e: np.ndarray, theta_0: float) -> np.ndarray:
        v, theta = e[0], theta_0 + e[1]
        return d * np.array([[theta, -v], [-v, v * v / theta]])

    friction = Irreversible({"p": power(momentum), "s": power(entropy)}, onsager)
    return compose(
        {"ke": MASS, "mf": friction, "env": Environment()},
        {"p": ("ke.p", "mf.p"), "s": ("mf.s", "env.s")},
    )


def test_a_system_that_makes_power_breaks_the_first_law() -> None:
    equations = assemble(with_coupling([[0.0, 1.0], [1.0, 0.0]]), check=False)
    with pytest.raises(StructureError, match=r"first law fails .* component that generates power"):
        check_laws(equations)


def test_a_system_that_destroys_entropy_breaks_the_second_law() -> None:
    equations = assemble(with_friction(-0.3), check=False)
    with pytest.raises(StructureError, match=r"second law fails .* negative friction"):
        check_laws(equations)


@pytest.mark.parametrize("name", COMPLETE)
def test_the_examples_keep_both_laws(name: str) -> None:
    check_laws(assemble(EXAMPLES[name](), check=False))


@pytest.mark.parametrize("name", COMPLETE)
def test_the_powers_at_every_closed_junction_add_up_to_zero(name: str) -> None:
    equations = assemble(EXAMPLES[name]())
    powers = port_powers(equations, state_of_example(name, equations))
    for ends in equations.system.pattern.junctions.values():
        inner = [end for end in ends if end in powers]
        assert sum(powers[end] for end in inner) == pytest.approx(0.0, abs=1e-11)


def test_exergy_is_destroyed_at_theta_0_times_the_entropy_produced() -> None:
    equations = assemble(
        mb.mechanism(
            {"b": mb.rigid_body(1.0, [0.1, 0.2, 0.3], gravity=(0.0, 0.0, 0.0))},
            {
                "j": mb.Between(
                    "ground", "b", mb.joint(mb.Revolute(), friction=0.4, heat=mb.Heat(capacity=2.0))
                )
            },
        )
    )
    x = mb.consistent_state(equations, velocities={"j": 3.0}, others={"j.s": 0.5})
    powers = port_powers(equations, x)
    destroyed = powers["j.mf.p_r"] + powers["j.mf.s"]
    produced = equations.rates(x).tangent[equations.layout.entries["j.s"]][0]
    assert destroyed == pytest.approx(equations.theta_0 * produced, rel=1e-12)
    assert produced > 0.0
