# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The commands of vms-ph that a ROS 2 installation has as commands of ``ros2``."""

from collections.abc import Mapping

import typer

from . import node, param, service, topic

COMMANDS: Mapping[str, typer.Typer] = {
    "node": node.app,
    "topic": topic.app,
    "service": service.app,
    "param": param.app,
}
"""The application of every command, by its name."""
