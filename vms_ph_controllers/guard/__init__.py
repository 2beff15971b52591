# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A guard of energy between any controller and a robot, and its certificate."""

from .certificate import Certificate
from .energy_guard import EnergyGuard
from .motion_limits import EnergyGuardSettings
from .port_guard import GuardedEffort, PortGuard
from .servo_guard import GuardedCommand, PositionGuard, ServoGuard, VelocityGuard, spring_positions
from .teleoperation import TeleoperationPacket, TeleoperationSide

__all__ = [
    "Certificate", "EnergyGuard", "EnergyGuardSettings", "GuardedCommand", "GuardedEffort",
    "PortGuard", "PositionGuard", "ServoGuard", "TeleoperationPacket", "TeleoperationSide",
    "VelocityGuard", "spring_positions",
]  # fmt: skip
