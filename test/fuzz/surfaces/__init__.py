# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All surfaces by name."""

import vms_ph_nodes  # noqa: F401  decides the runtime before a message class exists

from .bags import DB3, DEFINITIONS, MCAP
from .cdr import CDR, REQUESTS
from .command_line import COMMAND_LINE
from .launch import INCLUDED, LAUNCH, PARAMETERS
from .mjcf import MJCF
from .robots import DESCRIPTION, PATTERN, URDF, XACRO
from .services import SERVICES, VALUES_SET
from .texts import METADATA, QOS, VALUES, VEHICLES
from .topics import TOPICS, TOPICS_OF_A_BASE

SURFACES = {
    surface.name: surface
    for surface in (
        CDR, REQUESTS, URDF, DESCRIPTION, PATTERN, XACRO, MJCF, LAUNCH, INCLUDED, PARAMETERS,
        VALUES, VEHICLES, METADATA, QOS, MCAP, DB3, DEFINITIONS, SERVICES, VALUES_SET,
        COMMAND_LINE, TOPICS, TOPICS_OF_A_BASE,
    )
}  # fmt: skip
