# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Random runs of laws with an energy tank, and what the robot was given, integrated independently.

The plant is Pinocchio's ABA in plain coordinates with steps far shorter than a sample, and the
energy given is the integral of the power of the held effort beyond gravity along that motion. It
shares no code with the tank.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers import (
    CartesianImpedance,
    Command,
    Controller,
    DecoupledVMSController,
    PoseIDAPBC,
    Reference,
    RobotState,
    TaskSpaceIDAPBC,
)
from vms_ph_dynamics import VMSModel
from vms_ph_io import robots

Rng = np.random.Generator

CASES: tuple[tuple[type[Controller], str], ...] = (
    (TaskSpaceIDAPBC, "panda"),
    (CartesianImpedance, "panda"),
    (CartesianImpedance, "omnidirectional_panda"),
    (CartesianImpedance, "hextilt"),
    (DecoupledVMSController, "omnidirectional_panda"),
    (DecoupledVMSController, "hextilt"),
    (DecoupledVMSController, "satellite_panda"),
    (CartesianImpedance, "satellite_panda"),
    (PoseIDAPBC, "panda"),
    (PoseIDAPBC, "hextilt"),
)

# Radians or metres that a coordinate moves in a step of the plant, about.
_STEP = 0.004


class Plant:
    """A robot; ``given`` is the energy that held efforts have given to it, J.

    Of it, ``by_weight`` was given by a weight that is held while the robot moves, ``held_weight``.
    """

    def __init__(self, model: VMSModel, q: np.ndarray, v: np.ndarray) -> None:
        self._model, self._data = model.pinocchio, model.pinocchio.createData()
        self._b = model.b
        self.q, self.v = q.copy(), v.copy()
        self.given = self.most = self.by_weight = 0.0
        self.held_weight: np.ndarray | None = None

    def hold(self, force: np.ndarray, unheld: np.ndarray, dt: float, push: np.ndarray) -> None:
        """Move for a sample under a constant effort and a constant generalised force nobody sees.

        ``most`` is the largest energy given so far. Weight that the actuators cannot hold,
        ``unheld``, is no effort of the law.
        """
        a = pin.aba(self._model, self._data, self.q, self.v, force + push)
        reach = dt * float((2.0 * np.abs(self.v) + dt * np.abs(a)).max())
        steps = min(300, max(4, int(dt / 1e-3), int(reach / _STEP)))
        for _ in range(steps):
            self._step(force, unheld, push, dt / steps)
            self.most = max(self.most, self.given)

    def _step(self, force: np.ndarray, unheld: np.ndarray, push: np.ndarray, h: float) -> None:
        counted, work = force - unheld, 0.0
        dq, dv, q, v = self.q, self.v, self.q, self.v
        for ahead, weight in ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6)):
            gravity = pin.computeGeneralizedGravity(self._model, self._data, q)
            work += weight * h * float((counted - gravity) @ v)
            if self.held_weight is not None:
                self.by_weight += weight * h * float((self.held_weight - gravity) @ v)
            a = pin.aba(self._model, self._data, q, v, force + self._outside(q, v, push))
            q_rate = self._rate(q, v)
            dq, dv = dq + weight * h * q_rate, dv + weight * h * a
            if ahead:
                q, v = self._normalised(self.q + ahead * h * q_rate), self.v + ahead * h * a
        self.q, self.v, self.given = self._normalised(dq), dv, self.given + work

    def _outside(self, q: np.ndarray, v: np.ndarray, push: np.ndarray) -> np.ndarray:
        """Return the generalised force of everything that nobody sees, (nv,)."""
        return push

    def _rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if self._b == 0:
            return v
        if self._b == 3:
            c, s = q[2], q[3]
            base = [c * v[0] - s * v[1], s * v[0] + c * v[1], -v[2] * s, v[2] * c]
            return np.concatenate([base, v[3:]])
        x, y, z, w = q[3:7]
        i, j, k = v[3:6]
        turn = 0.5 * np.array(
            [
                w * i + y * k - z * j,
                w * j + z * i - x * k,
                w * k + x * j - y * i,
                -x * i - y * j - z * k,
            ]
        )
        velocity = pin.Quaternion(w, x, y, z).toRotationMatrix() @ v[:3]
        return np.concatenate([velocity, turn, v[6:]])

    def _normalised(self, q: np.ndarray) -> np.ndarray:
        if self._b:
            turn = q[2:4] if self._b == 3 else q[3:7]
            turn /= np.sqrt(turn @ turn)
        return q


