# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Dirac structures: power-conserving relations between the flows and efforts of ports.

The structure of a robot on a moving base is the direct product of both, with a wrench at the end
effector mapped to both: base and arm are coupled by their inertia alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.linalg import svd

from vms_ph_dynamics import Array, Evaluation, ModelError, PHState, StandardForm
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.forms.standard import coadjoint_matrix

# Power of two unit elements, and directions of balanced bases, below this are rounding.
_POWER = 1e-9
_RANK = 1e-9
# Entries of a basis below this, in SI units beside entries of one and more, are rounding.
_NOISE = 1e-13
# Balancing converges by a factor of two or more at each pass; entries are left within a few tens.
_PASSES = 60
_UNTIED = (np.arange(0), np.arange(0))


@dataclass(frozen=True)
class DiracStructure:
    """A maximal subspace of flows f and efforts e with zero power ``e^T f``.

    With the bases F and E: ``E^T F + F^T E = 0`` and ``rank [F; E] = N``. Both are checked with the
    ports in units of their own: power does not change when the flow of a port is multiplied by a
    number and its effort divided by it, so that structures of very different size are checked
    alike.

    Attributes:
        ports: names with their sizes, in the order of the rows below.
        flows, efforts: (N,N) bases F and E of the subspace, a column for each of its N dimensions.

    Raises:
        ModelError: bases that are not finite or not of the size of the ports, that do not conserve
            power, or whose columns are linearly dependent.
    """

    ports: Mapping[str, int]
    flows: Array
    efforts: Array

    def __post_init__(self) -> None:
        size = sum(self.ports.values())
        if self.flows.shape != (size, size) or self.efforts.shape != (size, size):
            raise ModelError(
                f"a Dirac structure on ports of size {size} has bases of {size} flows and efforts, "
                f"({size}, {size}) each; given: {self.flows.shape} and {self.efforts.shape}"
            )
        if not (np.isfinite(self.flows).all() and np.isfinite(self.efforts).all()):
            raise ModelError("the flows and efforts of a Dirac structure must be finite")
        if size == 0:
            return
        balanced = _balanced(self.flows, self.efforts)
        pairing = balanced.efforts.T @ balanced.flows
        power = np.abs(pairing + pairing.T)
        if power.max() > _POWER:
            one, other = np.unravel_index(int(np.argmax(power)), power.shape)
            raise ModelError(
                "a Dirac structure conserves power, efforts^T flows + flows^T efforts = 0; given "
                f"bases whose columns {one} and {other} exchange "
                f"{(self.efforts.T @ self.flows + self.flows.T @ self.efforts)[one, other]:.3g} W; "
                "give flows and efforts of every port the signs with which their powers add to zero"
            )
        values = svd(np.vstack([balanced.flows, balanced.efforts]), compute_uv=False)
        rank = int(np.sum(values > _RANK * values[0]))
        if rank < size:
            raise ModelError(
                f"a Dirac structure on ports of size {size} has as many dimensions; the columns "
                f"given span {rank}; give {size} independent columns of flows and efforts"
            )

    @classmethod
    def from_matrix(cls, matrix: Array, ports: Mapping[str, int]) -> "DiracStructure":
        """Return the structure ``f = matrix e`` of a skew-symmetric matrix.

        Raises:
            ModelError: the matrix is not finite, not skew-symmetric, or not of the size of the
                ports.
        """
        size = sum(ports.values())
        if matrix.shape != (size, size):
            raise ModelError(f"ports of size {size} need a matrix of that size, not {matrix.shape}")
        if not np.isfinite(matrix).all():
            raise ModelError("the matrix from efforts to flows must be finite")
        # Each pair of entries beside the largest ones of its two rows.
        largest = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
        if (np.abs(matrix + matrix.T) > _POWER * (1.0 + np.outer(largest, largest))).any():
            raise ModelError("the matrix from efforts to flows must be skew-symmetric")
        return cls(dict(ports), frozen(0.5 * (matrix - matrix.T)), frozen(np.eye(size)))

    def matrix(self) -> Array:
        """Return the skew matrix from efforts to flows.

        Raises:
            ModelError: the efforts are constrained, so that there is no such matrix.
        """
        # numpy before 2.4 knows no rank of an empty matrix.
        if self.efforts.size and np.linalg.matrix_rank(self.efforts) < len(self.efforts):
            raise ModelError(
                "the efforts of this Dirac structure are constrained, so that no matrix exists"
            )
        return self.flows @ np.linalg.inv(self.efforts)

    def power(self, weights: Array) -> float:
        """Return ``e^T f`` of a combination (N,) of the basis; zero for every Dirac structure."""
        return float((self.efforts @ weights) @ (self.flows @ weights))

    def contains(self, flows: Array, efforts: Array, tolerance: float = 1e-9) -> bool:
        """Return whether flows (N,) and efforts (N,) belong to the structure."""
        basis, vector = np.vstack([self.flows, self.efforts]), np.concatenate([flows, efforts])
        weights = np.linalg.lstsq(basis, vector, rcond=None)[0]
        return bool(
            np.abs(basis @ weights - vector).max() <= tolerance * (1 + np.abs(vector).max())
        )

    def reordered(self, names: Sequence[str]) -> "DiracStructure":
        """Return the same structure with its ports in another order.

        Raises:
            ModelError: the names are not those of all ports, each once.
        """
        if sorted(names) != sorted(self.ports):
            raise ModelError(
                f"another order must name every port once; there are {', '.join(self.ports)}; "
                f"given: {', '.join(names)}"
            )
        rows = self._rows(names)
        ports = {name: self.ports[name] for name in names}
        return DiracStructure(ports, frozen(self.flows[rows]), frozen(self.efforts[rows]))

    def renamed(self, names: Mapping[str, str]) -> "DiracStructure":
        """Return the same structure with some ports renamed.

        Raises:
            ModelError: a port is unknown, or a new name is already used.
        """
        for name in names:
            self._start(name)
        new = [names.get(name, name) for name in self.ports]
        if len({*new}) < len(new):
            raise ModelError(f"two ports would have the same name: {', '.join(new)}")
        ports = dict(zip(new, self.ports.values(), strict=True))
        return DiracStructure(ports, self.flows, self.efforts)

    def _rows(self, names: Sequence[str]) -> npt.NDArray[np.intp]:
        parts = [np.arange(self.ports[name]) + self._start(name) for name in names]
        return np.concatenate([np.arange(0), *parts])

    def _start(self, name: str) -> int:
        if name not in self.ports:
            raise ModelError(f"there is no port '{name}'; there are {', '.join(self.ports)}")
        names = list(self.ports)
        return sum(self.ports[n] for n in names[: names.index(name)])


