# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Both hoppers in symbols are those of the model: every matrix to 1e-12."""

import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from dynamics.conftest import state_of

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.decoupling import (
    BodyCoriolis,
    aligned_orientation,
    centre_of_mass,
    internal_jacobian,
)
from vms_ph_dynamics.export import symbolic
from vms_ph_hopping import Leg
from vms_ph_io import robots

BOTH = {
    "prismatic_hopper": symbolic.prismatic_hopper,
    "revolute_hopper": symbolic.revolute_hopper,
}
PLANE = [0, 1, 5]


@pytest.fixture(scope="module", params=BOTH)
def pair(request: pytest.FixtureRequest) -> tuple[VMSModel, symbolic.SymbolicHopper]:
    return robots.load(request.param), BOTH[request.param]()


def function(hopper: symbolic.SymbolicHopper, matrix: sp.Matrix) -> symbolic.robot.Numeric:
    motion = hopper.robot.motion
    return symbolic.numeric(matrix, [*motion.coordinates, *motion.velocities], hopper.parameters)


def arguments(leg: Leg, q: np.ndarray, v: np.ndarray) -> Sequence[float]:
    return [*leg.coordinates(q), *v]


def test_every_matrix_is_that_of_the_model(
    pair: tuple[VMSModel, symbolic.SymbolicHopper], rng: np.random.Generator
) -> None:
    model, hopper = pair
    robot, leg = hopper.robot, Leg(model)
    made = {
        name: function(hopper, getattr(robot, name))
        for name in (
            "M",
            "C_passive",
            "C_hamel",
            "gravity",
            "J_foot",
            "J_foot_origin",
            "centre",
            "J_length",
            "J_angle",
            "connection",
            "J_foot_internal",
        )
    }
    for _ in range(20):
        q, v = state_of(model, rng)
        d, seen = model.evaluate(q, v), leg.at(q, v)
        expected = {
            "M": d.M,
            "C_passive": BodyCoriolis(d).passive,
            "C_hamel": d.C_hamel,
            "gravity": d.g[:, None],
            "J_foot": d.J_end_effector[PLANE],
            "J_foot_origin": seen.J_foot[:2],
            "centre": centre_of_mass(d)[:, None],
            "J_length": seen.J_length[None],
            "J_angle": seen.J_angle[None],
            "connection": d.A,
            "J_foot_internal": internal_jacobian(d, "foot")[:2],
        }
        for name, matrix in expected.items():
            scale = max(1.0, float(np.abs(matrix).max()))
            np.testing.assert_allclose(
                made[name](*arguments(leg, q, v)), matrix, rtol=0, atol=1e-12 * scale, err_msg=name
            )


def test_the_consistency_tests_of_the_sample_program_hold_in_symbols() -> None:
    """[B, A.2.1, lines 308-324]: passivity, and the same forces from both Coriolis matrices."""
    robot = symbolic.revolute_hopper().robot
    zero = sp.zeros(4, 4)
    passive = robot.motion.rate(robot.M) - robot.C_passive - robot.C_passive.T
    assert passive.applyfunc(sp.simplify) == zero
    difference = (robot.C_passive - robot.C_hamel) * sp.Matrix(robot.motion.velocities)
    assert difference.applyfunc(sp.simplify) == sp.zeros(4, 1)


def test_the_closed_frame_angle_is_the_integral_of_the_connection() -> None:
    """[B, A.2.1, lines 225-230]."""
    hopper, model = symbolic.revolute_hopper(), robots.load("revolute_hopper")
    angle = symbolic.revolute_frame_angle(hopper)
    knee = hopper.robot.motion.coordinates[3]
    slope = sp.diff(angle, knee) - hopper.robot.connection[2, 0]
    closed = symbolic.numeric(sp.Matrix([angle, slope]), [knee], hopper.parameters)
    straight = model.configuration({"knee": 0.0})
    for position in (-2.9, -1.0, 0.4, 1.7802, 3.0):
        value, missed = closed(position)[:, 0]
        turn = aligned_orientation(model, straight, model.configuration({"knee": position}))
        assert value == pytest.approx(np.arctan2(turn[1, 0], turn[0, 0]), abs=1e-12)
        assert missed == pytest.approx(0.0, abs=1e-13)


def test_a_robot_of_three_joints_is_that_of_its_urdf(rng: np.random.Generator) -> None:
    """Any chain of the plane, with rotational inertias."""
    import pinocchio as pin

    lengths, masses, inertias = (0.3, 0.25, 0.2), (1.0, 0.7, 0.4, 0.2), (0.02, 0.01, 0.005, 0.002)
    links = [symbolic.Link("base", 0, ((0.05, 0.1),), masses[:1], inertias[:1])]
    model = pin.Model()
    model.name = "chain"
    parent = model.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "root")
    centre = np.array([0.05, 0.1, 0.0])
    for k in range(4):
        if k:
            revolute = k != 2
            joint = pin.JointModelRZ() if revolute else pin.JointModelPX()
            offset = np.array([lengths[k - 1] if revolute else 0.0, 0.0, 0.0])
            parent = model.addJoint(parent, joint, pin.SE3(np.eye(3), offset), f"joint_{k}")
            centre = np.array([0.1 * k, -0.02, 0.0])
            kind = "revolute" if revolute else "prismatic"
            links.append(
                symbolic.Link(
                    kind,
                    offset[0],
                    ((centre[0], centre[1]),),
                    masses[k : k + 1],
                    inertias[k : k + 1],
                )
            )
        tensor = np.diag([inertias[k], inertias[k], inertias[k]])
        model.appendBodyToJoint(parent, pin.Inertia(masses[k], centre, tensor), pin.SE3.Identity())
    model.addBodyFrame("tip", parent, pin.SE3.Identity(), 0)
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    ours, robot = VMSModel.from_pinocchio(model, "tip"), symbolic.SymbolicRobot(links)
    motion = robot.motion
    names = ("M", "C_passive", "gravity")
    made = {
        name: symbolic.numeric(
            getattr(robot, name), [*motion.coordinates, *motion.velocities], {robot.g: 9.81}
        )
        for name in names
    }
    q, v = state_of(ours, rng)
    d = ours.evaluate(q, v)
    given = [q[0], q[1], float(np.arctan2(q[3], q[2])), *q[4:], *v]
    for name, matrix in zip(names, (d.M, BodyCoriolis(d).passive, d.g[:, None]), strict=True):
        np.testing.assert_allclose(made[name](*given), matrix, atol=1e-12, err_msg=name)


def test_the_sample_program_runs_and_its_checks_hold(capsys: pytest.CaptureFixture[str]) -> None:
    program = Path(__file__).parents[2] / "examples/symbolic_leg.py"
    runpy.run_path(str(program), run_name="__main__")
    text = capsys.readouterr().out
    assert "Mdot - C - C^T is zero: True" in text
    assert "passive and Hamel forces agree: True" in text
    assert "def coriolis(x, y, theta, q1, vx, vy, w, qdot1):" in text


def test_the_sample_program_names_the_extra_that_it_needs() -> None:
    program = Path(__file__).parents[2] / "examples/symbolic_leg.py"
    hidden = "import runpy, sys; sys.modules['sympy'] = None; runpy.run_path(sys.argv[1])"
    words = [sys.executable, "-c", hidden, str(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "this example needs sympy: pip install 'vms-ph[symbolic]'\n"
