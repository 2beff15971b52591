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
