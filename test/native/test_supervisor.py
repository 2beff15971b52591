# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The supervisor in C++ is that in Python, also with measurements that fail."""

from collections.abc import Callable
from dataclasses import fields, replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vms_ph_controllers
from vms_ph_controllers import CartesianImpedance, Command, Reference, RobotState, Status
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_controllers.laws.twinned_controller import core_allocation
from vms_ph_controllers.observers import Payload
from vms_ph_controllers.safety.plausibility import PlausibilityBounds
from vms_ph_dynamics import Ports, StandardForm, StateError, VMSModel
from vms_ph_dynamics.simulation import Simulation, in_world_axes
from vms_ph_io import robots

from .base_law_cases import reaction_wheels, upright
from .conftest import native_model, parity_of

PARITY = 1e-9

Measure = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, float]]


def test_the_bounds_are_those_of_python(native: ModuleType) -> None:
    assert parity_of(native).plausibility_bounds == {
        item.name: (item.default, item.metadata["low"], item.metadata["high"])
        for item in fields(PlausibilityBounds)
    }


def test_a_bound_out_of_its_range_is_refused(native: ModuleType) -> None:
    model = native_model(native, robots.load("panda"))
    with pytest.raises(ValueError, match="velocity_factor must be from 1"):
        native.Supervisor(
            model, native.make_law("TaskSpaceIDAPBC", model), bounds={"velocity_factor": 0.5}
        )


def _faults(rng: np.random.Generator, nv: int) -> list[Measure]:
    """Measurements as they should not be."""
    k, j = int(rng.integers(nv)), -1 - int(rng.integers(min(2, nv)))
    size = float(rng.choice([0.2, 3.0, 1e155])) * float(rng.choice([-1.0, 1.0]))

    def changed(x: np.ndarray, i: int, value: float) -> np.ndarray:
        x[i] = value
        return x

    return [
        lambda q, v: (changed(q, 0, np.nan), v, 1e-3),
        lambda q, v: (q, changed(v, k, np.inf), 1e-3),
        lambda q, v: (q, changed(v, k, 1e6), 1e-3),
        lambda q, v: (changed(q, j, q[j] + size), v, 1e-3),
        lambda q, v: (changed(q, 0, q[0] + size), v, 1e-3),
        lambda q, v: (1.1 * q, v, 1e-3),
        lambda q, v: (q[:-1], v, 1e-3),
        lambda q, v: (q, np.append(v, 0.0), 1e-3),
        lambda q, v: (q, v, 3600.0),
        lambda q, v: (q, v, -0.1),
        lambda q, v: (q, v, np.inf),
        lambda q, v: (q, v, 0.0),
        lambda q, v: (q, 0.0 * v, 1e-3),
    ]


def _reference(rng: np.random.Generator, n: int) -> Reference:
    size = float(rng.choice([0.1, 0.1, 1.0, 1e3, 1e155, np.nan]))
    pose = np.eye(4)
    pose[:3, 3] = size * rng.standard_normal(3)
    if rng.random() < 0.2:
        pose[0, 0] = rng.choice([-1.0, 1.4])
    parts = {
        "position": size * rng.standard_normal(3),
        "velocity": size * rng.standard_normal(3),
        "pose": pose,
        "twist": size * rng.standard_normal(6),
        "joints": size * rng.standard_normal(n),
    }
    return Reference(**{name: x for name, x in parts.items() if rng.random() < 0.3})


