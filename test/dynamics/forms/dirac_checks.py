# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a Dirac structure is, and when two of them are the same."""

import numpy as np

from .dirac_structures import DiracStructure


def is_dirac(structure: DiracStructure) -> None:
    """As many dimensions as ports have entries, and no power on any pair of its elements."""
    size = sum(structure.ports.values())
    assert structure.flows.shape == structure.efforts.shape == (size, size)
    both = np.vstack([structure.flows, structure.efforts])
    assert (np.linalg.matrix_rank(both) if size else 0) == size
    pairing = structure.efforts.T @ structure.flows
    scale = np.linalg.norm(structure.efforts, axis=0) * np.linalg.norm(structure.flows, axis=0)
    # Polarised: e1.f2 + e2.f1 = 0, which is more than zero power on each element.
    np.testing.assert_allclose(pairing, -pairing.T, atol=1e-11 * max(1.0, scale.max(initial=0)))


def same(a: DiracStructure, b: DiracStructure) -> None:
    """Equal as subspaces, whatever the order of the ports and the bases."""
    assert a.ports.keys() == b.ports.keys()
    b = b.reordered(list(a.ports))
    one, other = (np.linalg.qr(np.vstack([x.flows, x.efforts]))[0] for x in (a, b))
    # Projectors on one subspace; the structures' entries are of the size of a robot's lengths.
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-10)
