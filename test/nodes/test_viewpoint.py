# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The page shows every robot whole, upright and, if it lives in a plane, from the side."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_io import robots
from vms_ph_io.robots.robot_settings import RobotSettings

# An optional dependency.
viser = pytest.importorskip("viser")
from vms_ph_nodes.views.pointer_spring import point_efforts  # noqa: E402
from vms_ph_nodes.views.robot_scene import RobotScene  # noqa: E402
from vms_ph_nodes.views.strip_chart import StripChart  # noqa: E402
from vms_ph_nodes.views.viewpoint import Viewpoint, WorldView, viewpoint  # noqa: E402

DRONE = str(Path(__file__).parent / "own_drone.urdf")

# Half of the vertical angle of viser's camera.
HALF_ANGLE = np.radians(75.0 / 2)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    made = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield made
    made.stop()


def _seen(server: Any, settings: RobotSettings) -> tuple[VMSModel, np.ndarray, Viewpoint]:
    description = settings.description()
    model = settings.model(description)
    box = RobotScene(server, model, description).box(settings.initial_configuration(model))
    return model, box, viewpoint(model, box)


# Their meshes take long to read; those of the Panda are read once.
LARGE = ("baxter", "omnidirectional_panda", "satellite_panda")
ROBOTS = [
    pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name
    for name in (*robots.names(), DRONE)
]


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_camera_sees_the_whole_robot_upright(robot: str, server: Any) -> None:
    model, box, view = _seen(server, RobotSettings(robot, "floating" if robot == DRONE else ""))
    assert (box[1] - box[0]).max() > 0.1
    filled = []
    distance = np.linalg.norm(view.position - view.look_at)
    axis = (view.position - view.look_at) / distance
    right = np.cross(view.up, axis)
    for corner in itertools.product(*box.T):
        ray = np.array(corner) - view.position
        assert ray @ axis < 0.0  # in front of the camera
        upwards = ray @ np.cross(axis, right) / np.linalg.norm(right) ** 2
        sideways = ray @ right / np.linalg.norm(right)
        filled.append(max(abs(upwards), abs(sideways)) / (-ray @ axis * np.tan(HALF_ANGLE)))
    assert max(filled) == pytest.approx(0.6, abs=0.1)  # and not from afar
    assert view.size <= 8 * view.cell < 2 * view.size * 1.0001
    if np.any(model.gravity):
        np.testing.assert_allclose(view.up * 9.81, -model.gravity)
    axis = (view.position - view.look_at) / distance
    if robot.endswith("hopper"):
        np.testing.assert_array_equal(view.up, [0, 1, 0])
        np.testing.assert_allclose(axis, [0, 0, 1])
        assert view.grid == "xz"
    else:
        np.testing.assert_array_equal(view.up, [0, 0, 1])
        assert 0.2 < axis @ view.up < 0.7
        assert view.grid == "xy"
    assert view.floor @ view.up == pytest.approx(0.0)


def test_the_view_follows_the_settings_of_the_robot(server: Any) -> None:
    _, box, view = _seen(server, RobotSettings("panda", gravity="0 -1.62 0"))
    np.testing.assert_array_equal(view.up, [0, 1, 0])
    assert view.grid == "xz"
    other = _seen(server, RobotSettings("panda", initial_positions="panda_joint4=-0.1"))[1]
    assert other[1, 2] > box[1, 2] + 0.1  # the arm is stretched upwards


def test_the_view_goes_with_a_robot_that_leaves_it_and_stays_with_one_that_sways(
    server: Any,
) -> None:
    _, _, view = _seen(server, RobotSettings("revolute_hopper"))
    start = np.array([1.0, 0.5, 0.0])
    world = WorldView(server)
    world.show(view, start)
    for sway in (0.1, -0.2, 0.0):
        world.follow(start + np.array([0.0, sway * view.size, 0.0]))
    assert not world.shift.any()
    for x in np.linspace(0.0, 10.0, 60):
        world.follow(start + x * np.eye(3)[0])
    world.follow(np.array([np.nan, 0.0, 0.0]))
    # The robot is at most the free distance away from the middle.
    np.testing.assert_allclose(world.shift, [0.25 * view.size - 10.0, 0.0, 0.0])


@pytest.mark.parametrize("robot", ["panda", "hextilt"])
def test_dragging_a_link_acts_like_a_force_at_the_point_that_is_held(
    robot: str, server: Any
) -> None:
    settings = RobotSettings(robot)
    description = settings.description()
    model = settings.model(description)
    scene = RobotScene(server, model, description, "/pulled")
    q = model.random_configuration(np.random.default_rng(3))
    scene.configure(q)
    d = model.evaluate(q, np.zeros(model.nv))
    force = np.array([3.0, -2.0, 5.0])
    for link in (scene.links[-1], scene.links[len(scene.links) // 2], scene.root):
        pose = d.placement(link)
        point = pose[:3, 3] + pose[:3, :3] @ [0.1, 0.02, -0.05]
        found = point_efforts(model, scene, link, point, force)
        jacobian = d.jacobian(link)
        local = pose[:3, :3].T @ force
        wrench = np.concatenate([local, np.cross([0.1, 0.02, -0.05], local)])
        expected = jacobian.T @ wrench
        torques = [found.torques.get(name, 0.0) for name in model.joint_names]
        base = () if found.base_wrench is None else found.base_wrench
        np.testing.assert_allclose([*base, *torques], expected, atol=1e-6)
    scene.remove()


def test_the_curves_of_a_plot_follow_the_names_of_the_values(server: Any) -> None:
    strip = StripChart(server, "energy", "J", 0.01)
    for labels in (("total", "kinetic, task"), ("total", "kinetic, base", "kinetic, shape")):
        for time in (0.0, 1.0, 2.0):
            strip.add(time, dict.fromkeys(labels, time))
        strip.draw()
        assert [series["label"] for series in strip.plot.series] == ["t", *labels]
        assert len(strip.plot.data) == len(labels) + 1
        np.testing.assert_array_equal(strip.plot.data[1], [0.0, 1.0, 2.0])


def test_a_peak_between_two_samples_of_a_plot_is_drawn(server: Any) -> None:
    strip = StripChart(server, "power", "W", 0.01)
    for k in range(50):
        strip.add(0.01 * k, {"push": 40.0 if k == 23 else 0.0, "other": 1.0})
    strip.draw()
    assert len(strip.plot.data[0]) < 10
    assert strip.plot.data[1].max() == 40.0
    assert set(strip.plot.data[2]) == {1.0}


@pytest.mark.parametrize(
    ("value", "label", "drawn"),
    [
        (0.0, "J", 0.0),
        (2.0, "J", 2.0),
        (3e-3, "mJ", 3.0),
        (-0.7e-6, "µJ", -0.7),
        (1e-20, "µJ", 1e-14),
    ],
)
def test_small_values_of_a_plot_are_drawn_with_a_prefix(
    server: Any, value: float, label: str, drawn: float
) -> None:
    strip = StripChart(server, "energy", "J", 1e-15 if value else 1.0)
    strip.add(0.0, {"total": 0.0})
    strip.add(1.0, {"total": value})
    strip.draw()
    assert strip.plot.axes[1]["label"] == label
    np.testing.assert_allclose(strip.plot.data[1][1], drawn)
