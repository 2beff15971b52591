# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The quantities that the markers show."""

import numpy as np
import pinocchio as pin
import pytest
from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from vms_ph_dynamics import Evaluation, Ports, PositionTask, momenta
from vms_ph_io import robots
from vms_ph_nodes.marker_publisher import to_markers
from vms_ph_nodes.views.shapes import (
    Arrow,
    Bar,
    Ellipsoid,
    FittedRange,
    Scales,
    Shape,
    Shapes,
    reach,
    round_up,
)

FAR = Scales(momentum=0.1, velocity=0.5, inertia=0.02, power=0.02, energy=2.0, max_length=1e6)


@pytest.fixture(params=robots.names())
def drawn(request: pytest.FixtureRequest) -> tuple[Evaluation, Ports, dict[str, Shape]]:
    model, rng = robots.load(request.param), np.random.default_rng(8)
    d = model.evaluate(model.random_configuration(rng), rng.normal(size=model.nv))
    base = rng.normal(size=model.b) if model.b else None
    ports = Ports(rng.normal(size=model.n), base, rng.normal(size=6))
    shapes = Shapes(FAR, PositionTask(model)).shapes(d, ports)
    return d, ports, {shape.name: shape for shape in shapes}


def arrow(drawn: tuple[Evaluation, Ports, dict[str, Shape]], name: str) -> Arrow:
    shape = drawn[2][name]
    assert isinstance(shape, Arrow)
    return shape


