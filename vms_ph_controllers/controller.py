# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of control laws: state and reference in, command out, gains with their bounds."""

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from inspect import get_annotations, signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from vms_ph_dynamics import Array, Evaluation, ModelError, OptionError, VMSModel, VmsPhError
from vms_ph_dynamics.arrays import exceeds, float_array, is_finite, summary
from vms_ph_dynamics.errors import WithHints, check_arguments
from vms_ph_dynamics.robot_model import require_model

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


LONGEST_SAMPLE = 1.0
"""Longest time between updates that laws accept, s."""


STATE_UNUSABLE = (
    "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s; "
    "holding against gravity"
)
EFFORT_NOT_FINITE = (
    "the effort of the law is not finite, because its reference is too large; holding against "
    "gravity until the next reset"
)


@dataclass(frozen=True, slots=True)
class RobotState:
    """The measured state of a robot.

    Attributes:
        q: (nq,) configuration, laid out as in Pinocchio, m and rad.
        v: (nv,) velocity: base twist in the base frame, linear first, then joint rates; m/s and
            rad/s.
        age: time since it was measured, s, at which the law must be stable as well. Those of this
            library lower damping and stiffness; see :class:`.Supervisor` for others.
        wrench: (6,) that the surroundings exert on the end effector, as a sensor measures it, at
            its origin and in its axes, linear first, N and N m. None, or not finite, where none is
            measured; the state is usable without.

    Examples:
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> RobotState(panda.home, np.zeros(panda.nv)).is_usable(panda)
        True
    """

    q: Array
    v: Array
    age: float = 0.0
    wrench: Array | None = None

    def is_usable(self, model: VMSModel, dt: float = 0.0) -> bool:
        """Return whether the state has the dimensions of this robot, is finite and has an age.

        The time since the last update must be in [0, :data:`LONGEST_SAMPLE`], s, too; zero stands
        for a law in continuous time.
        """
        if np.shape(self.q) != (model.nq,) or np.shape(self.v) != (model.nv,):
            return False
        has_valid_times = 0.0 <= self.age < np.inf and 0.0 <= dt <= LONGEST_SAMPLE
        return has_valid_times and is_finite(self.q) and is_finite(self.v)


@check_arguments({"pose, (4,4)": "orientation rotation quaternion quat", "joints": "q posture"})
@dataclass(frozen=True, slots=True)
class Reference:
    """The desired motion; a field that is None keeps its previous target.

    Attributes:
        position: (3,) of the end effector in the inertial frame, m.
        velocity: (3,) in the inertial frame, m/s: the reference position moves with it. Given with
            a position at every time, it lets the law follow a path without trailing it; a
            :class:`.TaskSpaceIDAPBC` then follows the position alone.
        pose: (4,4) of the base or of the end effector, whichever the law controls, in the frame in
            which the law holds it.
        twist: (6,) in the axes of the reference pose, linear first, m/s and rad/s: the reference
            moves with it, as with the velocity.
        joints: (n,) positions, rad or m.
        wrench: (6,) that the end effector is to exert on its surroundings, in inertial axes at its
            origin, linear first, N and N m.

    Examples:
        >>> from vms_ph_controllers import CartesianImpedance
        >>> from vms_ph_io import simulate
        >>> target = Reference(position=np.array([0.45, 0.0, 0.5]))
        >>> simulate("panda", CartesianImpedance, 0.1, reference=target)
        Trajectory(panda, 0.1 s, energy balance closed)
    """

    position: Array | None = None
    velocity: Array | None = None
    pose: Array | None = None
    twist: Array | None = None
    joints: Array | None = None
    wrench: Array | None = None

    @property
    def parts(self) -> tuple[Array | None, ...]:
        """All fields in this order, as the laws in C++ take them."""
        return self.position, self.velocity, self.pose, self.twist, self.joints, self.wrench


_Real = TypeVar("_Real", bound=float)
_NO_REFERENCE = Reference()
_FIELD_SHAPES = {"position": (3,), "velocity": (3,), "pose": (4, 4), "twist": (6,), "wrench": (6,)}


