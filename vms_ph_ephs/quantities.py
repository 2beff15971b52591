# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Physical quantities and the spaces of their values [C 2].

Tangent vectors are left-trivialised: along a curve x(t) in a group, ``xdot = x hat(u)`` and u is
what a port calls its flow. The steps are those of the Cayley map, which is exact for quadratic
invariants; on a vector space they are additions.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.groups import SE2, SE3, SO3, Group, pose, skew


class Space(ABC):
    """A manifold with a trivial tangent bundle, identified by its name and what it depends on.

    Attributes:
        name: as in "SE(3)" or "se(3)*".
        dimension: of its tangent spaces.
        shape: of the array of an element.
    """

    name: str
    dimension: int
    shape: tuple[int, ...]

    @abstractmethod
    def origin(self) -> Array:
        """Return the zero or the neutral element."""

    @abstractmethod
    def step(self, x: Array, u: Array) -> Array:
        """Return the element reached from x by the step u, (dimension,)."""

    @abstractmethod
    def difference(self, x: Array, y: Array) -> Array:
        """Return the step that leads from x to y, the inverse of :meth:`step`."""

    def step_rate(self, theta: Array, u: Array) -> Array:
        """Return the rate of a step theta(t) from a fixed element that moves with velocity u."""
        return u

    def project(self, x: Array) -> Array:
        """Return the nearest element of the space, for an x with rounding errors."""
        return x

    def defect(self, x: Array) -> float:
        """Return the distance of an array from the space."""
        return 0.0

    def random(self, rng: np.random.Generator) -> Array:
        """Return a random element, for checks by sampling."""
        return self.step(self.origin(), rng.uniform(-1.0, 1.0, self.dimension))

    @property
    def is_vector_space(self) -> bool:
        """Whether steps are additions."""
        return True

    @property
    def identity(self) -> Hashable:
        """What is equal for equal spaces: the name, the shape and the parameters, to all digits."""
        return self.name, self.shape, self.dimension

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def __repr__(self) -> str:
        return self.name


class Euclidean(Space):
    """R^n.

    Args:
        dimension: n.
    """

    def __init__(self, dimension: int = 1) -> None:
        self.name = "R" if dimension == 1 else f"R^{dimension}"
        self.dimension = dimension
        self.shape = (dimension,)

    def origin(self) -> Array:
        """Return zero."""
        return np.zeros(self.dimension)

    def step(self, x: Array, u: Array) -> Array:
        """Return the sum."""
        return x + u

    def difference(self, x: Array, y: Array) -> Array:
        """Return the difference."""
        return y - x


class Dual(Euclidean):
    """The dual of the tangent space of a space, the space of momenta: se(3)* for SE(3).

    Args:
        primal: the space.
    """

    def __init__(self, primal: Space) -> None:
        super().__init__(primal.dimension)
        self.primal = primal
        if not (primal.is_vector_space and type(primal) is Euclidean):
            self.name = f"{primal.name if '(' not in primal.name else primal.name.lower()}*"

    @property
    def identity(self) -> Hashable:
        """Name, shape and dimension, and the identity of the space of which it is the dual."""
        identity = super().identity
        return (identity, self.primal.identity) if self.name.endswith("*") else identity


