# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The terms of the equations of motion of a robot as matrices of SymPy.

They come from the same recursions over the tree as the export to CasADi. For small robots: the
expressions grow quickly with the number of joints.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import MissingExtraError
from ..model import VMSModel
from ..robot.kinematic_tree import PARAMETERS
from .spatial import ArrayNamespace, Expression
from .tree import ExportedTree

try:
    import sympy as sp
except ImportError:
    raise MissingExtraError(
        "the export to SymPy needs the package sympy: pip install 'vms-ph[symbolic]'"
    ) from None


class SympyArrays(ArrayNamespace):
    """The array namespace of numpy arrays that contain expressions of SymPy."""

    def constant(self, numbers: npt.ArrayLike) -> Expression:
        """Return a matrix of rational numbers, each equal to the shortest decimal of its float."""
        rational = np.frompyfunc(lambda x: sp.Rational(repr(float(x))), 1, 1)
        return rational(np.asarray(numbers, dtype=np.float64))

    def zeros(self, row_count: int, column_count: int) -> Expression:
        """Return a matrix of zeros."""
        return np.full((row_count, column_count), sp.Integer(0), dtype=object)

    def cos(self, x: Expression) -> Expression:
        """Return the cosine of every entry."""
        return np.frompyfunc(sp.cos, 1, 1)(x)

    def sin(self, x: Expression) -> Expression:
        """Return the sine of every entry."""
        return np.frompyfunc(sp.sin, 1, 1)(x)


class SymbolicRobot:
    """Mass matrix, Coriolis force, gravity, poses and Jacobians in symbols.

    ``sympy.lambdify(robot.arguments, matrix, cse=True)`` makes a function of numbers of a matrix.

    Attributes:
        coordinates: ``q1, q2, ...`` of the joints, rad or m, after ``x, y, theta`` of a planar base
            or ``x, y, z, qx, qy, qz, qw`` of a floating one.
        velocities: (nv,) ``v1, v2, ...``; those of the base in the base frame, linear first.
        parameters: (10 bodies,) inertial parameters in Pinocchio's order, if they are symbols.
        arguments: coordinates, velocities and parameters.
    """

    def __init__(self, model: VMSModel, parameters: bool = False) -> None:
        """Export a robot.

        Args:
            model: the robot, on any base.
            parameters: whether the inertial parameters are symbols ``phi1, phi2, ...`` rather than
                the numbers of the model.
        """
        names = {"planar": "x y theta", "floating": "x y z qx qy qz qw"}.get(model.base, "")
        base = [sp.Symbol(name, real=True) for name in names.split()]
        joint_symbols = _symbols("q", model.n)
        entries = base if model.base != "planar" else [*base[:2], *_cosine_and_sine(base[2])]
        for joint in joint_symbols:
            is_pair = model.is_continuous(len(entries))
            entries = [*entries, *(_cosine_and_sine(joint) if is_pair else (joint,))]
        parameter_count = PARAMETERS * (model.tree.pinocchio.njoints - 1) if parameters else 0
        self.coordinates, self.velocities = (*base, *joint_symbols), _symbols("v", model.nv)
        self.parameters = _symbols("phi", parameter_count)
        self.arguments = (*self.coordinates, *self.velocities, *self.parameters)
        phi = _column(self.parameters) if parameters else None
        self._v = _column(self.velocities)
        self._tree = ExportedTree(model, SympyArrays(), _column(entries), phi)

    @cached_property
    def M(self) -> Expression:
        """Mass matrix, (nv,nv) [B (4.10)]."""
        return self._simplify(self._tree.M)

    @cached_property
    def mass_rate(self) -> Expression:
        """Rate of the mass matrix along the motion, (nv,nv)."""
        unit_vectors = np.eye(len(self._v), dtype=int)
        columns = [self._tree.mass_rate_times(self._v, unit[:, None]) for unit in unit_vectors]
        return self._simplify(np.hstack(columns))

    @cached_property
    def slope(self) -> Expression:
        """``C^T v``, (nv,1): of the momentum rates, what inertia alone contributes."""
        return self._simplify(self._tree.slope(self._v))

    @cached_property
    def coriolis_force(self) -> Expression:
        """``C v = Mdot v - C^T v``, (nv,1), N and N m, the same for all Coriolis matrices."""
        return self._simplify(self._tree.mass_rate_times(self._v, self._v)) - self.slope

    @cached_property
    def gravity(self) -> Expression:
        """Generalised gravity, (nv,1) [B (4.12)], the force that holds the robot at rest."""
        return self._simplify(self._tree.gravity)

    @cached_property
    def potential(self) -> Expression:
        """Potential of gravity, J, zero at the origin of the inertial frame."""
        return self._simplify(self._tree.potential)[0]

    @cached_property
    def centre_of_mass_jacobian(self) -> Expression:
        """Jacobian of the centre of mass in inertial axes, (3,nv)."""
        return self._simplify(self._tree.centre_of_mass_jacobian)

    def pose(self, frame: str) -> Expression:
        """Return the pose of a frame in the inertial frame, (4,4)."""
        return self._simplify(self._tree.pose(frame).matrix)

    def jacobian(self, frame: str) -> Expression:
        """Return the Jacobian of a frame in its own axes, linear first, (6,nv)."""
        return self._simplify(self._tree.jacobian(frame))

    def _simplify(self, entries: Expression) -> Expression:
        """Return a matrix with squared sines replaced by cosines, a fast normal form."""
        replacements = {sp.sin(angle) ** 2: 1 - sp.cos(angle) ** 2 for angle in self.coordinates}
        return sp.Matrix(entries).applyfunc(lambda x: sp.expand(sp.expand(x).subs(replacements)))


def _symbols(letter: str, count: int) -> tuple[Expression, ...]:
    return tuple(sp.Symbol(f"{letter}{k}", real=True) for k in range(1, count + 1))


def _cosine_and_sine(angle: Expression) -> tuple[Expression, Expression]:
    return sp.cos(angle), sp.sin(angle)


def _column(entries: Sequence[Expression]) -> Expression:
    column = np.empty((len(entries), 1), dtype=object)
    column[:, 0] = entries
    return column
