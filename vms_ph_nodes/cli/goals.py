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

"""Goals of scenes and tasks in words: wanted, obtained, met."""

from collections.abc import Iterator, Mapping
from typing import Any


def goal_lines(goals: Mapping[str, Mapping[str, Any]], shortest: float = 0.0) -> Iterator[str]:
    """Yield a line for each goal.

    Args:
        goals: by name, as of ``vms_ph_studies``.
        shortest: duration after which all goals are judged, s; named where one was not.
    """
    for name, goal in goals.items():
        if goal["obtained"] is None:
            yield f"  {name}: {goal['what']}: NOT JUDGED, it takes at least {shortest:g} s"
            continue
        yield (
            f"  {name}: {goal['what']} {goal['obtained']:.4g}, wanted {goal['wanted']:.4g}: "
            f"{'met' if goal['met'] else 'NOT MET'}"
        )
