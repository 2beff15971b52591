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

"""Identification from energy: what recordings tell of friction, payload, gains and inertia."""

from .findings import Finding as Finding
from .findings import findings as findings
from .identify import Settings as Settings
from .identify import identify as identify
from .references import Reference as Reference
from .references import left_out_loads as left_out_loads
from .references import predicted as predicted
from .references import reference_loads as reference_loads
from .references import scatter as scatter
from .result import Belief as Belief
from .result import FoundLoad as FoundLoad
from .result import Identification as Identification
from .result import Parameter as Parameter
