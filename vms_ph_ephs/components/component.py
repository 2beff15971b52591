# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The base class of all primitive systems: interface, state dependence and structure check."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..errors import StructureError
from ..patterns import Interface, Port, width

SAMPLES = 8

# Of what is sampled: a law may hold for slow motions and fail for fast ones.
MAGNITUDES = (1.0, 30.0, 1e3, 1e-2)

# Rounding of products of samples, which are of order one to ten.
ROUNDING = 1e-10


class Component(ABC):
    """A primitive system, given by one geometric structure.

    Flows and efforts of its power ports are stacked in the order of the interface. A flow is
    positive into the component; its power is ``effort . flow``, W.

    Attributes:
        interface: its ports.
        reads: the ports whose state its structure depends on, in the order of the arguments.
        width: number of flows of all power ports.
        slices: of every power port among them.
        is_entropy: (width,) one for flows of entropy, else zero.

    Args:
        interface: its ports.
        reads: the ports whose state its structure depends on.

    Raises:
        StructureError: it reads a port that it does not have.
    """

    def __init__(self, interface: Interface, reads: Iterable[str] = ()) -> None:
        self.interface: Mapping[str, Port] = MappingProxyType(dict(interface))
        self.reads = tuple(reads)
        for name in self.reads:
            if name not in self.interface:
                raise StructureError(
                    f"the structure reads the state of '{name}', but the ports are "
                    f"{', '.join(self.interface)}"
                )
        self.width = width(self.interface)
        self.slices: dict[str, slice] = {}
        self.is_entropy = np.zeros(self.width)
        first = 0
        for name, port in self.interface.items():
            if port.kind == "power":
                last = first + port.quantity.space.dimension
                self.slices[name] = slice(first, last)
                self.is_entropy[first:last] = port.quantity.name == "entropy"
                first = last

    @abstractmethod
    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if the structure violates a law.

        Args:
            name: name of the box, for the error.
            theta_0: temperature of the environment, K.
            rng: of the samples.

        Raises:
            StructureError: a law is violated; the message names it, the box and the ports.
        """

    def described(self) -> Mapping[str, Any] | None:
        """Return the numbers that determine the component, with its ``kind``; None without.

        Solvers for systems whose components are all known this way need no function of the user.
        A subclass that changes a component is not known by the numbers of its base class; see
        :func:`.description_of`.
        """
        return None

    def port_at(self, index: int) -> str:
        """Return the power port that an entry of the stacked flows belongs to."""
        return next(name for name, s in self.slices.items() if s.start <= index < s.stop)

    def random_states(self, rng: np.random.Generator) -> list[Array]:
        """Return a sampled state for every port in ``reads``."""
        return [self.interface[name].quantity.space.random(rng) for name in self.reads]

    def random_efforts(self, rng: np.random.Generator, theta_0: float) -> Array:
        """Return sampled efforts, with every temperature above half of theta_0."""
        efforts = rng.uniform(-1.0, 1.0, self.width)
        return np.where(self.is_entropy > 0.0, 0.5 * theta_0 * efforts, efforts)


def description_of(component: Component) -> Mapping[str, Any] | None:
    """Return what a component says about itself, if its own class says it."""
    return component.described() if "described" in vars(type(component)) else None


def matrix_of(value: Any, shape: tuple[int, int], label: str) -> Array:
    """Return a value as a matrix of finite numbers.

    Raises:
        StructureError: the value has another shape or is not finite.
    """
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != shape:
        raise StructureError(f"{label} must have shape {shape}; given: shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise StructureError(f"{label} must be finite; given: {matrix.tolist()}")
    return matrix