def if_finite(value: Array | None, shape: tuple[int, ...]) -> Array | None:
    """Return a field of a reference if it has this shape and is finite, None otherwise."""
    if value is None or np.shape(value) != shape:
        return None
    # Numbers whose sum is not finite may be.
    return value if is_finite(np.asarray(value).reshape(-1)) or np.isfinite(value).all() else None


def has_rotation(pose: Array) -> bool:
    """Return whether a pose (4,4) has a rotation, within one percent."""
    rotation = pose[:3, :3]
    deviation = np.abs(rotation @ rotation.T - np.eye(3)).max()
    return bool(deviation < 1e-2 and np.linalg.det(rotation) > 0.0)


class Status(enum.IntEnum):
    """The outcome of an update; the values are those of the ControllerState message."""

    OK = 0
    SATURATED = 1
    HOLDING = 2
    DEGRADED = 3

    def __str__(self) -> str:
        """Return the name."""
        return self.name


@dataclass(frozen=True, slots=True)
class ControlEnergy:
    """The energy record of one update; energies in J, powers in W.

    This is the only list of these quantities in Python: the ControllerState message, the arrays of
    hosted controllers and the diagnostics are made from its fields.

    Attributes:
        closed_loop_energy: storage function of the closed loop.
        shaped_potential: its potential part.
        kinetic_task, kinetic_null: its kinetic part, split by the task.
        kinetic_base, kinetic_shape: its kinetic part, split into locked motion and shape.
        damping_task, damping_null, damping_base, damping_shape: power dissipated by the injected
            damping; their sum is never negative.
        reference_power: power supplied by a moving reference, by gains that changed (without that
            of gains of base and of joint limits while their springs are stretched), and by parts of
            a law without a storage function, such as a posture held by inertia; the law names them.
        clipped_power: power changed by the limits, also those of a sampled stiffness and the
            guard.
        routing_power: power of the energy routing; zero up to rounding.
        null_to_task: power from null-space energy to task energy, by inertia alone.
        tank_level: energy in the tank, the guard's behind an :class:`.EnergyGuard`; zero without a
            tank, negative when it is overdrawn.
        unaccounted_energy: energy generated by sampling and clipping since the reset; zero without
            a tank.
    """

    closed_loop_energy: float = 0.0
    shaped_potential: float = 0.0
    kinetic_task: float = 0.0
    kinetic_null: float = 0.0
    kinetic_base: float = 0.0
    kinetic_shape: float = 0.0
    damping_task: float = 0.0
    damping_null: float = 0.0
    damping_base: float = 0.0
    damping_shape: float = 0.0
    reference_power: float = 0.0
    clipped_power: float = 0.0
    routing_power: float = 0.0
    null_to_task: float = 0.0
    tank_level: float = 0.0
    unaccounted_energy: float = 0.0


@dataclass(frozen=True, slots=True)
class Command:
    """The result of one update.

    Attributes:
        wrench_base: (b,) in the base frame, linear first, N and N m; none on a fixed base.
        torque: (n,) N m or N.
        energy: the energy record.
        status: the outcome.
        reason: explanation of the status in words; empty when there is nothing to report.
        task_error: distance between task and reference, m.
        smallest_singular_value: of the task Jacobian.
        authority: share of the shaped potential in force, in [0, 1]; below one where the energy
            tank does not cover the rest.

    Examples:
        >>> from vms_ph_io import simulate
        >>> simulate("panda", lambda q, v, dt: Command(np.zeros(0), -2.0 * v), 0.05)
        Trajectory(panda, 0.05 s, energy balance closed)
    """

    wrench_base: Array = field(default_factory=lambda: np.zeros(0))
    torque: Array = field(default_factory=lambda: np.zeros(0))
    energy: ControlEnergy = ControlEnergy()
    status: Status = Status.OK
    reason: str = ""
    task_error: float = 0.0
    smallest_singular_value: float = np.inf
    authority: float = 1.0

    def with_reason(self, addition: str) -> "Command":
        """Return the command with a further reason, in words, by which it is limited."""
        if not addition:
            return self
        status = Status.SATURATED if self.status is Status.OK else self.status
        reason = f"{self.reason}; {addition}" if self.reason else addition
        return replace(self, reason=reason, status=status)

    def clip(self, limits: Array, reason: str) -> "Command":
        """Return the command with torques within limits (n,), and a reason where they were not."""
        if not exceeds(self.torque, limits):
            return self
        return replace(self, torque=np.clip(self.torque, -limits, limits)).with_reason(reason)


