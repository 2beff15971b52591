# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a measured state can be that of the robot: limits, steps between samples, frozen joints.

The stage corresponds to the checks in robots' own controllers: libfranka's reflexes on positions,
velocities and discontinuities, the joint limits of ros2_control.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from vms_ph_dynamics import Array, Evaluation, OptionError, VMSModel
from vms_ph_dynamics.arrays import is_finite
from vms_ph_dynamics.native import native_module
from vms_ph_dynamics.robot.algorithms import native_robot
from vms_ph_dynamics.robot.joints import BASE_POSITION_SIZE

from ..controller import LONGEST_SAMPLE, Reference, gain, has_rotation, if_finite

# Norms of rotations may deviate by this much: odometry in single precision deviates by 1e-7.
_NORM_TOLERANCE = 1e-3

# Distance of a base from the origin at which its position loses its digits, m.
_MAX_DISTANCE = 1e6

# Why the law must not act yet although the state is plausible.
RECOVERING = "the state was implausible a moment ago"

# Time without a position that widens the bound of the next step, s.
_LONGEST_GAP = 0.1

# Time constant of the test for frozen joints, s.
_FROZEN_TIME = 0.5


@dataclass(frozen=True)
class PlausibilityBounds:
    """Bounds of plausible states and references; those of joints derive from the robot's limits."""

    position_margin: float = gain(0.25, "margin of the limits, as a share of a range", 0.0, 100.0)
    velocity_factor: float = gain(5.0, "speed bound, as a multiple of the limit", 1.0, 1e6)
    joint_speed: float = gain(50.0, "largest speed bound of any joint, rad/s or m/s", 1e-3, 1e6)
    base_speed: float = gain(30.0, "bound of the linear speed of a base, m/s", 1e-3, 1e6)
    base_turn: float = gain(20.0, "bound of the angular speed of a base, rad/s", 1e-3, 1e6)
    step_tolerance: float = gain(0.05, "step beyond speed bound times time, rad or m", 0.0, 1e6)
    frozen_distance: float = gain(0.2, "motion at a frozen position, rad or m", 1e-6, 1e6)
    recovery_samples: int = gain(5, "plausible states until the law acts again", 1, 1_000_000)
    restart_time: float = gain(0.5, "consistent time after a jump until a restart, s", 0.0, 1e3)
    reference_distance: float = gain(100.0, "distance of a reference from the pose, m", 1e-3, 1e6)

    def __post_init__(self) -> None:
        for bound in fields(self):
            value, metadata = getattr(self, bound.name), bound.metadata
            low, high = metadata["low"], metadata["high"]
            if not low <= value <= high:
                raise OptionError(
                    f"the plausibility bound {bound.name} must be from {low:g} to {high:g}; "
                    f"given: {value}"
                )

    def speeds(self, model: VMSModel) -> Array:
        """Return the speed bounds (nv,) of base and joints."""
        joints = np.minimum(self.velocity_factor * model.joints.velocity, self.joint_speed)
        linear_size = BASE_POSITION_SIZE[model.base]
        base = [self.base_speed] * linear_size + [self.base_turn] * (model.b - linear_size)
        return np.concatenate([base, joints])

    def positions(self, model: VMSModel) -> tuple[Array, Array]:
        """Return the smallest and the largest joint positions, (n,) each."""
        lower, upper = model.joints.lower, model.joints.upper
        bounded = np.isfinite(lower) & np.isfinite(upper)
        margin = np.where(bounded, self.position_margin * np.where(bounded, upper - lower, 0.0), 0)
        return lower - margin, upper + margin


class Judgement(NamedTuple):
    """The outcome of a check.

    Attributes:
        reason: why the law must not act, in words; empty when it may.
        q: (nq,) configuration of the safe output: the last one that is believed.
        v: (nv,) velocity of the safe output, within the speed bounds.
        needs_restart: whether the law must be reset: the robot is elsewhere than where it was left.
        is_located: whether ``q`` is measured now, though the rest of the state may be implausible:
            it continues from the last one, and joints that seem too fast have moved.
    """

    reason: str
    q: Array
    v: Array
    needs_restart: bool = False
    is_located: bool = True


