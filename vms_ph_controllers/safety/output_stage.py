"""From the efforts a law wants to those a robot gets: actuators, tank, limits, safe output."""

from dataclasses import dataclass, replace

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.evaluation import Evaluation

from ..interface import Command, Status, gain
from .base_actuation import BaseActuation
from .limits import TorqueLimits
from .tank_layer import TankLayer


@dataclass(frozen=True)
class OutputGains:
    """What a user can set of the output stage."""

    limit_margin: float = gain(0.05, "where joint limits begin to push, rad or m", 0.0, 1.0)
    limit_frequency: float = gain(10.0, "of the joint limits' push, rad/s", 0.0, 100.0)
    torque_rate: float = gain(0.0, "largest change of a torque, N m/s; 0: any", 0.0, 1e6)
    power: float = gain(0.0, "largest power into the joints, W; 0: any", 0.0, 1e6)
    tank_capacity: float = gain(0.0, "of the energy tank, J; 0: no tank", 0.0, 1e6)
    tank_initial: float = gain(1.0, "what the tank holds after a reset, J", 0.0, 1e6)


@dataclass(frozen=True, slots=True)
class Output:
    """Efforts that go to the robot.

    Attributes:
        force: (nv,) base wrench, then joint torques.
        reason: what was changed, in words; empty when nothing was.
    """

    force: Array
    reason: str


class OutputStage:
    """Makes of the generalised force a law wants one that the robot can make.

    What the base cannot do of its wrench is kept from the shape: the joints get
    ``tau = tau_hat + A^T w`` with the shape force ``tau_hat`` that the law wants [A (73)] and the
    wrench w that the base makes.
    """

    def __init__(self, model: VMSModel, allocation: Allocation | None, base_actuated: bool) -> None:
        """Take a robot and its base's actuators; see :class:`BaseActuation`.

        Raises:
            ModelError: an allocation for another kind of base.
        """
        self._model = model
        self._actuation = BaseActuation(model, allocation, base_actuated)
        self._limits, self._tank = TorqueLimits(model), TankLayer(model)

    @property
    def base_is_actuated(self) -> bool:
        """Whether the base can do anything."""
        return self._actuation.actuated

    @property
    def tank_level(self) -> float:
        """What the energy tank holds, J; zero where there is none."""
        return self._tank.level

    def restart(self, d: Evaluation) -> None:
        """Begin anew: torques may jump, the tank is filled."""
        self._limits.restart()
        self._tank.restart()
        self.safe = self._held(d)

    def lose(self) -> None:
        """Know that the safe output acts, while nobody sees the robot."""
        self._tank.lose(np.concatenate([self.safe.wrench_base, self.safe.torque]))

    def refuse(self, d: Evaluation) -> Command:
        """Return the safe output at a state, for a law that wants what is not finite."""
        self.safe = self._held(d)
        self.lose()
        return replace(
            self.safe,
            reason="what the law wants is not finite, after a reference beyond all bounds; holding "
            "against gravity until the next reset",
        )

    def apply(self, d: Evaluation, wanted: Array, gains: OutputGains, dt: float) -> Output:
        """Return what the robot gets of a wanted force (nv,)."""
        b = self._model.b
        weight, active = d.g, wanted - d.g
        self._tank.begin(d, gains.tank_capacity, gains.tank_initial)
        granted = self._tank.grant(active, d.v, dt)
        active = granted.share * active
        achieved = self._actuation.apply(weight[:b] + active[:b], weight[:b])
        shape = active[b:] - d.A.T @ active[:b]
        torque = weight[b:] + shape + d.A.T @ (achieved.wrench - weight[:b])
        limited = self._limits.apply(
            torque, weight[b:], d.v[b:], gains.torque_rate, gains.power, dt
        )
        force = np.concatenate([achieved.wrench, limited.torque])
        self._tank.end(d, force)
        self.safe = self._held(d)
        reasons = (granted.reason, achieved.reason, limited.reason)
        return Output(force, "; ".join(filter(None, reasons)))

    def _held(self, d: Evaluation) -> Command:
        """Return what holds the robot against gravity as well as its base can."""
        b = self._model.b
        wrench = self._actuation.apply(d.g[:b], d.g[:b]).wrench
        torque = d.g[b:] + d.A.T @ (wrench - d.g[:b])
        bound = self._model.joints.effort
        return Command(
            wrench,
            np.clip(torque, -bound, bound),
            status=Status.HOLDING,
            reason="the state is not finite, or not one of this robot; holding against gravity",
        )