def gain(default: _Real, description: str, low: float, high: float, ramp: str = "range") -> _Real:
    """Declare a scalar field of a ``Gains`` record with its bounds.

    The laws follow changes at a bounded rate, see :class:`.laws.gain_ramp.GainRamp`.

    Args:
        default: value where none is set, in the unit of the description.
        description: in a few words, with the unit.
        low: smallest value, in that unit.
        high: largest value.
        ramp: what bounds the rate: ``range`` between the bounds, or ``none`` for a change at once.

    Examples:
        >>> @dataclass(frozen=True)
        ... class Gains:
        ...     stiffness: float = gain(60.0, "of every joint, N m/rad", 0.0, 500.0)
        ...
        >>> Gains().stiffness
        60.0
    """
    metadata = {"description": description, "low": low, "high": high, "ramp": ramp}
    return field(default=default, metadata=metadata)


def limit(default: float, description: str, high: float) -> float:
    """Declare a limit in a ``Gains`` record, zero for none; a ratio bounds its changes."""
    return gain(default, description, 0.0, high, "ratio")


def convert_to_floats(record: Any) -> None:
    """Take whole numbers and numbers of other types in a record as floating-point numbers."""
    for record_field in fields(record):
        value = getattr(record, record_field.name)
        if isinstance(record_field.default, float) and isinstance(value, Real):
            object.__setattr__(record, record_field.name, float(value))


def switch(default: bool, description: str) -> bool:
    """Declare a field of a ``Gains`` record that is on or off.

    Args:
        default: whether it is on where nothing is set.
        description: in a few words.
    """
    metadata = {"description": description, "low": None, "high": None, "ramp": "none"}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class NoGains:
    """The gains of a law that declares none."""


