# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What surrounds a robot in a simulation with contacts: bodies, and shapes added to the robot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ...arrays import Array, frozen
from ...errors import ModelError

SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "plane": (),
        "box": ("edge along x", "edge along y", "edge along z"),
        "sphere": ("radius",),
        "cylinder": ("radius", "length"),
        "capsule": ("radius", "length"),
        "mesh": (),
    }
)
"""The kinds of shapes, and the lengths that each is given by, m."""

Rgba = tuple[float, float, float, float]

_GREY: Rgba = (0.6, 0.62, 0.66, 1.0)


@dataclass(frozen=True)
class Shape:
    """A shape that touches others.

    Attributes:
        kind: one of :data:`SIZES`; a plane is the half-space below its z axis.
        size: the lengths that :data:`SIZES` names, m.
        pose: (4,4) in its body.
        rgba: (4,) its colour.
        vertices: (k,3) of a mesh, whose convex hull touches, m.

    Raises:
        ModelError: there is no such kind, or it has other sizes.
    """

    kind: str
    size: tuple[float, ...] = ()
    pose: Array = field(default_factory=lambda: frozen(np.eye(4)))
    rgba: Rgba = _GREY
    vertices: Array | None = None

    def __post_init__(self) -> None:
        """Check kind and sizes."""
        if self.kind not in SIZES:
            raise ModelError(f"a shape is one of {', '.join(SIZES)}; given: '{self.kind}'")
        lengths = SIZES[self.kind]
        if len(self.size) != len(lengths) or not all(0.0 < s < np.inf for s in self.size):
            raise ModelError(
                f"the size of a {self.kind} is {', '.join(lengths) or 'left out'}, in m and above "
                f"zero; given: {list(self.size)}"
            )


@dataclass(frozen=True)
class Body:
    """A body that stands still, or moves freely.

    Attributes:
        name: of the body.
        shapes: in its frame.
        pose: (4,4) in the inertial frame, of a free body at the start.
        mass: kg, spread evenly over its shapes; zero for a body that stands still.
    """

    name: str
    shapes: tuple[Shape, ...]
    pose: Array = field(default_factory=lambda: frozen(np.eye(4)))
    mass: float = 0.0

    @property
    def is_free(self) -> bool:
        """Whether it moves."""
        return self.mass > 0.0


@dataclass(frozen=True)
class Surface:
    """How surfaces yield and rub; the model is MuJoCo's.

    Attributes:
        friction: coefficient of sliding friction.
        time: time constant with which a contact returns to its rest depth, s.
        damping_ratio: damping ratio of that return; 1 for no overshoot.
    """

    friction: float = 0.6
    time: float = 0.02
    damping_ratio: float = 1.0


@dataclass(frozen=True)
class Scene:
    """Bodies around a robot.

    Attributes:
        name: of the scene.
        title: description in one line.
        bodies: that the robot may touch.
        tool: shapes without mass at the robot's end effector, in its frame.
        surface: contact surface of all bodies and of the robot.
    """

    name: str = "free"
    title: str = "nothing but the robot"
    bodies: tuple[Body, ...] = ()
    tool: tuple[Shape, ...] = ()
    surface: Surface = Surface()

    def body(self, name: str) -> Body:
        """Return a body by name.

        Raises:
            ModelError: listing the bodies there are.
        """
        for body in self.bodies:
            if body.name == name:
                return body
        raise ModelError(
            f"the scene '{self.name}' has no body '{name}'; its bodies are "
            f"{', '.join(body.name for body in self.bodies) or 'none'}"
        )
