# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The laws of moving bases in C++ are those in Python: forces, energies, statuses, reasons."""

from collections import Counter
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vms_ph_controllers import Command, Reference
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.laws.twinned_controller import core_allocation
from vms_ph_dynamics import Allocation, ModelError, VMSModel
from vms_ph_dynamics.groups import SE3
from vms_ph_io import robots

from .base_law_cases import CASES, Case, OnWheels, wheels
from .base_law_runs import (
    ENERGIES,
    HOLD,
    SCRIPTS,
    Drive,
    coupling,
    empty_tank,
    in_python,
    is_for,
)
from .conftest import native_model, parity_of

# Of the size of the quantity: what the two languages may differ by.
PARITY = 1e-9


@cache
def robot_of(case: Case) -> VMSModel:
    """The robot of a case, which nothing changes."""
    return case.model()


class Twins(Drive):
    """Both laws on the same states; every command is compared."""

    def __init__(self, native: ModuleType, case: Case, dt: float) -> None:
        super().__init__(case, dt)
        self.twin = self.make_twin(native, case)
        self.told: Counter[str] = Counter()
        self.worst = 0.0
        self.parity, self.spent = PARITY, False

    def robot(self, case: Case) -> VMSModel:
        return robot_of(case)

    def make_twin(self, native: ModuleType, case: Case) -> Any:
        """The same law in C++."""
        robot = native_model(native, self.model)
        law = native.make_law(
            case.law,
            robot,
            allocation=core_allocation(native, self.allocation),
            base_actuated=case.base_actuated,
            wheels=case.wheels(),
        )
        if case.payload_rate is None:
            return law
        return parity_of(native).PayloadCompensation(robot, law, case.payload_rate)

    def reset(self, q: np.ndarray) -> bool:
        taken = super().reset(q)
        assert self.twin.reset(q, np.zeros(self.model.nv)) is taken
        return taken

    def set(self, **gains: float) -> None:
        super().set(**gains)
        assert all(self.twin.set_gain(*gain) for gain in gains.items())

    def carry(self, mass: float, moment: np.ndarray, deviation: float) -> None:
        super().carry(mass, moment, deviation)
        assert self.twin.carry(mass, moment, deviation)

    def update(self, q: np.ndarray, v: np.ndarray, reference: Reference, dt: float) -> Command:
        ours = super().update(q, v, reference, dt)
        theirs = self.twin.update(q, v, dt, *reference.parts, measured_wrench=self.measured)
        self.told[ours.reason.partition(":")[0].partition(" for ")[0].partition(" covers ")[0]] += 1
        assert (theirs.status, theirs.reason) == (ours.status, ours.reason)
        force = np.concatenate([ours.wrench_base, ours.torque])
        size = float(np.abs(force).max())
        # The share that a nearly empty tank covers is a square root of its level: a difference of
        # 1e-16 J between two levels of 1e-6 J becomes one of 1e-8 in the effort, and in the record
        # of the next sample.
        spends = "the energy tank covers" in ours.reason
        self.parity = 1e-7 if spends or self.spent else PARITY
        self.spent = spends
        self.compare(theirs.wrench_base, ours.wrench_base, size)
        self.compare(theirs.torque, ours.torque, size)
        self.compare(theirs.task_error, ours.task_error, 1.0)
        stored = ours.energy.closed_loop_energy + abs(ours.energy.tank_level)
        # Powers are products of forces and velocities that may cancel.
        power = size * float(np.abs(v).max()) if np.isfinite(v).all() else 0.0
        for name in ENERGIES:
            here, there = getattr(ours.energy, name), getattr(theirs.energy, name)
            self.compare(there, here, power if "power" in name else stored)
        self.compare(theirs.authority, ours.authority, 0.0)
        if np.isfinite(ours.smallest_singular_value):
            self.compare(theirs.smallest_singular_value, ours.smallest_singular_value, 1.0)
        else:
            assert theirs.smallest_singular_value == ours.smallest_singular_value
        return ours

    def compare(self, theirs: object, ours: object, size: float) -> None:
        expected = np.asarray(ours, dtype=float)
        off = float(np.abs(np.asarray(theirs) - expected).max(initial=0.0))
        scale = max(size, float(np.abs(expected).max(initial=0.0)), 1e-6)
        self.worst = max(self.worst, off / scale)
        assert off <= self.parity * scale, (theirs, ours)


class OnTheSameTerms(Twins):
    """Both laws take the terms from the core, whose own test is test_terms.

    What an empty tank covers is the square root of a level that is rounding itself: no two ways to
    compute a mass matrix agree there.
    """

    def robot(self, case: Case) -> VMSModel:
        return super().robot(case).with_native(True)

    def make_law(self, case: Case) -> Any:
        return in_python(super().make_law(case))


