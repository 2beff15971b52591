# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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
