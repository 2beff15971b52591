"""What a controller is: from state, reference and time step to a command with its energy."""

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation


@dataclass(frozen=True, slots=True)
class RobotState:
    """What is measured.

    Attributes:
        q: (nq,) configuration.
        v: (nv,) velocity.
    """

    q: Array
    v: Array

    def is_usable(self, model: VMSModel) -> bool:
        """Return whether it is a state of this robot, and finite."""
        if np.shape(self.q) != (model.nq,) or np.shape(self.v) != (model.nv,):
            return False
        return bool(np.isfinite(self.q.sum() + self.v.sum()))


@dataclass(frozen=True, slots=True)
class Reference:
    """What is wanted of the robot; None means: stay as you were told before.

    Attributes:
        position: (3,) of the end effector in the inertial frame, m.
        velocity: (3,) in the inertial frame, m/s; the reference moves on with it.
        pose: (4,4) of what the law controls, base or end effector, in the frame it is held in.
        twist: (6,) in the axes of the reference of that, linear first; it moves on with it.
        joints: (n,) positions, rad or m.
    """

    position: Array | None = None
    velocity: Array | None = None
    pose: Array | None = None
    twist: Array | None = None
    joints: Array | None = None


def usable(value: Array | None, shape: tuple[int, ...]) -> Array | None:
    """Return what a reference says if it is of this shape and finite, None otherwise."""
    if value is None or np.shape(value) != shape or not np.isfinite(value).all():
        return None
    return value


class Status(enum.IntEnum):
    """How the last update went; the numbers are those of the ControllerState message."""

    OK = 0
    SATURATED = 1
    HOLDING = 2
    DEGRADED = 3


@dataclass(frozen=True, slots=True)
class ControlEnergy:
    """The energy bookkeeping of one update; energies in J, powers in W.

    Attributes:
        closed_loop_energy: the storage function that the law shapes.
        shaped_potential: its potential part.
        kinetic_task, kinetic_null: its kinetic part, split by the task.
        kinetic_base, kinetic_shape: its kinetic part, split into locked motion and shape.
        damping_task, damping_null, damping_base, damping_shape: taken out by the injected damping;
            never negative.
        reference_power: put in by a moving reference or by gains that changed.
        clipped_power: changed by the limits.
        routing_power: of the energy routing; zero but for rounding.
        null_to_task: from null-space energy to task energy, by inertia alone.
        tank_level: what an energy tank holds, J; zero where there is none.
        unaccounted_energy: brought in by sampling and clipping since the reset, J; only with a tank.
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
    """What one update gives.

    Attributes:
        wrench_base: (b,) in the base frame, linear first, N and N m.
        torque: (n,) N m or N.
        energy: the bookkeeping.
        status: how it went.
        reason: in words, empty when all is well.
        task_error: distance between task and reference, m.
        smallest_singular_value: of the task Jacobian.
        authority: share of the potential in force, in [0, 1]; below one where an energy tank
            cannot pay for the rest.
    """

    wrench_base: Array
    torque: Array
    energy: ControlEnergy = field(default_factory=ControlEnergy)
    status: Status = Status.OK
    reason: str = ""
    task_error: float = 0.0
    smallest_singular_value: float = np.inf
    authority: float = 1.0


class Controller(ABC):
    """A control law. It never raises, prints or blocks on the path of :meth:`update`.

    Attributes:
        Gains: a frozen dataclass; every field has metadata ``description`` and ``low`` and
            ``high``, which are None where there is no range. Hosts expose them as parameters.
        gains: the present values; replace the whole record to change one.
    """

    Gains: ClassVar[type[Any]]
    gains: Any

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    def _given(self, gains: Any) -> Any:
        """Return the gains given to a constructor, the defaults where there are none.

        Raises:
            ModelError: they are not those of this law.
        """
        if gains is None:
            return self.Gains()
        if not isinstance(gains, self.Gains):
            law = type(self).__name__
            first = fields(self.Gains)[0].name
            raise ModelError(
                f"the gains of {law} are a record, {law}.Gains({first}=...); given: {gains!r}"
            )
        return gains

    @abstractmethod
    def reset(self, state: RobotState) -> None:
        """Forget everything and hold the present pose.

        Raises:
            StateError: the state is not one of the model.
        """

    @abstractmethod
    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state.

        Args:
            state: measured; with an entry that is not finite the safe output is given.
            reference: what is wanted.
            dt: time since the last update, s.
        """

    def safe_output(self, q: Array) -> Command:
        """Return what holds the robot where no newer state comes, or no answer to one.

        Hosts ask for it after every update and keep it. Unless a law knows better, gravity is held
        by all joints and by the base.

        Args:
            q: (nq,) of the last update, finite.
        """
        d, b = Evaluation(self.model, q, np.zeros(self.model.nv)), self.model.b
        effort = self.model.joints.effort
        torque = np.clip(d.g[b:], -effort, effort)
        return Command(d.g[:b], torque, status=Status.HOLDING, reason="holding against gravity")

    def missed_updates(self) -> None:  # noqa: B027, most laws keep no books
        """Know that the safe output has acted for a while since the last update.

        Hosts say so before the next one. A law that keeps books of energy must not take for its own
        what the robot did meanwhile.
        """


def switch(default: bool, description: str) -> Any:
    """Declare a field of a ``Gains`` record that is on or off."""
    metadata = {"description": description, "low": None, "high": None}
    return field(default=default, metadata=metadata)


def gain(default: float, description: str, low: float, high: float) -> Any:
    """Declare a scalar field of a ``Gains`` record with its bounds."""
    return field(default=default, metadata={"description": description, "low": low, "high": high})