def direct_product(a: DiracStructure, b: DiracStructure) -> DiracStructure:
    """Return the direct product of two structures, without exchange between them.

    Raises:
        ModelError: a port name that both have.
    """
    shared = a.ports.keys() & b.ports.keys()
    if shared:
        raise ModelError(f"both structures have a port '{sorted(shared)[0]}'; rename one")

    def beside(x: Array, y: Array) -> Array:
        zero = np.zeros((len(x), y.shape[1]))
        other = np.zeros((len(y), x.shape[1]))
        return frozen(np.block([[x, zero], [other, y]]))

    ports = {**a.ports, **b.ports}
    return DiracStructure(ports, beside(a.flows, b.flows), beside(a.efforts, b.efforts))


def compose(a: DiracStructure, b: DiracStructure, connections: Mapping[str, str]) -> DiracStructure:
    """Return two structures with ports of the one connected to ports of the other.

    Connected ports share their effort, and the flow out of one is the flow into the other. The
    result is a Dirac structure on the remaining ports (van der Schaft 2000).

    Args:
        a: one structure.
        b: the other; its port names differ from those of ``a``.
        connections: ports of ``a`` with their counterparts in ``b``.

    Raises:
        ModelError: an unknown port, one connected twice, ports of different sizes, or entries that
            differ by too many orders of magnitude.
    """
    both = direct_product(a, b)
    ours, theirs = list(connections), list(connections.values())
    for one, other in connections.items():
        a._start(one)
        b._start(other)
        if theirs.count(other) > 1:
            raise ModelError(f"port '{other}' is connected twice; join its partners first")
        if a.ports[one] != b.ports[other]:
            raise ModelError(
                f"port '{one}' has size {a.ports[one]}, port '{other}' {b.ports[other]}"
            )
    rows_of_a, rows_of_b = both._rows(ours), both._rows(theirs)
    left = [name for name in both.ports if name not in {*ours, *theirs}]
    rows = both._rows(left)
    ports = {name: both.ports[name] for name in left}
    # In balanced units no direction is lost beside one that is larger by many orders.
    scaled = _balanced(both.flows, both.efforts, (rows_of_a, rows_of_b))
    stacked, _ = np.linalg.qr(np.vstack([scaled.flows, scaled.efforts]))
    flows, efforts = stacked[: len(scaled.flows)], stacked[len(scaled.flows) :]
    allowed = _kernel(
        np.vstack([efforts[rows_of_a] - efforts[rows_of_b], flows[rows_of_a] + flows[rows_of_b]])
    )
    image = _image(np.vstack([flows[rows], efforts[rows]]) @ allowed)
    image[np.abs(image) < _NOISE] = 0.0
    units = scaled.units[rows][:, None]
    try:
        return DiracStructure(
            ports, frozen(image[: len(rows)] / units), frozen(image[len(rows) :] * units)
        )
    except ModelError:
        raise ModelError(
            f"the composed structure on the ports {', '.join(left)} cannot be computed: its "
            f"{len(rows)} dimensions differ by too many orders of magnitude; choose units in which "
            "the entries of both structures are of a similar size"
        ) from None


