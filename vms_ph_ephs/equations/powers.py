# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The power into every port of every component at a state."""

from collections.abc import Mapping

from vms_ph_dynamics.arrays import Array

from ..components import Irreversible, Reversible, Storage
from .equations import Equations


def port_powers(
    equations: Equations, x: Array, inputs: Mapping[str, Array] | None = None
) -> dict[str, float]:
    """Return the power into every power port of every component, by ``"box.port"``, W.

    Powers are those of exergy: heat that enters the environment has zero exergy, and the power into
    friction, less that out of its port of entropy, is destroyed exergy.
    """
    rates = equations.rates(x, inputs)
    reads = equations.states.reads
    powers: dict[str, float] = {}
    for box, component in equations.layout.components.items():
        index = equations.processes.indices[box]
        e = rates.efforts[index]
        if isinstance(component, Storage):
            f = rates.tangent[index]
        elif isinstance(component, Irreversible):
            f = component.flows(reads[box], e, equations.theta_0)
        else:
            assert isinstance(component, Reversible)  # the only other kind
            f = component.bracket(reads[box], e)
            if component.rows:
                f = f + component.constraint(*reads[box]).T @ rates.constraint_forces[box]
        for port, at in component.slices.items():
            powers[f"{box}.{port}"] = float(e[at] @ f[at])
    return powers
