# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All flows that do not come from multipliers: reversible brackets and irreversible processes."""

from collections.abc import Mapping
from typing import cast

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Irreversible, Reversible
from ..components.set_valued import ConstantForce
from .states import Index, States


class Processes:
    """The flows into reversible and irreversible components as a function of efforts.

    Args:
        states: of the system.
        theta_0: temperature of the environment, K.

    Attributes:
        held: flows into irreversible components that are given during a step, by box; those of the
            others follow from their efforts.
        skew: (total,total) of all constant brackets together.
        touched_free: free efforts on which other flows depend.
        indices: of the ports of every component among all efforts.
    """

    def __init__(self, states: States, theta_0: float) -> None:
        layout = states.layout
        self._states, self._theta_0, self._total = states, theta_0, layout.total
        self.imposed: Mapping[str, Array | ConstantForce] = {}
        constant = np.zeros((layout.total, layout.total))
        self._brackets: list[tuple[str, Reversible, Index, bool]] = []
        self._dissipating: list[tuple[str, Irreversible, Index, bool]] = []
        self.indices = {box: self._index(box, c) for box, c in layout.components.items()}
        for box, component in layout.components.items():
            index = self.indices[box]
            twice = len(set(index.tolist())) < index.size
            if isinstance(component, Irreversible):
                self._dissipating.append((box, component, index, twice))
            elif isinstance(component, Reversible) and not component.constant_skew:
                self._brackets.append((box, component, index, twice))
            elif isinstance(component, Reversible):
                np.add.at(constant, (index[:, None], index[None, :]), component.skew())
        self.skew = constant
        used = [index for *_, index, _ in (*self._brackets, *self._dissipating)]
        every = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *used]))
        self.touched_free = every[every >= layout.stored]
        # Mostly couplings of poses and velocities, hence stored as entries, not as a matrix.
        self._rows, self._columns = np.nonzero(constant)
        self._entries = constant[self._rows, self._columns]

    def flows(self, e: Array) -> Array:
        """Return the flows into all components at every junction, (total,).

        Raises:
            LawError: a component violates a law at these efforts.
        """
        if self._rows.size:
            weights = self._entries * e[self._columns]
            # With weights the sums are floats, which numpy's type annotations do not express.
            phi = cast(Array, np.bincount(self._rows, weights=weights, minlength=self._total))
        else:
            phi = np.zeros(self._total)
        reads = self._states.reads
        for box, reversible, index, twice in self._brackets:
            flow = reversible.bracket(reads[box], e[index])
            if not reversible.is_lawful:
                reversible.check_bracket(box, e[index], flow)
            _add(phi, index, flow, twice)
        for box, process, index, twice in self._dissipating:
            if box in self.imposed:
                imposed = self.imposed[box]
                flow_of_box = (
                    imposed.flows(reads[box]) if isinstance(imposed, ConstantForce) else imposed
                )
                _add(phi, index, flow_of_box, twice)
                continue
            effort = e[index]
            flow = process.flows(reads[box], effort, self._theta_0)
            if not process.is_lawful:
                process.check_flows(box, effort, flow, self._theta_0)
            _add(phi, index, flow, twice)
        return phi

    def along(self, efforts: Array) -> dict[str, Array]:
        """Return the velocities along the rows of the forces that are held, by box."""
        return {
            box: imposed.velocities(self._states.reads[box], efforts[self.indices[box][:-1]])
            for box, imposed in self.imposed.items()
            if isinstance(imposed, ConstantForce)
        }

    def _index(self, box: str, component: Component) -> Index:
        layout = self._states.layout
        index = np.zeros(component.width, dtype=np.intp)
        for port, at in component.slices.items():
            index[at] = np.arange(self._total)[layout.efforts[layout.junctions[f"{box}.{port}"]]]
        return index


def _add(phi: Array, index: Index, flow: Array, twice: bool) -> None:
    if twice:
        np.add.at(phi, index, flow)
    else:
        phi[index] += flow