def _push_while_the_state_is_lost(ours: Any, theirs: Any, home: np.ndarray) -> None:
    """A wrench that comes while the safe output acts is exerted afterwards, in both languages."""
    nv = ours.law.model.nv
    lost = RobotState(home, np.full(nv, np.nan))
    seen = RobotState(home, np.zeros(nv))
    asked = Reference(wrench=np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    torques = []
    for guard in (ours, theirs):
        guard.update(seen, Reference(), 1e-3)
        rest = np.array(guard.update(seen, Reference(), 1e-3).torque)
        assert guard.update(lost, asked, 1e-3).status == Status.HOLDING
        for _ in range(50):
            pushing = guard.update(seen, Reference(), 1e-3)
        assert pushing.status == Status.OK
        torques.append(np.array(pushing.torque))
        assert np.abs(torques[-1] - rest).max() > 1.0
        guard.reset(seen)
    np.testing.assert_allclose(*torques, rtol=0, atol=PARITY)


@pytest.mark.parametrize("name", ["CartesianImpedance", "TaskSpaceIDAPBC"])
def test_late_commands_change_torques_by_what_the_rate_permits_in_a_period(
    native: ModuleType, name: str
) -> None:
    panda = robots.load("panda")
    home = panda.configuration(robots.get("panda").home)
    changes = []
    for period in (np.inf, 1e-3):
        model = native_model(native, panda)
        parity_of(native).set_command_period(model, period)
        law = native.make_law(name, model)
        assert law.set_gain("torque_rate", 50.0)
        supervisor = native.Supervisor(model, law)
        assert supervisor.reset(home, np.zeros(7))
        sent = [np.array(supervisor.update(home, np.zeros(7), 4e-3).torque)]
        # Each comes 3 ms late, as on a loaded machine, and the robot is pushed meanwhile.
        for share in (0.1, 0.2, 0.3, 0.4):
            q = home + share * 0.05
            sent.append(np.array(supervisor.update(q, np.full(7, 1.0), 4e-3).torque))
        changes.append(np.abs(np.diff(sent, axis=0)).max())
    assert changes == pytest.approx([0.2, 0.05])


@pytest.mark.parametrize("name", ["panda", "hextilt"])
def test_both_languages_carry_a_payload_while_they_hold(native: ModuleType, name: str) -> None:
    known = robots.get(name)
    model, rotors = known.load(), known.allocation()
    ours = PayloadCompensation(CartesianImpedance(model, allocation=rotors), rate=50.0)
    guards = [Supervisor(ours, rotors), _LoadedInCpp(native, model, rotors)]
    home, nv = model.configuration(known.home), model.nv
    at_rest, lost = RobotState(home, np.zeros(nv)), RobotState(home, np.full(nv, np.nan))
    for guard in guards:
        guard.reset(at_rest)
    torques = []
    heavy = Payload(0.2, np.array([0.01, 0.0, 0.02]), np.diag([1e-6, 0.0, 0.0, 0.0]), False)
    for payload in (None, heavy, heavy, None):
        one, other = (_after_a_change(guard, payload, at_rest, lost) for guard in guards)
        np.testing.assert_allclose(other, one, rtol=0, atol=PARITY)
        torques.append(one)
    assert np.abs(torques[1] - torques[0]).max() > 0.1
    np.testing.assert_array_equal(torques[2], torques[1])
    np.testing.assert_allclose(torques[3], torques[0], rtol=0, atol=1e-12)


class _LoadedInCpp:
    """A law that compensates payloads, supervised, in C++."""

    def __init__(self, native: ModuleType, model: VMSModel, rotors: Any) -> None:
        robot, allocation = native_model(native, model), core_allocation(native, rotors)
        law = native.make_law("CartesianImpedance", robot, allocation=allocation)
        self._law = parity_of(native).PayloadCompensation(robot, law, 50.0)
        self._supervisor = native.Supervisor(robot, self._law, {}, allocation)
        self.law = SimpleNamespace()

    def reset(self, state: RobotState) -> None:
        assert self._supervisor.reset(state.q, state.v)

    def carry(self, payload: Payload | None) -> None:
        if payload is None:
            self._law.carry(0.0, np.zeros(3), 0.0)
        else:
            self._law.carry(payload.mass, payload.moment, payload.mass_deviation)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Any:
        return self._supervisor.update(state.q, state.v, dt)


def _after_a_change(
    guard: Any, payload: Payload | None, at_rest: RobotState, lost: RobotState
) -> np.ndarray:
    """The safe output of a guard whose law has been told of a payload."""
    (guard if isinstance(guard, _LoadedInCpp) else guard.law).carry(payload)
    for _ in range(50):  # it acts again, and the mass in force arrives
        guard.update(at_rest, Reference(), 1e-3)
    held = guard.update(lost, Reference(), 1e-3)
    assert held.status == Status.HOLDING
    return np.concatenate([held.wrench_base, held.torque])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("panda", "TaskSpaceIDAPBC"),
        ("panda", "PoseIDAPBC"),
        ("panda", "CartesianImpedance"),
        ("hextilt", "DecoupledVMSController"),
        # Other laws are taken on these bases above and below.
        *(
            pytest.param(name, "DecoupledVMSController", marks=pytest.mark.slow)
            for name in ("satellite_panda", "omnidirectional_panda")
        ),
        ("borinot", "UnderactuatedFlight"),
        ("satellite_panda", "AttitudeControl"),
        ("satellite_panda", "PushingImpedance"),
        ("omnidirectional_panda", "MobileManipulation"),
        ("satellite_panda", "ResolvedMotion"),
    ],
)
def test_both_languages_hold_and_go_on_alike(native: ModuleType, name: str, kind: str) -> None:
    known, rng, rng_of_ages = robots.get(name), np.random.default_rng(7), np.random.default_rng(8)
    model = known.load()
    own = {"AttitudeControl": reaction_wheels, "UnderactuatedFlight": lambda: upright(12.0)}
    rotors = own.get(kind, known.allocation)()
    actuated = rotors is not None or not name.startswith("satellite")
    bounds = {"restart_time": 0.01, "recovery_samples": 3}
    laws: list[Any] = [
        make_controller(kind, each, rotors, actuated) for each in (model, model.with_native(True))
    ]
    # A tank whose level has changed shows that continuing at another pose does not refill it.
    for law in laws:
        law.gains = replace(law.gains, tank_capacity=1.0, tank_initial=0.5)
    ours, theirs = (
        Supervisor(law, rotors, actuated, PlausibilityBounds(**bounds))  # type: ignore[arg-type]
        for law in laws
    )
    assert theirs.twin is not None
    home = model.configuration(known.home)
    ours.reset(RobotState(home, np.zeros(model.nv)))
    theirs.reset(RobotState(home, np.zeros(model.nv)))
    told: set[tuple[int, str]] = set()
    running: list[Measure] = []

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        if not running and rng.random() < 0.1:
            faults = _faults(rng, model.nv)
            fault = faults[int(rng.integers(len(faults)))]
            running.extend([fault] * int(rng.integers(1, 25)))
        q, v = q.copy(), v.copy()
        measured = running.pop()(q, v) if running else (q, v, dt)
        reference = _reference(rng, model.n) if rng.random() < 0.1 else Reference()
        likely = [0.9, 0.04, 0.04, 0.01, 0.01]
        age = float(rng_of_ages.choice([0.0, 0.001, 0.02, 0.3, -1.0], p=likely))
        state = RobotState(measured[0], measured[1], age)
        one = ours.update(state, reference, measured[2])
        other = theirs.update(state, reference, measured[2])
        assert (other.status, other.reason) == (one.status, one.reason), (one.reason, measured)
        assert other.energy.tank_level == pytest.approx(one.energy.tank_level, abs=1e-9)
        told.add((one.status, one.reason.split(";")[0]))
        size = 1.0 + float(np.abs(np.concatenate([one.wrench_base, one.torque])).max())
        np.testing.assert_allclose(other.torque, one.torque, rtol=0, atol=PARITY * size)
        np.testing.assert_allclose(other.wrench_base, one.wrench_base, rtol=0, atol=PARITY * size)
        return one

    if kind == "PushingImpedance":
        _push_while_the_state_is_lost(ours, theirs, home)
    simulation = Simulation(StandardForm(model), home, 1e-3, control)
    push = np.array([1.0, -0.5, 0.3, 0, 0, 0])
    # So many that every fault is drawn.
    samples = 600 if name == "borinot" else 300
    simulation.advance(samples, in_world_axes(model, Ports(wrench_end_effector=push)))
    words = " ".join(reason for _, reason in told)
    for part in ("finite", "jumped", "size", "time step", "moves at", "a moment ago", "refused"):
        assert part in words
    assert {status for status, _ in told} >= {Status.OK, Status.HOLDING, Status.SATURATED}