class Controller(WithHints, ABC):
    """A control law.

    :meth:`update` never raises, prints or blocks; faults are reported in the status of its command.

    Attributes:
        Gains: a frozen dataclass whose fields are declared by :func:`gain` and :func:`switch`;
            hosts expose them as parameters; a law need not have any.
        gains: the present values; replace the whole record to change one.
        FOLLOWS_JOINTS: whether it follows ``Reference.joints``; hosts then take trajectories.
        IGNORES: fields of a :class:`Reference` that it does not follow.
        LEADS_BASE_AND_TOOL: whether ``Reference.pose`` is that of the base while
            ``Reference.position`` leads the end effector; hosts then take no position from a pose.

    Args:
        model: the robot.

    Examples:
        >>> from vms_ph_controllers import Command
        >>> class Damper(Controller):
        ...     def reset(self, state):
        ...         pass
        ...     def update(self, state, reference, dt):
        ...         return Command(np.zeros(0), -2.0 * state.v)
        ...
        >>> from vms_ph_io import simulate
        >>> simulate("panda", Damper, 0.05)
        Trajectory(panda, 0.05 s, energy balance closed)
    """

    Gains: "ClassVar[type[DataclassInstance]]" = NoGains
    FOLLOWS_JOINTS: ClassVar[bool] = False
    IGNORES: ClassVar[tuple[str, ...]] = ()
    LEADS_BASE_AND_TOOL: ClassVar[bool] = False
    gains: "DataclassInstance" = NoGains()

    def __init_subclass__(cls) -> None:
        """Let the gains name those that exist where one does not."""
        super().__init_subclass__()
        gains = vars(cls).get("Gains")
        if isinstance(gains, type) and is_dataclass(gains):
            check_arguments({})(gains)

    HINTS: ClassVar[Mapping[str, str]] = {
        "law(q, v, dt), which returns a command": "step compute torque tau control act predict",
        "law(q, v, dt, Reference(...))": "set_target set_reference set_goal target reference",
    }

    def __init__(self, model: VMSModel) -> None:
        """Take the model of a robot.

        Raises:
            ModelError: it is none.
        """
        require_model(model, self)
        self.model = model

    def __repr__(self) -> str:
        """Return robot and gains that are not at their defaults, in one line."""
        changed_gains = [
            f"{gain.name}={getattr(self.gains, gain.name):g}"
            for gain in fields(self.gains)
            if getattr(self.gains, gain.name) != gain.default
        ]
        return summary(self, f"'{self.model.name}'", *changed_gains)

    def _checked_gains(self, gains: Any) -> Any:
        """Return the gains given to a constructor, or the defaults if they are None.

        Raises:
            ModelError: they are not a ``Gains`` record of this law, or one is out of its bounds.
        """
        if gains is None:
            return self.Gains()
        if not isinstance(gains, self.Gains):
            law = type(self).__name__
            example = ", ".join(f"{name}=..." for name in list(get_annotations(self.Gains))[:1])
            raise ModelError(
                f"the gains of {law} are a record, {law}.Gains({example}); given: {gains!r}"
            )
        for gain in fields(gains):
            low, high = gain.metadata.get("low"), gain.metadata.get("high")
            setting = getattr(gains, gain.name)
            if low is None or high is None:
                continue
            if not (isinstance(setting, Real) and low <= float(setting) <= high):
                prefix = f"{gain.name.partition('_')[0]}_share_"
                axes = ", ".join(f.name for f in fields(gains) if f.name.startswith(prefix))
                raise ModelError(
                    f"the gain {gain.name} of {type(self).__name__} is a number from {low:g} to "
                    f"{high:g}{axes and f', times those of the axes, {axes}'}; given: {setting!r}"
                )
        return gains

    def check_reference(self, reference: Reference) -> tuple[Reference, str]:
        """Return what the law can take of a reference, and why not the rest, in words.

        Fields of a wrong shape or that are not finite become None.

        Args:
            reference: as received.
        """
        targets = {n: x for n in Reference.__slots__ if (x := getattr(reference, n)) is not None}
        ignored_names, refusal = [name for name in targets if name in self.IGNORES], ""
        if ignored_names:
            examples = [f"{name}=..." for name in Reference.__slots__ if name not in self.IGNORES]
            refusal = (
                f"the law follows no {' and no '.join(ignored_names)} of a reference; give "
                f"Reference({', '.join(examples)})"
            )
        for name, target in targets.items():
            shape = (self.model.n,) if name == "joints" else _FIELD_SHAPES[name]
            array = float_array(target)
            is_ok = if_finite(array, shape) is not None and (name != "pose" or has_rotation(array))
            targets[name] = array if is_ok else None
            if not is_ok:
                hint = ", with a rotation" if name == "pose" else ""
                text = " ".join(repr(target).split())[:60]
                refusal = f"{name} of a reference must be {shape}, finite{hint}; given: {text}"
        return replace(reference, **targets) if targets else reference, refusal

    @abstractmethod
    def reset(self, state: RobotState) -> None:
        """Restart the law; it then holds the present pose.

        Args:
            state: of the robot, as measured.

        Raises:
            StateError: the state does not fit the model.
        """

    def resume(self, state: RobotState) -> None:
        """Continue at another pose than that of the last update, and hold it.

        A law with an energy tank keeps its level, which :meth:`reset` sets to the initial one. By
        default this is :meth:`reset`.

        Args:
            state: of the robot, as measured.

        Raises:
            StateError: the state does not fit the model.
        """
        self.reset(state)

    def __call__(
        self, q: Array, v: Array, dt: float, reference: Reference | None = None
    ) -> Command:
        """Return the command for a state: :meth:`update` with arrays.

        A law is thus a control of simulations, ``(q, v, dt) -> efforts``.

        Args:
            q: (nq,) measured configuration.
            v: (nv,) measured velocity.
            dt: time since the last update, s.
            reference: what to follow; None keeps the present one.
        """
        return self.update(RobotState(q, v), _NO_REFERENCE if reference is None else reference, dt)

    @abstractmethod
    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state.

        Args:
            state: measured; if an entry is not finite, the safe output is returned.
            reference: what to follow.
            dt: time since the last update, s; zero for the law in continuous time. Outside [0, 1]
                the safe output is returned.
        """

    def safe_output(self, q: Array) -> Command:
        """Return the effort that holds the robot when no newer state or no command is available.

        Hosts request it after every update and keep it. By default the joints and the base
        compensate gravity.

        Args:
            q: (nq,) of the last update, finite.
        """
        d, b = Evaluation(self.model, q, np.zeros(self.model.nv)), self.model.b
        effort = self.model.joints.effort
        torque = np.clip(d.g[b:], -effort, effort)
        return Command(d.g[:b], torque, status=Status.HOLDING, reason="holding against gravity")

    def carry_load(self, load: Array) -> bool:
        """Hold a further weight (nv,) from the next update on, within the limits of the law.

        Returns whether the law does; one without limits of its own leaves it to its host.
        """
        return False

    def note_missed_updates(self) -> None:
        """Note that the safe output has acted since the last update.

        Hosts call this before the next update. A law with an energy balance must not attribute the
        motion in between to its own command.
        """


class ControlFault(VmsPhError):
    """A law that raised, or returned no efforts of its robot."""


class FunctionLaw(Controller):
    """A function from state and time step to efforts as a law, which has no gains.

    Args:
        model: the robot.
        function: from q (nq,), v (nv,) and the time step (s) to torques (n,), base wrench and
            torques (nv,), or a record with ``torque`` and ``wrench_base``.

    Attributes:
        name: name of the function, for messages.

    Raises:
        OptionError: the function does not take these arguments.
    """

    def __init__(self, model: VMSModel, function: Callable[..., Any]) -> None:
        super().__init__(model)
        self._function = function
        self.name = name = str(getattr(function, "__name__", type(function).__name__))
        try:
            bound_call = signature(function).bind(model.home, model.home, 1e-3)
        except TypeError as error:
            raise OptionError(
                f"a law is called as {name}(q, v, dt) and returns torques; {name} does not take "
                f"these arguments: {error}"
            ) from None
        except ValueError:
            return  # a function without a signature, of another language
        if time_names := {"t", "time"}.intersection(bound_call.arguments):
            raise OptionError(
                f"a law is called as {name}(q, v, dt) with the time step dt, not with the time "
                f"'{time_names.pop()}'; a law that needs the time adds up dt"
            )

    def reset(self, state: RobotState) -> None:
        """Do nothing: a function has no memory that could be known."""

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the efforts of the function.

        Raises:
            ControlFault: they are no efforts of this robot.
        """
        efforts, model = self._function(state.q, state.v, dt), self.model
        if isinstance(efforts, Command):
            return efforts
        if hasattr(efforts, "torque"):
            torque, wrench = efforts.torque, getattr(efforts, "wrench_base", None)
            return Command(
                np.zeros(model.b) if wrench is None else wrench,
                np.zeros(model.n) if torque is None else torque,
            )
        array = float_array(efforts)
        if array.shape == (model.n,):
            return Command(np.zeros(model.b), array)
        if array.shape == (model.nv,):
            return Command(array[: model.b], array[model.b :])
        accepted_shapes = f"torques ({model.n},) of the joints {', '.join(model.joint_names)}"
        if model.b:
            accepted_shapes += f", or base wrench and torques ({model.nv},)"
        shape = f"shape {array.shape}" if array.size and array.ndim else repr(efforts)
        raise ControlFault(f"{self.name} returned {shape}; a law returns {accepted_shapes}")


class LawWrapper(Controller):
    """A controller around a law, whose gains are its own.

    Attributes:
        law: the law.
    """

    law: Controller

    def _wrap(self, law: Controller) -> None:
        self.law, self.model = law, law.model
        for name in ("Gains", "FOLLOWS_JOINTS", "IGNORES", "LEADS_BASE_AND_TOOL"):
            setattr(self, name, getattr(law, name))

    @property
    def gains(self) -> Any:
        """The gains of the law."""
        return self.law.gains

    @gains.setter
    def gains(self, gains: Any) -> None:
        self.law.gains = gains

    def reset(self, state: RobotState) -> None:
        """Restart the law; see :meth:`Controller.reset`."""
        self.law.reset(state)

    def resume(self, state: RobotState) -> None:
        """Continue the law at another pose; see :meth:`Controller.resume`."""
        self.law.resume(state)

    def note_missed_updates(self) -> None:
        """Tell the law; see :meth:`Controller.note_missed_updates`."""
        self.law.note_missed_updates()

    def safe_output(self, q: Array) -> Command:
        """Return that of the law; see :meth:`Controller.safe_output`."""
        return self.law.safe_output(q)
