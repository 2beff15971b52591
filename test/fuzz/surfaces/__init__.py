"""All surfaces by name."""

import vms_ph_nodes  # noqa: F401  decides the runtime before a message class exists

from .bags import DB3, DEFINITIONS, MCAP
from .cdr import CDR, REQUESTS
from .launch import INCLUDED, LAUNCH, PARAMETERS
from .robots import DESCRIPTION, PATTERN, URDF, XACRO
from .texts import METADATA, QOS, SCHEMAS, VALUES, VEHICLES

SURFACES = {
    surface.name: surface
    for surface in (
        CDR, REQUESTS, URDF, DESCRIPTION, PATTERN, XACRO, LAUNCH, INCLUDED, PARAMETERS, VALUES,
        SCHEMAS, VEHICLES, METADATA, QOS, MCAP, DB3, DEFINITIONS,
    )
}  # fmt: skip
