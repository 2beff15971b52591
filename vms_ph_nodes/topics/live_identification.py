# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The live identification of a node, in a thread beside its callbacks."""

import threading

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.evaluation import in_space
from vms_ph_dynamics.identification.live import LiveIdentification, LiveResult
from vms_ph_dynamics.identification.windows import Sample

from ..messages.conversions import NANOSECONDS, from_stamp
from ..node.parameters import declare
from .robot_motion import RobotMotion


class LiveIdentifier:
    """Identifies load and friction from the motions it is given.

    :meth:`add` keeps a motion and returns at once. A thread computes, at most once a period; it
    ends with the process.

    Attributes:
        disabled: why nothing is identified now, or empty.
        result: what is believed, with the stamp in ns of the last motion that was used; None while
            too little has moved.
    """

    def __init__(self, node: Node) -> None:
        """Declare the parameters ``identify.*``."""
        self._enabled: bool = declare(node, "identify.enabled")
        self._period: float = declare(node, "identify.period")
        self._memory: float = declare(node, "identify.memory")
        self._frame: str = declare(node, "identify.payload_frame")
        self.disabled = "" if self._enabled else "switched off by identify.enabled"
        self.result: tuple[int, LiveResult] | None = None
        self.frame = ""
        self._estimator: LiveIdentification | None = None
        self._origin: int | None = None
        self._ended = threading.Event()
        self._failed = ""

    def begin(self, model: VMSModel) -> None:
        """Begin for a robot; one whose energy the estimator does not know disables it."""
        if not self._enabled:
            return
        try:
            self._estimator = LiveIdentification(model, self._frame or None, self._memory)
        except VmsPhError as error:
            self.disabled = str(error)
            return
        self._model, self.frame = model, self._estimator.frame
        threading.Thread(target=self._run, name="identification", daemon=True).start()

    def add(self, motion: RobotMotion) -> None:
        """Keep a motion."""
        if self._estimator is None:
            return
        self.disabled = self._missing(motion)
        if self.disabled:
            return
        stamp = from_stamp(motion.stamp)
        if self._origin is None:
            self._origin = stamp
        wrenches = dict(motion.wrench_tools)
        if motion.wrench is not None:
            wrenches[self._model.end_effector] = motion.wrench
        if motion.wrench_base is not None and self._model.b:
            wrenches["base"] = np.concatenate(in_space(self._model.b, motion.wrench_base))
        # Times since the first one: seconds since 1970 would leave a float 0.2 us.
        t = (stamp - self._origin) / NANOSECONDS
        self._estimator.add(Sample(t, motion.d.q, motion.d.v, motion.torque, wrenches))

    def _missing(self, motion: RobotMotion) -> str:
        """Return which works are unknown, without which nothing must be claimed; or empty."""
        if self._failed:
            return self._failed
        if motion.unknown:
            return motion.unknown
        if not motion.torque.any():
            return "the joint states have no efforts"
        if self._model.b and motion.wrench_base is None:
            return "no vms_ph/wrench_base: what the base exchanges is unknown"
        return ""

    def end(self) -> None:
        """End the thread."""
        self._ended.set()

    def _run(self) -> None:
        estimator = self._estimator
        assert estimator is not None
        while not self._ended.wait(self._period):
            try:
                identified = estimator.update()
            except Exception as error:  # the thread ends, which the diagnostics then say
                self._failed = f"the estimator failed: {error}"
                return
            if identified is not None and self._origin is not None:
                self.result = self._origin + round(identified.t * NANOSECONDS), identified
