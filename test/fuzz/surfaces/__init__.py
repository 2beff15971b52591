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

"""All surfaces by name."""

import vms_ph_nodes  # noqa: F401  decides the runtime before a message class exists

from .bags import DB3, DEFINITIONS, MCAP
from .cdr import CDR, REQUESTS
from .command_line import COMMAND_LINE
from .launch import INCLUDED, LAUNCH, PARAMETERS
from .mjcf import MJCF
from .robots import DESCRIPTION, PATTERN, URDF, XACRO
from .services import SERVICES, VALUES_SET
from .texts import METADATA, QOS, SCHEMAS, VALUES, VEHICLES

SURFACES = {
    surface.name: surface
    for surface in (
        CDR, REQUESTS, URDF, DESCRIPTION, PATTERN, XACRO, MJCF, LAUNCH, INCLUDED, PARAMETERS,
        VALUES, SCHEMAS, VEHICLES, METADATA, QOS, MCAP, DB3, DEFINITIONS, SERVICES, VALUES_SET,
        COMMAND_LINE,
    )
}  # fmt: skip
