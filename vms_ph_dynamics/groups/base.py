# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The group of the poses of a moving base."""

from ..errors import ModelError
from .group import Group
from .planar import SE2
from .se3 import SE3

_GROUPS: dict[str, Group] = {"planar": SE2(), "floating": SE3()}


def base_group(base: str) -> Group:
    """Return SE(2) for a planar and SE(3) for a floating base.

    Raises:
        ModelError: the base is of another kind, such as fixed.
    """
    if base not in _GROUPS:
        raise ModelError(
            f"only a {' or '.join(_GROUPS)} base has a group of poses; given: '{base}'"
        )
    return _GROUPS[base]
