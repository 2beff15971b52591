"""Dirac structures: power-conserving relations between the flows and efforts of ports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.linalg import svd

from ..arrays import Array, frozen
from ..errors import ModelError

# Directions with a smaller share than this of the largest are rounding.
_RANK = 1e-9


@dataclass(frozen=True)
class DiracStructure:
    """A maximal subspace of flows f and efforts e with zero power ``e^T f``.

    Attributes:
        ports: names with their sizes, in the order of the rows below.
        flows, efforts: (N,N) bases of the subspace, a column for each of its N dimensions.
    """

    ports: Mapping[str, int]
    flows: Array
    efforts: Array

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
        if not np.allclose(matrix, -matrix.T, atol=1e-9 * (1.0 + np.abs(matrix).max(initial=0.0))):
            raise ModelError("the matrix from efforts to flows must be skew-symmetric")
        return cls(dict(ports), frozen(matrix.copy()), frozen(np.eye(size)))

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
        basis, given = np.vstack([self.flows, self.efforts]), np.concatenate([flows, efforts])
        weights = np.linalg.lstsq(basis, given, rcond=None)[0]
        return bool(np.abs(basis @ weights - given).max() <= tolerance * (1 + np.abs(given).max()))

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
        ModelError: an unknown port, one connected twice, or ports of different sizes.
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
    here, there = both._rows(ours), both._rows(theirs)
    constraints = [
        both.efforts[here] - both.efforts[there],
        both.flows[here] + both.flows[there],
    ]
    allowed = _kernel(np.vstack(constraints))
    left = [name for name in both.ports if name not in {*ours, *theirs}]
    rows = both._rows(left)
    image = _image(np.vstack([both.flows[rows], both.efforts[rows]]) @ allowed)
    ports = {name: both.ports[name] for name in left}
    return DiracStructure(ports, frozen(image[: len(rows)]), frozen(image[len(rows) :]))


def _kernel(matrix: Array) -> Array:
    _, values, right = svd(matrix)
    rank = int(np.sum(values > _RANK * max(values.max(initial=0.0), 1e-300)))
    return right[rank:].T


def _image(matrix: Array) -> Array:
    left, values, _ = svd(matrix, full_matrices=False)
    return left[:, values > _RANK * values.max(initial=0.0)]
