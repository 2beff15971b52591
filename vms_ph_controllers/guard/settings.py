# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a user sets of an energy guard."""

from dataclasses import dataclass

from ..controller import gain, switch, with_floats


@dataclass(frozen=True)
class EnergyGuardSettings:
    """Tank and limits of an energy guard; they may change while it acts."""

    tank_capacity: float = gain(
        5.0, "capacity of the energy tank, J; energy beyond it is discarded", 0.0, 1e6, at_once=True
    )
    tank_initial: float = gain(5.0, "level of the tank at engagement, J", 0.0, 1e6, at_once=True)
    refill_power: float = gain(
        0.0, "power that flows into the tank, for work against friction, W", 0.0, 1e6, at_once=True
    )
    power: float = gain(
        0.0, "largest power through the guarded ports, W; 0: no limit", 0.0, 1e6, at_once=True
    )
    kinetic_energy: float = gain(
        0.0,
        "largest kinetic energy of the effective mass of the end effector, J; 0: no limit",
        0.0,
        1e6,
        at_once=True,
    )
    speed: float = gain(
        0.0, "largest speed of the end effector, m/s; 0: no limit", 0.0, 1e3, at_once=True
    )
    joint_speed: float = gain(
        0.0, "largest rate of a joint, rad/s or m/s; 0: no limit", 0.0, 1e3, at_once=True
    )
    torque: float = gain(
        1.0, "largest torque of a joint, as a share of its limit", 0.0, 1.0, at_once=True
    )
    torque_rate: float = gain(
        0.0, "largest rate of change of a torque, N m/s; 0: no limit", 0.0, 1e6, at_once=True
    )
    engagement_time: float = gain(
        0.2, "time over which a jump of the effort at engagement fades out, s", 0.0, 10.0
    )
    freeze: bool = switch(False, "grant nothing out of the tank: only efforts that brake act")

    def __post_init__(self) -> None:
        """Take whole numbers and numbers of other types as floating-point numbers."""
        with_floats(self)
