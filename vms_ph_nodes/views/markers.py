# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""RViz markers of shapes, and of the temperature and the destroyed exergy of joints."""

from collections.abc import Mapping

import numpy as np
import pinocchio as pin
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from vms_ph_dynamics.evaluation import Evaluation

from ..messages.conversions import to_point, to_quaternion, to_vector
from ..messages.exergy_message import JointHeat
from .shapes import Arrow, Bar, Ellipsoid, Rgba, Shape, is_visible

_SHAFT, _HEAD, _WIDTH, _TEXT = 0.012, 0.03, 0.05, 0.05  # m, for a robot with a reach of 1 m


def to_markers(header: Header, shapes: list[Shape], size: float = 1.0) -> MarkerArray:
    """Return shapes as markers, each in its own namespace, so that RViz can hide each one.

    Args:
        header: of every marker.
        shapes: what is drawn.
        size: reach of the robot, m, to which the width of arrows, bars and labels is proportional.
    """
    markers = []
    for shape in shapes:
        if isinstance(shape, Arrow):
            markers.append(_arrow(header, shape, size))
        elif isinstance(shape, Ellipsoid):
            markers.append(_ellipsoid(header, shape))
        else:
            markers += [_bar(header, shape, size), _label(header, shape, size)]
    return MarkerArray(markers=markers)


def _arrow(header: Header, arrow: Arrow, size: float) -> Marker:
    action = Marker.ADD if is_visible(arrow) else Marker.DELETE
    marker = _marker(header, arrow.name, Marker.ARROW, arrow.colour, action)
    if action == Marker.ADD:
        marker.points = [to_point(arrow.start), to_point(arrow.start + arrow.vector)]
        head = min(2 * size * _HEAD, 0.5 * float(np.linalg.norm(arrow.vector)))
        marker.scale = to_vector((size * _SHAFT, size * _HEAD, head))
    return marker


def _ellipsoid(header: Header, ellipsoid: Ellipsoid) -> Marker:
    marker = _marker(header, ellipsoid.name, Marker.SPHERE, ellipsoid.colour)
    marker.pose.position = to_point(ellipsoid.centre)
    marker.pose.orientation = to_quaternion(ellipsoid.axes)
    marker.scale = to_vector(2 * ellipsoid.half)
    return marker


def _bar(header: Header, bar: Bar, size: float) -> Marker:
    marker = _marker(header, bar.name, Marker.CUBE, bar.colour)
    marker.pose.position = to_point(bar.position + bar.height / 2 * bar.up)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), bar.up).matrix()
    marker.pose.orientation = to_quaternion(turn)
    marker.scale = to_vector((size * _WIDTH, size * _WIDTH, bar.height))
    return marker


def _label(header: Header, bar: Bar, size: float) -> Marker:
    marker = _marker(header, f"{bar.name}, label", Marker.TEXT_VIEW_FACING, (0.1, 0.1, 0.1, 1.0))
    marker.pose.position = to_point(bar.position + (bar.height + 3 * size * _TEXT) * bar.up)
    # RViz takes x of a text for the width of a blank; without one its words are far apart.
    marker.scale.x, marker.scale.z = 0.5 * size * _TEXT, size * _TEXT
    marker.text = bar.text
    return marker


def _marker(header: Header, name: str, kind: int, colour: Rgba, action: int = Marker.ADD) -> Marker:
    r, g, b, a = colour
    tint = ColorRGBA(r=r, g=g, b=b, a=a)
    return Marker(header=header, ns=name, type=kind, action=action, color=tint)


# From the temperature of the environment to one that windings bear, K.
_COLD, _HOT = 298.15, 398.15

# Radii for a robot with a reach of 1 m, m: of a joint that destroys nothing, and of the largest.
_SMALLEST_RADIUS, _LARGEST_RADIUS = 0.02, 0.06


def heat_shapes(d: Evaluation, heat: Mapping[str, JointHeat], size: float) -> list[Shape]:
    """Return a sphere at every joint.

    Its colour is the temperature, from blue over yellow to red; its volume grows with the exergy
    that is destroyed in the joint, and the joint that destroys most has the largest.
    """
    most = max((joint.power for joint in heat.values()), default=0.0)
    shapes: list[Shape] = []
    for name, joint in heat.items():
        share = max(joint.power, 0.0) / most if most > 0.0 else 0.0
        radius = size * (
            _SMALLEST_RADIUS + (_LARGEST_RADIUS - _SMALLEST_RADIUS) * float(np.cbrt(share))
        )
        centre = d.placement(name)[:3, 3]
        colour = colour_of(joint.temperature)
        shapes.append(Ellipsoid(f"heat, {name}", centre, np.eye(3), np.full(3, radius), colour))
    return shapes


def colour_of(theta: float) -> Rgba:
    """Return the colour of a temperature, K."""
    warm = min(max((theta - _COLD) / (_HOT - _COLD), 0.0), 1.0)
    if warm < 0.5:
        return (2.0 * warm * 0.98, 0.35 + 2.0 * warm * 0.5, 0.9 - 2.0 * warm * 0.75, 0.75)
    return (0.98 - (warm - 0.5) * 0.2, 0.85 - (warm - 0.5) * 1.5, 0.15, 0.75)
