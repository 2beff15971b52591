"""Irreversible processes: Onsager structures [C (6), (29)]."""

from collections.abc import Callable, Iterable

import numpy as np

from ...arrays import Array
from ..errors import StructureError
from ..patterns import Interface
from .component import ROUNDING, SAMPLES, Component, matrix_of


class Irreversible(Component):
    """The Onsager structure ``f = M(x, e) e / theta_0``, M symmetric and semidefinite.

    Energy is conserved because M annihilates the energy efforts: ``M (e + theta_0 1_s) = 0`` with
    1_s one at the ports of entropy. Exergy is destroyed at the rate ``e^T M e / theta_0``, which is
    theta_0 times the entropy produced.

    Args:
        interface: the ports, at least one of them of entropy.
        matrix: takes the states of ``reads`` (a tuple), the efforts and theta_0, and returns M.
        reads: ports whose states M depends on.
    """

    def __init__(
        self,
        interface: Interface,
        matrix: Callable[[tuple[Array, ...], Array, float], Array],
        reads: Iterable[str] = (),
    ) -> None:
        super().__init__(interface, reads)
        self._matrix = matrix

    def matrix(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return M, (width,width)."""
        return self._matrix(states, e, theta_0)

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return ``M e / theta_0``, (width,); a component may compute it without the matrix."""
        return self.matrix(states, e, theta_0) @ e / theta_0

    def check(self, name: str, theta_0: float, rng: np.random.Generator) -> None:
        """Raise an error if M violates Onsager's relations, the second or the first law.

        Raises:
            StructureError: it does; the message names the ports or the law.
        """
        if not self.is_entropy.any():
            raise StructureError(
                f"box '{name}' dissipates, but has no port of entropy for the heat; add one and "
                "join it with an environment or a heat capacity"
            )
        for _ in range(SAMPLES):
            states = tuple(self.random_states(rng))
            e = self.random_efforts(rng, theta_0)
            m = matrix_of(
                self.matrix(states, e, theta_0), (self.width, self.width), f"M of '{name}'"
            )
            self._check(name, m, states, e, theta_0)

    def _check(
        self, name: str, m: Array, states: tuple[Array, ...], e: Array, theta_0: float
    ) -> None:
        scale = float(np.abs(m).max())
        skew = np.abs(m - m.T)
        if not skew.max() <= ROUNDING * scale:
            i, j = np.unravel_index(int(skew.argmax()), skew.shape)
            raise StructureError(
                f"box '{name}': its Onsager structure is not symmetric between the ports "
                f"'{self.port_at(int(i))}' and '{self.port_at(int(j))}', where M has the entries "
                f"{m[i, j]:.6g} and {m[j, i]:.6g}"
            )
        values, vectors = np.linalg.eigh(m)
        if not values[0] >= -ROUNDING * scale:
            port = self.port_at(int(np.abs(vectors[:, 0]).argmax()))
            raise StructureError(
                f"box '{name}', port '{port}': its Onsager structure has the negative eigenvalue "
                f"{values[0]:.6g}, so it would destroy entropy; friction and conductance must not "
                "be negative"
            )
        lost = m @ (e + theta_0 * self.is_entropy)
        # The product of M and the energy efforts vanishes up to the rounding of both factors.
        if not np.abs(lost).max() <= ROUNDING * scale * (1.0 + theta_0):
            port = self.port_at(int(np.abs(lost).argmax()))
            raise StructureError(
                f"box '{name}', port '{port}': its Onsager structure does not conserve energy "
                f"(M times the energy efforts is {np.abs(lost).max():.3g}, not 0); the heat must "
                "equal the power dissipated by friction"
            )
        flows = self.flows(states, e, theta_0)
        if not np.abs(flows - m @ e / theta_0).max() <= ROUNDING * scale:
            raise StructureError(f"box '{name}': its flows are not its matrix M times e / theta_0")