class _Balanced(NamedTuple):
    """Bases of flows and efforts with the ports in units in which both are of size one.

    Attributes:
        flows, efforts: (N,N) with columns of length one.
        units: (N,) by which the flows were multiplied and the efforts divided.
    """

    flows: Array
    efforts: Array
    units: Array


def _balanced(
    flows: Array, efforts: Array, tied: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]] = _UNTIED
) -> _Balanced:
    """Return bases of the same subspace in balanced units.

    Rows and columns are scaled in turn, as in the balancing of a matrix (Parlett and Reinsch,
    Numerische Mathematik 13, 1969), with powers of two: nothing is rounded.

    Args:
        flows: (N,N).
        efforts: (N,N).
        tied: rows that must keep common units, in pairs.
    """
    noise = _NOISE * np.minimum(1.0, np.maximum(_largest(flows, 0), _largest(efforts, 0)))
    flows = np.where(np.abs(flows) <= noise, 0.0, flows)
    efforts = np.where(np.abs(efforts) <= noise, 0.0, efforts)
    units = np.ones(len(flows))
    one, other = tied
    for _ in range(_PASSES):
        f, e = _largest(flows, 1), _largest(efforts, 1)
        both = (f > 0.0) & (e > 0.0)
        exponent = np.zeros(len(flows))
        exponent[both] = 0.5 * (np.log2(e[both]) - np.log2(f[both]))
        exponent[~both & (f > 0.0)] = -np.log2(f[~both & (f > 0.0)])
        exponent[~both & (e > 0.0)] = np.log2(e[~both & (e > 0.0)])
        exponent[one] = exponent[other] = 0.5 * (exponent[one] + exponent[other])
        step = np.exp2(np.round(exponent))
        flows, efforts, units = flows * step[:, None], efforts / step[:, None], units * step
        columns = np.maximum(_largest(flows, 0), _largest(efforts, 0))
        columns = np.exp2(np.round(np.log2(np.where(columns > 0.0, columns, 1.0))))
        flows, efforts = flows / columns, efforts / columns
        if (step == 1.0).all() and (columns == 1.0).all():
            break
    length = np.sqrt((flows**2).sum(axis=0) + (efforts**2).sum(axis=0))
    length[length == 0.0] = 1.0
    return _Balanced(flows / length, efforts / length, units)


def _largest(matrix: Array, axis: int) -> Array:
    return np.abs(matrix).max(axis=axis, initial=0.0)


def _kernel(matrix: Array) -> Array:
    _, values, right = svd(matrix)
    rank = int(np.sum(values > _RANK))
    return right[rank:].T


