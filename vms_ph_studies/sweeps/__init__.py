# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Sweeps: parameter and Monte Carlo studies of a function, on all cores or on a cluster."""

from .progress import SweepProgress, SweepSummary
from .results import Results
from .study_file import SweepStudy, read_study
from .sweep import Sweep
from .target import Target, target_names

__all__ = [
    "Results",
    "Sweep",
    "SweepProgress",
    "SweepStudy",
    "SweepSummary",
    "Target",
    "read_study",
    "target_names",
]
