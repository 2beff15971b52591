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
