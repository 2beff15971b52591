# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rates of the forms by the C++ core, and of many states at once."""

from dataclasses import replace
from typing import Any

from ..arrays import Array
from ..model import VMSModel
from .ports import Ports
from .state import PHRate


def native_rate(
    model: VMSModel, decoupled: bool, q: Array, z: Array, ports: Ports
) -> PHRate | None:
    """Return the rate of a state, or None where Python computes it or reports what is wrong.

    The core checks the arguments itself.
    """
    core = model.cpp_core
    if core is None or (arguments := core_arguments(model, ports)) is None:
        return None
    try:
        core_rate = core.dynamics.rate(decoupled, q, z, *arguments)
    except TypeError:  # an argument is no array of numbers
        return None
    # Half the time of PHRate(*core_rate).
    return None if core_rate is None else tuple.__new__(PHRate, core_rate)


def frame_wrenches(model: VMSModel, ports: Ports) -> list[tuple[int, Array]]:
    """Return the wrenches at end effector and tools, with the indices of their frames."""
    wrenches = []
    if ports.wrench_end_effector is not None:
        wrenches.append((model.end_effector_id, ports.wrench_end_effector))
    if ports.wrench_tools:
        ids = dict(zip(model.tools, model.tool_ids, strict=True))
        wrenches += [(ids[name], wrench) for name, wrench in ports.wrench_tools.items()]
    return wrenches


def core_arguments(model: VMSModel, ports: Ports) -> tuple[Any, ...] | None:
    """Return the efforts as the core takes them, or None where a tool is unknown."""
    if ports.wrench_tools and not ports.wrench_tools.keys() <= set(model.tools):
        return None
    wrenches = frame_wrenches(model, ports)
    acting = *friction_arguments(ports), ports.gravity, ports.drag
    return ports.torque, ports.wrench_base, wrenches, *acting


def friction_arguments(ports: Ports) -> tuple[Array | None, Array | None, float]:
    """Return viscous and Coulomb friction (n,) and slip of the joints; None without friction."""
    friction = ports.friction
    if friction is None:
        return None, None, 1.0
    return friction.viscous, friction.coulomb, friction.slip


def native_velocity(model: VMSModel, decoupled: bool, q: Array, z: Array) -> Array | None:
    """Return the velocity (nv,) of the momenta of a form, or None where Python computes it."""
    core = model.cpp_core
    return None if core is None else core.dynamics.velocity(decoupled, q, z)


def ports_of_state(ports: Ports, i: int) -> Ports:
    """Return the efforts at the i-th of many states."""

    def row(value: Any) -> Any:
        return value[i] if value is not None and value.ndim == 2 else value

    tools = ports.wrench_tools
    return replace(
        ports,
        torque=row(ports.torque),
        wrench_base=row(ports.wrench_base),
        wrench_end_effector=row(ports.wrench_end_effector),
        wrench_tools=None if tools is None else {name: row(w) for name, w in tools.items()},
    )
