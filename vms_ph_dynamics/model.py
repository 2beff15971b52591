"""The robot: a kinematic tree on a base that is fixed, planar or floating."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pinocchio as pin

from .arrays import Array, frozen, vector
from .errors import ModelError, StateError
from .evaluation import Evaluation
from .groups import SE2
from .robot.building import build
from .robot.inertia import check_bodies, check_mass_matrix
from .robot.joint_table import joint_table
from .robot.joints import BASE_DIMENSION, BASE_POSITION, Base, base_of, check_joints, rotations_of
from .robot.mimic import Mimic, Projection

if TYPE_CHECKING:
    from .effects.fluid import Fluid

GRAVITY = (0.0, 0.0, -9.81)

# A quaternion or (cos, sin) pair further than this from length one is a mistake, not rounding:
# single precision on a wire leaves 1e-7.
NORM_TOLERANCE = 1e-6

_SE2 = SE2()


class VMSModel:
    """A vehicle-manipulator system: an arm or tree of ``n`` joints on a base of ``b`` freedoms.

    Immutable after construction, and safe to share between threads. Configurations and velocities
    are Pinocchio's: ``q = [base, joints]``, ``v = [base twist in the base frame, linear first;
    joint rates]``.

    Attributes:
        base: ``"fixed"``, ``"planar"`` or ``"floating"``.
        b: dimension of the base velocity: 0, 3 or 6.
        n: number of joints.
        nq: size of a configuration; ``nv = b + n``: size of a velocity.
        joints: names, limits and friction of the n joints, in the order of the joint rates.
        total_mass: of everything that moves, kg.
        end_effector: name of the frame the end-effector wrench acts at.
        gravity: (3,) in the inertial frame, m/s^2.
        base_gravity: the same in the axes that the base's positions count along; they are those of
            the inertial frame unless a URDF mounts its floating or planar joint turned.
        projection: (nv_full,nv) where joints mimic others, see :mod:`.mimic`; else None.
        fluid: what surrounds the robot, or None.
    """

    def __init__(
        self,
        pin_model: Any,
        end_effector: str | None = None,
        *,
        mimics: Mapping[str, Mimic] | None = None,
        fluid: "Fluid | None" = None,
    ) -> None:
        check_joints(pin_model)
        check_bodies(pin_model)
        if pin_model.nv == 0:
            raise ModelError(f"the robot '{pin_model.name}' has no joint that moves")
        self._pin = pin_model
        self._local = threading.local()
        self._mimics = dict(mimics or {})
        self._projection = Projection(pin_model, self._mimics) if self._mimics else None
        self.projection: Array | None = None
        if self._projection is not None:
            self.projection = self._projection.matrix
        check_mass_matrix(pin_model, self.projection)
        self.name: str = pin_model.name
        self.base: Base = base_of(pin_model)
        self.b = BASE_DIMENSION[self.base]
        self.nq: int = pin_model.nq if self._projection is None else self._projection.nq
        self.nv: int = pin_model.nv if self.projection is None else self.projection.shape[1]
        self.n = self.nv - self.b
        first = 1 if self.base == "fixed" else 2
        self.joints = joint_table(
            pin_model,
            [i for i in range(first, pin_model.njoints) if pin_model.names[i] not in self._mimics],
            self.projection,
        )
        if self._projection is not None:
            self.joints = self._projection.within_followers(pin_model, self.joints)
        self._rotations = rotations_of(pin_model, self._mimics)
        self.end_effector = self._default_end_effector() if end_effector is None else end_effector
        self._end_effector_id = self.frame_id(self.end_effector)
        self.total_mass = float(pin.computeTotalMass(pin_model))
        self.gravity = frozen(np.array(pin_model.gravity.linear))
        # A base joint may be mounted on the world with an <origin>: its positions are along its own
        # axes, not those of the inertial frame.
        self._mount = frozen(np.array(pin_model.jointPlacements[1].homogeneous))
        self.base_gravity = frozen(self._mount[:3, :3].T @ self.gravity)
        # crba fills the upper triangle only; these masks mirror it without touching what is below.
        self._upper = np.triu(np.ones((pin_model.nv, pin_model.nv)))
        self._strictly_upper = np.triu(self._upper, 1)
        self.fluid = fluid
        if fluid is not None:
            fluid.check(self)

    @classmethod
    def from_urdf(
        cls,
        xml: str,
        base: Literal["auto", "fixed", "planar", "floating"] = "auto",
        end_effector: str | None = None,
        gravity: Sequence[float] = GRAVITY,
        locked_joints: Iterable[str] | Mapping[str, float] = (),
    ) -> "VMSModel":
        """Make a model from the text of a URDF.

        Args:
            xml: the URDF itself; :func:`vms_ph_io.load_urdf` reads files and xacro.
            base: what the root link can do; ``"auto"`` reads it from a first joint of URDF type
                floating or planar, and is fixed otherwise.
            end_effector: a link or joint name; the last link when None.
            gravity: (3,) in the inertial frame, m/s^2.
            locked_joints: names of joints to hold, at zero or at the value given (rad or m).

        Raises:
            ModelError: text that is no URDF, or a robot that is not physical.
        """
        pin_model, mimics = build(xml, base, gravity, locked_joints)
        return cls(pin_model, end_effector, mimics=mimics)

    @classmethod
    def from_pinocchio(cls, pin_model: Any, end_effector: str | None = None) -> "VMSModel":
        """Make a model from a ``pinocchio.Model``; its base is read from its first joint.

        Raises:
            ModelError: a joint type that is not covered, or a robot that is not physical.
        """
        ours = pin_model.copy()
        # A model made by hand may have no frames, but every joint can be named as an end effector.
        for i in range(1, ours.njoints):
            if not ours.existFrame(ours.names[i], pin.FrameType.JOINT):
                ours.addJointFrame(i)
        return cls(ours, end_effector)

    def evaluate(self, q: Any, v: Any) -> Evaluation:
        """Return the terms of the equations of motion at a state.

        Args:
            q: (nq,) configuration.
            v: (nv,) velocity.

        Raises:
            StateError: wrong shape, not finite, or a base rotation that is not normalised.
        """
        checked = self.checked_configuration(q), vector(v, self.nv, "v")
        return Evaluation(self, *(frozen(x.copy()) for x in checked))

    def checked_configuration(self, q: Any) -> Array:
        """Return ``q`` as an array after checking its shape, entries and normalisation.

        Raises:
            StateError: naming what is wrong.
        """
        x = vector(q, self.nq, f"q of a robot on a {self.base} base")
        for rotation in self._rotations:
            length = rotation.length(x)
            if abs(length - 1.0) > NORM_TOLERANCE:
                raise StateError(
                    f"{rotation} must have length 1 within {NORM_TOLERANCE:g}; its length is "
                    f"{length:.9g}; normalise_configuration mends it"
                )
        return x

    def normalise_configuration(self, q: Any) -> Array:
        """Return ``q`` with every quaternion and (cos, sin) pair scaled to length one.

        Raises:
            StateError: wrong shape, or a rotation of length zero.
        """
        x = vector(q, self.nq, "q").copy()
        for rotation in self._rotations:
            length = rotation.length(x)
            if length < NORM_TOLERANCE:
                raise StateError(f"{rotation} has length zero, which names no rotation")
            x[rotation.entries] /= length
        return x

    def neutral_configuration(self) -> Array:
        """Return the configuration with every joint at zero and the base at the origin, (nq,)."""
        return self._independent(pin.neutral(self._pin))

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a configuration with joints uniform within their limits, (nq,).

        Joints without limits are drawn from (-pi, pi), or (-1, 1) m; the base pose is uniform over
        rotations and a cube of 2 m.
        """
        q = self.neutral_configuration()
        v = np.zeros(self.nv)
        lower, upper = self.joints.lower, self.joints.upper
        wide = np.where(self.joints.prismatic, 1.0, np.pi)
        low = np.where(np.isfinite(lower), lower, -wide)
        high = np.where(np.isfinite(upper), upper, wide)
        v[self.b :] = rng.uniform(low, high)
        q = self.integrate(q, v)
        if self.base == "planar":
            angle = rng.uniform(-np.pi, np.pi)
            q[:4] = [*rng.uniform(-1, 1, 2), np.cos(angle), np.sin(angle)]
        elif self.base == "floating":
            quaternion = rng.normal(size=4)
            q[:7] = [*rng.uniform(-1, 1, 3), *(quaternion / np.linalg.norm(quaternion))]
        return q

    def integrate(self, q: Array, dv: Array) -> Array:
        """Return the configuration reached from ``q`` by the constant velocity ``dv`` in unit time.

        Args:
            q: (nq,).
            dv: (nv,) a tangent vector, base part in the base frame.
        """
        full = pin.integrate(self._pin, self.full_configuration(q), self.full_velocity(dv))
        return self._independent(full)

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return ``dv`` with ``integrate(q0, dv) = q1``, (nv,)."""
        full = pin.difference(self._pin, self.full_configuration(q0), self.full_configuration(q1))
        if self.base == "planar":
            # Pinocchio's logarithm loses half the digits for turns just above 1e-4 rad.
            full[:3] = _SE2.log(_SE2.inverse(_planar_pose(q0)) @ _planar_pose(q1))
        if self.projection is None:
            return np.array(full)
        # The rows of P that belong to independent joints are unit vectors.
        return np.linalg.lstsq(self.projection, full, rcond=None)[0]

    def full_configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration, with the joints that mimic others filled in."""
        return q if self._projection is None else self._projection.configuration(q)

    def full_velocity(self, v: Array) -> Array:
        """Return Pinocchio's velocity, with the joints that mimic others filled in."""
        return v if self.projection is None else self.projection @ v

    def in_fluid(self, fluid: "Fluid") -> "VMSModel":
        """Return this robot immersed in a fluid.

        Raises:
            ModelError: the fluid names a link the robot does not have.
        """
        return VMSModel(self._pin, self.end_effector, mimics=self._mimics, fluid=fluid)

    def configuration(
        self, joints: Mapping[str, float], base: Sequence[float] | None = None
    ) -> Array:
        """Return the configuration with the joints given by name, the others at zero.

        Args:
            joints: positions in rad or m.
            base: its part of the configuration, [x y cos sin] or [x y z qx qy qz qw].

        Raises:
            StateError: an unknown joint, or a base pose of the wrong size.
        """
        v = np.zeros(self.nv)
        for name, position in joints.items():
            v[self.b + self.joint_index(name)] = vector([position], 1, f"position of '{name}'")[0]
        q = self.integrate(self.neutral_configuration(), v)
        if base is not None:
            size = self.nq_base
            q[:size] = vector(base, size, f"the pose of a {self.base} base")
        return self.checked_configuration(q)

    def base_pose(self, q: Array) -> Array:
        """Return the pose of the base in the inertial frame, (4,4); the unit of a fixed base."""
        if self.base == "fixed":
            return np.eye(4)
        if self.base == "floating":
            moved = pin.XYZQUATToSE3(q[:7]).homogeneous
        else:
            moved, (x, y, c, s) = np.eye(4), q[:4]
            moved[:2, :2], moved[:2, 3] = [[c, -s], [s, c]], (x, y)
        return self._mount @ moved

    def joint_positions(self, q: Array) -> Array:
        """Return the positions of the n joints, (n,), continuous ones within (-pi, pi]."""
        if self.nq - self.nq_base == self.n:
            return np.array(q[self.nq_base :])
        return self.difference(self.neutral_configuration(), q)[self.b :]

    def joint_index(self, name: str) -> int:
        """Return the place of a joint in ``joint_names``.

        Raises:
            StateError: listing the joints there are.
        """
        try:
            return self.joint_names.index(name)
        except ValueError:
            joints = ", ".join(self.joint_names)
            raise StateError(
                f"'{name}' is no joint of '{self.name}'; its joints are {joints}"
            ) from None

    def frame_id(self, name: str) -> int:
        """Return Pinocchio's index of a frame; of a link where a joint has the same name.

        Raises:
            ModelError: listing the links there are.
        """
        if self._pin.existFrame(name, pin.FrameType.BODY):
            return int(self._pin.getFrameId(name, pin.FrameType.BODY))
        if not self._pin.existFrame(name):
            links = ", ".join(self.link_names) or "none: add one with pinocchio's addBodyFrame"
            raise ModelError(f"'{name}' is no frame of '{self.name}'; its links are {links}")
        return int(self._pin.getFrameId(name))

    def is_continuous(self, entry: int) -> bool:
        """Return whether a (cos, sin) pair of a joint begins at an entry of a configuration."""
        pair = slice(entry, entry + 2)
        return any(rotation.entries == pair for rotation in self._rotations)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the n joints, in the order of the joint rates."""
        return self.joints.names

    @property
    def is_plain(self) -> bool:
        """Whether Pinocchio's terms are the robot's own: no mimics, no fluid."""
        return self.projection is None and self.fluid is None

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of the tree."""
        return tuple(f.name for f in self._pin.frames if f.type == pin.FrameType.BODY)

    @property
    def nq_base(self) -> int:
        """Size of the base's part of a configuration: 0, 4 or 7."""
        return {"fixed": 0, "planar": 4, "floating": 7}[self.base]

    @property
    def pinocchio(self) -> Any:
        """A copy of the ``pinocchio.Model`` behind this one."""
        return self._pin.copy()

    def at_origin(self, q: Array) -> Array:
        """Return ``q`` with the base moved to the origin, its orientation kept.

        No term of the equations of motion depends on where the base is, but Pinocchio's Coriolis
        matrix loses precision with the square of that distance.
        """
        size = BASE_POSITION[self.base]
        if size == 0:
            return q
        moved = q.copy()
        moved[:size] = 0.0
        return moved

    def workspace(self) -> Any:
        """Return this thread's ``pinocchio.Data``; whatever is in it, the next call overwrites."""
        try:
            return self._local.data
        except AttributeError:
            self._local.data = self._pin.createData()
            return self._local.data

    def locked_inverse(self, data: Any) -> Array | None:
        """Return ``M_b^-1`` (b,b) in closed form from the results of crba; None without one."""
        if self.fluid is not None or self.base == "fixed":
            return None
        locked = data.Ycrb[1]
        if self.base == "floating":
            return locked.inverse()
        # Point masses that all meet at one point have no inverse.
        return _planar_inverse(locked) if locked.inertia[2, 2] > 0.0 else None

    def _independent(self, full: Array) -> Array:
        return np.array(full) if self._projection is None else self._projection.independent(full)

    def _default_end_effector(self) -> str:
        return self.link_names[-1] if self.link_names else str(self._pin.names[-1])

    def __repr__(self) -> str:
        return (
            f"VMSModel('{self.name}', base='{self.base}', n={self.n}, "
            f"end_effector='{self.end_effector}', total_mass={self.total_mass:.4g})"
        )


def _planar_pose(q: Array) -> Array:
    x, y, cos, sin = q[:4]
    return np.array([[cos, -sin, x], [sin, cos, y], [0.0, 0.0, 1.0]])


def _planar_inverse(inertia: Any) -> Array:
    x, y, _ = inertia.lever.tolist()
    m, j = 1.0 / inertia.mass, 1.0 / inertia.inertia[2, 2]
    return np.array(
        [
            [m + y * y * j, -x * y * j, y * j],
            [-x * y * j, m + x * x * j, -x * j],
            [y * j, -x * j, j],
        ]
    )