class StatePlausibility:
    """Judges every state by itself and by its predecessors, and decides when the law may go on.

    After an implausible state the law acts again once ``recovery_samples`` states in succession
    continue from the last plausible one. Where the states are consistent among themselves for
    ``restart_time`` but the robot is elsewhere, as after a simulator was reset, the law restarts at
    the present pose. A robot outside its position bounds is held until it is back, or until a
    reset, which accepts the position that it has. Where the C++ core is, its twin judges.
    """

    def __init__(self, model: VMSModel, bounds: PlausibilityBounds | None = None) -> None:
        """Serve a robot; bounds are the defaults when None."""
        self.bounds = PlausibilityBounds() if bounds is None else bounds
        self._model, self._joint_names = model, model.joint_names
        self._max_speed = self.bounds.speeds(model)
        self._b, self._no_motion = model.b, np.zeros(model.nv)
        self._rotations = [rotation.entries for rotation in model.tree.rotations]
        self._twin = self._make_twin()
        self.restart(model.neutral_configuration())

    def __getstate__(self) -> dict[str, Any]:
        """Copy the check without its twin."""
        return {**vars(self), "_twin": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the last plausible state, with a twin where there is one."""
        vars(self).update(state)
        self._twin = self._make_twin()
        if self._twin is not None:
            self.restart(self._q, self._v)

    def _make_twin(self) -> Any:
        """Return the check in C++; None without a core, or without one for this robot."""
        module: Any = native_module() if self._model.is_native else None
        with suppress(AttributeError, ValueError):
            robot = native_robot(module, self._model.tree, self._model.end_effector)
            return module.StatePlausibility(robot, asdict(self.bounds))
        return None

    def restart(self, q: Array, v: Array | None = None) -> None:
        """Accept a configuration (nq,) as that of the robot, even beyond the position bounds."""
        if self._twin is not None:
            self._twin.restart(q, self._no_motion if v is None else v)
        lower, upper = self.bounds.positions(self._model)
        positions = self._model.joint_positions(q)
        # An infinite bound becomes the largest number, which an infinite position is beyond.
        self._lower = np.nan_to_num(np.minimum(lower, positions))
        self._upper = np.nan_to_num(np.maximum(upper, positions))
        self._accept(q, np.zeros(self._model.nv) if v is None else v)
        self._lost_time = 0.0  # time without a position, s
        # Motion by the velocities since the position of a joint has last changed: its size, which
        # the next step may have, and its integral, which fades.
        self._frozen_path = self._frozen_motion = self._no_motion
        self._is_holding, self._plausible_count, self._consistent_time = False, 0, 0.0

    def judge(self, q: Array, v: Array, dt: float) -> Judgement:
        """Return whether the law may act on a state, and what the safe output is to believe.

        Args:
            q: (nq,) as measured.
            v: (nv,) as measured.
            dt: time since the last call, s.
        """
        if self._twin is not None:
            try:
                judgement_of_cpp = self._twin.judge(q, v, dt)
            except TypeError:  # they are no numbers
                judgement_of_cpp = self._twin.judge(np.zeros(0), np.zeros(0), dt)
            if judgement_of_cpp is not None:
                return Judgement(*judgement_of_cpp)
            self._accept(np.array(q), v)  # where a copy continues
            return Judgement("", q, v)
        is_valid_dt = 0.0 <= dt <= LONGEST_SAMPLE
        interval = dt if is_valid_dt else 0.0
        fits_robot = np.shape(q) == self._q.shape and np.shape(v) == self._v.shape
        problem = self._value_fault(q, v) if fits_robot else "its size is not that of this robot"
        if not is_valid_dt:
            problem = problem or f"the time step of {dt:.3g} s is not between 0 and 1 s"
        has_position = not problem or (fits_robot and is_finite(q) and self._has_rotations(q))
        is_continuation = is_located = False
        if has_position:
            q = np.array(q)  # a host may measure into the same array again
            step = self._model.difference(self._q, q)
            gap = interval + min(self._lost_time, _LONGEST_GAP)
            max_step = self._max_speed * gap + 2.0 * self._frozen_path + self.bounds.step_tolerance
            is_near = (abs(step) <= max_step).tolist()
            is_continuation, self._lost_time = False not in is_near, 0.0
            if not is_continuation:
                i = is_near.index(False)
                problem = problem or f"{self._name(i)} jumped by {step[i]:.4g}"
            else:
                is_slow = (np.abs(v) <= self._max_speed).tolist() if problem else []
                motion_fault = "" if False in is_slow else self._motion_fault(step, v, interval)
                has_moved = all(
                    slow or (i >= self._b and step[i] != 0.0) for i, slow in enumerate(is_slow)
                )
                is_located = is_valid_dt and has_moved and not motion_fault
                problem = problem or motion_fault
        else:
            self._lost_time += interval
        if not problem and not self._is_holding:
            self._accept(q, v)
            return Judgement("", q, v)
        judgement = self._hold(q, v, interval, problem, has_position, is_continuation)
        return judgement._replace(is_located=is_located or not judgement.reason)

    def _accept(self, q: Array, v: Array) -> None:
        self._q, self._v, self._last_measured_q = q, v, q

    def _hold(
        self, q: Array, v: Array, dt: float, problem: str, has_position: bool, is_continued: bool
    ) -> Judgement:
        self._is_holding = True
        self._plausible_count = 0 if problem else self._plausible_count + 1
        is_near, rate = False, None
        if has_position:
            displacement = self._model.difference(self._last_measured_q, q)
            max_step = dt * self._max_speed + self.bounds.step_tolerance
            is_near = bool((np.abs(displacement) <= max_step).all())
            with np.errstate(over="ignore"):  # a position may be any number
                rate = displacement / dt if dt > 0.0 else None
            self._last_measured_q = q
            if is_continued:  # the next step may be as large again
                self._frozen_path = 0.5 * np.abs(self._model.difference(self._q, q))
                self._q = q
        self._v = self._consistent_velocity(v, rate, dt)
        if not is_continued:
            self._frozen_path = self._frozen_path + dt * np.abs(self._v)
        # Only a jump is forgiven with time; a value out of bounds is wrong for as long as it lasts.
        is_elsewhere = has_position and is_near and not is_continued and not self._value_fault(q, v)
        self._consistent_time = self._consistent_time + dt if is_elsewhere else 0.0
        if not problem:
            if self._plausible_count >= self.bounds.recovery_samples:
                self._is_holding, self._plausible_count = False, 0
                self._accept(q, v)
                return Judgement("", q, v)
            return Judgement(RECOVERING, q, self._v)
        if is_elsewhere and self._consistent_time >= self.bounds.restart_time:
            self.restart(q, v)
            return Judgement("", q, v, needs_restart=True)
        return Judgement(problem, self._q, self._v)

    def _consistent_velocity(self, v: Array, rate: Array | None, dt: float) -> Array:
        """Return the velocity that measurement and positions agree on, within the speed bounds."""
        is_measured = np.shape(v) == self._v.shape and bool(np.isfinite(v).all())
        if rate is not None:
            rate = np.where(np.isfinite(rate), rate, 0.0)
        if not is_measured and rate is None:
            # Nothing is measured: the motion that is left if the damping acts as computed.
            return self._v / (1.0 + dt * braking_rate(dt))
        if not is_measured or rate is None:
            velocity = v if rate is None else rate
            consistent_velocity = np.where(np.abs(velocity) <= self._max_speed, velocity, 0.0)
        else:
            smaller_velocity = np.where(np.abs(v) < np.abs(rate), v, rate)
            consistent_velocity = np.where(np.sign(v) == np.sign(rate), smaller_velocity, 0.0)
        return np.clip(consistent_velocity, -self._max_speed, self._max_speed)

    def _value_fault(self, q: Array, v: Array) -> str:
        """Return what is wrong with the numbers of a state, or an empty string."""
        fault = self._bound_fault(q, v)  # numbers that are not finite are within no bound
        return "it is not finite" if fault and not (is_finite(q) and is_finite(v)) else fault

    def _bound_fault(self, q: Array, v: Array) -> str:
        if not self._has_rotations(q):
            return "a rotation is not normalised"
        if False in (abs(q[: self._model.nq_base]) <= _MAX_DISTANCE).tolist():
            return f"the base is farther than {_MAX_DISTANCE:g} m from the origin"
        positions = self._model.joint_positions(q)
        is_inside = ((self._lower <= positions) & (positions <= self._upper)).tolist()
        if False in is_inside:
            joint = is_inside.index(False)
            return (
                f"{self._joint_names[joint]} at {positions[joint]:.4g} is outside "
                f"{self._lower[joint]:.4g} to {self._upper[joint]:.4g}"
            )
        is_slow = (abs(v) <= self._max_speed).tolist()
        if False in is_slow:
            row = is_slow.index(False)
            return (
                f"{self._name(row)} moves at {v[row]:.4g}, its bound is {self._max_speed[row]:.4g}"
            )
        return ""

    def _motion_fault(self, step: Array, v: Array, dt: float) -> str:
        """Return which joint is frozen after a step (nv,), or an empty string."""
        has_stayed = step == 0.0
        self._frozen_path = has_stayed * (self._frozen_path + dt * np.abs(v))
        decay = 1.0 - min(1.0, dt / _FROZEN_TIME)
        self._frozen_motion = has_stayed * (decay * self._frozen_motion + dt * v)
        is_stuck = (np.abs(self._frozen_motion[self._b :]) > self.bounds.frozen_distance).tolist()
        if True in is_stuck:
            return f"{self._joint_names[is_stuck.index(True)]} moves, but its position is frozen"
        return ""

    def _has_rotations(self, q: Array) -> bool:
        lengths = (_norm(q[entries]) for entries in self._rotations)
        return all(abs(length * length - 1.0) <= 2.0 * _NORM_TOLERANCE for length in lengths)

    def _name(self, i: int) -> str:
        return "the base" if i < self._b else self._joint_names[i - self._b]


def braking_rate(dt: float, age: float = 0.0) -> float:
    """Return the rate at which the safe output damps motion at a time step (s), 1/s.

    It is the k of ``(D^-1 + h M^-1)^-1 = k M`` with ``D = 10 M`` and ``h = 3 dt + 2 age``, which is
    stable at any rate, with a sample of delay and states of an age, s; see
    :func:`.sampled_impedance.horizon`. With an age it is up to twice as large, by what the
    compensation of a weight that comes late pumps. With a longer delay dt is the time from a
    measurement to the end of the effort that it leads to, in which at most a third of the momentum
    is then taken out.
    """
    late_share = 2.0 * age / max(3.0 * dt + 2.0 * age, 1e-12)
    return (1.0 + late_share) * 10.0 / (1.0 + 30.0 * dt + 20.0 * age)


_SHAPES = {"position": (3,), "velocity": (3,), "pose": (4, 4), "twist": (6,)}


class ReferencePlausibility:
    """Removes from a reference what a robot cannot be meant to follow; the last one is kept."""

    def __init__(self, model: VMSModel, bounds: PlausibilityBounds | None = None) -> None:
        """Serve a robot; bounds are the defaults when None."""
        self._bounds = PlausibilityBounds() if bounds is None else bounds
        self._model = model
        self._lower, self._upper = self._bounds.positions(model)
        # Unlimited joints may turn often, but a number with digits left must remain.
        self._lower = np.maximum(self._lower, -1e4)
        self._upper = np.minimum(self._upper, 1e4)
        self._shapes = {**_SHAPES, "joints": (model.n,)}

    def plausible_part(self, reference: Reference, q: Array) -> tuple[Reference, str]:
        """Return the plausible part of a reference, and why the rest is refused, in words.

        Args:
            reference: as received.
            q: (nq,) present configuration.
        """
        problems: dict[str, str] = {}
        for name, shape in self._shapes.items():
            if (value := getattr(reference, name)) is None:
                continue
            array = if_finite(value, shape)
            problem = "is not finite" if array is None else self._problem(name, array, q)
            if problem:
                problems[name] = problem
        if not problems:
            return reference, ""
        name, problem = next(iter(problems.items()))
        plausible_reference = replace(reference, **dict.fromkeys(problems))
        return plausible_reference, f"the reference {name} is refused: it {problem}"

    def _problem(self, name: str, value: Array, q: Array) -> str:
        bounds = self._bounds
        if name == "joints":
            is_outside = (value < self._lower) | (value > self._upper)
            if not is_outside.any():
                return ""
            return f"is out of bounds at {self._model.joint_names[int(np.argmax(is_outside))]}"
        if name == "pose" and not has_rotation(value):
            return "has no rotation"
        if name in ("pose", "position"):
            position = value[:3, 3] if name == "pose" else value
            limit = bounds.reference_distance
            error = self._distance(position, q, limit)
            return "" if error <= limit else f"is {error:.3g} m away, the bound is {limit:g} m"
        speed, turn_rate = _norm(value[:3]), _norm(value[3:])
        if speed <= bounds.base_speed and turn_rate <= bounds.base_turn:
            return ""
        return f"is faster than {bounds.base_speed:g} m/s or {bounds.base_turn:g} rad/s"

    def _distance(self, position: Array, q: Array, limit: float) -> float:
        """Return the distance (m) to the nearest of origin, base and end effector.

        Which of them a law moves, and whether relative to the base, only the law knows. One within
        ``limit`` is near enough to end the search.
        """
        distance = _norm(position)
        if distance > limit:
            distance = min(distance, _norm(position - self._model.base_pose(q)[:3, 3]))
        if distance > limit:
            d = Evaluation(self._model, q, np.zeros(self._model.nv))
            distance = min(distance, _norm(position - d.placement(self._model.end_effector)[:3, 3]))
        return distance


def _norm(values: Array) -> float:
    return hypot(*values.tolist())  # it does not overflow where the squares would