def test_the_momentum_arrows_start_at_the_centre_of_mass(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    whole = momenta(drawn[0])
    for name, part in (("linear", whole.centroidal[:3]), ("angular", whole.centroidal[3:])):
        shape = arrow(drawn, f"{name} momentum")
        np.testing.assert_array_equal(shape.start, whole.centre_of_mass)
        np.testing.assert_allclose(shape.vector, FAR.momentum * part)


def test_the_locked_velocity_is_drawn_in_the_axes_of_the_inertial_frame(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    d = drawn[0]
    if d.model.b == 0:
        assert "locked velocity" not in drawn[2]
        return
    pose = d.placement(d.model.link_names[0])
    velocity = np.append(d.v_hat[:2], 0.0) if d.model.b == 3 else d.v_hat[:3]
    shape = arrow(drawn, "locked velocity")
    np.testing.assert_allclose(shape.start, pose[:3, 3])
    np.testing.assert_allclose(shape.vector, FAR.velocity * pose[:3, :3] @ velocity)


def test_arrows_of_positive_power_point_at_the_centre_of_mass_with_length_in_proportion(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    d, ports, shapes = drawn
    centre, supplied = momenta(d).centre_of_mass, ports.supplied(d)
    names = {"end effector": supplied["wrench_end_effector"]}
    if d.model.b:
        names["base"] = supplied["wrench_base"]
    torque = ports.torque
    assert torque is not None
    names |= dict(zip(d.model.joint_names, torque * d.v[d.model.b :], strict=True))
    for name, power in names.items():
        shape = arrow(drawn, f"power {name}")
        assert np.linalg.norm(shape.vector) == pytest.approx(FAR.power * abs(power), abs=1e-12)
        # An arrow into the robot ends at the port, an arrow out of it begins there.
        port = shape.start + shape.vector if power > 0 else shape.start
        assert shape.vector @ (centre - port) * power >= -1e-12
    assert sum(p for n, p in names.items() if n in d.model.joint_names) == pytest.approx(
        supplied["torque"]
    )
    assert len([s for s in shapes if s.startswith("power ")]) == len(names)


def test_the_locked_inertia_is_a_homogeneous_body_of_the_same_mass_and_moments(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    d = drawn[0]
    shape = drawn[2]["locked inertia"]
    assert isinstance(shape, Ellipsoid)
    a, b, c = shape.half_axes**2
    moments = d.model.total_mass / 5 * np.array([b + c, a + c, a + b])
    inertia = shape.axes @ np.diag(moments) @ shape.axes.T
    model = d.model.pinocchio
    data = model.createData()
    # Reference: the sum over all bodies about the common centre of mass.
    q = d.model.tree.full_configuration(d.q)
    pin.forwardKinematics(model, data, q)
    centre, total = momenta(d).centre_of_mass, np.zeros((3, 3))
    for i in range(1, model.njoints):
        body, pose = model.inertias[i], data.oMi[i]
        away = pose.act(body.lever) - centre
        total += pose.rotation @ body.inertia @ pose.rotation.T
        total += body.mass * (away @ away * np.eye(3) - np.outer(away, away))
    # A planar robot is drawn at least one millimetre thick on either side.
    own, axes = np.linalg.eigh(total)
    squares = np.maximum(5 / d.model.total_mass * (own.sum() / 2 - own), 1e-6)
    drawn_so = d.model.total_mass / 5 * (squares.sum() - squares)
    expected = axes @ np.diag(drawn_so) @ axes.T
    np.testing.assert_allclose(inertia, expected, rtol=1e-9, atol=1e-9 * np.abs(total).max())
    if d.model.n > 1:
        np.testing.assert_allclose(expected, total, atol=1e-9 * np.abs(total).max())
    assert np.linalg.det(shape.axes) == pytest.approx(1.0)


def test_the_half_axes_of_the_task_ellipsoid_are_the_apparent_masses_of_a_push(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    d = drawn[0]
    jacobian = PositionTask(d.model).jacobian(d)
    if (
        np.linalg.matrix_rank(jacobian) < 3
    ):  # the task inertia of a planar robot is undefined across its plane
        assert "task inertia" not in drawn[2]
        return
    shape = drawn[2]["task inertia"]
    assert isinstance(shape, Ellipsoid)
    mobility = jacobian @ np.linalg.solve(d.M, jacobian.T)
    for k in range(3):
        push = shape.axes[:, k]
        # A unit force along an axis accelerates the end effector by one over the apparent mass.
        np.testing.assert_allclose(
            mobility @ push, push * FAR.inertia / shape.half_axes[k], rtol=1e-6
        )


def test_every_shape_becomes_markers_of_its_own_namespace(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    markers = to_markers(Header(frame_id="odom"), list(drawn[2].values())).markers
    names = [marker.ns for marker in markers]
    assert len(set(names)) == len(names)
    assert {marker.header.frame_id for marker in markers} == {"odom"}
    bars = [shape for shape in drawn[2].values() if isinstance(shape, Bar)]
    assert len(markers) == len(drawn[2]) + len(bars)
    for marker in markers:
        if marker.type == Marker.ARROW and marker.action == Marker.ADD:
            assert len(marker.points) == 2
        elif marker.type == Marker.SPHERE:
            r = marker.pose.orientation
            assert r.x**2 + r.y**2 + r.z**2 + r.w**2 == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["panda", "hextilt", "satellite_panda"])
@pytest.mark.parametrize("speed", [0.02, 1.0, 50.0])
def test_without_a_scale_what_is_drawn_fits_the_robot_at_any_speed(name: str, speed: float) -> None:
    model, rng = robots.load(name), np.random.default_rng(4)
    d = model.evaluate(model.random_configuration(rng), speed * rng.normal(size=model.nv))
    ports = Ports(speed * rng.normal(size=model.n), None, None)
    drawn = Shapes(Scales(), PositionTask(model))
    shapes = {shape.name: shape for shape in drawn.shapes(d, ports)}
    bars = [shape.height for shape in shapes.values() if isinstance(shape, Bar)]
    arrows = {n: s for n, s in shapes.items() if isinstance(s, Arrow)}
    for names in (["linear momentum"], [n for n in arrows if n.startswith("power")]):
        lengths = [np.linalg.norm(arrows[name].vector) for name in names]
        assert 0.15 * drawn.size < max(lengths) <= 0.5 * drawn.size
    assert 0.15 * drawn.size < max(bars) <= 0.5 * drawn.size
    task = shapes["task inertia"]
    assert isinstance(task, Ellipsoid)
    assert 0.03 * drawn.size < task.half_axes.max() <= 0.125 * drawn.size


def test_the_kinetic_energy_of_a_moving_base_is_split_in_two(
    drawn: tuple[Evaluation, Ports, dict[str, Shape]],
) -> None:
    d = drawn[0]
    heights = {s.name: s.height for s in drawn[2].values() if isinstance(s, Bar)}
    whole = heights.pop("kinetic energy")
    assert whole == pytest.approx(FAR.energy * d.kinetic_energy)
    if d.model.b == 0:
        assert not heights
        return
    assert heights.keys() == {"kinetic energy, base", "kinetic energy, shape"}
    assert sum(heights.values()) == pytest.approx(whole, abs=2e-3)


def test_a_fitted_scale_is_kept_while_the_motion_dies_away_slowly_and_follows_in_the_end() -> None:
    fitted = FittedRange(1e-6)
    assert fitted.include(3.0, -1.0) == 5.0
    assert [fitted.include(2.0 * 0.999**k) for k in range(250)] == [5.0] * 250
    assert fitted.include(7.0) == 10.0
    for _ in range(2000):
        full = fitted.include(0.05)
    assert full in (0.05, 0.1)
    assert round_up(1e-6) == pytest.approx(1e-6)


def test_an_arrow_too_short_to_be_seen_is_deleted() -> None:
    model = robots.load("panda")
    d = model.evaluate(model.neutral_configuration(), np.zeros(7))
    shapes = Shapes(Scales(), PositionTask(model)).shapes(d, Ports(np.ones(7)))
    markers = {m.ns: m for m in to_markers(Header(), shapes).markers}
    assert markers["linear momentum"].action == Marker.DELETE


@pytest.mark.parametrize("name", ["panda", "satellite_panda", "revolute_hopper"])
def test_bars_stand_upright_against_gravity(name: str) -> None:
    model, rng = robots.load(name), np.random.default_rng(3)
    d = model.evaluate(model.random_configuration(rng), rng.normal(size=model.nv))
    shapes = Shapes(FAR, PositionTask(model)).shapes(d, Ports())
    up = np.array([0.0, 1.0, 0.0]) if name.endswith("hopper") else np.array([0.0, 0.0, 1.0])
    bars = [shape for shape in shapes if isinstance(shape, Bar)]
    root = d.placement(model.link_names[0])[:3, 3]
    for bar in bars:
        np.testing.assert_allclose(bar.up, up, atol=1e-15)
        assert abs((bar.position - root) @ up) < 1e-12
    markers = {m.ns: m for m in to_markers(Header(), bars).markers}
    for bar in bars:
        cube = markers[bar.name]
        p, r = cube.pose.position, cube.pose.orientation
        turn = pin.Quaternion(r.w, r.x, r.y, r.z).matrix()
        np.testing.assert_allclose(turn @ [0, 0, 1], up, atol=1e-12)
        foot = np.array([p.x, p.y, p.z]) - cube.scale.z / 2 * up
        np.testing.assert_allclose(foot, bar.position, atol=1e-12)


def test_what_is_drawn_is_in_proportion_to_the_reach_of_the_robot() -> None:
    baxter, borinot = (robots.load(name) for name in ("baxter", "borinot"))
    assert reach(borinot) < 0.6 < 1.0 < reach(baxter)
    assert reach(robots.load("satellite_panda")) > 3.0  # to the ends of its bus, not of its arm
    drawn = {}
    for model in (baxter, borinot):
        d = model.evaluate(model.neutral_configuration(), np.ones(model.nv))
        shapes = Shapes(Scales(energy=1e9, momentum=1e9), PositionTask(model))
        markers = to_markers(Header(), shapes.shapes(d, Ports()), shapes.size).markers
        size = reach(model)
        by_name = {m.ns: m.scale for m in markers}
        bar, label = by_name["kinetic energy"], by_name["kinetic energy, label"]
        arrow = by_name["linear momentum"]
        assert label.x == pytest.approx(0.5 * label.z)
        drawn[model.name] = [bar.x / size, bar.z / size, label.z / size, arrow.x / size]
    first, second = drawn.values()
    np.testing.assert_allclose(first, second)
