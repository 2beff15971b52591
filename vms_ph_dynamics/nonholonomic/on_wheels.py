# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Robots on wheels that do not slip, by the joints that turn them."""

from collections.abc import Mapping

from ..model import VMSModel
from .constraint import WheelConstraint
from .form import NonholonomicForm


def on_wheels(model: VMSModel, wheels: Mapping[str, float]) -> NonholonomicForm | None:
    """Return a robot on wheels, radii by the names of their joints (m); None without any.

    Raises:
        ModelError: the base is not planar, a joint is unknown or turns no wheel, or a radius is not
            positive.
    """
    if not wheels:
        return None
    return NonholonomicForm(model, [WheelConstraint(model, n, r) for n, r in wheels.items()])
