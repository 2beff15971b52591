# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Assembly of a system into equations, with checks of the first and second law, and port powers."""

from collections.abc import Mapping

import numpy as np

from vms_ph_dynamics import Array

from ..components import Component, Environment, Irreversible, Reversible, Storage
from ..errors import LawError, SimulationError, StructureError
from ..systems import System, compose, flatten
from .equations import Equations
from .layout import lay_out

_SAMPLE_COUNT = 3

# Of sampled temperatures, as a share of theta_0; entropies outside are halved at most this often.
_MIN_RATIO, _MAX_HALVINGS = 0.2, 60

# Rounding of sums of powers of order one to a hundred, solved with matrices of condition 1e4.
_ROUNDING = 1e-9


def check_laws(equations: Equations) -> None:
    """Raise an error if energy or entropy of a system is not balanced.

    Raises:
        StructureError: a law fails; the message states which and by how much.
    """
    rng = np.random.default_rng(11)
    for _ in range(_SAMPLE_COUNT):
        try:
            x = consistent_sample(equations, rng)
            inputs = {
                name: rng.uniform(-1.0, 1.0, port.quantity.space.dimension)
                for name, port in equations.system.pattern.outer.items()
                if port.kind == "power" and port.quantity.name != "entropy"
            }
            rates = equations.rates(x, inputs)
        except LawError as error:
            raise StructureError(str(error)) from None
        except SimulationError:
            continue  # a sample outside the domain of the model is no evidence about its laws
        flow = equations.flow_vector(inputs)
        supply = 0.0 if flow is None else equations.supplied_power(rates.efforts, flow)
        is_entropy = np.zeros(equations.layout.stored_size)
        for entry in equations.storages.entropy_entries:
            is_entropy[entry.tangent] = 1.0
        e = rates.efforts[: equations.layout.stored_size]
        power = float((e + equations.theta_0 * is_entropy) @ rates.tangent)
        scale = 1.0 + float(np.abs(e * rates.tangent).sum()) + abs(supply)
        if not abs(power - supply) <= _ROUNDING * scale:
            raise StructureError(
                f"the first law fails for the whole system: its energy changes at {power:.6g} W "
                f"while {supply:.6g} W are supplied; look for a component that generates power"
            )
        entropy_rate = float(is_entropy @ rates.tangent)
        if not entropy_rate >= -_ROUNDING * scale / equations.theta_0:
            raise StructureError(
                f"the second law fails for the whole system: entropy is destroyed at "
                f"{-entropy_rate:.6g} W/K; look for negative friction"
            )


def consistent_sample(equations: Equations, rng: np.random.Generator) -> Array:
    """Return a random state whose velocities satisfy the constraints; its poses need not."""
    x = equations.states.vector()
    for entry in equations.layout.states.values():
        x[entry.indices] = entry.space.random(rng).ravel()
    return with_consistent_velocities(equations, _with_moderate_temperatures(equations, x))


def _with_moderate_temperatures(equations: Equations, x: Array) -> Array:
    """Return the state with entropies nearer to zero where they give extreme temperatures.

    One J/K is much for a small heat capacity, whose temperature would underflow.
    """
    x = x.copy()
    for _ in range(_MAX_HALVINGS):
        try:
            with np.errstate(over="ignore"):
                thetas = equations.storages.temperatures(x)
        except SimulationError:  # below zero, or not finite
            thetas = {}
        extreme_entries = [
            entry
            for entry in equations.storages.entropy_entries
            if not _MIN_RATIO < thetas.get(entry.port, 0.0) / equations.theta_0 < 1.0 / _MIN_RATIO
        ]
        if not extreme_entries:
            break
        for entry in extreme_entries:
            x[entry.indices] *= 0.5
    return x


def with_consistent_velocities(equations: Equations, x: Array) -> Array:
    """Return the state with ``G e = 0`` nearest in momenta, in the kinetic-energy metric."""
    n = equations.layout.quadratic_size
    if not equations.constraints.row_count:
        return x
    g = equations.constraint_matrix(x)
    r = g @ equations.storages.efforts(x)
    gq = g[:, :n] @ equations.storages.Q
    s = gq @ g[:, :n].T
    kappa = np.linalg.lstsq(s, r, rcond=1e-12)[0]
    y = x.copy()
    y[:n] -= g[:, :n].T @ kappa
    return y


_DEFAULT_THETA_0 = 298.15


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
    flat_system = flatten(system)
    temperature = _temperature(flat_system, theta_0)
    if check:
        checked_components: list[Component] = []
        rng = np.random.default_rng(7)
        for box, component in flat_system.fillings.items():
            assert isinstance(component, Component)  # a flat system has components only
            if not any(component is checked_component for checked_component in checked_components):
                component.check(box, temperature, rng)
                checked_components.append(component)
    equations = Equations(flat_system, lay_out(flat_system), temperature, native)
    if check:
        check_laws(equations)
    return equations


def _temperature(flat_system: System, theta_0: float | None) -> float:
    temperatures = {} if theta_0 is None else {"the argument theta_0": theta_0}
    for box, component in flat_system.fillings.items():
        if isinstance(component, Environment):
            temperatures[f"the environment '{box}'"] = component.theta_0
    if not temperatures:
        return _DEFAULT_THETA_0
    first_name, first_temperature = next(iter(temperatures.items()))
    if not first_temperature > 0.0:
        raise StructureError(f"theta_0 must be above 0 K; given: {first_temperature}")
    for name, theta in temperatures.items():
        if theta != first_temperature:
            raise StructureError(
                f"{name} has {theta} K, but {first_name} has {first_temperature} K; "
                "exergy is relative to one environment, so a system has one temperature for all"
            )
    return first_temperature


def port_powers(
    equations: Equations, x: Array, inputs: Mapping[str, Array] | None = None
) -> dict[str, float]:
    """Return the power into every power port of every component, by ``"box.port"``, W.

    Powers are those of exergy: heat that enters the environment has zero exergy, and the power into
    friction, less that out of its port of entropy, is destroyed exergy.
    """
    rates = equations.rates(x, inputs)
    views = equations.states.views
    powers: dict[str, float] = {}
    for box, component in equations.layout.components.items():
        index = equations.processes.indices[box]
        e = rates.efforts[index]
        if isinstance(component, Storage):
            f = rates.tangent[index]
        elif isinstance(component, Irreversible):
            f = component.flows(views[box], e, equations.theta_0)
        else:
            assert isinstance(component, Reversible)  # the only other kind
            f = component.bracket(views[box], e)
            if component.row_count:
                f = f + component.constraint(*views[box]).T @ rates.constraint_forces[box]
        for port, indices in component.slices.items():
            powers[f"{box}.{port}"] = float(e[indices] @ f[indices])
    return powers
