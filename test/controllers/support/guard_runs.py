# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Adversaries behind an energy guard, among contacts that nobody sees.

The plant is the independent integration of :mod:`.tank_runs`, with contacts: one-sided springs and
dampers at joints and at the end effector, which take no energy from anywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_dynamics import Allocation, VMSModel

from .tank_runs import Plant

Rng = np.random.Generator

# Largest speed at which a run goes on, rad/s or m/s: beyond it a state is not plausible.
FASTEST = 12.0


@dataclass(frozen=True)
class Contact:
    """A one-sided spring and damper: at a joint, or at the end effector along a direction.

    Attributes:
        joint: index of a velocity, or -1 for the end effector.
        side: (3,) direction into the contact, or its sign for a joint.
        place: coordinate along the direction at which it begins, rad or m.
        stiffness, damping: N/m and N s/m, or N m/rad and N m s/rad.
        frequency: of the spring, rad/s.
    """

    joint: int
    side: np.ndarray
    place: float
    stiffness: float
    damping: float
    frequency: float


class ContactPlant(Plant):
    """A robot among contacts.

    Attributes:
        contacts: all of them.
    """

    def __init__(
        self, model: VMSModel, q: np.ndarray, v: np.ndarray, contacts: Sequence[Contact]
    ) -> None:
        super().__init__(model, q, v)
        self._robot, self.contacts = model, contacts
        self._frame = model.end_effector_id

    def copy(self) -> "ContactPlant":
        """Return a plant in the same state."""
        other = ContactPlant(self._robot, self.q, self.v, self.contacts)
        other.given = self.given
        return other

    def _outside(self, q: np.ndarray, v: np.ndarray, push: np.ndarray) -> np.ndarray:
        total, nq = push, len(q)
        for each in self.contacts:
            if each.joint >= 0:
                depth = float(each.side[0]) * q[nq - len(v) + each.joint] - each.place
                rate = float(each.side[0]) * v[each.joint]
                if depth > 0.0:
                    force = max(0.0, each.stiffness * depth + each.damping * rate)
                    total = total.copy()
                    total[each.joint] -= float(each.side[0]) * force
                continue
            pin.framesForwardKinematics(self._model, self._data, q)
            depth = float(each.side @ self._data.oMf[self._frame].translation) - each.place
            if depth > 0.0:
                axes = pin.LOCAL_WORLD_ALIGNED
                jacobian = pin.computeFrameJacobian(self._model, self._data, q, self._frame, axes)
                row = each.side @ jacobian[:3]
                force = max(0.0, each.stiffness * depth + each.damping * float(row @ v))
                total = total - force * row
        return total

    def _is_near(self, reach: float) -> bool:
        nq, nv = len(self.q), len(self.v)
        if any(each.joint < 0 for each in self.contacts):
            pin.framesForwardKinematics(self._model, self._data, self.q)
        for each in self.contacts:
            if each.joint >= 0:
                depth = float(each.side[0]) * self.q[nq - nv + each.joint] - each.place
                if depth > -reach:
                    return True
            elif (
                float(each.side @ self._data.oMf[self._frame].translation) - each.place
                > -3.0 * reach
            ):
                return True
        return False

    def hold(self, force: np.ndarray, unheld: np.ndarray, dt: float, push: np.ndarray) -> None:
        """Move for a sample; see :meth:`.Plant.hold`."""
        a = pin.aba(self._model, self._data, self.q, self.v, force + push)
        reach = dt * float((2.0 * np.abs(self.v) + dt * np.abs(a)).max())
        steps = min(300, max(4, int(reach / 0.01)))
        if self.contacts and self._is_near(reach):
            fastest = max(each.frequency for each in self.contacts)
            steps = min(600, max(steps, int(6.0 * dt * fastest) + 8))
        for _ in range(steps):
            self._step(force, unheld, push, dt / steps)
            self.most = max(self.most, self.given)


Policy = Callable[[np.ndarray, np.ndarray, int], np.ndarray]