@dataclass
class Account:
    """What a run showed.

    Attributes:
        law: and robot, for messages.
        allowed: energy in the tank at the start, J.
        excess: largest energy given beyond it, J.
        unseen: largest work of held efforts over intervals with unseen pushes or lost samples;
            where one begins before the debt of another is repaid, their sum.
        risen: largest rise, J, of a debt over an interval in which nothing was unseen.
        concealed: largest energy given beyond what the tank has counted, J, without pushes.
        levels: of the tank, J.
    """

    law: str
    allowed: float
    excess: float = -np.inf
    unseen: float = 0.0
    risen: float = -np.inf
    concealed: float = -np.inf
    levels: list[float] = field(default_factory=list)


Make = Callable[[type[Controller], VMSModel, dict[str, Any]], Any]


def python(kind: type[Controller], model: VMSModel, options: dict[str, Any]) -> Controller:
    return kind(model, **options)


def run(
    seed: int, faults: str = "", make: Make = python, cases: Any = CASES, seconds: float = 0.25
) -> Account:
    """Run a random law on its robot with gains and references that jump within their bounds.

    Args:
        seed: of everything random.
        faults: ``"pushes"`` nobody sees, ``"lost"`` samples, or neither.
        make: makes the law.
        cases: laws and robots.
        seconds: about how long.
    """
    rng = np.random.default_rng(seed)
    kind, name = cases[seed % len(cases)]
    robot, model = robots.get(name), _model(name)
    options: dict[str, Any] = {}
    if kind is not TaskSpaceIDAPBC:
        free = name == "satellite_panda" and rng.random() < 0.5
        options = {
            "allocation": robot.allocation() if name == "hextilt" else None,
            "base_actuated": not free,
        }
    law = make(kind, model, options)
    dt = float(np.exp(rng.uniform(np.log(1e-3), np.log(2e-2))))
    capacity = float(10.0 ** rng.uniform(-2, 1))
    initial = float(capacity * rng.choice([0.0, rng.uniform(), 1.0]))
    law.gains = replace(law.gains, tank_capacity=capacity, tank_initial=initial)
    home = model.configuration(robot.home)
    law.reset(RobotState(home, np.zeros(model.nv)))
    _jump(law, kind, rng)
    plant = Plant(model, home, rng.choice([0.0, 0.3, 1.0, 2.0]) * rng.uniform(-1, 1, model.nv))
    account = Account(f"{kind.__name__} on {name}, {1 / dt:.0f} Hz", initial)
    weight, seen, unseen = np.zeros(model.nv), 0.0, False
    owed = chain = 0.0  # work of unseen efforts: at the last sample seen, and now
    for k in range(min(60, max(15, int(seconds / dt)))):
        if rng.random() < 0.1:
            _jump(law, kind, rng)
        reference = _reference(kind, law, model, home, rng)
        if faults == "lost" and k and rng.random() < 0.1:
            command, unseen = _lost(law, plant, reference, dt, rng), True
            force = _efforts(command)
            unheld = force - weight
        else:
            state = RobotState(plant.q.copy(), plant.v.copy())
            command = law.update(state, reference, dt)
            if "cannot hold" in command.reason:
                break  # a base that falls, whatever the law does
            seen, unseen = plant.given, False
            owed = chain if seen > initial else 0.0
            _settle(account, command, kind, plant, faults)
            weight = np.array(model.evaluate(state.q, state.v).g)
            force, unheld = _efforts(command), _efforts(law.safe_output(state.q)) - weight
        push = np.zeros(model.nv)
        if faults == "pushes" and rng.random() < 0.1:
            push, unseen = _push(model, plant.q, dt, rng), True
        plant.most = plant.given
        plant.hold(force, unheld, dt, push)
        if unseen:
            chain = owed + max(0.0, plant.most - seen)
            account.unseen = max(account.unseen, chain)
        else:
            account.risen = max(account.risen, plant.most - max(seen, initial))
        account.excess = max(account.excess, plant.most - initial)
    return account


