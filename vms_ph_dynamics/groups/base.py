"""The group of the poses of a moving base."""

from .group import Group
from .planar import SE2
from .se3 import SE3

_GROUPS: dict[str, Group] = {"planar": SE2(), "floating": SE3()}


def base_group(base: str) -> Group:
    """Return SE(2) for a planar and SE(3) for a floating base."""
    return _GROUPS[base]
