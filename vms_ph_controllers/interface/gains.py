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

"""Declaration of gains: a field of a ``Gains`` record is the only place a gain is described."""

from dataclasses import field


def gain(
    default: float, description: str, low: float, high: float, *, at_once: bool = False
) -> float:
    """Declare a scalar field of a ``Gains`` record with its bounds.

    The laws follow changes at a bounded rate, see :class:`.laws.gain_ramp.GainRamp`; limits act
    ``at_once``.

    Args:
        default: value where none is set, in the unit of the description.
        description: in a few words, with the unit.
        low: smallest value, in that unit.
        high: largest value.
        at_once: whether a change acts at once.
    """
    metadata = {"description": description, "low": low, "high": high, "at_once": at_once}
    return field(default=default, metadata=metadata)


def switch(default: bool, description: str) -> bool:
    """Declare a field of a ``Gains`` record that is on or off.

    Args:
        default: whether it is on where nothing is set.
        description: in a few words.
    """
    metadata = {"description": description, "low": None, "high": None, "at_once": True}
    return field(default=default, metadata=metadata)