def test_a_law_that_c_does_not_have_stays_in_python(native: ModuleType) -> None:
    panda = robots.load("panda").with_native(True)

    class OfAUser(vms_ph_controllers.TaskSpaceIDAPBC):
        """A law that derives from one of the library."""

    for law, why in (
        (OfAUser(panda), "Python: OfAUser derives from TaskSpaceIDAPBC"),
        (vms_ph_controllers.PoseIDAPBC(panda.with_native(False)), "is evaluated in Python"),
    ):
        assert why in law.implementation
        assert Supervisor(law).twin is None


def test_a_core_that_is_not_there_is_named_with_its_remedy(
    native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = vms_ph_controllers.PoseIDAPBC(robots.load("panda").with_native(True))
    monkeypatch.setenv("VMS_PH_NATIVE", "0")
    assert "./vms native builds and installs it" in law.implementation


def test_gains_that_change_take_effect_in_c(native: ModuleType) -> None:
    model = robots.load("panda").with_native(True)
    law = vms_ph_controllers.TaskSpaceIDAPBC(model)
    supervisor = Supervisor(law)
    assert law.implementation == "C++"
    home = model.configuration(robots.get("panda").home)
    state = RobotState(home, np.zeros(model.nv))
    supervisor.reset(state)
    law.gains = replace(law.gains, tank_capacity=2.0, tank_initial=1.5)
    supervisor.reset(state)
    assert supervisor.update(state, Reference(), 1e-3).energy.tank_level == 1.5
    assert law.tank is not None
    assert law.tank.level == 1.5


def test_a_state_that_does_not_fit_is_refused_in_a_sentence(native: ModuleType) -> None:
    model = robots.load("panda").with_native(True)
    supervisor = Supervisor(vms_ph_controllers.TaskSpaceIDAPBC(model))
    with pytest.raises(StateError, match="q"):
        supervisor.reset(RobotState(np.zeros(3), np.zeros(model.nv)))


def test_a_core_of_other_sources_is_not_used(
    native: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Older:
        """A law that does not know the gain ``delay``."""

        def __init__(self, *arguments: object, **options: object) -> None:
            self._law = real(*arguments, **options)

        def set_gain(self, name: str, value: float) -> bool:
            return name != "delay" and bool(self._law.set_gain(name, value))

    real = native.make_law
    monkeypatch.setattr(native, "make_law", Older)
    law = vms_ph_controllers.TaskSpaceIDAPBC(robots.load("panda").with_native(True))
    assert "./vms native builds it anew" in law.implementation
