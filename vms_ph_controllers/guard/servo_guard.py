# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards of energy before servos: commands of position or velocity instead of efforts."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vms_ph_dynamics import Array, OptionError, VMSModel
from vms_ph_dynamics.arrays import summary

from ..controller import Status
from ..safety.energy_tank import EnergyTank
from .certificate import Certificate, Counts
from .port_guard import LARGEST_DELAY
from .settings import EnergyGuardSettings

# Halvings by which the share of a command is found; what is granted lies on the safe side.
_HALVINGS = 24

# Positions farther from the last ones than this multiple of what the velocity limits allow, plus a
# distance (rad or m), are not believed.
_VELOCITY_FACTOR, _STEP_TOLERANCE = 5.0, 0.05


@dataclass(frozen=True, slots=True)
class GuardedCommand:
    """What a guard sends to servos.

    Attributes:
        command: (n,) positions (rad, m) or velocities (rad/s, m/s); the wanted one itself where the
            tank covers it.
        status: OK where the wanted command passes unchanged, SATURATED where a part of it passes,
            HOLDING where there is no position or no command of this robot.
        reason: what was changed and why, in words; empty for a command that passes unchanged.
        level: energy in the tank, J.
    """

    command: Array
    status: Status
    reason: str
    level: float


@dataclass(frozen=True, slots=True, repr=False)
class ServoCertificate(Certificate):
    """What a guard before servos saw; energy that springs hold counts as given."""

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What such a guard cannot see, in sentences."""
        sentences = [
            "servos of another kind than declared: stiffness or damping beyond their bounds, an "
            "integrator, a feed-forward, commands that act at other times",
            "energy at other ports: contacts, people, other actuators, and the weight, which the "
            "servos carry",
        ]
        if self.lost:
            sentences.append(
                f"{self.lost} samples without believable positions, in which the servos held"
            )
        return tuple(sentences)


class ServoGuard(ABC):
    """Bounds the energy that commands give to a robot through the servos of its joints.

    The tank holds the energy that may still be given. A command is paid for before it is sent, with
    the most that it can give; what is then not given, or comes back, is deposited once the
    positions are measured. A command that the tank does not cover is sent in part.

    Attributes:
        settings: of which ``tank_capacity``, ``tank_initial``, ``refill_power`` and ``freeze``
            apply; replace the whole record to change them.
        tank: the tank, with the sums of what went in and out.

    Args:
        model: the robot.
        budget: energy that the commands may give, J; None for that of the settings.
        settings: the tank; the defaults when None.
        delay: number of samples from a measurement to the moment from which the command that
            follows from it acts, 0 to 5.

    Raises:
        OptionError: the delay or the budget is none.
    """

    def __init__(
        self,
        model: VMSModel,
        *,
        budget: float | None = None,
        settings: EnergyGuardSettings | None = None,
        delay: int = 0,
    ) -> None:
        if delay not in range(LARGEST_DELAY + 1):
            raise OptionError(
                f"the delay must be a number of samples from 0 to {LARGEST_DELAY}; given: {delay!r}"
            )
        self.settings = EnergyGuardSettings() if settings is None else settings
        if budget is not None:
            if not 0.0 <= budget < np.inf:
                raise OptionError(f"budget must be an energy, J, of at least 0; given: {budget!r}")
            self.settings = replace(self.settings, tank_capacity=budget, tank_initial=budget)
        self.delay = int(delay)
        self._model, self._n = model, model.n
        self.engage(np.zeros(self._n))

    def __repr__(self) -> str:
        """Return robot and tank, in one line."""
        return summary(self, f"'{self._model.name}'", repr(self.tank))

    def engage(self, positions: npt.ArrayLike, command: npt.ArrayLike | None = None) -> None:
        """Begin at measured positions, with a tank at its initial level.

        Args:
            positions: (n,) of the joints, rad or m.
            command: (n,) that the servos follow now; None for one that moves nothing.
        """
        s = self.settings
        self.tank, self._counts = EnergyTank(s.tank_capacity, s.tank_initial), Counts()
        self._positions = np.array(positions, float)
        acting = self._resting() if command is None else np.array(command, float)
        # What acts since the last measurement, then what is under way.
        self._commands: deque[Array] = deque([acting] * (self.delay + 1))
        self._elapsed, self._committed = 0.0, 0.0
        self._restart(acting)
        self._commit(self._release(acting, acting, 0.0))

    def update(self, positions: npt.ArrayLike, command: npt.ArrayLike, dt: float) -> GuardedCommand:
        """Return the command to send in place of a wanted one; never raises.

        Args:
            positions: (n,) of the joints as measured, rad or m.
            command: (n,) wanted positions (rad, m) or velocities (rad/s, m/s).
            dt: time since the last update, s.
        """
        tank, s, counts = self.tank, self.settings, self._counts
        dt = dt if 0.0 <= dt < np.inf else 0.0
        counts.samples += 1
        counts.time += dt
        self._elapsed += dt
        tank.capacity = s.tank_capacity
        if s.refill_power > 0.0 and not s.freeze:
            tank.refill(s.refill_power * dt)
        last, measured = self._commands[-1], np.asarray(positions, float)
        obstacle = self._obstacle(measured)
        if obstacle:
            counts.lost += 1
            counts.first_loss = counts.first_loss or obstacle
            safe = self._safe(last)
            self._send(last, safe, dt)
            return GuardedCommand(safe, Status.HOLDING, obstacle, tank.level)
        over = [self._commands.popleft() for _ in range(len(self._commands) - self.delay)]
        self._account(over, measured, self._elapsed)
        self._positions, self._elapsed = measured.copy(), 0.0
        wanted = np.asarray(command, float)
        is_known = self._fits(wanted)
        sent, share = self._grant(last, wanted if is_known else self._safe(last), dt)
        self._commit(self._release(last, sent, dt))
        self._send(last, sent, dt)
        if not is_known:
            counts.reflexes += 1
            reason = "the command is not finite or not of this robot"
            return GuardedCommand(sent, Status.HOLDING, reason, tank.level)
        if share == 1.0:
            return GuardedCommand(sent, Status.OK, "", tank.level)
        counts.scaled += share > 0.0
        counts.braked += share <= 0.0
        reason = f"the energy tank covers {100.0 * share:.0f}% of the change of the command"
        return GuardedCommand(sent, Status.SATURATED, reason, tank.level)

    @property
    def certificate(self) -> Certificate:
        """What was given since the engagement: energy given or still held by the servos, J."""
        return replace(
            ServoCertificate.of(self._model, self.tank, self._counts, self.delay, False),
            ports=tuple(self._model.joint_names),
        )

    def _grant(self, last: Array, wanted: Array, dt: float) -> tuple[Array, float]:
        """Return the command that the tank covers, and which share of the change it is."""
        level = self.tank.level
        limit = self._committed + (min(level, 0.0) if self.settings.freeze else level)
        if self._release(last, wanted, dt) <= limit:
            return wanted, 1.0
        retreat = self._retreat(last, dt)
        start, end = (last, wanted) if self._release(last, last, dt) <= limit else (retreat, last)
        is_change = start is last
        share = _largest_share(
            lambda part: self._release(last, _between(start, end, part), dt), limit
        )
        return _between(start, end, share), share if is_change else 0.0

    def _commit(self, release: float) -> None:
        """Withdraw the most that the commands sent so far can give, less what was withdrawn."""
        self.tank.withdraw(release - self._committed)
        self._committed = release

    def _fits(self, array: Array) -> bool:
        return array.shape == (self._n,) and bool(np.isfinite(array).all())

    def _obstacle(self, measured: Array) -> str:
        """Say why measured positions are not believed; empty if they are."""
        if not self._fits(measured):
            return "no positions of this robot were measured"
        reach = _VELOCITY_FACTOR * self._model.joints.velocity * self._elapsed + _STEP_TOLERANCE
        jumps = np.abs(measured - self._positions) > reach
        if not jumps.any():
            return ""
        k = int(np.argmax(jumps))
        way = abs(float(measured[k] - self._positions[k]))
        return (
            f"{self._model.joint_names[k]} jumped by {way:.4g}, farther than its velocity limit "
            "allows"
        )

    @abstractmethod
    def _restart(self, acting: Array) -> None:
        """Begin with a command (n,) that acts."""

    @abstractmethod
    def _resting(self) -> Array:
        """Return the command (n,) that moves nothing at the present positions."""

    @abstractmethod
    def _safe(self, last: Array) -> Array:
        """Return the command (n,) that gives nothing more after the last one."""

    @abstractmethod
    def _retreat(self, last: Array, dt: float) -> Array:
        """Return the command (n,) towards which the last one is taken back within a sample."""

    @abstractmethod
    def _account(self, over: Sequence[Array], measured: Array, dt: float) -> None:
        """Count what was given until now.

        Args:
            over: commands that acted since the last measurement, each for one sample; more than one
                where samples were lost.
            measured: (n,) positions at their end.
            dt: time since the last measurement, s.
        """

    @abstractmethod
    def _release(self, last: Array, command: Array, dt: float) -> float:
        """Return the most energy given since the engagement if a command follows the last one, J.

        Energy that servos then hold, and can give without another command, is part of it.
        """

    def _send(self, last: Array, command: Array, dt: float) -> None:
        """Let a command follow the last one."""
        self._commands.append(command)


def _between(start: Array, end: Array, share: float) -> Array:
    return start if share == 0.0 else start + share * (end - start)


def _largest_share(release: Callable[[float], float], limit: float) -> float:
    """Return the largest share of a change for which a convex release is within a limit."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = 0.5 * (low + high)
        low, high = (share, high) if release(share) <= limit else (low, share)
    return low


def constant_bounds(
    model: VMSModel, name: str, constants: npt.ArrayLike, uncertainty: float, least: float = 1e-12
) -> Array:
    """Return the least and the largest constants of the servos, (2, n).

    Args:
        model: the robot.
        name: of the constants, for the error.
        constants: (n,) or one number.
        uncertainty: bound of their relative errors, 0 to below 1.
        least: smallest number that is accepted.

    Raises:
        OptionError: they are out of range, or not as many as the robot has joints.
    """
    if not 0.0 <= uncertainty < 1.0:
        raise OptionError(f"uncertainty must be from 0 to below 1; given: {uncertainty!r}")
    nominal = np.asarray(constants, float)
    if (
        nominal.shape not in ((), (model.n,))
        or not (np.isfinite(nominal) & (nominal >= least)).all()
    ):
        raise OptionError(
            f"{name} must be one number or {model.n}, {'positive' if least else 'not negative'}; "
            f"given: {constants!r}"
        )
    return np.outer((1.0 - uncertainty, 1.0 + uncertainty), nominal * np.ones(model.n))