class LieGroup(Space):
    """A group of rigid motions as a space; steps are Cayley maps: ``x cay(u)``.

    Args:
        group: of rigid motions.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.name = group.name
        self.dimension = group.dimension
        self.shape = group.identity().shape

    @property
    def is_vector_space(self) -> bool:
        """False."""
        return False

    def origin(self) -> Array:
        """Return the neutral element."""
        return self.group.identity()

    def step(self, x: Array, u: Array) -> Array:
        """Return ``x cay(u)``."""
        return self.group.compose(x, self.group.cayley(u))

    def difference(self, x: Array, y: Array) -> Array:
        """Return the u with ``y = x cay(u)``."""
        return self.group.cayley_inverse(self.group.compose(self.group.inverse(x), y))

    def step_rate(self, theta: Array, u: Array) -> Array:
        """Return ``dcay_theta^-1 u``."""
        return self.group.dcayley_inverse(theta) @ u

    def project(self, x: Array) -> Array:
        """Return x with its rotation made orthonormal by one Newton step."""
        projected = x.copy()
        n = 2 if isinstance(self.group, SE2) else 3
        rotation = x[:n, :n]
        projected[:n, :n] = 1.5 * rotation - 0.5 * rotation @ (rotation.T @ rotation)
        return projected

    def defect(self, x: Array) -> float:
        """Return the deviation of the rotation from orthonormal, of the last row from (0,..,1)."""
        n = 2 if isinstance(self.group, SE2) else 3
        rotation = x[:n, :n]
        defect = float(np.abs(rotation.T @ rotation - np.eye(n)).max())
        if np.linalg.det(rotation) < 0.0:
            return 2.0
        if x.shape[0] > n:
            last_row = np.zeros(x.shape[0])
            last_row[-1] = 1.0
            defect = max(defect, float(np.abs(x[-1] - last_row).max()))
        return defect


class PoseSpace(LieGroup):
    """SE(3), with steps in closed form for speed."""

    def __init__(self) -> None:
        super().__init__(SE3())

    def step(self, x: Array, u: Array) -> Array:
        """Return ``x cay(u)``, the matrix ``I + (X + X^2/2) / (1 + w.w/4)`` with X = hat(u)."""
        a, b, c, d, e, f = u.tolist()
        hat = np.array([[0.0, -f, e, a], [f, 0.0, -d, b], [-e, d, 0.0, c], [0.0] * 4])
        hat += 0.5 * (hat @ hat)
        y: Array = x @ hat
        y *= 1.0 / (1.0 + 0.25 * (d * d + e * e + f * f))
        y += x
        return y

    def step_rate(self, theta: Array, u: Array) -> Array:
        """Return ``u + ad_theta u / 2 + theta (theta.u) / 4``, the last with dual products."""
        a, b, c, d, e, f = theta.tolist()
        p, q, r, s, t, w = u.tolist()
        angular = 0.25 * (d * s + e * t + f * w)
        linear = 0.25 * (d * p + e * q + f * r + a * s + b * t + c * w)
        return np.array(
            [
                p + 0.5 * (e * r - f * q + b * w - c * t) + linear * d + angular * a,
                q + 0.5 * (f * p - d * r + c * s - a * w) + linear * e + angular * b,
                r + 0.5 * (d * q - e * p + a * t - b * s) + linear * f + angular * c,
                s + 0.5 * (e * w - f * t) + angular * d,
                t + 0.5 * (f * s - d * w) + angular * e,
                w + 0.5 * (d * t - e * s) + angular * f,
            ]
        )


class SO3TimesR3(Group):
    """Homogeneous matrices, (4,4), whose rotations multiply and whose positions add.

    The algebra is (velocity of the origin in the inertial frame, angular velocity in the body),
    linear first, (6,).
    """

    name = "SO(3) x R^3"
    dimension, size = 6, 4

    def compose(self, g: Array, h: Array) -> Array:
        """Return the product: rotations multiplied, positions added."""
        return pose(g[:3, :3] @ h[:3, :3], g[:3, 3] + h[:3, 3])

    def inverse(self, g: Array) -> Array:
        """Return the inverse: rotation transposed, position negated."""
        return pose(g[:3, :3].T, -g[:3, 3])

    def exp(self, x: Array) -> Array:
        """Return the exponential of each part."""
        return pose(_SO3.exp(x[3:]), x[:3])

    def log(self, g: Array) -> Array:
        """Return the logarithm of each part."""
        return np.concatenate([g[:3, 3], _SO3.log(g[:3, :3])])

    def dexp(self, x: Array) -> Array:
        """Return the differential of each part."""
        return _block_diagonal(np.eye(3), _SO3.dexp(x[3:]))

    def dexp_inverse(self, x: Array) -> Array:
        """Return the inverse of :meth:`dexp`."""
        return _block_diagonal(np.eye(3), _SO3.dexp_inverse(x[3:]))

    def cayley(self, x: Array) -> Array:
        """Return the Cayley map of the rotation; the position is unchanged."""
        return pose(_SO3.cayley(x[3:]), x[:3])

    def cayley_inverse(self, g: Array) -> Array:
        """Return the algebra element whose Cayley map is g."""
        return np.concatenate([g[:3, 3], _SO3.cayley_inverse(g[:3, :3])])

    def dcayley_inverse(self, x: Array) -> Array:
        """Return the inverse of the differential of :meth:`cayley`, (6,6)."""
        return _block_diagonal(np.eye(3), _SO3.dcayley_inverse(x[3:]))

    def Ad(self, g: Array) -> Array:
        """Return ``diag(I, R)``."""
        return _block_diagonal(np.eye(3), g[:3, :3])

    def ad(self, x: Array) -> Array:
        """Return ``diag(0, w^)``."""
        return _block_diagonal(np.zeros((3, 3)), skew(x[3:]))

    def hat(self, x: Array) -> Array:
        """Return rotation and position parts as one matrix (not that of a matrix product)."""
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = skew(x[3:]), x[:3]
        return matrix

    def vee(self, matrix: Array) -> Array:
        """Return the algebra element of a matrix."""
        return np.concatenate([matrix[:3, 3], _SO3.vee(matrix[:3, :3])])


def _block_diagonal(first_block: Array, second_block: Array) -> Array:
    zero = np.zeros((3, 3))
    return np.block([[first_block, zero], [zero, second_block]])


_SO3 = SO3()
R = Euclidean(1)
SO3_SPACE = LieGroup(_SO3)
SE2_SPACE = LieGroup(SE2())
SE3_SPACE = PoseSpace()
SO3_TIMES_R3_SPACE = LieGroup(SO3TimesR3())


@dataclass(frozen=True)
class Quantity:
    """A quantity that ports exchange, identified by space and name.

    Attributes:
        space: space of its values.
        name: as in "momentum".
    """

    space: Space
    name: str

    def __str__(self) -> str:
        return f"({self.space.name}, {self.name})"


displacement = Quantity(R, "displacement")
momentum = Quantity(R, "momentum")
entropy = Quantity(R, "entropy")
charge = Quantity(R, "charge")  # C; its effort is a voltage and its flow a current
flux = Quantity(R, "flux")  # V s; its effort is a current and its flow a voltage
signal = Quantity(R, "signal")  # without energy, as a duty cycle


def pose_of(space: Space) -> Quantity:
    """Return the quantity pose in a group."""
    return Quantity(space, "pose")


def momentum_of(space: Space) -> Quantity:
    """Return the quantity momentum: its values are in the dual of the tangent space."""
    return Quantity(Dual(space), "momentum")


def relative_pose_of(space: Space) -> Quantity:
    """Return the quantity relative pose in a subgroup."""
    return Quantity(space, "relative_pose")