# Laws that search for the nearest wrench come to what an empty tank covers, a root of a level that
# is rounding, with other last digits; the tank itself is compared behind DecoupledVMSController.
RUNS = [
    (case, script)
    for case in CASES
    for script in SCRIPTS
    if is_for(script, case) and (script is not empty_tank or case.law == "DecoupledVMSController")
]


@cache
def told_in(native: ModuleType, case: Case, script: Any) -> Counter[str]:
    """Compare both languages in a run; return what they told, by reason."""
    kind = OnTheSameTerms if script is empty_tank else Twins
    twins = kind(native, case, 5e-3)
    # Its switches are in all positions only after 80 steps.
    script(twins, np.random.default_rng(20), 80 if script is coupling else 48)
    return twins.told


@pytest.mark.parametrize(
    ("case", "script"), RUNS, ids=lambda x: getattr(x, "label", None) or x.__name__
)
def test_both_languages_give_the_same_command(
    native: ModuleType, case: Case, script: object
) -> None:
    assert sum(told_in(native, case, script).values()) >= 48


def test_everything_that_can_be_told_has_been_compared(native: ModuleType) -> None:
    told: Counter[str] = Counter()
    for case, script in RUNS:
        if case.law in ("DecoupledVMSController", "UnderactuatedFlight"):
            told += told_in(native, case, script)
    parts = {part for reason in told for part in reason.split("; ")}
    assert parts >= {
        "",
        "attitude error past half a turn",
        "turning over",
        "base wrench at the limits of its actuators",
        "the base cannot hold the robot against gravity",
        "base wrench at its limit",
        "the base has no actuator",
        "the energy tank",
        "power at its limit of 0.2 W",
        "rate of torque at its limit",
        "torque at its limit",
        "the state is not finite or does not fit this robot, or the time step is not in [0, 1] s",
    }


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0, 1), (0.6, 0, 0.8)])
def test_exactly_half_a_turn_is_left_the_same_way_round(
    native: ModuleType, axis: tuple[float, float, float]
) -> None:
    twins = Twins(native, Case("satellite_panda"), 5e-3)
    twins.reset(twins.home)
    turn = np.concatenate([np.zeros(3), np.pi * np.array(axis), np.zeros(twins.model.n)])
    twins.q = twins.model.integrate(twins.home, turn)
    for _ in range(100):
        twins.step()


def test_a_long_way_of_the_reference_stays_the_same(
    native: ModuleType, rng: np.random.Generator
) -> None:
    twins = Twins(native, Case("satellite_panda"), 5e-3)
    twins.reset(twins.home)
    target = twins.model.base_pose(twins.home) @ SE3().exp(np.array([0.5, 0.2, 0.1, 0.3, 1.0, 2.0]))
    twins.step(Reference(pose=target, joints=twins.model.joint_positions(twins.home) + 0.3))
    for _ in range(600):
        told = twins.step()
    assert told.energy.closed_loop_energy < 1e-2


@pytest.mark.parametrize(
    ("case", "gain"),
    [
        (Case("hextilt"), "frequency_base"),
        (Case("borinot", rotors="upright", law="UnderactuatedFlight"), "largest_tilt"),
        (Case("satellite_panda", rotors="reaction_wheels", law="AttitudeControl"), "base_turn"),
        (Case("hextilt", rotors="hextilt", law="PoseIDAPBC"), "frequency_posture"),
        (Case("hextilt", law="CartesianImpedance"), "frequency_base"),
        (Case("panda", law="PushingImpedance"), "push_speed"),
        (Case("hextilt", law="MobileManipulation"), "base_speed"),
        (Case("satellite_panda", law="ResolvedMotion"), "bandwidth"),
        (OnWheels(), "rate_base"),
        (OnWheels(law="WheeledImpedance"), "speed"),
    ],
    ids=lambda x: getattr(x, "law", ""),
)
def test_the_gains_are_named_bounded_and_set_as_in_python(
    native: ModuleType, case: Case, gain: str
) -> None:
    twins = Twins(native, case, 1e-3)
    twins.set(**{gain: 1.1})
    ours = twins.law.gains
    fields = type(ours).__dataclass_fields__
    # Weights of the posture are by joint, beside the record of gains.
    gains = [item for item in twins.twin.gains if not item.name.startswith("null_weight.")]
    assert sorted(item.name for item in gains) == sorted(fields)
    for item in gains:
        about = fields[item.name].metadata
        bounds = (0.0, 1.0) if item.is_switch else (about["low"], about["high"])
        assert (item.description, item.low, item.high, item.value, item.initial) == (
            about["description"],
            *bounds,
            getattr(ours, item.name),
            fields[item.name].default,
        )
    for wrong in ((gain, 50.1), ("power", -1.0), ("power", np.nan), ("nothing", 1.0)):
        assert not twins.twin.set_gain(*wrong)


