# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Fits a configuration of RViz to a robot: camera, grid, frame prefix and namespace.

``rviz_config TEMPLATE "robot=hextilt; base=floating" --prefix left/ --namespace left`` writes a
configuration file and prints its path; the launch files pass it to RViz.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io.robot_settings import RobotSettings, from_arguments
from vms_ph_io.yaml_text import read_yaml

from .shapes import bar_offset, body_ellipsoids, reach, up_axes

# RViz has a vertical angle of 45 degrees; a view from here is filled by three quarters.
_DISTANCE = 1.25

# Height of the view in an orthographic projection, pixels.
_PIXELS = 500.0

# Topics of a display, or the namespace of interactive markers.
_TOPICS = ("Topic", "Description Topic")
_MARKERS = "Interactive Markers Namespace"


def robot_box(model: VMSModel, q: Array) -> Array:
    """Return the smallest and largest coordinates, (2,3) m, of the robot and the energy bars."""
    d = model.evaluate(q, np.zeros(model.nv))
    places = [d.placement(name)[:3, 3] for name in model.link_names]
    root, size = places[0], reach(model)
    away = size * up_axes(model.gravity) @ bar_offset(model)
    places.append(root + away)
    if model.base == "floating":  # it is as wide on the other side
        places.append(root - away)
    data = d.tree.data()
    pin.forwardKinematics(d.tree.pinocchio, data, d.tree.full_configuration(q))
    for centre, axes in body_ellipsoids(d.tree.pinocchio, data):
        extent = np.linalg.norm(axes, axis=1)
        places += [centre - extent, centre + extent]
    return np.array([np.min(places, axis=0), np.max(places, axis=0)])


def fitted(content: dict[str, Any], model: VMSModel, q: Array) -> dict[str, Any]:
    """Return a configuration whose camera and grid fit a robot in its configuration ``q``.

    The direction from which the camera looks stays as it is.
    """
    box = robot_box(model, q)
    middle, size = box.mean(axis=0), float(np.linalg.norm(box[1] - box[0]))
    manager = content["Visualization Manager"]
    view = manager["Views"]["Current"]
    if "Distance" in view:
        view["Distance"] = round(_DISTANCE * size, 3)
        view["Focal Point"] = dict(zip("XYZ", middle.round(3).tolist(), strict=True))
    if "Scale" in view:
        view["Scale"] = round(_PIXELS / size, 1)
    for display in manager["Displays"]:
        if display["Class"].endswith("/Grid"):
            display["Cell Size"] = float(2.0 ** np.round(np.log2(size / 12.0)))
    return content


def named(content: dict[str, Any], prefix: str, namespace: str) -> dict[str, Any]:
    """Return a configuration for a robot with a frame prefix and a namespace."""
    space = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
    for display in content["Visualization Manager"]["Displays"]:
        if "TF Prefix" in display:
            # RViz puts a slash between the prefix and the frame.
            display["TF Prefix"] = prefix.removesuffix("/")
        for key in filter(display.__contains__, _TOPICS):
            display[key]["Value"] = space + display[key]["Value"]
        if _MARKERS in display:
            display[_MARKERS] = space + display[_MARKERS]
    return content


def write(content: dict[str, Any], name: str) -> Path:
    """Write a configuration into the folder of ROS in the home of the user; return its path."""
    home = Path(os.environ.get("ROS_HOME") or Path.home() / ".ros") / "vms_ph"
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = home / f"{name}.rviz"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
    except OSError:  # no home, or one that is not writable
        file = Path(tempfile.mkdtemp()) / f"{name}.rviz"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
    return file


def main() -> None:
    """Print the path of a fitted configuration, or of the template where there is no robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("template", type=Path)
    parser.add_argument("settings", nargs="?", default="")
    parser.add_argument("--prefix", default="")
    parser.add_argument("--namespace", default="")
    given = parser.parse_args()
    try:
        settings = RobotSettings().updated(from_arguments(given.settings))
        model = settings.model(settings.description(lambda _: None))
        content = fitted(read_yaml(given.template), model, settings.initial_configuration(model))
        content = named(content, given.prefix, given.namespace)
    except (VmsPhError, OSError, KeyError, TypeError) as error:
        # RViz then opens the file as it is.
        print(f"RViz shows {given.template} as it is: {error}", file=sys.stderr)
        print(given.template, end="")
        return
    label = "_".join(filter(str.isidentifier, [given.namespace.strip("/"), model.name])) or "robot"
    print(write(content, label), end="")  # a launch file takes the output as it is


if __name__ == "__main__":
    main()