Make = Callable[..., Any]
"""From a robot, settings, a delay, a period and known actuators, if any, to a guard."""


def python(
    model: VMSModel,
    settings: EnergyGuardSettings,
    delay: int,
    period: float,
    allocation: Allocation | None = None,
) -> Any:
    return PortGuard(model, settings, delay=delay, period=period, allocation=allocation)


@dataclass
class Outcome:
    """What a run showed; energies in J, by the independent integration.

    Attributes:
        words: robot, rate and delay.
        budget: energy in the tank at the start.
        taken: largest energy given.
        excess: its largest value beyond the budget.
        measured: the same at the samples that the guard has seen.
        unseen: largest work of efforts over the d + 1 samples of which a decision does not know.
        lent: largest energy lent to repay a debt.
        by_weight: largest energy given, in samples of one debt, by a weight that is held while the
            robot moves: no guard scales it.
        verdict: of the certificate.
        misjudged: largest difference between the energy given and what the guard has counted.
        debts: debt at every sample.
        level: of the tank at the end.
        speed: largest rate at the end.
    """

    words: str
    budget: float
    taken: float = 0.0
    excess: float = -np.inf
    measured: float = -np.inf
    unseen: float = 0.0
    lent: float = 0.0
    by_weight: float = 0.0
    verdict: str = ""
    misjudged: float = 0.0
    debts: list[float] = field(default_factory=list)
    level: float = 0.0
    speed: float = 0.0

    @property
    def beyond(self) -> float:
        """How much of the excess is neither work not yet seen, a loan nor by a held weight, J."""
        return self.excess - self.unseen - self.lent - self.by_weight


@dataclass
class Scene:
    """A robot among contacts, and how it is guarded.

    ``actuators`` apply of a base wrench what they can; the guard knows them if ``is_known``.
    """

    model: VMSModel
    q: np.ndarray
    v: np.ndarray
    contacts: list[Contact]
    dt: float
    delay: int
    initial: float
    samples: int
    seed: int
    pushes: float = 0.0
    actuators: Allocation | None = None
    is_known: bool = True

    def words(self) -> str:
        """Return what matters in a message."""
        kinds = len(self.contacts)
        return (
            f"{self.model.name}, {1 / self.dt:.0f} Hz, delay {self.delay}, {self.initial:.3g} J, "
            f"{kinds} contacts, seed {self.seed}"
        )


def scene(model: VMSModel, home: np.ndarray, rng: Rng, seed: int, with_contacts: bool) -> Scene:
    """Return a random scene."""
    dt = float(np.exp(rng.uniform(np.log(1e-3), np.log(2e-2))))
    delay = int(rng.integers(0, 6))
    q = model.integrate(home, 0.3 * rng.uniform(-1, 1, model.nv))
    # What acts before the first effort of the guard holds the robot at rest.
    v = (rng.choice([0.0, 0.5, 1.5]) if delay == 0 else 0.0) * rng.uniform(-1, 1, model.nv)
    initial = float(10.0 ** rng.uniform(-3, 1) * rng.choice([0.0, 1.0, 1.0]))
    contacts: list[Contact] = []
    if with_contacts:
        d = model.evaluate(q, np.zeros(model.nv))
        tool = np.array(d.placement(model.end_effector)[:3, 3])
        row = d.placement(model.end_effector)[:3, :3] @ d.J_end_effector[:3]
        for _ in range(int(rng.integers(1, 5))):
            frequency = 10.0 ** rng.uniform(-1.3, 0.7) / dt
            ratio = rng.choice([0.0, 0.01, 0.3])
            gap = rng.choice([0.0, 0.02, 0.2]) * rng.uniform()
            if rng.random() < 0.6:
                i = int(rng.integers(model.b, model.nv))
                sign = float(rng.choice([-1.0, 1.0]))
                mass = 1.0 / np.linalg.inv(d.M)[i, i]
                side, place, joint = np.array([sign]), sign * q[model.nq - model.nv + i] + gap, i
            else:
                side = rng.standard_normal(3)
                side /= np.linalg.norm(side)
                mass = 1.0 / float((side @ row) @ np.linalg.solve(d.M, side @ row))
                place, joint = float(side @ tool) + gap, -1
            k = mass * frequency**2
            contacts.append(Contact(joint, side, place, k, 2 * ratio * mass * frequency, frequency))
    return Scene(
        model,
        q,
        v,
        contacts,
        dt,
        delay,
        initial,
        min(80, max(25, int(0.4 / dt))),
        seed,
        float(rng.choice([0.0, 0.0, 0.05])) if with_contacts else 0.0,
    )


