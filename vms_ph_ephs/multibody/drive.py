# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Motors at joints."""

from dataclasses import dataclass

from ..errors import PatternError
from ..systems import System


@dataclass(frozen=True)
class Drive:
    """A motor at a driven joint of one degree of freedom.

    Attributes:
        motor: a system with the ports ``phi`` and ``p``, such as :func:`.library.motor` gives it;
            a port ``s`` becomes an outer port ``<joint>_s``.
        ratio: rate of the motor by that of the joint.
    """

    motor: System
    ratio: float = 1.0

    def check(self, joint: str) -> None:
        """Raise an error for a system without these ports, or a ratio of zero.

        Raises:
            PatternError: it is one.
        """
        ports = set(self.motor.interface)
        if not {"phi", "p"} <= ports <= {"phi", "p", "s"} or not self.ratio:
            raise PatternError(
                f"the drive of joint '{joint}' needs a motor with the ports phi, p and perhaps s, "
                f"and a ratio other than zero; given: ports {', '.join(sorted(ports)) or 'none'}, "
                f"ratio {self.ratio}"
            )
