# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fits a configuration of RViz to a robot: camera, grid, frame prefix and namespace.

``rviz_config TEMPLATE "robot=hextilt; base=floating" --prefix left/ --namespace left`` writes a
configuration file and prints its path; the launch files pass it to RViz. Without settings, those in
VMS_PH_LAUNCH_ARGUMENTS are taken.
"""

import argparse
import os
import sys
from itertools import product
from math import radians, sin
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from vms_ph_dynamics import Array, VMSModel, VmsPhError
from vms_ph_io.installation import write_user_file
from vms_ph_io.robots.robot_settings import RobotSettings, from_arguments
from vms_ph_io.settings.bounded_text import read_yaml

from .views.shapes import bar_offsets, reach, up_axes

# Sine of half the vertical angle of the view, 45 degrees; a twelfth is left free around the robot.
_HALF_ANGLE_SINE = sin(radians(22.5)) / 1.09

# Height of the view in an orthographic projection, pixels.
_VIEW_PIXELS = 500.0

# Height of a tall bar with its label, and half the width of the label, for a reach of 1 m.
_BAR_HEIGHT, _LABEL_M = 0.7, 0.13

# Half the width of the handle of the reference, likewise.
_HANDLE = 0.22

# Topics of a display, or the namespace of interactive markers.
_TOPIC_KEYS = ("Topic", "Description Topic")
_MARKERS_KEY = "Interactive Markers Namespace"


def bounding_box(model: VMSModel, q: Array) -> Array:
    """Return the smallest and largest coordinates (2,3), m, of links, handle and energy bars."""
    d = model.evaluate(q, np.zeros(model.nv))
    points = [d.placement(name)[:3, 3] for name in model.link_names]
    root_position, size, up_rotation = points[0], reach(model), up_axes(model.gravity)
    for offset in bar_offsets(model, size):
        for x, y, z in product((-_LABEL_M, _LABEL_M), (-_LABEL_M, _LABEL_M), (0.0, _BAR_HEIGHT)):
            points.append(root_position + offset + size * up_rotation @ np.array([x, y, z]))
    handle = root_position if model.b else d.placement(model.end_effector)[:3, 3]
    points += [*(handle + _HANDLE * size * np.eye(3)), *(handle - _HANDLE * size * np.eye(3))]
    return np.array([np.min(points, axis=0), np.max(points, axis=0)])


def fit(content: dict[str, Any], model: VMSModel, q: Array) -> dict[str, Any]:
    """Return a configuration whose camera and grid fit a robot in its configuration ``q``.

    The direction from which the camera looks stays as it is.
    """
    box = bounding_box(model, q)
    diagonal = float(np.linalg.norm(box[1] - box[0]))
    manager = content["Visualization Manager"]
    view = manager["Views"]["Current"]
    if "Distance" in view:
        # The ball around the box touches the edges of the view.
        view["Distance"] = round(0.5 * diagonal / _HALF_ANGLE_SINE, 3)
        view["Focal Point"] = dict(zip("XYZ", box.mean(axis=0).round(3).tolist(), strict=True))
    if "Scale" in view:
        view["Scale"] = round(_VIEW_PIXELS / diagonal, 1)
    for display in manager["Displays"]:
        if display["Class"].endswith("/Grid"):
            display["Cell Size"] = float(2.0 ** np.round(np.log2(diagonal / 12.0)))
    return content


def set_names(content: dict[str, Any], prefix: str, namespace: str) -> dict[str, Any]:
    """Return a configuration for a robot with a frame prefix and a namespace."""
    topic_prefix = f"/{namespace.strip('/')}" if namespace.strip("/") else ""
    for display in content["Visualization Manager"]["Displays"]:
        if "TF Prefix" in display:
            # RViz puts a slash between the prefix and the frame.
            display["TF Prefix"] = prefix.removesuffix("/")
        for key in filter(display.__contains__, _TOPIC_KEYS):
            display[key]["Value"] = topic_prefix + display[key]["Value"]
        if _MARKERS_KEY in display:
            display[_MARKERS_KEY] = topic_prefix + display[_MARKERS_KEY]
    return content


def main() -> None:
    """Print the path of a fitted configuration, or of the template where there is no robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("template", type=Path)
    arguments = os.environ.get("VMS_PH_LAUNCH_ARGUMENTS", "")
    parser.add_argument("settings", nargs="?", default=arguments)
    parser.add_argument("--prefix", default="")
    parser.add_argument("--namespace", default="")
    options = parser.parse_args()
    try:
        settings = RobotSettings().with_changes(from_arguments(options.settings))
        model = settings.model(settings.description(lambda _: None))
        content = fit(read_yaml(options.template), model, settings.initial_configuration(model))
        content = set_names(content, options.prefix, options.namespace)
    except (VmsPhError, OSError, KeyError, TypeError) as error:
        # RViz then opens the file as it is.
        print(f"RViz shows {options.template} as it is: {error}", file=sys.stderr)
        print(options.template, end="")
        return
    names = filter(str.isidentifier, [options.namespace.strip("/"), model.name])
    file_stem = "_".join(names) or "robot"
    file = write_user_file(f"{file_stem}.rviz", yaml.safe_dump(content, sort_keys=False))
    print(file, end="")  # a launch file takes the output as it is
