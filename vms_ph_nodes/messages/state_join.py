# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The joints of a robot from messages that may each name some of them, and the motion of its base.

Several drivers may publish on joint_states: an arm and its gripper, or one robot in two messages.
Stamps are checked for each joint, and joints that are not of the robot are passed over.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from sensor_msgs.msg import JointState

from vms_ph_dynamics import Array, StateError, VMSModel

from .conversions import (
    LARGEST,
    NANOSECONDS,
    BaseMotion,
    from_joints,
    from_stamp,
    in_range,
    on_base,
    require_length,
    require_unique,
)
from .stamps import StampGate

# Cycles in which a joint that was late must come in time before a state waits for it again.
_CYCLES = 3


@dataclass(frozen=True)
class JoinedState:
    """A state of the robot at one stamp.

    Attributes:
        stamp: ns; that of the newest message in it, gripper and base apart where they are slower.
        q: (nq,) configuration; where a joint or the base is older, predicted to the stamp.
        v: (nv,) velocity; of a moving base without odometry zero.
        effort: (n,) joint efforts, N m or N; not a number where the driver gives none.
        age: how much older than the stamp the oldest part of it is, s.
    """

    stamp: int
    q: Array
    v: Array
    effort: Array
    age: float


class StateJoin:
    """Joins messages into states.

    A state is complete when all its joints have stamps within half a period of one another. A joint
    that is slower than others, or whose clock is another one, is not waited for: the state has its
    last position, predicted with its velocity. It is waited for again after it has come in time in
    three cycles in a row. The odometry of a base is treated in the same way.
    """

    def __init__(
        self,
        model: VMSModel,
        spread: float,
        on_state: Callable[[JoinedState], None],
        on_refusal: Callable[[str], None],
        largest_age: float = 0.0,
        odometry: bool = False,
    ) -> None:
        """Begin without a state.

        Args:
            model: the robot.
            spread: largest difference between the stamps of the parts of a state, s.
            on_state: called with every state.
            on_refusal: called with the reason why a message or a state is not used.
            largest_age: largest difference between a stamp and the clock, s; 0 for no limit.
            odometry: whether states have the motion of the base, by :meth:`add_base`.
        """
        self._model, self._spread = model, round(spread * NANOSECONDS)
        self._on_state, self._on_refusal = on_state, on_refusal
        self._names = model.joint_names
        self._index = {name: i for i, name in enumerate(self._names)}
        n, parts = model.n, model.n + odometry
        self._gates = [StampGate(largest_age) for _ in range(parts)]
        self._base: BaseMotion | None = None
        self._is_joint = np.arange(parts) < n
        self._position, self._rate, self._effort = np.full((3, n), np.nan)
        self._stamp, self._period = np.zeros((2, parts), int)
        # Whether a part is known, has come since the last state, came in time, and is waited for.
        self._known, self._new, self._timely = np.zeros((3, parts), bool)
        self._awaited, self._cycles = np.ones(parts, bool), np.zeros(parts, int)
        self._last_stamp: int | None = None
        self._foreign_names: list[str] = []

    @property
    def missing(self) -> str:
        """What a first state still needs beside what was received, or an empty string."""
        lacking = [name for i, name in enumerate(self._names) if not self._known[i]]
        if not lacking:
            return "" if self._known.all() else "there is no odometry of the base yet"
        others = [*(name for name in self._names if name not in lacking), *self._foreign_names]
        received = f"; received are {_joined(others)}"
        return f"the joint state lacks {_joined(lacking)}{received}" if others else ""

    def add(self, message: JointState, now: int) -> None:
        """Take a message; ``now`` is the time of the node's clock, ns."""
        names = message.name
        columns = [(self._index[name], k) for k, name in enumerate(names) if name in self._index]
        if not columns:
            self._foreign_names = [name[:64] for name in names[:10]]
            return
        try:
            require_unique([self._names[i] for i, _ in columns])
            require_length(names, message.position, "position")
            fields = [
                _numbers(names, getattr(message, field), field)
                for field in ("position", "velocity", "effort")
            ]
        except StateError as error:
            self._on_refusal(str(error))
            return
        stamp = from_stamp(message.header.stamp)
        admitted = self._admitted(stamp, now, columns, fields[0])
        if not admitted:
            return
        joints, entries = np.array(admitted).T
        is_complete = len(joints) == len(self._stamp)
        if not is_complete:
            self._begin_cycle(joints)
        for part, column in zip((self._position, self._rate, self._effort), fields, strict=True):
            part[joints] = column[entries]
        if is_complete:
            self._stamp[:], self._last_stamp = stamp, stamp
            self._known[:] = self._awaited[:] = True
            self._new[:] = False
            self._emit_state(stamp)
        else:
            self._record(joints, stamp)

    def add_base(self, stamp: int, motion: BaseMotion, now: int) -> None:
        """Take the motion of the base at a stamp, ns, by the node's clock."""
        problem = self._gates[-1].problem(stamp, now)
        if problem:
            self._on_refusal(f"the odometry {problem}")
            return
        self._base = motion
        self._record(np.array([self._model.n]), stamp)

    def _admitted(
        self, stamp: int, now: int, columns: list[tuple[int, int]], position: Array
    ) -> list[tuple[int, int]]:
        """Return the joints whose stamp is the next one and whose position is a number."""
        problems: dict[str, list[str]] = {}
        admitted = []
        for i, k in columns:
            problem = self._gates[i].problem(stamp, now)
            if problem and not stamp:
                problem = "has no stamp (header.stamp is zero); its driver must set it"
            if not problem and not abs(position[k]) <= LARGEST:
                problem = f"needs positions that are finite and at most {LARGEST:g}"
            if problem:
                problems.setdefault(problem, []).append(self._names[i])
            else:
                admitted.append((i, k))
        for problem, names in problems.items():
            subject = "" if len(names) == len(columns) else f" of {_joined(names)}"
            self._on_refusal(f"the joint state{subject} {problem}")
        return admitted

    def _begin_cycle(self, joints: Array) -> None:
        """Emit a state where a joint comes again before the others have come."""
        leaders = joints[(self._new & self._awaited)[joints]]
        if not len(leaders):
            return
        near = np.abs(self._stamp - self._stamp[leaders[0]]) <= self._tolerance
        self._awaited &= near | ~self._known
        self._emit()

    def _record(self, parts: Array, stamp: int) -> None:
        # Zero until two messages have come: parts with the same stamp belong together in any case.
        self._period[parts] = np.maximum(stamp - self._stamp[parts], 0) * self._known[parts]
        self._stamp[parts] = stamp
        self._known[parts] = self._new[parts] = True
        self._timely[parts] |= abs(stamp - self._newest) <= self._tolerance
        if (np.abs(self._stamp - self._newest) <= self._tolerance)[self._awaited].all():
            self._emit()

    @property
    def _tolerance(self) -> int:
        """Half the period of the fastest joint that is waited for, ns."""
        return int(self._period[self._awaited & self._is_joint].min()) // 2

    @property
    def _newest(self) -> int:
        """Stamp of the newest joint that is waited for, ns."""
        return int(self._stamp[self._awaited & self._is_joint].max())

    def _emit(self) -> None:
        stamp, new, self._new = self._newest, self._new, np.zeros_like(self._new)
        if not self._known.all():
            if (new & self._is_joint).any():
                self._on_refusal(self.missing)
            return
        if stamp == self._last_stamp:
            return
        self._last_stamp = stamp
        self._timely |= new & (np.abs(self._stamp - stamp) <= self._tolerance)
        self._cycles = np.where(self._timely, self._cycles + 1, 0)
        self._awaited |= self._cycles >= _CYCLES
        self._timely[:] = False
        self._emit_state(stamp)

    def _emit_state(self, stamp: int) -> None:
        """Emit the state of a stamp, or report why there is none."""
        age = stamp - self._stamp
        problem = self._problem(age)
        if problem:
            self._on_refusal(problem)
            return
        seconds = age / NANOSECONDS
        n, position = self._model.n, self._position
        if seconds[:n].any():
            position = position + seconds[:n] * self._rate
        q, v = from_joints(self._model, position, self._rate)
        if self._base is not None:
            q, v = on_base(self._model, q, v, self._base, float(seconds[n]))
        oldest = max(0.0, float(seconds.max()))
        effort = np.where(np.abs(self._effort) <= LARGEST, self._effort, np.nan)
        self._on_state(JoinedState(stamp, q, v, effort, oldest))

    def _problem(self, age: Array) -> str:
        """Return why the parts make no state, or an empty string."""
        far = np.flatnonzero(np.abs(age) > self._spread)
        if len(far):
            i = int(far[np.argmax(np.abs(age[far]))])
            name = self._names[i] if i < self._model.n else "the odometry"
            return f"{name} is {too_far(age[i] / NANOSECONDS, self._spread / NANOSECONDS)}"
        if not in_range(self._rate):
            unknown = compress(self._names, ~(np.abs(self._rate) <= LARGEST))
            return (
                f"the joint state has no velocity of {_joined(unknown)}; without it neither a law "
                "nor an energy is right: the driver must publish velocities that are finite and at "
                f"most {LARGEST:g}"
            )
        return ""


def too_far(age: float, spread: float) -> str:
    """Return by how much a part of a state is older than the others, and what is allowed, s."""
    direction = "older" if age > 0 else "newer"
    return (
        f"{abs(age):.3g} s {direction} than the other joints; at most {spread:g} s (state_spread)"
    )


def _numbers(names: Sequence[str], values: Sequence[float], field: str) -> Array:
    """Return an entry for each name; not a number where the message leaves the field out."""
    if not len(values):
        return np.full(len(names), np.nan)
    require_length(names, values, field)
    return np.asarray(values, dtype=float)


def _joined(names: Iterable[str]) -> str:
    """Return at most ten names, with commas between."""
    listed = list(names)
    return ", ".join(listed[:10]) + (", ..." if len(listed) > 10 else "")
