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

"""Robots on wheels: velocity constraints, reduced by a basis of the velocities they allow."""

from .constraint import SidewaysConstraint, WheelConstraint
from .form import NonholonomicForm, NonholonomicTerms
from .on_wheels import on_wheels
from .stepper import NonholonomicRK4

__all__ = [
    "NonholonomicForm",
    "NonholonomicRK4",
    "NonholonomicTerms",
    "SidewaysConstraint",
    "WheelConstraint",
    "on_wheels",
]
