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

"""Sweeps: parameter and Monte Carlo studies of a function, on all cores or on a cluster."""

from .progress import SweepProgress
from .results import Results
from .study_file import SweepStudy, read_study
from .summary import SweepSummary
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
