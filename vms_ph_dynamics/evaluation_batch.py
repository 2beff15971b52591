# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion at many states at once."""

import os
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from .arrays import Array, frozen, summary, vector
from .errors import OptionError, StateError, missing_attribute
from .evaluation import Evaluation, momenta
from .robot.joints import NORM_TOLERANCE
from .robot_model import RobotModel

# Those that C++ computes; the blocks below are views of them.
_CORE_TERMS = (
    "M", "M_b_inverse", "A", "M_hat_m", "C", "g", "momentum", "v_hat", "pi_hat", "kinetic_energy",
    "potential_energy", "J_end_effector", "centre_of_mass", "centroidal_momentum",
    "spatial_momentum", "kinetic_regressor", "potential_regressor",
)  # fmt: skip

_MOMENTA_TERMS = ("centre_of_mass", "centroidal_momentum", "spatial_momentum")

_BLOCK_OF = {"M_b": "M", "M_bm": "M", "M_m": "M", "p": "momentum", "pi": "momentum"}

TERMS = (*_CORE_TERMS, *_BLOCK_OF)
"""Names of the terms of a batch."""

_SEARCH_WORDS = {
    "M": "mass_matrix inertia crba",
    "StandardForm(model).rate_batch(Q, momentum, ports)": "forward_dynamics accelerations vdot",
    "rate_derivatives_batch(form, Q, Z, ports) of vms_ph_dynamics": "derivatives",
}


class EvaluationBatch:
    """The terms of :class:`.Evaluation` at N states, as read-only arrays with a first axis of N.

    Every term is computed on first use; those that are named together are computed in one pass.
    Beside the terms of an evaluation there are ``centre_of_mass`` (N,3), ``centroidal_momentum``
    and ``spatial_momentum`` (N,6), see :func:`.momenta`, and the rows of the energies in the
    inertial parameters of the bodies, ``kinetic_regressor`` and ``potential_regressor``
    (N,10 bodies): ``kinetic_energy = kinetic_regressor @ parameters`` with ten parameters for each
    of Pinocchio's bodies, the base first where it moves: mass, mass times centre (3), Ixx, Ixy,
    Iyy, Ixz, Iyz, Izz about the origin of the body. Armature and fluid are no part of them.

    Attributes:
        model: the robot.
        Q: (N,nq) configurations.
        V: (N,nv) velocities.

    ``M``, ``M_b``, ``M_bm``, ``M_m``, ``M_b_inverse``, ``A``, ``M_hat_m``, ``C``, ``g``,
    ``momentum``, ``p``, ``pi``, ``v_hat``, ``pi_hat``, ``kinetic_energy``, ``potential_energy`` and
    ``J_end_effector`` are those of :class:`.Evaluation`, with the samples as first axis.
    """

    def __init__(self, model: RobotModel, Q: Array, V: Array, threads: int | None = None) -> None:
        """Store checked arrays; see :meth:`.VMSModel.evaluate_batch`.

        Args:
            model: the robot.
            Q: (N,nq) configurations.
            V: (N,nv) velocities.
            threads: number of threads; that of the processors when None.
        """
        self.model = model
        self.Q, self.V = Q, V
        self._threads = threads_of(threads)
        self._terms: dict[str, Array] = {}

    def __repr__(self) -> str:
        """Return robot and number of states, in one line."""
        return summary(self, f"'{self.model.name}'", f"{len(self.Q)} states")

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.Q)

    def __getattr__(self, name: str) -> Array:
        """Return a term."""
        if name not in TERMS:
            raise missing_attribute(self, name, _SEARCH_WORDS)
        self.compute((name,))
        return self._terms[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TERMS})

    def compute(self, terms: Iterable[str]) -> None:
        """Compute terms in one pass, unless they are known already.

        Raises:
            OptionError: there is no such term.
        """
        wanted_terms = dict.fromkeys(terms)
        if unknown := [name for name in wanted_terms if name not in TERMS]:
            raise OptionError(f"there is no term '{unknown[0]}'; the terms are {', '.join(TERMS)}")
        stored_names = dict.fromkeys(_BLOCK_OF.get(name, name) for name in wanted_terms)
        names = [name for name in stored_names if name not in self._terms]
        if names:
            core = self.model.cpp_core
            arrays = self._python_terms(names) if core is None else self._core_terms(core, names)
            self._terms.update({name: frozen(array) for name, array in arrays.items()})
        self._terms.update({name: self._block(name) for name in wanted_terms if name in _BLOCK_OF})

    def _block(self, name: str) -> Array:
        array, b = self._terms[_BLOCK_OF[name]], self.model.b
        base_slice, joint_slice = slice(None, b), slice(b, None)
        rows = base_slice if name in ("M_b", "M_bm", "p") else joint_slice
        if array.ndim == 2:
            return array[:, rows]
        return array[:, rows, base_slice if name == "M_b" else joint_slice]

    def _core_terms(self, core: Any, names: list[str]) -> Mapping[str, Array]:
        batch, frame_id = core.batch(self._threads), self.model.end_effector_id
        arrays: Mapping[str, Array] = batch.evaluate(self.Q, self.V, names, frame_id)
        return arrays

    def _python_terms(self, names: list[str]) -> Mapping[str, Array]:
        model = self.model
        term_rows = [
            [_term(d, name) for name in names]
            for d in (Evaluation(model, q, v) for q, v in zip(self.Q, self.V, strict=True))
        ]
        if not term_rows:  # the sizes are those at another state
            neutral = Evaluation(model, model.neutral_configuration(), np.zeros(model.nv))
            return {name: np.array([_term(neutral, name)])[:0] for name in names}
        return {name: np.array([row[i] for row in term_rows]) for i, name in enumerate(names)}


