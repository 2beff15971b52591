# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Assembly of the equations of a system, with all checks."""

import numpy as np

from ..components import Component, Environment
from ..errors import StructureError
from ..systems import System, compose, flatten
from .equations import Equations
from .laws import check_laws
from .layout import lay_out

_THETA_0 = 298.15


def assemble(
    system: System | Component,
    theta_0: float | None = None,
    *,
    check: bool = True,
    native: bool | None = None,
) -> Equations:
    """Return the equations of a system.

    Args:
        system: of any depth; it is flattened.
        theta_0: temperature of the environment, K; that of its environments when None, or 298.15
            without environments.
        check: whether to check the structure of every component and both laws of thermodynamics
            for the whole, by sampling.
        native: whether motions are computed in C++, along the tree of bodies and joints: True,
            False, or None for where the core is installed and knows every component.

    Raises:
        ModelError: ``native=True``, but the core is not installed or does not cover the system.
        PatternError: a connection is meaningless, such as two storages at one junction.
        StructureError: a component or the whole system violates a law.
    """
    if isinstance(system, Component):
        ports = {name: (f"component.{name}", name) for name in system.interface}
        system = compose({"component": system}, ports, system.interface)
    flat = flatten(system)
    temperature = _temperature(flat, theta_0)
    if check:
        checked: list[Component] = []
        rng = np.random.default_rng(7)
        for box, component in flat.fillings.items():
            assert isinstance(component, Component)  # a flat system has components only
            if not any(component is other for other in checked):
                component.check(box, temperature, rng)
                checked.append(component)
    equations = Equations(flat, lay_out(flat), temperature, native)
    if check:
        check_laws(equations)
    return equations


def _temperature(flat: System, given: float | None) -> float:
    found: dict[str, float] = {}
    for box, component in flat.fillings.items():
        if isinstance(component, Environment):
            found[box] = component.theta_0
    if given is not None and not given > 0.0:
        raise StructureError(f"theta_0 must be above 0 K; given: {given}")
    reference = given if given is not None else next(iter(found.values()), _THETA_0)
    for box, theta_0 in found.items():
        if theta_0 != reference:
            other = next((b for b, t in found.items() if t == reference), "the argument theta_0")
            raise StructureError(
                f"the environment '{box}' has {theta_0} K, but '{other}' has {reference} K; "
                "exergy is relative to one environment, so a system has one temperature for all"
            )
    return reference