def adversary(model: VMSModel, rng: Rng, dt: float) -> Policy:
    """Return a random controller that wants energy: it pushes along the motion or against it."""
    effort = np.concatenate([np.full(model.b, 40.0), np.minimum(model.joints.effort, 100.0)])
    kind = rng.choice(["along", "switching", "random", "pumping", "mixed"])
    size = 10.0 ** rng.uniform(-2, 0)
    rate = 10.0 ** rng.uniform(-0.5, 1.5) * dt
    state = {"sign": np.ones(model.nv), "kind": kind}

    def wanted(q: np.ndarray, v: np.ndarray, k: int) -> np.ndarray:
        if kind == "mixed" and rng.random() < 0.1:
            state["kind"] = rng.choice(["along", "switching", "random", "pumping"])
        flips = rng.random(model.nv) < min(1.0, rate)
        state["sign"] = np.where(flips, -state["sign"], state["sign"])
        now = state["kind"]
        if now == "along":
            u = np.sign(v) + (v == 0.0)
        elif now == "switching":
            u = state["sign"] * np.sign(v)
        elif now == "random":
            u = state["sign"]
        else:
            u = np.full(model.nv, 1.0 if k % 2 else -1.0)
        full = model.tree.full_configuration(q)
        weight = np.array(pin.computeGeneralizedGravity(model.pinocchio, wanted.data, full))  # type: ignore[attr-defined]
        if model.tree.projection is not None:
            weight = model.tree.projection.T @ weight
        total: np.ndarray = weight + size * effort * u
        return total

    wanted.data = model.pinocchio.createData()  # type: ignore[attr-defined]
    return wanted


def _applied(model: VMSModel, q: np.ndarray, actuators: Allocation) -> tuple[np.ndarray, ...]:
    """Return the weight (nv,) that is held at a configuration, and less all of it what is not."""
    d, b = model.evaluate(q, np.zeros(model.nv)), model.b
    wrench = actuators.matrix @ actuators.allocate(d.g[:b]).inputs
    held = np.concatenate([wrench, d.g[b:] + d.A.T @ (wrench - d.g[:b])])
    return held, held - d.g