def checked_rows(
    model: RobotModel, Q: npt.ArrayLike, X: npt.ArrayLike, name: str, copy: bool = True
) -> tuple[Array, Array]:
    """Return configurations (N,nq) and as many vectors (N,nv) as contiguous arrays.

    Args:
        model: the robot.
        Q: the configurations.
        X: the vectors.
        name: of the vectors, for errors.
        copy: whether the arrays are to be read-only copies.

    Raises:
        StateError: a shape is wrong, or an entry; the message names the first such state.
    """
    q, x = _checked_table(Q, model.nq, "Q"), _checked_table(X, model.nv, name)
    if len(q) != len(x):
        raise StateError(f"Q has {len(q)} states and {name} {len(x)}; give one row for each state")
    invalid = np.zeros(len(q), dtype=bool)
    # A sum is finite only if all entries are, and takes a fraction of the time.
    if not (isfinite(q.sum()) and isfinite(x.sum())):
        invalid |= ~(np.isfinite(q).all(axis=1) & np.isfinite(x).all(axis=1))
    for rotation in model.tree.rotations:
        units = q[:, rotation.entries]
        invalid |= ~(np.abs(np.sqrt(np.einsum("ij,ij->i", units, units)) - 1.0) <= NORM_TOLERANCE)
    if invalid.any():
        row = int(np.argmax(invalid))
        try:
            model.checked_configuration(q[row])
            vector(x[row], model.nv, "v")
        except StateError as error:
            raise StateError(f"state {row}: {error}") from None
    return (frozen(q.copy()), frozen(x.copy())) if copy else (q, x)


def _checked_table(value: npt.ArrayLike, width: int, label: str) -> Array:
    try:
        x = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"{label} must be numbers, one row for each state") from None
    if x.ndim != 2 or x.shape[1] != width:
        raise StateError(f"{label} must have shape (N,{width}); given: shape {np.shape(value)}")
    return x


def threads_of(threads: int | None) -> int:
    """Return a number of threads: that of the processors this process may use when None.

    Raises:
        OptionError: it is not positive.
    """
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if threads < 1:
        raise OptionError(f"the number of threads must be at least 1; given: {threads}")
    return threads


def _term(d: Evaluation, name: str) -> Any:
    pinocchio_model, data = d.tree.pinocchio, d.tree.data()
    if name == "kinetic_regressor":
        return pin.computeKineticEnergyRegressor(pinocchio_model, data, d.q_full, d.v_full).copy()
    if name == "potential_regressor":
        return pin.computePotentialEnergyRegressor(pinocchio_model, data, d.q_full).copy()
    return getattr(momenta(d) if name in _MOMENTA_TERMS else d, name.removesuffix("_momentum"))
