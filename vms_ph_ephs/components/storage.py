# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Storage of energy, and the environment [C (1), (2)]."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.arrays import frozen

from ..errors import LawError, StructureError
from ..patterns import Interface, power
from ..quantities import entropy
from .component import (
    CHECK_SAMPLES,
    NUMERIC,
    ROUNDING,
    SAMPLE_SCALES,
    Component,
    NumberSpec,
    States,
    kind,
    matrix_of,
)

# Central differences with a step of 1e-6 of a smooth function of order one.
_STEP, _TOLERANCE = 1e-6, 1e-6

_ENERGY_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


class Storage(Component):
    """Stores energy; its effort is the differential of the exergy ``E - theta_0 s``.

    Flows are the rates of the states, left-trivialised where the space is a group.

    Args:
        interface: power ports only; each one is a state of the storage.
        energy: maps one array per port to the energy, J.
        differential: maps the same arrays to dE, all ports stacked, left-trivialised: along
            ``x exp(hat(u) t)`` the energy changes at the rate ``dE . u``.
        hessian: the derivative of the differential, (width,width); needed only where a constraint
            acts on a storage that is not :class:`Quadratic`.
        lower_bound: that the energy never falls below, J; checked at samples and in every step.
            None for none, as for gravity.

    Raises:
        StructureError: a port is no power port.
    """

    def __init__(
        self,
        interface: Interface,
        energy: Callable[..., Any],
        differential: Callable[..., Any],
        hessian: Callable[..., Array] | None = None,
        *,
        lower_bound: float | None = None,
    ) -> None:
        super().__init__(interface, interface)
        for name, port in self.interface.items():
            if port.kind != "power":
                raise StructureError(f"port '{name}' of a storage must be a power port")
        self._energy, self._differential, self._hessian = energy, differential, hessian
        self.lower_bound = None if lower_bound is None else float(lower_bound)

    def energy(self, *states: Array) -> float:
        """Return the stored energy, J."""
        return float(np.asarray(self._energy(*states)).reshape(()))

    def differential(self, *states: Array) -> Array:
        """Return dE, (width,)."""
        return np.asarray(self._differential(*states), dtype=np.float64).reshape(self.width)

    def hessian(self, *states: Array) -> Array | None:
        """Return the derivative of the differential, or None if it was not given."""
        return None if self._hessian is None else self._hessian(*states)

    def discrete(self, before: States, middle: States, after: States, u: Array) -> Array:
        """Return a discrete differential: its product with the step u is the change of energy.

        It is that of Gonzalez: the differential at the midpoint, corrected along the step.

        Args:
            before: states at the beginning, one array per port.
            middle: states at the midpoint.
            after: states at the end.
            u: the step from before to after, all ports stacked, (width,).
        """
        d = self.differential(*middle)
        squared_length = float(u @ u)
        if squared_length > 0.0:
            start_energy, end_energy = self.energy(*before), self.energy(*after)
            energy_error = end_energy - start_energy - float(d @ u)
            # Over a short step the rounding of the energies would give a large force.
            if abs(energy_error) > _ENERGY_ROUNDING * (abs(start_energy) + abs(end_energy)):
                d = d + (energy_error / squared_length) * u
        return d

    def check_bound(self, name: str, *states: Array) -> None:
        """Raise an error if the energy is below its lower bound.

        Raises:
            LawError: it is; the message names the box.
        """
        if self.lower_bound is None:
            return
        energy = self.energy(*states)
        if energy < self.lower_bound - ROUNDING * (1.0 + abs(self.lower_bound)):
            raise LawError(
                f"the energy of box '{name}' is {energy:.6g} J at {[s.tolist() for s in states]}, "
                f"below its lower bound of {self.lower_bound:.6g} J; declare none, or correct the "
                "energy"
            )

    def _check_bound_at_samples(self, name: str, rng: np.random.Generator) -> None:
        for magnitude in SAMPLE_SCALES:
            states = self.random_states(rng)
            for k, port in enumerate(self.interface.values()):
                if port.quantity.space.is_vector_space:
                    states[k] = magnitude * states[k]
            try:
                with np.errstate(over="ignore"):  # far states of exponentials
                    self.check_bound(name, *states)
            except LawError as error:
                raise StructureError(str(error)) from None

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if the differential is not that of the energy, or the bound is not kept.

        Raises:
            StructureError: one is not; the message names the port.
        """
        self._check_bound_at_samples(name, rng)
        spaces = [port.quantity.space for port in self.interface.values()]
        for _ in range(CHECK_SAMPLES):
            states = self.random_states(rng)
            d = self.differential(*states)
            for k, space in enumerate(spaces):
                for i in range(space.dimension):
                    step = np.zeros(space.dimension)
                    step[i] = _STEP
                    forward, backward = list(states), list(states)
                    forward[k], backward[k] = (
                        space.step(states[k], step),
                        space.step(states[k], -step),
                    )
                    slope = (self.energy(*forward) - self.energy(*backward)) / (2.0 * _STEP)
                    port = list(self.interface)[k]
                    given_slope = float(d[self.slices[port]][i])
                    scale = 1.0 + abs(self.energy(*states)) + float(np.abs(d).max())
                    if not abs(slope - given_slope) <= _TOLERANCE * scale:
                        raise StructureError(
                            f"box '{name}', port '{port}': entry {i} of the differential is "
                            f"{given_slope:.6g}, but the energy changes at {slope:.6g} along it; "
                            "give the left-trivialised differential of the energy"
                        )


class StorageLaw(Storage):
    """A storage whose differential is a formula, the same for numbers and for expressions.

    Args:
        interface: its ports.
        lower_bound: of its energy, J; None without one.
    """

    def __init__(self, interface: Interface, lower_bound: float | None = None) -> None:
        super().__init__(interface, self._energy_at, self._gradient_at, lower_bound=lower_bound)

    @abstractmethod
    def _energy_at(self, *states: Any) -> Any:
        """Return the energy, J."""

    @abstractmethod
    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return dE; ops has the operations, ``NumericOps`` or an ``Algebra``."""

    def _gradient_at(self, *states: Array) -> list[Any]:
        return self.gradient(NUMERIC, *states)


