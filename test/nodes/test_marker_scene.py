# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The web page draws the markers of RViz."""

import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics import Ports, PositionTask
from vms_ph_dynamics.simulation.contact import Shape
from vms_ph_io import robots
from vms_ph_nodes.marker_publisher import to_markers
from vms_ph_nodes.simulation.scene_publishers import marker_of
from vms_ph_nodes.views.shapes import Arrow, Scales, Shapes, is_visible

# An optional dependency.
viser = pytest.importorskip("viser")
from vms_ph_nodes.views.marker_scene import GROUPS, HIDDEN_GROUPS, MarkerScene, Surroundings  # noqa: E402
from vms_ph_nodes.views.robot_scene import RobotScene  # noqa: E402


@pytest.fixture
def server() -> Iterator[Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    made = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    yield made
    made.stop()


def test_every_marker_is_drawn_where_rviz_draws_it(server: Any) -> None:
    model, rng = robots.load("hextilt"), np.random.default_rng(2)
    scene = MarkerScene(server)
    for _ in range(3):
        d = model.evaluate(model.random_configuration(rng), rng.normal(size=model.nv))
        ports = Ports(rng.normal(size=5), rng.normal(size=6), rng.normal(size=6))
        shapes = Shapes(Scales(), PositionTask(model)).shapes(d, ports)
        array = to_markers(Header(frame_id="odom"), shapes)
        scene.show(array)
        arrows = [s for s in shapes if isinstance(s, Arrow) and is_visible(s)]
        # The page uses single precision.
        np.testing.assert_allclose(
            scene._arrows.points,
            [[a.start, a.start + a.vector] for a in arrows],
            atol=1e-6,
        )
        for marker in array.markers:
            handle = _drawn(scene).get(marker.ns)
            if handle is not None:
                p = marker.pose.position
                np.testing.assert_allclose(handle.position, [p.x, p.y, p.z])
        centre = next(m for m in array.markers if m.ns == "centre of mass")
        assert _drawn(scene)["centre of mass"].scale == pytest.approx([centre.scale.x] * 3)
        assert _drawn(scene)["centre of mass"].visible
        assert not _drawn(scene)["locked inertia"].visible
    drawn = set(_drawn(scene))
    assert drawn >= {"locked inertia", "task inertia", "kinetic energy", "kinetic energy, label"}


def test_arrows_that_are_no_longer_published_are_removed(server: Any) -> None:
    model = robots.load("panda")
    shapes = Shapes(Scales(), PositionTask(model))
    scene = MarkerScene(server)
    moving = model.evaluate(model.neutral_configuration(), np.ones(7))
    scene.show(to_markers(Header(), shapes.shapes(moving, Ports(np.ones(7)))))
    assert scene._arrows.visible
    resting = model.evaluate(model.neutral_configuration(), np.zeros(7))
    scene.show(to_markers(Header(), shapes.shapes(resting, Ports(np.ones(7)))))
    assert not scene._arrows.visible


def test_every_marker_belongs_to_a_group_of_the_legend_that_hides_it(server: Any) -> None:
    model, rng = robots.load("hextilt"), np.random.default_rng(3)
    d = model.evaluate(model.random_configuration(rng), rng.normal(size=model.nv))
    ports = Ports(rng.normal(size=5), rng.normal(size=6), rng.normal(size=6))
    array = to_markers(Header(), Shapes(Scales(), PositionTask(model)).shapes(d, ports))
    groups = {
        m.ns: [g for g in GROUPS if m.ns.startswith(g.names or g.name)] for m in array.markers
    }
    assert all(len(found) == 1 for found in groups.values()), groups
    scene = MarkerScene(server)
    scene.show(array)
    arrows = len(scene._arrows.points)
    for box, group in zip(scene.checkboxes, GROUPS, strict=True):
        box.value = group.name in HIDDEN_GROUPS
    scene.show(array)
    assert len(scene._arrows.points) == arrows
    assert not scene._arrows.visible
    shown = {name for name, handle in _drawn(scene).items() if handle.visible}
    assert shown == {name for name in _drawn(scene) if groups[name][0].name in HIDDEN_GROUPS}


def test_the_legend_names_what_is_drawn(
    server: Any,
) -> None:
    scene = MarkerScene(server)
    assert not any(box.visible for box in scene.checkboxes)
    ball = Marker(ns="centre of mass", type=Marker.SPHERE)
    scene.show(MarkerArray(markers=[ball]))
    shown = [g.name for g, box in zip(GROUPS, scene.checkboxes, strict=True) if box.visible]
    assert shown == ["centre of mass"]


def test_the_bodies_of_a_scene_stand_where_they_are_and_a_tool_goes_with_its_link(
    server: Any,
) -> None:
    robot = robots.get("borinot")
    drawn = RobotScene(server, robot.load(), robot.description())
    around = Surroundings(server)
    here, there = Header(frame_id="odom"), Header(frame_id=drawn.end_effector)
    wall = Shape("box", (0.1, 2.0, 1.0), pose=_moved(1.5), rgba=(0.2, 0.4, 0.6, 1.0))
    ball = Shape("sphere", (0.25,), pose=_moved(0.1), rgba=(1.0, 0.0, 0.0, 0.5))
    markers = [
        marker_of(here, "wall", 0, wall, _moved(0.5)),
        marker_of(there, "tool", 0, ball, np.eye(4)),
    ]
    around.on_scene(MarkerArray(markers=markers))
    for _ in range(2):  # again with another robot
        around.draw(drawn)
        box, sphere = _drawn(around)["wall"], _drawn(around)["tool"]
        np.testing.assert_allclose(box.position, (2.0, 0.0, 0.0))
        np.testing.assert_allclose(box.scale, (0.1, 2.0, 1.0))
        assert box.color == (51, 102, 153)
        assert sphere.name.startswith(drawn.path(drawn.end_effector, "none"))
        np.testing.assert_allclose(sphere.position, (0.1, 0.0, 0.0))
        np.testing.assert_allclose(sphere.scale, (0.5, 0.5, 0.5))
        around.redraw()
    around.draw(drawn)
    around.on_scene(MarkerArray(markers=[marker_of(here, "wall", 0, wall, _moved(1.0))]))
    around.draw(drawn)
    np.testing.assert_allclose(_drawn(around)["wall"].position, (2.5, 0.0, 0.0))


def test_a_marker_that_becomes_another_one_is_made_anew_and_one_that_is_deleted_goes(
    server: Any,
) -> None:
    scene = MarkerScene(server)
    kinds = (
        Marker.TEXT_VIEW_FACING,
        Marker.SPHERE,
        Marker.CUBE,
        Marker.ARROW,
        Marker.TEXT_VIEW_FACING,
    )
    for kind in (*kinds, Marker.LINE_STRIP, Marker.CYLINDER):
        scene.show(MarkerArray(markers=[Marker(ns="a", type=kind, text="a" * 10_000)]))
    assert len(_drawn(scene)) == 1
    several = [Marker(ns="a/b", id=k, type=Marker.SPHERE) for k in range(3)]
    scene.show(MarkerArray(markers=several))
    assert len(scene._bodies.handles()) == 4
    scene.show(MarkerArray(markers=[Marker(ns="a", action=Marker.DELETE), *several]))
    assert len(scene._bodies.handles()) == 3
    scene.show(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    assert not scene._bodies.handles()


@pytest.mark.parametrize("number", [1e300, -1e300, float("inf"), float("nan")])
def test_a_marker_without_a_size_is_left_out(server: Any, number: float) -> None:
    scene = MarkerScene(server)
    for kind in (Marker.CUBE, Marker.TEXT_VIEW_FACING):
        marker = Marker(ns="a", type=kind)
        marker.scale.z = number
        scene.show(MarkerArray(markers=[marker]))
    assert not scene._bodies.handles()


def test_a_topic_cannot_fill_a_page_with_markers(server: Any) -> None:
    scene = MarkerScene(server)
    for k in range(11):
        names = [f"{k}/{n}" for n in range(100)]
        scene.show(MarkerArray(markers=[Marker(ns=n, type=Marker.TEXT_VIEW_FACING) for n in names]))
    assert len(scene._bodies.handles()) == 1000


def _drawn(scene: Any) -> dict[str, Any]:
    return {namespace: handle for (namespace, _), handle in scene._bodies.handles()}


def _moved(x: float) -> np.ndarray:
    pose = np.eye(4)
    pose[0, 3] = x
    return pose
