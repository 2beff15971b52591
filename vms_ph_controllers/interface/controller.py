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

"""The base class of all control laws."""

from abc import ABC, abstractmethod
from inspect import get_annotations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vms_ph_dynamics import ModelError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation

from .command import Command, Status
from .reference import Reference
from .robot_state import RobotState

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Controller(ABC):
    """A control law.

    :meth:`update` never raises, prints or blocks; faults are reported in the status of its command.

    Attributes:
        Gains: a frozen dataclass whose fields are declared by :func:`gain` and :func:`switch`;
            hosts expose them as parameters.
        gains: the present values; replace the whole record to change one.
        FOLLOWS_JOINTS: whether the law follows ``Reference.joints``; hosts then take trajectories.
        LEADS_BOTH: whether ``Reference.pose`` is that of the base while ``Reference.position``
            leads the end effector; hosts then take no position from a pose.

    Args:
        model: the robot.
    """

    Gains: "ClassVar[type[DataclassInstance]]"
    FOLLOWS_JOINTS: ClassVar[bool] = False
    LEADS_BOTH: ClassVar[bool] = False
    gains: "DataclassInstance"

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    @property
    def options(self) -> tuple[str, ...]:
        """Arguments of the constructor, apart from the gains, that are not at their defaults."""
        return ()

    def _checked_gains(self, gains: Any) -> Any:
        """Return the gains given to a constructor, or the defaults if they are None.

        Raises:
            ModelError: they are not a ``Gains`` record of this law.
        """
        if gains is None:
            return self.Gains()
        if not isinstance(gains, self.Gains):
            law = type(self).__name__
            example = ", ".join(f"{name}=..." for name in list(get_annotations(self.Gains))[:1])
            raise ModelError(
                f"the gains of {law} are a record, {law}.Gains({example}); given: {gains!r}"
            )
        return gains

    @abstractmethod
    def reset(self, state: RobotState) -> None:
        """Restart the law; it then holds the present pose.

        Args:
            state: of the robot, as measured.

        Raises:
            StateError: the state does not fit the model.
        """

    def resume(self, state: RobotState) -> None:
        """Continue at another pose than that of the last update, and hold it.

        A law with an energy tank keeps its level, which :meth:`reset` sets to the initial one. By
        default this is :meth:`reset`.

        Args:
            state: of the robot, as measured.

        Raises:
            StateError: the state does not fit the model.
        """
        self.reset(state)

    @abstractmethod
    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state.

        Args:
            state: measured; if an entry is not finite, the safe output is returned.
            reference: what to follow.
            dt: time since the last update, s; zero for the law in continuous time. Outside [0, 1]
                the safe output is returned.
        """

    def safe_output(self, q: Array) -> Command:
        """Return the effort that holds the robot when no newer state or no command is available.

        Hosts request it after every update and keep it. By default the joints and the base
        compensate gravity.

        Args:
            q: (nq,) of the last update, finite.
        """
        d, b = Evaluation(self.model, q, np.zeros(self.model.nv)), self.model.b
        effort = self.model.joints.effort
        torque = np.clip(d.g[b:], -effort, effort)
        return Command(d.g[:b], torque, status=Status.HOLDING, reason="holding against gravity")

    def missed_updates(self) -> None:  # noqa: B027, most laws have no energy balance
        """Note that the safe output has acted since the last update.

        Hosts call this before the next update. A law with an energy balance must not attribute the
        motion in between to its own command.
        """