def _push(model: VMSModel, q: np.ndarray, dt: float, rng: Rng) -> np.ndarray:
    """Return a generalised force that changes velocities by up to 5 m/s or rad/s in a sample."""
    change = 10.0 ** rng.uniform(-2, 0.7) * rng.uniform(-1, 1, model.nv)
    push: np.ndarray = model.evaluate(q, np.zeros(model.nv)).M @ change / dt
    return push


def _settle(
    account: Account, command: Command, kind: type[Controller], plant: Plant, faults: str
) -> None:
    level = command.energy.tank_level
    account.levels.append(level)
    # The potential in force of this law is paid for by the tank.
    kept = command.energy.shaped_potential if kind is TaskSpaceIDAPBC else 0.0
    if faults != "pushes":
        concealed = plant.given + level + kept - account.allowed
        account.concealed = max(account.concealed, concealed)


def _efforts(command: Command) -> np.ndarray:
    return np.concatenate([command.wrench_base, command.torque])


def _lost(law: Any, plant: Plant, reference: Reference, dt: float, rng: Rng) -> Command:
    if rng.random() < 0.5:
        law.note_missed_updates()
    else:
        law.update(RobotState(np.nan * plant.q, plant.v), reference, dt)
    safe: Command = law.safe_output(plant.q)
    return safe


_MODELS: dict[str, VMSModel] = {}


def _model(name: str) -> VMSModel:
    if name not in _MODELS:
        _MODELS[name] = robots.load(name)
    return _MODELS[name]


def _jump(law: Any, kind: type[Controller], rng: Rng) -> None:
    """Set all gains but those of the tank anywhere within their bounds, often at a bound."""
    gains: dict[str, float | bool] = {}
    for each in sorted(fields(kind.Gains), key=lambda item: item.name):
        low, high = each.metadata["low"], each.metadata["high"]
        if (
            each.name.startswith("tank") or each.name == "inertia_share"
        ):  # nothing measures a wrench
            continue
        if low is None:
            gains[each.name] = bool(rng.random() < 0.3)
        elif each.name in ("torque_rate", "power"):
            gains[each.name] = 0.0 if rng.random() < 0.7 else float(10.0 ** rng.uniform(-1, 3))
        else:
            small = low + (high - low) * 10.0 ** rng.uniform(-4, 0)
            choices = [each.default, each.default, low, high, rng.uniform(low, high), small]
            gains[each.name] = float(rng.choice(choices))
    law.gains = replace(law.gains, **gains)


def _reference(
    kind: type[Controller], law: Any, model: VMSModel, home: np.ndarray, rng: Rng
) -> Reference:
    chance = rng.random()
    if chance < 0.15:
        rest = np.zeros(model.nv)
        away = rng.choice([0.05, 0.5, 2.0]) * rng.uniform(-1, 1, model.nv)
        d = model.evaluate(model.integrate(home, away), rest)
        tool = d.placement(model.end_effector)
        if kind is TaskSpaceIDAPBC:
            return Reference(position=tool[:3, 3])
        if kind in (CartesianImpedance, PoseIDAPBC):
            return Reference(pose=tool)
        return Reference(pose=model.base_pose(d.q), joints=model.joint_positions(d.q))
    if chance < 0.25:
        return Reference(velocity=rng.uniform(-1, 1, 3), twist=rng.uniform(-1, 1, 6))
    return Reference()