class ZeroEnergy(StorageLaw):
    """A state without energy: its effort is zero, so that setting it takes no power."""

    def __init__(self, interface: Interface) -> None:
        super().__init__(interface, lower_bound=0.0)

    def _energy_at(self, *states: Array) -> float:
        return 0.0

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return zeros."""
        return [0.0] * self.width

    def hessian(self, *states: Array) -> Array:
        """Return zeros."""
        return np.zeros((self.width, self.width))


@kind("quadratic", "energy x^T Q x / 2")
class Quadratic(StorageLaw):
    """Stores ``x^T Q x / 2`` of vectors x, as kinetic energy of momenta or of a linear spring.

    Args:
        ports: power ports with vector spaces.
        matrix: Q, symmetric and positive semidefinite, (width,width); a number for one scalar port.

    Raises:
        StructureError: a port has values in no vector space, or the matrix is not symmetric and
            positive semidefinite.
    """

    def __init__(self, ports: Interface, matrix: Any) -> None:
        super().__init__(ports, lower_bound=0.0)
        for name, port in self.interface.items():
            if not port.quantity.space.is_vector_space:
                raise StructureError(
                    f"port '{name}' has values in {port.quantity.space}, which is no vector space; "
                    "use Storage"
                )
        q = np.reshape(matrix, (1, 1)) if np.ndim(matrix) == 0 else matrix
        self.matrix = frozen(matrix_of(q, (self.width, self.width), "the matrix of an energy"))
        scale = float(np.abs(self.matrix).max(initial=0.0))
        if np.abs(self.matrix - self.matrix.T).max(initial=0.0) > 1e-12 * scale:
            raise StructureError("the matrix of a quadratic energy must be symmetric")
        smallest_eigenvalue = float(np.min(np.linalg.eigvalsh(self.matrix), initial=0.0))
        if smallest_eigenvalue < -1e-12 * scale:
            raise StructureError(
                "a quadratic energy must not be negative, but its matrix has the eigenvalue "
                f"{smallest_eigenvalue:.6g}; use Storage for an energy that is not bounded below"
            )

    def _energy_at(self, *states: Array) -> float:
        x = np.concatenate(states)
        return 0.5 * float(x @ self.matrix @ x)

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return ``Q x``."""
        x = [state[i] for state in states for i in range(state.shape[0])]
        indices = range(len(x))
        return [sum((self.matrix[index, j] * x[j] for j in indices), start=0) for index in indices]

    def hessian(self, *states: Array) -> Array:
        """Return Q."""
        return self.matrix


@kind("environment", "takes heat")
class Environment(StorageLaw):
    """Absorbs entropy at the constant temperature theta_0; its exergy, and so its effort, is zero.

    Its energy is ``theta_0 s``, relative to an arbitrary zero.

    Args:
        theta_0: absolute temperature, K.
        port: name of its only port.

    Raises:
        StructureError: the temperature is not above zero.
    """

    def __init__(
        self, theta_0: Annotated[float, NumberSpec("K", above=0.0)] = 298.15, port: str = "s"
    ) -> None:
        self.theta_0, self.port = float(theta_0), port
        super().__init__({port: power(entropy)})

    def _energy_at(self, *states: Array) -> Array:
        return self.theta_0 * states[0]

    def gradient(self, ops: Any, *states: Any) -> list[Any]:
        """Return the temperature."""
        return [self.theta_0]

    def hessian(self, *states: Array) -> Array:
        """Return zero."""
        return np.zeros((1, 1))
