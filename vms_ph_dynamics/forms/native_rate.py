# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Rates and velocities of the standard and the inertially decoupled form in the C++ core."""

from ..arrays import Array
from ..model import VMSModel
from .ports import Ports
from .state import PHRate, PHState


def native_rate(
    model: VMSModel, decoupled: bool, q: Array, z: Array, ports: Ports
) -> PHRate | None:
    """Return the rate of a state, or None where Python computes it or reports what is wrong.

    The core covers every robot without joints that mimic others and without a fluid. It checks the
    arguments itself.
    """
    core = model.tree.in_cpp
    if core is None or not model.is_plain:
        return None
    if ports.wrench_tools and not ports.wrench_tools.keys() <= set(model.tools):
        return None
    try:
        found = core.dynamics.rate(
            decoupled,
            q,
            z,
            ports.torque,
            ports.wrench_base,
            wrenches_at(model, ports),
            *friction_at(ports),
            ports.gravity,
        )
    except TypeError:  # an argument is no array of numbers
        return None
    return None if found is None else PHRate(*found)


def wrenches_at(model: VMSModel, ports: Ports) -> list[tuple[int, Array]]:
    """Return the wrenches at end effector and tools, with the indices of their frames."""
    wrenches = []
    if ports.wrench_end_effector is not None:
        wrenches.append((model.end_effector_id, ports.wrench_end_effector))
    if ports.wrench_tools:
        ids = dict(zip(model.tools, model.tool_ids, strict=True))
        wrenches += [(ids[name], wrench) for name, wrench in ports.wrench_tools.items()]
    return wrenches


def friction_at(ports: Ports) -> tuple[Array | None, Array | None, float]:
    """Return viscous and Coulomb friction (n,) and slip of the joints; None without friction."""
    friction = ports.friction
    if friction is None:
        return None, None, 1.0
    return friction.viscous, friction.coulomb, friction.slip


def native_velocity(model: VMSModel, decoupled: bool, q: Array, z: Array) -> Array | None:
    """Return the velocity (nv,) of the momenta of a form, or None where Python computes it."""
    core = model.tree.in_cpp
    if core is None or not model.is_plain:
        return None
    return core.dynamics.velocity(decoupled, q, z)


def native_gradient(model: VMSModel, decoupled: bool, x: PHState) -> Array | None:
    """Return the gradient (b+2n,) of a form, or None where Python computes or refuses it."""
    core = model.tree.in_cpp
    if core is None or not model.is_plain or core.state(x.q, x.z) is None:
        return None
    return core.dynamics.gradient(decoupled, x.q, x.z)