def test_rotors_make_the_same_allocation(native: ModuleType, rng: np.random.Generator) -> None:
    from vms_ph_dynamics import Rotor

    values = [
        (rng.normal(size=3), rng.normal(size=3), rng.normal(), *np.sort(rng.normal(size=2)))
        for _ in range(5)
    ]
    for base in ("floating", "planar"):
        ours = Allocation([Rotor(*value) for value in values], base)
        matrix, lower, upper = parity_of(native).allocation_of_rotors(values, base)
        np.testing.assert_allclose(matrix, ours.matrix, atol=1e-15)
        np.testing.assert_array_equal(lower, ours.lower)
        np.testing.assert_array_equal(upper, ours.upper)
    assert parity_of(native).unlimited == np.inf


def test_what_it_cannot_serve_is_refused_with_a_sentence(native: ModuleType) -> None:
    def law(model: object, allocation: object = None) -> object:
        return native.make_law("DecoupledVMSController", model, allocation=allocation)

    with pytest.raises(native.ModelError, match="planar or floating base; 'panda' has a fixed one"):
        law(native_model(native, robots.load("panda")))
    cart = native.Allocation.of_matrix(
        *(getattr(wheels(), k) for k in ("matrix", "lower", "upper"))
    )
    with pytest.raises(native.ModelError, match="wrenches of 3 components; the floating base of "):
        law(native_model(native, robots.load("hextilt")), allocation=cart)
    up, zero = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    good = (zero, up, 0.0, -np.inf, np.inf)
    of_rotors = parity_of(native).allocation_of_rotors
    for rotors, message in (
        ([], "at least one rotor or thruster"),
        ([(zero, zero, *good[2:])], "the axis of rotor 0 has length zero"),
        ([(zero, np.nan * up, *good[2:])], "axis of rotor 0 must be finite"),
        ([(np.full(3, np.inf), *good[1:])], "position of rotor 0 must be finite"),
        ([(zero, up, np.nan, *good[3:])], "drag_ratio of rotor 0 must be finite"),
        ([good, (zero, up, 0.0, 1.0, 0.0)], "limits of rotor 1 must"),
    ):
        with pytest.raises(native.ModelError, match=message):
            of_rotors(rotors, "floating")
    with pytest.raises(native.ModelError, match="floating or planar base"):
        of_rotors([good], "fixed")
    with pytest.raises(native.ModelError, match=r"\(6,m\) or \(3,m\) matrix with m lower"):
        native.Allocation.of_matrix(np.eye(4), np.zeros(4), np.ones(4))


@pytest.mark.parametrize(
    ("law", "robot", "rotors", "says"),
    [
        ("UnderactuatedFlight", "omnidirectional_panda", "", "the base of .* is planar"),
        ("UnderactuatedFlight", "borinot", "", "needs the rotors of"),
        ("UnderactuatedFlight", "hextilt", "hextilt", "push along several axes or none"),
        ("UnderactuatedFlight", "borinot", "reaction_wheels", "push along several axes or none"),
        ("AttitudeControl", "borinot", "upright", "float freely in space"),
        ("AttitudeControl", "satellite_panda", "", "needs what turns"),
        ("PoseIDAPBC", "borinot", "upright", "the base can apply every wrench"),
        ("MobileManipulation", "borinot", "upright", "moves a base that can apply every wrench"),
        ("MobileManipulation", "panda", "", "moves a base that can apply every wrench"),
        ("ResolvedMotion", "panda", "", "float in space; .* is on a fixed base"),
        ("NoSuchLaw", "borinot", "", "there is no law 'NoSuchLaw' in the C\\+\\+ core; there are"),
    ],
)
def test_a_law_that_is_not_for_a_robot_says_so_in_both_languages(
    native: ModuleType, law: str, robot: str, rotors: str, says: str
) -> None:
    case = Case(robot, rotors=rotors, law=law)
    model, given = case.model(), case.allocation()
    theirs = given and native.Allocation.of_matrix(given.matrix, given.lower, given.upper)
    with pytest.raises(native.ModelError, match=says):
        native.make_law(law, native_model(native, model), allocation=theirs)
    if law in native.laws:
        with pytest.raises(ModelError, match=says):
            make_controller(law, model, given)


def test_a_reference_beyond_all_bounds_ends_in_the_safe_output(native: ModuleType) -> None:
    case = next(case for case in CASES if case.robot == "satellite_panda")
    twins = Twins(native, case, 1e-3)
    q, v, far = twins.model.neutral_configuration(), np.zeros(twins.model.nv), np.eye(4)
    far[0, 3] = 1e307
    assert twins.reset(q)
    with np.errstate(all="ignore"):
        for reference in (Reference(pose=far), HOLD, HOLD):
            command = twins.update(q, v, reference, 1e-3)
            assert command.reason.startswith("the effort of the law is not finite")
