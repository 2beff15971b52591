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

"""Ports for wrenches at frames of bodies."""

from dataclasses import dataclass

from ...arrays import Array


@dataclass(frozen=True)
class Tool:
    """A frame that is fixed to a body and has a port of its own.

    The port takes a wrench at the origin of the frame, in its axes, and gives the twist of the
    frame in its axes.

    Attributes:
        body: its name in the mechanism.
        pose: (4,4) of the frame in the frame of the body, which is at its centre of mass.
    """

    body: str
    pose: Array
