# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The relation at the ports of systems of any parts is that of the assembled equations."""

import numpy as np
import pytest

from vms_ph_ephs import (
    Environment,
    PatternError,
    Quadratic,
    System,
    assemble,
    compose,
    momentum,
    power,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.equations.assembly import consistent_sample
from vms_ph_ephs.examples import oscillator
from vms_ph_ephs.library import Damper

from .relations import relation_at
from .test_library import drive


def carried() -> System:
    """Two open bodies with a driven, warm hinge, nested once."""
    rod = mb.rigid_body(1.0, [0.1, 0.2, 0.1])
    hinge = mb.joint(mb.Revolute(), friction=0.1, driven=True)
    inner = mb.mechanism({"a": rod, "b": rod}, {"j": mb.Between("a", "b", hinge)}, open_bodies="ab")
    return compose({"in": inner}, {p: (f"in.{p}", p) for p in ("a", "b", "j")}, ["a", "b", "j"])


@pytest.mark.parametrize("make", [oscillator, drive, lambda: drive(0.0), carried])
def test_the_relation_of_any_parts_holds_for_the_motion_and_leaves_half_open(
    make: object, rng: np.random.Generator
) -> None:
    system = make()  # type: ignore[operator]
    equations = assemble(system, check=False)
    x = consistent_sample(equations, rng)
    inputs = {
        name: rng.normal(size=port.quantity.space.dimension)
        for name, port in system.interface.items()
    }
    found = relation_at(system, equations, x, inputs)
    rates, layout = equations.rates(x, inputs), equations.layout
    flows = np.concatenate(list(inputs.values()))
    efforts = np.concatenate([rates.efforts[layout.entries[layout.outer[n]]] for n in inputs])
    assert found.distance(flows, efforts) < 1e-9 * (1.0 + np.abs(efforts).max())
    assert found.distance(flows, efforts + 1.0) > 0.1
    assert found.basis.shape == (2 * flows.size, flows.size)


def test_the_relation_of_friction_alone_is_its_law() -> None:
    system = compose(
        {
            "d": Damper(viscous=0.7),
            "m": Quadratic({"p": power(momentum)}, 0.5),
            "env": Environment(),
        },
        {"p": ("d.p", "m.p", "p"), "s": ("d.s", "env.s")},
        ["p"],
    )
    equations = assemble(system)
    found = relation_at(system, equations, equations.states.vector({"p": 3.0}))
    # The mass holds the velocity 1.5 m/s; the force is open.
    np.testing.assert_allclose(found.offset, [0.0, 1.5], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.basis), [[1.0], [0.0]], atol=1e-12)
    with pytest.raises(PatternError, match="the equations have no box 'pe'"):
        relation_at(oscillator(), equations, equations.states.vector())
