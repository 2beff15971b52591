# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Controllers as boxes of exergetic systems, with a certificate of their passivity."""

from .certificate import Breach, PassivityCertificate
from .controlled_run import ControlledRun, Storage, shaped_storage, tank_storage
from .controller_box import controlled, controller_box

__all__ = [
    "Breach",
    "ControlledRun",
    "PassivityCertificate",
    "Storage",
    "controlled",
    "controller_box",
    "shaped_storage",
    "tank_storage",
]
