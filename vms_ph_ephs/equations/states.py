# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""State vectors, the energies of the storages, and the flows of the processes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array

from ..components import Component, Environment, Irreversible, Reversible, Storage
from ..components.set_valued import ConstantForce
from ..errors import PatternError, SimulationError, TemperatureError
from .layout import Layout, StateEntry

Index = npt.NDArray[np.intp]

# Poses given as text are orthonormal to 1e-8, those in single precision to 1e-7.
_SPACE_TOLERANCE = 1e-6


Views = Mapping[str, tuple[Array, ...]]


class States:
    """All states of a system as one vector.

    Attributes:
        layout: the place of each in the state vector.
        groups: the states whose steps are not additions.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.groups = [e for e in layout.states.values() if e.tangent.start >= layout.vector_size]
        self._x = np.zeros(layout.size)
        view_of = {
            name: self._x[entry.indices].reshape(entry.space.shape)
            for name, entry in layout.states.items()
        }
        self.views: dict[str, tuple[Array, ...]] = {
            box: tuple(view_of[layout.junctions[f"{box}.{port}"]] for port in component.reads)
            for box, component in layout.components.items()
        }

    def set_state(self, x: Array) -> None:
        """Set ``views``, the states that every component depends on, to those of x."""
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
        for entry in self.layout.states.values():
            x[entry.indices] = entry.space.origin().ravel()
        for name, value in (values or {}).items():
            entry = self.layout.find(name)
            x[entry.indices] = entry.space.project(_element(name, value, entry)).ravel()
        return x

    def value(self, x: Array, name: str) -> Array:
        """Return one state out of a state vector, by junction or ``"box.port"``."""
        entry = self.layout.find(name)
        return x[entry.indices].reshape(entry.space.shape)

    def step(self, x: Array, u: Array) -> Array:
        """Return the state vector reached by the step u, (stored,)."""
        n = self.layout.vector_size
        y = x.copy()
        y[:n] += u[:n]
        for entry in self.groups:
            value = x[entry.indices].reshape(entry.space.shape)
            y[entry.indices] = entry.space.step(value, u[entry.tangent]).ravel()
        return y

    def difference(self, x: Array, y: Array) -> Array:
        """Return the step that leads from x to y, (stored,); the inverse of :meth:`step`."""
        n = self.layout.vector_size
        u = np.empty(self.layout.stored_size)
        u[:n] = y[:n] - x[:n]
        for entry in self.groups:
            element_x, element_y = (z[entry.indices].reshape(entry.space.shape) for z in (x, y))
            u[entry.tangent] = entry.space.difference(element_x, element_y)
        return u

    def step_rate(self, step: Array, rate: Array) -> Array:
        """Return the rate of a step at whose end the states have the given rates, (stored,)."""
        rates = rate.copy()
        for entry in self.groups:
            indices = entry.tangent
            rates[indices] = entry.space.step_rate(step[indices], rate[indices])
        return rates

    def normalise(self, x: Array) -> None:
        """Remove rounding errors from the elements of groups, in place."""
        for e in self.groups:
            x[e.indices] = e.space.project(x[e.indices].reshape(e.space.shape)).ravel()


def _element(name: str, value: object, entry: StateEntry) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise SimulationError(f"state '{name}' must be numbers; given: {value!r}") from None
    if array.shape == () and entry.space.shape == (1,):
        array = array.reshape(1)
    if array.shape != entry.space.shape or not np.isfinite(array).all():
        raise SimulationError(
            f"state '{name}' must be finite numbers of shape {entry.space.shape}, an element of "
            f"{entry.space}; given: shape {array.shape}"
        )
    if entry.space.defect(array) > _SPACE_TOLERANCE:
        raise SimulationError(
            f"state '{name}' must be an element of {entry.space}; given: {array.tolist()}"
        )
    return array


class Storages:
    """The energy of a system as a function of its states.

    Args:
        states: of the system.
        theta_0: temperature of the environment, K.
        constrained_efforts: indices of the efforts that constraints act on; storages there must
            have the derivative of their efforts.
    """

    def __init__(self, states: States, theta_0: float, constrained_efforts: Index) -> None:
        layout = states.layout
        self.states, self.layout, self.theta_0 = states, layout, theta_0
        n = layout.quadratic_size
        self.Q = np.zeros((n, n))
        self.constant_hessian = np.zeros((layout.stored_size, layout.stored_size))
        self.quadratic: list[tuple[str, Storage, slice]] = []
        self.nonlinear: list[tuple[str, Storage, slice]] = []
        for box, component in layout.components.items():
            if not isinstance(component, Storage):
                continue
            first_port = next(iter(component.interface))
            first_index = layout.entries[layout.junctions[f"{box}.{first_port}"]].start
            indices = slice(first_index, first_index + component.width)
            if indices.start < n:
                hessian = component.hessian(*states.views[box])
                assert hessian is not None  # quadratic storages have a Hessian
                self.Q[indices, indices] = hessian
                self.quadratic.append((box, component, indices))
            else:
                self.nonlinear.append((box, component, indices))
        self.constant_hessian[:n, :n] = self.Q
        constrained_set = set(constrained_efforts.tolist())
        self._constrained_nonlinear = [
            (box, s, indices)
            for box, s, indices in self.nonlinear
            if constrained_set & set(range(indices.start, indices.stop))
        ]
        for box, storage, _ in self._constrained_nonlinear:
            if storage.hessian(*states.views[box]) is None:
                raise PatternError(
                    f"a constraint acts on the storage '{box}', whose energy is not quadratic; "
                    "give the storage its hessian"
                )
        self._thermal_storages = [
            (box, s)
            for box, s, _ in self.nonlinear
            if s.is_entropy.any() and not isinstance(s, Environment)
        ]
        # Quadratic energies are never negative; those that functions of users give may be.
        self._bounded_storages = [
            (box, s) for box, s, _ in self.nonlinear if s.lower_bound is not None and _is_custom(s)
        ]
        self.entropy_entries = [
            entry
            for entry in layout.states.values()
            if layout.components[entry.port.rpartition(".")[0]]
            .interface[entry.port.rpartition(".")[2]]
            .quantity.name
            == "entropy"
        ]

    def efforts(self, x: Array) -> Array:
        """Return the differentials of the exergy by all states, (stored,).

        Raises:
            TemperatureError: an absolute temperature at or below zero.
            SimulationError: an effort that is not finite.
        """
        self.states.set_state(x)
        e = np.empty(self.layout.stored_size)
        n = self.layout.quadratic_size
        e[:n] = self.Q @ x[:n]
        for box, storage, indices in self.nonlinear:
            if isinstance(storage, Environment):
                e[indices] = 0.0
                continue
            e[indices] = self.exergy_gradient(
                box, storage, storage.differential(*self.states.views[box])
            )
        return e

    def exergy_gradient(self, box: str, storage: Storage, differential: Array) -> Array:
        """Return ``dE - theta_0 ds`` of one storage.

        Raises:
            TemperatureError: naming the port.
            SimulationError: naming the box.
        """
        if not np.isfinite(differential).all():
            raise SimulationError(f"the effort of storage '{box}' is not finite here")
        if not storage.is_entropy.any():
            return differential
        is_entropy = storage.is_entropy > 0.0
        if not np.min(differential[is_entropy]) > 0.0:
            index = int(np.argmin(np.where(is_entropy, differential, np.inf)))
            raise TemperatureError(
                f"the absolute temperature at port '{box}.{storage.port_at(index)}' is "
                f"{differential[index]:.6g} K; it must be above zero"
            )
        return differential - self.theta_0 * storage.is_entropy

    def unbounded_boxes(self) -> list[str]:
        """Return the boxes whose exergy may fall without limit: passivity does not cover them."""
        boxes = [*self.quadratic, *self.nonlinear]
        return [
            box for box, s, _ in boxes if s.lower_bound is None and not isinstance(s, Environment)
        ]

    def check_state(self, x: Array) -> None:
        """Raise an error for a state with a temperature or an energy that is too low.

        Raises:
            TemperatureError: an absolute temperature at or below zero, naming the port.
            LawError: an energy below the lower bound that its storage declares, naming the box.
        """
        if self._bounded_storages:
            self.states.set_state(x)
            for box, storage in self._bounded_storages:
                storage.check_bound(box, *self.states.views[box])
        if self._thermal_storages:
            self.states.set_state(x)
            for box, storage in self._thermal_storages:
                self.exergy_gradient(box, storage, storage.differential(*self.states.views[box]))

    @property
    def constrained_nonlinear(self) -> list[str]:
        """The storages on which constraints act and whose energy is not quadratic, by box."""
        return [box for box, _, _ in self._constrained_nonlinear]

    def hessian(self) -> Array:
        """Return D, the derivative of the efforts at the last state, (stored,stored)."""
        if not self._constrained_nonlinear:
            return self.constant_hessian
        d = self.constant_hessian.copy()
        for box, storage, indices in self._constrained_nonlinear:
            hessian = storage.hessian(*self.states.views[box])
            assert hessian is not None  # checked when the equations were assembled
            d[indices, indices] = hessian
        return d

    def energies(self, x: Array) -> dict[str, float]:
        """Return the energy in every storage, J; heat in environments counts from zero entropy."""
        self.states.set_state(x)
        storages = [*self.quadratic, *self.nonlinear]
        return {box: storage.energy(*self.states.views[box]) for box, storage, _ in storages}

    def energy(self, x: Array) -> float:
        """Return the total energy, J: mechanical, thermal, and ``theta_0 s`` of environments."""
        self.states.set_state(x)
        p = x[: self.layout.quadratic_size]
        nonlinear_energy = sum(s.energy(*self.states.views[box]) for box, s, _ in self.nonlinear)
        return 0.5 * float(p @ self.Q @ p) + nonlinear_energy

    def entropy(self, x: Array) -> float:
        """Return the total entropy, J/K."""
        return float(sum(x[entry.indices].sum() for entry in self.entropy_entries))

    def exergy(self, x: Array) -> float:
        """Return the total exergy ``E - theta_0 s``, J: the energy available as work."""
        return self.energy(x) - self.theta_0 * self.entropy(x)

    def temperatures(self, x: Array) -> dict[str, float]:
        """Return the absolute temperature of every state of entropy, by ``"box.port"``, K."""
        e = self.efforts(x)
        return {s.port: float(e[s.tangent][0]) + self.theta_0 for s in self.entropy_entries}


def _is_custom(storage: Storage) -> bool:
    """Whether the bound of a storage is that of a user-defined function."""
    return storage.to_parameters() is None


class Processes:
    """The flows into reversible and irreversible components as a function of efforts.

    Args:
        states: of the system.
        theta_0: temperature of the environment, K.

    Attributes:
        imposed_flows: flows into irreversible components that are given during a step, by box;
            those of the others follow from their efforts.
        skew: (total,total) of all constant brackets together.
        varying_efforts: free efforts on which other flows depend.
        indices: of the ports of every component among all efforts.
    """

    def __init__(self, states: States, theta_0: float) -> None:
        layout = states.layout
        self._states, self._theta_0, self._total = states, theta_0, layout.total_size
        self.imposed_flows: Mapping[str, Array | ConstantForce] = {}
        skew = np.zeros((layout.total_size, layout.total_size))
        self._brackets: list[tuple[str, Reversible, Index, bool]] = []
        self._irreversible_processes: list[tuple[str, Irreversible, Index, bool]] = []
        self.indices = {box: self._port_indices(box, c) for box, c in layout.components.items()}
        for box, component in layout.components.items():
            ids = self.indices[box]
            has_repeats = len(set(ids.tolist())) < ids.size
            if isinstance(component, Irreversible):
                self._irreversible_processes.append((box, component, ids, has_repeats))
            elif isinstance(component, Reversible) and not component.has_constant_skew:
                self._brackets.append((box, component, ids, has_repeats))
            elif isinstance(component, Reversible):
                np.add.at(skew, (ids[:, None], ids[None, :]), component.skew())
        self.skew = skew
        indices = [ids for *_, ids, _ in (*self._brackets, *self._irreversible_processes)]
        varying_indices = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *indices]))
        self.varying_efforts = varying_indices[varying_indices >= layout.stored_size]
        # Mostly couplings of poses and velocities, hence stored as entries, not as a matrix.
        self._skew_rows, self._skew_columns = np.nonzero(skew)
        self._skew_values = skew[self._skew_rows, self._skew_columns]

    @contextmanager
    def imposing(self, flows: Mapping[str, Array | ConstantForce]) -> Iterator[None]:
        """Impose flows into components, by box, in place of their laws."""
        previous_flows, self.imposed_flows = self.imposed_flows, {**self.imposed_flows, **flows}
        try:
            yield
        finally:
            self.imposed_flows = previous_flows

    def flows(self, e: Array) -> Array:
        """Return the flows into all components at every junction, (total,).

        Raises:
            LawError: a component violates a law at these efforts.
        """
        if self._skew_rows.size:
            flows = self._skew_values * e[self._skew_columns]
            # With weights the sums are floats, which numpy's type annotations do not express.
            phi = cast(Array, np.bincount(self._skew_rows, weights=flows, minlength=self._total))
        else:
            phi = np.zeros(self._total)
        views = self._states.views
        for box, reversible, indices, has_repeats in self._brackets:
            flow = reversible.bracket(views[box], e[indices])
            if not reversible.is_lawful:
                reversible.check_bracket(box, e[indices], flow)
            _add_flow(phi, indices, flow, has_repeats)
        for box, process, indices, has_repeats in self._irreversible_processes:
            if box in self.imposed_flows:
                held_flow = self.imposed_flows[box]
                flow_of_box = (
                    held_flow.flows(views[box])
                    if isinstance(held_flow, ConstantForce)
                    else held_flow
                )
                _add_flow(phi, indices, flow_of_box, has_repeats)
                continue
            effort = e[indices]
            flow = process.flows(views[box], effort, self._theta_0)
            if not process.is_lawful:
                process.check_flows(box, effort, flow, self._theta_0)
            _add_flow(phi, indices, flow, has_repeats)
        return phi

    def row_velocities(self, efforts: Array) -> dict[str, Array]:
        """Return the velocities along the rows of the forces that are held, by box."""
        return {
            box: held_flow.velocities(self._states.views[box], efforts[self.indices[box][:-1]])
            for box, held_flow in self.imposed_flows.items()
            if isinstance(held_flow, ConstantForce)
        }

    def _port_indices(self, box: str, component: Component) -> Index:
        layout = self._states.layout
        effort_indices = np.zeros(component.width, dtype=np.intp)
        for port, indices in component.slices.items():
            effort_indices[indices] = np.arange(self._total)[
                layout.entries[layout.junctions[f"{box}.{port}"]]
            ]
        return effort_indices


def _add_flow(phi: Array, indices: Index, flow: Array, has_repeats: bool) -> None:
    if has_repeats:
        np.add.at(phi, indices, flow)
    else:
        phi[indices] += flow
