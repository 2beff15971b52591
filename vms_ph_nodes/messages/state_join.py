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
    MAX_VALUE,
    NS_PER_SEC,
    BaseMotion,
    from_joints,
    from_stamp,
    in_range,
    require_length,
    require_unique,
    with_base,
)
from .stamps import StampGate

# Cycles in which a joint that was late must come in time before a state waits for it again.
_REQUIRED_CYCLES = 3


@dataclass(frozen=True)
class JoinedState:
    """A state of the robot at one stamp.

    Attributes:
        stamp: ns; that of the newest message in it from a joint that is not slower than others.
        q: (nq,) configuration; where a joint or the base is older, predicted to the stamp.
        v: (nv,) velocity; zero for a moving base without odometry.
        joints: (n,) positions of the joints in ``q``, rad or m; of a continuous joint with the
            turns that its driver counts.
        effort: (n,) joint efforts, N m or N; not a number where the driver gives none.
        age: how much older than the stamp its oldest part, a joint or the odometry, is, s.
    """

    stamp: int
    q: Array
    v: Array
    joints: Array
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
        max_age: float = 0.0,
        odometry: bool = False,
    ) -> None:
        """Begin without a state.

        Args:
            model: the robot.
            spread: largest difference between the stamps of the parts of a state, s.
            on_state: called with every state.
            on_refusal: called with the reason why a message or a state is not used.
            max_age: largest difference between a stamp and the clock, s; 0 for no limit.
            odometry: whether states have the motion of the base, by :meth:`add_base`.
        """
        self._model, self._max_spread = model, round(spread * NS_PER_SEC)
        self._on_state, self._on_refusal = on_state, on_refusal
        self._names = model.joint_names
        self._index_of = {name: i for i, name in enumerate(self._names)}
        n, part_count = model.n, model.n + odometry
        self._stamp_gates = [StampGate(max_age) for _ in range(part_count)]
        self._base: BaseMotion | None = None
        self._is_joint = np.arange(part_count) < n
        self._position, self._rate, self._effort = np.full((3, n), np.nan)
        self._stamps, self._periods = np.zeros((2, part_count), int)
        # Whether a part, a joint or the odometry, is known, new since the last state, and in time.
        self._is_received, self._is_updated, self._is_timely = np.zeros((3, part_count), bool)
        # Whether it is waited for, and for how many cycles in a row it has been in time.
        self._is_awaited, self._timely_cycles = np.ones(part_count, bool), np.zeros(part_count, int)
        self._last_stamp: int | None = None
        self._foreign_names: list[str] = []

    @property
    def missing(self) -> str:
        """What the first state still lacks, in words; empty if nothing, or if no joint has come."""
        names = [name for i, name in enumerate(self._names) if not self._is_received[i]]
        if not names:
            return "" if self._is_received.all() else "there is no odometry of the base yet"
        other_names = [*(name for name in self._names if name not in names), *self._foreign_names]
        text = f"the joint state lacks {_join(names)}; received are {_join(other_names)}"
        return text if other_names else ""

    def add(self, message: JointState, now: int) -> None:
        """Take a message; ``now`` is the time of the node's clock, ns."""
        names = message.name
        index_of = self._index_of
        index_pairs = [(index_of[name], k) for k, name in enumerate(names) if name in index_of]
        if not index_pairs:
            self._foreign_names = [name[:64] for name in names[:10]]
            return
        try:
            require_unique([self._names[joint] for joint, _ in index_pairs])
            require_length(names, message.position, "position")
            fields = [
                _field_values(names, getattr(message, field), field)
                for field in ("position", "velocity", "effort")
            ]
        except StateError as error:
            self._on_refusal(str(error))
            return
        stamp = from_stamp(message.header.stamp)
        if not (accepted_pairs := self._accepted_joints(stamp, now, index_pairs, fields[0])):
            return
        joints, entries = np.array(accepted_pairs).T
        is_complete = len(joints) == len(self._stamps)
        if not is_complete:
            self._emit_before_repeat(joints)
        for memory, values in zip((self._position, self._rate, self._effort), fields, strict=True):
            memory[joints] = values[entries]
        if is_complete:
            self._stamps[:], self._last_stamp = stamp, stamp
            self._is_received[:] = self._is_awaited[:] = True
            self._is_updated[:] = False
            self._emit_state(stamp)
        else:
            self._record(joints, stamp)

    def add_base(self, stamp: int, motion: BaseMotion, now: int) -> None:
        """Take the motion of the base at a stamp, ns, by the node's clock."""
        if problem := self._stamp_gates[-1].check(stamp, now):
            self._on_refusal(f"the odometry {problem}")
            return
        self._base = motion
        self._record(np.array([self._model.n]), stamp)

    def _accepted_joints(
        self, stamp: int, now: int, index_pairs: list[tuple[int, int]], position: Array
    ) -> list[tuple[int, int]]:
        """Return the pairs of joint and entry whose stamp is new and whose position is a number."""
        problems: dict[str, list[str]] = {}
        accepted_pairs = []
        for joint, entry in index_pairs:
            problem = self._stamp_gates[joint].check(stamp, now)
            if problem and not stamp:
                problem = "has no stamp (header.stamp is zero); its driver must set it"
            if not problem and not abs(position[entry]) <= MAX_VALUE:
                problem = f"needs positions that are finite and at most {MAX_VALUE:g}"
            if problem:
                problems.setdefault(problem, []).append(self._names[joint])
            else:
                accepted_pairs.append((joint, entry))
        for problem, names in problems.items():
            subject = "" if len(names) == len(index_pairs) else f" of {_join(names)}"
            self._on_refusal(f"the joint state{subject} {problem}")
        return accepted_pairs

    def _emit_before_repeat(self, joints: Array) -> None:
        """Emit a state without the late joints if one of ``joints`` comes again before them."""
        repeated_joints = joints[(self._is_updated & self._is_awaited)[joints]]
        if not len(repeated_joints):
            return
        is_near = np.abs(self._stamps - self._stamps[repeated_joints[0]]) <= self._tolerance
        self._is_awaited &= is_near | ~self._is_received
        self._emit_newest()

    def _record(self, parts: Array, stamp: int) -> None:
        # Zero until two messages have come: parts with the same stamp belong together in any case.
        self._periods[parts] = np.maximum(stamp - self._stamps[parts], 0) * self._is_received[parts]
        self._stamps[parts] = stamp
        self._is_received[parts] = self._is_updated[parts] = True
        self._is_timely[parts] |= abs(stamp - self._newest_stamp) <= self._tolerance
        if (np.abs(self._stamps - self._newest_stamp) <= self._tolerance)[self._is_awaited].all():
            self._emit_newest()

    @property
    def _tolerance(self) -> int:
        """Half the period of the fastest joint that is waited for, ns."""
        return int(self._periods[self._is_awaited & self._is_joint].min()) // 2

    @property
    def _newest_stamp(self) -> int:
        """Stamp of the newest joint that is waited for, ns."""
        return int(self._stamps[self._is_awaited & self._is_joint].max())

    def _emit_newest(self) -> None:
        stamp, is_updated = self._newest_stamp, self._is_updated
        self._is_updated = np.zeros_like(is_updated)
        if not self._is_received.all():
            if (is_updated & self._is_joint).any():
                self._on_refusal(self.missing)
            return
        if stamp == self._last_stamp:
            return
        self._last_stamp = stamp
        self._is_timely |= is_updated & (np.abs(self._stamps - stamp) <= self._tolerance)
        self._timely_cycles = np.where(self._is_timely, self._timely_cycles + 1, 0)
        self._is_awaited |= self._timely_cycles >= _REQUIRED_CYCLES
        self._is_timely[:] = False
        self._emit_state(stamp)

    def _emit_state(self, stamp: int) -> None:
        """Emit the state of a stamp, or report why there is none."""
        ages_ns = stamp - self._stamps
        if problem := self._state_problem(ages_ns):
            self._on_refusal(problem)
            return
        ages = ages_ns / NS_PER_SEC
        n, position = self._model.n, self._position.copy()
        if ages[:n].any():
            position += ages[:n] * self._rate
        q, v = from_joints(self._model, position, self._rate)
        if self._base is not None:
            q, v = with_base(self._model, q, v, self._base, float(ages[n]))
        age = max(0.0, float(ages.max()))
        effort = np.where(np.abs(self._effort) <= MAX_VALUE, self._effort, np.nan)
        self._on_state(JoinedState(stamp, q, v, position, effort, age))

    def _state_problem(self, ages_ns: Array) -> str:
        """Return why the parts make no state, or an empty string."""
        distant_parts = np.flatnonzero(np.abs(ages_ns) > self._max_spread)
        if len(distant_parts):
            i = int(distant_parts[np.argmax(np.abs(ages_ns[distant_parts]))])
            name = self._names[i] if i < self._model.n else "the odometry"
            return f"{name} is {age_text(ages_ns[i] / NS_PER_SEC, self._max_spread / NS_PER_SEC)}"
        if not in_range(self._rate):
            rateless = compress(self._names, ~(np.abs(self._rate) <= MAX_VALUE))
            return (
                f"the joint state has no velocity of {_join(rateless)}; without it neither a law "
                "nor an energy is right: the driver must publish velocities that are finite and at "
                f"most {MAX_VALUE:g}"
            )
        return ""


def age_text(age: float, spread: float) -> str:
    """Return by how much a part of a state is older than the others, and what is allowed, s."""
    direction = "older" if age > 0 else "newer"
    return (
        f"{abs(age):.3g} s {direction} than the other joints; at most {spread:g} s (state_spread)"
    )


def _field_values(names: Sequence[str], values: Sequence[float], field: str) -> Array:
    """Return an entry for each name; not a number where the message leaves the field out."""
    if not len(values):
        return np.full(len(names), np.nan)
    require_length(names, values, field)
    return np.asarray(values, dtype=float)


def _join(names: Iterable[str]) -> str:
    """Return at most ten names, with commas between."""
    words = list(names)
    return ", ".join(words[:10]) + (", ..." if len(words) > 10 else "")
