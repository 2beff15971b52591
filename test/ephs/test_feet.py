# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Legs and feet of composed boxes: landing, sliding, rocking, hopping."""

from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_ephs import (
    Equations,
    PatternError,
    StructureError,
    Trajectory,
    assemble,
    simulate,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.examples import HoppingLeg
from vms_ph_ephs.notation import build, describe
from vms_ph_hopping import Floor, Leg, LegEfforts, LegLaw, LegOnFloor, hop
from vms_ph_io import robots

GRAVITY, THETA_0 = 9.81, 298.15


def heat(motion: Trajectory) -> float:
    return THETA_0 * float(motion.entropy[-1] - motion.entropy[0])


def block(half: tuple[float, float, float], friction: float, mass: float = 2.0) -> Equations:
    """A block with a foot at each lower corner."""
    a, b, c = half
    inertia = mass / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    feet = {
        f"foot_{i}{j}": mb.Foot((x * a, y * b, -c), friction)
        for i, x in enumerate((-1, 1))
        for j, y in enumerate((-1, 1))
    }
    body = mb.with_feet(mb.rigid_body(mass, inertia), feet)
    return assemble(mb.mechanism({"block": body}, {}))


def lowest(equations: Equations, motion: Trajectory) -> float:
    feet = [c for c in equations.layout.components.values() if isinstance(c, mb.FootContact)]
    poses = motion.value("block.q").reshape(-1, 4, 4)
    return min(foot.gap((pose,)) for pose in poses for foot in feet)


def raised(height: float) -> np.ndarray:
    pose = np.eye(4)
    pose[2, 3] = height
    return pose


def check_laws(motion: Trajectory, first_law: float) -> None:
    assert np.abs(motion.first_law).max() < first_law
    assert np.diff(motion.entropy).min() >= 0.0


@pytest.mark.parametrize("scheme", ["projected_rk4", "discrete_gradient"])
def test_a_block_on_four_feet_lands_at_once_and_slides_to_rest(scheme: str) -> None:
    equations = block((0.15, 0.1, 0.2), 0.5)
    v = np.array([0.15, 0.2])
    start = mb.consistent_state(
        equations,
        poses={"block": raised(0.2 + 5e-4)},
        twists={"block": np.array([*v, 0.0, 0.0, 0.0, 0.0])},
    )
    motion = simulate(equations, start, 1e-3, 70, scheme=scheme)
    check_laws(motion, 1e-14)
    assert lowest(equations, motion) > -2e-9
    fall, drop = np.sqrt(2.0 * 5e-4 / GRAVITY), np.sqrt(2.0 * 5e-4 * GRAVITY)
    # The impact takes mu times its vertical velocity from the sliding, which then decelerates.
    left = np.linalg.norm(v) - 0.5 * drop
    slid = np.linalg.norm(v) * fall + left**2 / (2.0 * 0.5 * GRAVITY)
    place = motion.value("block.q")[-1].reshape(4, 4)[:2, 3]
    np.testing.assert_allclose(place, slid * v / np.linalg.norm(v), atol=5e-7)  # a step's stop
    assert np.abs(motion.value("block.p")[-1]).max() < 1e-12
    assert heat(motion) == pytest.approx(0.0625 + 2.0 * GRAVITY * 5e-4, rel=1e-6)


def test_a_rocking_block_loses_at_its_edge_what_the_balance_of_momentum_says() -> None:
    a, c, tilt = 0.05, 0.2, 0.02
    equations = block((a, 0.1, c), 1.0)
    turn = np.array([[np.cos(tilt), 0, np.sin(tilt)], [0, 1, 0], [-np.sin(tilt), 0, np.cos(tilt)]])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, np.array([a, 0, 0]) + turn @ np.array([-a, 0, c])
    motion = simulate(equations, mb.consistent_state(equations, poses={"block": pose}), 2e-3, 48)
    check_laws(motion, 1e-10)
    assert lowest(equations, motion) > -2e-9
    # Angular momentum about the new edge: the rate falls to 1 - 3/2 sin^2 of the block's angle.
    kept = 1.0 - 1.5 * a**2 / (a**2 + c**2)
    fallen = 2.0 * GRAVITY * (pose[2, 3] - c)
    assert heat(motion) == pytest.approx(fallen * (1.0 - kept**2), rel=1e-4)
    assert motion.value("block.p")[-1][4] < -0.001  # it rocks on over the other edge


def test_a_block_that_turns_and_lands_foot_by_foot_keeps_both_laws() -> None:
    equations = block((0.15, 0.1, 0.2), 0.5)
    twist = np.array([0.6, 0.8, 0.0, 1.0, 2.0, 3.0])
    start = mb.consistent_state(equations, poses={"block": raised(0.21)}, twists={"block": twist})
    motion = simulate(equations, start, 2e-3, 40)
    check_laws(motion, 1e-9)
    assert heat(motion) > 0.1
    # Located to 1e-9 m with the forces of the whole step, which are then found again.
    assert lowest(equations, motion) > -1e-8


def hopping(stiffness: float, seconds: float) -> tuple[np.ndarray, float]:
    """Hip and heat of the leg on a floor with springs, by the simulation of source B."""
    leg = Leg(robots.load("prismatic_hopper"))
    rule = HoppingLeg()

    def spring(now: object, stance: bool) -> LegEfforts:
        offset = now.length - rule.rest  # type: ignore[attr-defined]
        force = -rule.stiffness * offset * now.J_length  # type: ignore[attr-defined]
        return LegEfforts(force, (), 0.5 * rule.stiffness * offset**2)

    floor = Floor((stiffness, stiffness), (0.1 * stiffness, 0.1 * stiffness), rule.friction)
    q = leg.configuration(np.array([0.0, 0.3, -np.pi / 2 + 0.1, 0.12]))
    run = hop(LegOnFloor(leg, LegLaw(spring), floor), q, np.zeros(4), seconds)
    hip = np.array([leg.coordinates(run.leg(i).q)[:2] for i in range(len(run.times))])
    return hip, float(run.energy("floor_dissipated")[-1])


@pytest.mark.slow
def test_a_leg_of_boxes_hops_as_on_a_floor_whose_stiffness_grows() -> None:
    equations = assemble(HoppingLeg().system())
    motion = simulate(equations, HoppingLeg.state(equations), 1e-3, 400)
    check_laws(motion, 5e-5)  # of the scheme, which falls by 32 with half of the step
    assert motion.value("foot_at")[:, 1].min() > -2e-9
    hips, heats = zip(*(hopping(k, 0.4) for k in (1e5, 1e6)), strict=True)
    path = motion.value("hip_at")[::2]
    soft, stiff = (float(np.abs(path - hip).max()) for hip in hips)
    # A spring sinks in by its load over its stiffness: ten times as stiff, ten times as near.
    assert stiff < 5e-4
    assert 8.0 < soft / stiff < 12.0
    assert abs(float(path[:, 1][100:].max()) - float(hips[1][:, 1][100:].max())) < 3e-4  # apex
    soft_heat, stiff_heat = (abs(each - heat(motion)) for each in heats)
    assert stiff_heat < 0.03 * heat(motion)
    assert 8.0 < soft_heat / stiff_heat < 12.0


@pytest.mark.slow
def test_the_leg_with_a_knee_from_its_urdf_hops_as_on_a_stiff_floor() -> None:
    """The links have a rotational inertia, without which bodies cannot turn freely."""
    point = 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"'
    xml = robots.get("revolute_hopper").description()
    assert point in xml
    xml = xml.replace(point, 'ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"')
    down, stiffness, rest = (0.0, -GRAVITY, 0.0), 6.0, 1.78
    model = VMSModel.from_urdf(xml, "planar", "foot", down)
    leg = Leg(model)
    q = leg.configuration(np.array([0.0, 0.3, -2.3, 1.78]))

    def knee(now: object, stance: bool) -> LegEfforts:
        torque = -stiffness * (now.q[4] - rest)  # type: ignore[attr-defined]
        return LegEfforts(np.array([0.0, 0.0, 0.0, torque]), (), 0.0)

    apart = []
    robot = mb.from_urdf(
        xml,
        "planar",
        down,
        feet={"foot": mb.Foot(normal=(0.0, 1.0, 0.0), friction=10.0)},
        springs={"knee": (stiffness, rest)},
    )
    equations = assemble(robot)
    motion = simulate(equations, mb.state_of(equations, model, q, np.zeros(4)), 1e-3, 290)
    check_laws(motion, 1e-5)
    states = [mb.configuration_of(equations, model, x)[0] for x in motion.states[::2]]
    path = np.array([leg.coordinates(state) for state in states])
    for k in (1e4, 1e5, 1e6):
        floor = Floor((k, k), (0.1 * k, 0.1 * k), 10.0)
        run = hop(LegOnFloor(leg, LegLaw(knee), floor), q, np.zeros(4), 0.29)
        other = np.array([leg.coordinates(run.leg(i).q) for i in range(len(run.times))])
        apart.append(float(np.abs(path - other)[:, :2].max()))
    assert apart[2] < 1e-4
    assert 7.0 < apart[0] / apart[1] < 13.0


def test_feet_points_and_struts_are_written_and_read_again(tmp_path: Path) -> None:
    for system in (
        HoppingLeg().system(),
        mb.with_feet(mb.rigid_body(1.0, [1, 1, 1]), {"a": mb.Foot()}),
    ):
        again = build(describe(system))
        assert describe(again) == describe(system)


def test_what_is_no_foot_is_refused() -> None:
    body = mb.rigid_body(1.0, [1.0, 1.0, 1.0])
    with pytest.raises(StructureError, match="normal of a plane"):
        mb.with_feet(body, {"foot": mb.Foot(normal=(0.0, 0.0, 0.0))})
    with pytest.raises(StructureError, match="point and a normal of three"):
        mb.with_feet(body, {"foot": mb.Foot(point=(0.0, np.nan, 0.0))})
    with pytest.raises(StructureError, match="restitution"):
        mb.with_feet(body, {"foot": mb.Foot(restitution=2.0)})
    with pytest.raises(Exception, match="cannot be named 'ke'"):
        mb.with_feet(body, {"ke": mb.Foot()})
    with pytest.raises(Exception, match="the foot 'toe' is no frame"):
        mb.from_urdf(robots.get("panda").description(), feet={"toe": mb.Foot()})
    with pytest.raises(PatternError, match="2 or 3 dimensions"):
        build({"boxes": {"leg": {"kind": "strut", "dimension": 4}}, "junctions": {}})
