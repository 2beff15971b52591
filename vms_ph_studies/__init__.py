# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies, which reproduce results of the sources, and benchmarks; without ROS."""

from vms_ph_io.progress import Progress

from .check import Check, Origin, Verdict
from .registry import get, studies
from .study import Outcome, Parameter, Settings, Study

__all__ = [
    "Check",
    "Origin",
    "Outcome",
    "Parameter",
    "Progress",
    "Settings",
    "Study",
    "Verdict",
    "get",
    "studies",
]
