"""URDF and xacro files: reading, checking, what is to be seen."""

from .checks import Findings, UrdfWarning, check_urdf, require_sound
from .loading import load_urdf, read_urdf

__all__ = [
    "Findings",
    "UrdfWarning",
    "check_urdf",
    "load_urdf",
    "read_urdf",
    "require_sound",
]