def _image(matrix: Array) -> Array:
    left, values, _ = svd(matrix, full_matrices=False)
    return left[:, values > _RANK]


def manipulator_structure(d: Evaluation) -> DiracStructure:
    """Return the Dirac structure of the arm on a fixed base [A, after (33)].

    From the efforts ``(dH/dq, dH/dpi, dV/dq, tau, W_e)`` to the flows
    ``(qdot, pidot, qdot, -qdot, -V_e)``. The source prints the last two flows without the sign;
    with it the matrix is skew-symmetric.

    Returns:
        Ports ``q``, ``pi``, ``potential_joints`` and ``torque`` of size n, and
        ``wrench_end_effector`` of size 6.
    """
    b, n = d.model.b, d.model.n
    on_momentum = np.hstack([-np.eye(n), np.eye(n), d.J_end_effector[:, b:].T])
    sizes = {"q": n, "pi": n, "potential_joints": n, "torque": n, "wrench_end_effector": 6}
    matrix = np.zeros((4 * n + 6, 4 * n + 6))
    matrix[:n, n : 2 * n] = np.eye(n)
    matrix[n : 2 * n, 2 * n :] = on_momentum
    return DiracStructure.from_matrix(matrix - matrix.T, sizes)


def base_structure(d: Evaluation) -> DiracStructure:
    """Return the Dirac structure of the base [A (43)], its configuration left-trivialised.

    From the efforts ``(dH/dp, chi*(dV/dh), w)`` to the flows ``(pdot, v, -v)``. The source prints
    the last flow without the sign.

    Returns:
        Ports ``p``, ``potential_base`` and ``wrench_base``, of size b each.
    """
    b = d.model.b
    unit, zero = np.eye(b), np.zeros((b, b))
    matrix = np.block(
        [[coadjoint_matrix(d.model, d.p), -unit, unit], [unit, zero, zero], [-unit, zero, zero]]
    )
    return DiracStructure.from_matrix(matrix, {"p": b, "potential_base": b, "wrench_base": b})


def wrench_junction(jacobian: Array, on: Mapping[str, int], wrench: str) -> DiracStructure:
    """Return the structure that applies a wrench to several ports, in addition to their efforts.

    The efforts of the inner ports are ``e_on = e + J_on^T W``; flows are shared, and the twist at
    the wrench is ``sum J_on f_on``. The efforts are constrained: there is no matrix from efforts to
    flows.

    Args:
        jacobian: (6,sum of sizes), the twist of unit flows.
        on: names and sizes of the ports it acts on, in the order of the columns.
        wrench: name of the port of the wrench.

    Returns:
        Ports ``<name>_inner`` and ``<name>`` for every name in ``on``, and the wrench.
    """
    size, rank = sum(on.values()), len(jacobian)
    # A column for every outer flow, outer effort and wrench.
    unit, zero = np.eye(size), np.zeros((size, size))
    no_wrench, no_flow = np.zeros((size, rank)), np.zeros((rank, size))
    flows = np.block(
        [
            [unit, zero, no_wrench],
            [-unit, zero, no_wrench],
            [-jacobian, no_flow, np.zeros((rank, rank))],
        ]
    )
    efforts = np.block(
        [[zero, unit, jacobian.T], [zero, unit, no_wrench], [no_flow, no_flow, np.eye(rank)]]
    )
    inner = {f"{name}_inner": of for name, of in on.items()}
    return DiracStructure({**inner, **on, wrench: rank}, frozen(flows), frozen(efforts))


def coupled_structure(form: StandardForm, x: PHState) -> DiracStructure:
    """Return the Dirac structure of a robot on any base, with named ports [A fig. 5].

    Returns:
        Ports ``p``, ``q``, ``pi``, ``potential_base``, ``potential_joints``, ``wrench_base``,
        ``torque`` and ``wrench_end_effector``, in this order, then one per tool.
    """
    b, n = form.model.b, form.model.n
    sizes = {"p": b, "q": n, "pi": n, "potential_base": b, "potential_joints": n}
    sizes |= {"wrench_base": b, "torque": n, "wrench_end_effector": 6}
    sizes |= dict.fromkeys(form.model.tools, 6)
    return DiracStructure.from_matrix(form.dirac(x), sizes)