def run(given: Scene, policy: Policy, is_guarded: bool = True, make: Make = python) -> Outcome:
    """Run a policy in a scene, with a delay of samples from measurement to effort."""
    model, dt, d = given.model, given.dt, given.delay
    rng = np.random.default_rng(given.seed)
    plant = ContactPlant(model, given.q, given.v, given.contacts)
    settings = EnergyGuardSettings(tank_capacity=100.0, tank_initial=given.initial)
    actuators = given.actuators
    known = (actuators,) if actuators is not None and given.is_known else ()
    guard = make(model, settings, d, dt, *known)
    weight = np.array(model.evaluate(given.q, given.v).g)
    if actuators is not None:
        weight, _ = _applied(model, given.q, actuators)
    guard.engage(given.q, given.v)
    queue, weights, by_weight = [weight] * d, [weight] * d, 0.0
    found = Outcome(given.words(), given.initial)
    none = np.zeros(model.nv)
    before: list[float] = []  # energy given at each sample
    bound = np.concatenate([np.full(model.b, 1e3), model.joints.effort])
    for k in range(given.samples):
        if np.abs(plant.v).max() > FASTEST:
            break
        q, v = plant.q.copy(), plant.v.copy()
        wanted = policy(q, v, k)
        if is_guarded:
            sent = guard.update(q, v, wanted, dt if k else 0.0)
            effort = np.array(sent.effort)
            if sent.status == 2:
                break
            found.debts.append(-sent.level)
            if not given.pushes:
                counted = given.initial - sent.level
                found.misjudged = max(found.misjudged, abs(plant.given - counted))
        else:
            effort = np.clip(wanted, -bound, bound)
        queue.append(effort)
        before.append(plant.given)
        found.measured = max(found.measured, plant.given - given.initial)
        push = none
        if given.pushes and rng.random() < given.pushes:
            change = 10.0 ** rng.uniform(-2, 0) * rng.uniform(-1, 1, model.nv)
            push = model.evaluate(q, none).M @ change / dt
        plant.most = plant.given
        force, unheld = queue.pop(0), none
        if actuators is None:
            weights.append(np.array(model.evaluate(q, none).g))
            plant.held_weight, plant.by_weight = weights.pop(0), 0.0
        if actuators is not None:
            # What acts is what the actuators make of the wrench; weight that they cannot hold is
            # no energy of the controller.
            wrench = actuators.matrix @ actuators.allocate(force[: model.b]).inputs
            force = np.concatenate([wrench, force[model.b :]])
            unheld = _applied(model, q, actuators)[1]
        plant.hold(force, unheld, dt, push)
        by_weight += max(0.0, plant.by_weight)
        found.by_weight = max(found.by_weight, by_weight)
        if plant.given <= given.initial:
            by_weight = 0.0
        found.taken = max(found.taken, plant.most)
        found.excess = max(found.excess, plant.most - given.initial)
        since = min(before[-1 - d :])
        found.unseen = max(found.unseen, plant.most - since)
    found.level, found.lent = guard.level, guard.certificate.lent
    found.verdict = guard.certificate.verdict
    found.speed = float(np.abs(plant.v).max())
    return found


def saturating(model: VMSModel, home: np.ndarray, parameters: np.ndarray) -> Policy:
    """Return a controller at its limits: the signs of weighted sums of what every joint does.

    ``parameters`` are (5,nv) weights of velocity, displacement, a constant, an alternation from
    sample to sample, and the velocity of the sample before.
    """
    effort = np.concatenate([np.full(model.b, 40.0), np.minimum(model.joints.effort, 100.0)])
    data, last = model.pinocchio.createData(), [np.zeros(model.nv)]

    def wanted(q: np.ndarray, v: np.ndarray, k: int) -> np.ndarray:
        seen = np.array([v, model.difference(home, q), np.ones(model.nv), v, last[0]])
        seen[3] = 0.1 if k % 2 else -0.1
        last[0] = v
        weight = np.array(pin.computeGeneralizedGravity(model.pinocchio, data, q))
        total: np.ndarray = weight + effort * np.tanh(10.0 * (parameters * seen).sum(axis=0))
        return total

    return wanted


def search(
    given: Scene, rng: Rng, generations: int, children: int, make: Make = python
) -> tuple[Outcome, np.ndarray]:
    """Search for the saturating controller that takes the most energy beyond the budget.

    An evolution strategy: the best of the children, by the energy taken, becomes their mean, and
    the step shrinks where none was better.
    """

    def of(parameters: np.ndarray) -> Outcome:
        return run(given, saturating(given.model, given.q, parameters), make=make)

    best = rng.standard_normal((5, given.model.nv))
    found, step = of(best), 1.0
    for _ in range(generations):
        tried = [best + step * rng.standard_normal(best.shape) for _ in range(children)]
        outcomes = [of(each) for each in tried]
        k = int(np.argmax([each.excess for each in outcomes]))
        if outcomes[k].excess > found.excess:
            best, found = tried[k], outcomes[k]
            step *= 1.3
        else:
            step *= 0.6
    return found, best
