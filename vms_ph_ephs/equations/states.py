# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""State vectors: conversion from and to named values, and steps within the state spaces."""

from collections.abc import Mapping

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..errors import SimulationError
from .layout import Held, Layout

# Poses given as text are orthonormal to 1e-8, those in single precision to 1e-7.
_SPACE_TOLERANCE = 1e-6


Reads = Mapping[str, tuple[Array, ...]]


class States:
    """All states of a system as one vector.

    Attributes:
        layout: the place of each in the state vector.
        curved: the states whose steps are not additions.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.curved = [h for h in layout.states.values() if h.tangent.start >= layout.vector]
        self._x = np.zeros(layout.size)
        views = {
            name: self._x[held.at].reshape(held.space.shape) for name, held in layout.states.items()
        }
        self.reads: dict[str, tuple[Array, ...]] = {
            box: tuple(views[layout.junctions[f"{box}.{port}"]] for port in component.reads)
            for box, component in layout.components.items()
        }

    def look_at(self, x: Array) -> None:
        """Set ``reads``, the states that every component depends on, to those of x."""
        self._x[:] = x

    def vector(self, values: Mapping[str, object] | None = None) -> Array:
        """Return a state vector: given values, and the origin of the space elsewhere.

        Args:
            values: by junction or by ``"box.port"`` of the storage.

        Raises:
            PatternError: there is no such state.
            SimulationError: a value is not in its space.
        """
        x = np.zeros(self.layout.size)
        for held in self.layout.states.values():
            x[held.at] = held.space.origin().ravel()
        for name, value in (values or {}).items():
            held = self.layout.find(name)
            x[held.at] = held.space.repaired(_element(name, value, held)).ravel()
        return x

    def value(self, x: Array, name: str) -> Array:
        """Return one state out of a state vector, by junction or ``"box.port"``."""
        held = self.layout.find(name)
        return x[held.at].reshape(held.space.shape)

    def step(self, x: Array, u: Array) -> Array:
        """Return the state vector reached by the step u, (stored,)."""
        n = self.layout.vector
        y = x.copy()
        y[:n] += u[:n]
        for held in self.curved:
            here = x[held.at].reshape(held.space.shape)
            y[held.at] = held.space.step(here, u[held.tangent]).ravel()
        return y

    def difference(self, x: Array, y: Array) -> Array:
        """Return the step that leads from x to y, (stored,); the inverse of :meth:`step`."""
        n = self.layout.vector
        u = np.empty(self.layout.stored)
        u[:n] = y[:n] - x[:n]
        for held in self.curved:
            here, there = (z[held.at].reshape(held.space.shape) for z in (x, y))
            u[held.tangent] = held.space.difference(here, there)
        return u

    def step_rate(self, theta: Array, rate: Array) -> Array:
        """Return the rate of a step theta at whose end the states have the given rates."""
        turned = rate.copy()
        for held in self.curved:
            at = held.tangent
            turned[at] = held.space.step_rate(theta[at], rate[at])
        return turned

    def repair(self, x: Array) -> None:
        """Remove rounding errors from the elements of groups, in place."""
        for held in self.curved:
            x[held.at] = held.space.repaired(x[held.at].reshape(held.space.shape)).ravel()


def _element(name: str, value: object, held: Held) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise SimulationError(f"state '{name}' must be numbers; given: {value!r}") from None
    if array.shape == () and held.space.shape == (1,):
        array = array.reshape(1)
    if array.shape != held.space.shape or not np.isfinite(array).all():
        raise SimulationError(
            f"state '{name}' must be finite numbers of shape {held.space.shape}, an element of "
            f"{held.space}; given: shape {array.shape}"
        )
    if held.space.defect(array) > _SPACE_TOLERANCE:
        raise SimulationError(
            f"state '{name}' must be an element of {held.space}; given: {array.tolist()}"
        )
    return array
