# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Records serialized messages into a bag where ``ros2 bag record`` is not installed."""

import time
from datetime import datetime, timezone
from pathlib import Path

from rclpy.qos import QoSProfile

from .node.health import ERROR, OK, WARN
from .node.parameters import declare
from .node.process import ReportingNode, errors_in_one_sentence, run
from .topics.interfaces import compatible_qos, load_interface

with errors_in_one_sentence():
    from vms_ph_io.bag import BagError, BagWriter, MessageTypes, was_interrupted
    from vms_ph_io.bag import QosProfile as BagQos

# Period of the search for new topics, s.
_SEARCH_PERIOD = 0.2

# Time without callbacks after which messages may be missing from the recording, s.
_MAX_GAP = 1.0


class BagRecorder(ReportingNode):
    """Records all topics, or the selected ones, into a new bag."""

    PARAMETER_FILE = "bag_recorder"

    def __init__(self) -> None:
        """Create the bag.

        Raises:
            VmsPhError: the folder exists or cannot be written.
        """
        super().__init__("bag_recorder")
        folder: str = declare(self, "bag")
        chosen_topics = filter(None, declare(self, "topics"))
        self._chosen_topics = set(map(self.resolve_topic_name, chosen_topics))
        self._types = MessageTypes.of_project()
        self._writer = BagWriter(self._new_folder(Path(folder)))
        self.failed = False
        self._recorded_topics: set[str] = set()
        self._count, self._failure = 0, ""
        self._last_run_time, self._gap_count, self._idle = time.monotonic(), 0, 0.0
        self._find_topics()
        self.create_timer(_SEARCH_PERIOD, self._find_topics, clock=self._steady)

    def destroy_node(self) -> None:
        """Complete the bag, announce the shutdown to the other nodes, then end."""
        try:
            self._writer.close()
        except BagError as error:
            self.failed = True
            self.get_logger().error(str(error))
        super().destroy_node()

    def _new_folder(self, folder: Path) -> Path:
        """Return the folder, or the first new one where a recording in it was interrupted."""
        if not was_interrupted(folder):
            return folder
        number = 2
        while (new_folder := folder.with_name(f"{folder.name}_{number}")).exists():
            number += 1
        self.get_logger().warning(
            f"the recording in {folder} was interrupted; it goes on in {new_folder}"
        )
        return new_folder

    def _find_topics(self) -> None:
        self._note_gap()
        for name, type_names in self.get_topic_names_and_types():
            is_chosen = not self._chosen_topics or name in self._chosen_topics
            if name in self._recorded_topics or not is_chosen:
                continue
            offered_qos = [info.qos_profile for info in self.get_publishers_info_by_topic(name)]
            if offered_qos:
                self._recorded_topics.add(name)
                self._record_topic(name, type_names[0], offered_qos)
        self._report()

    def _note_gap(self) -> None:
        """Warn where this process has not run for a time: messages of that time may be missing."""
        now = time.monotonic()
        gap, self._last_run_time = now - self._last_run_time, now
        if gap < _MAX_GAP:
            return
        self._gap_count, self._idle = self._gap_count + 1, self._idle + gap
        end = datetime.now(timezone.utc)
        self.get_logger().warning(
            f"the recorder stood still for {gap:.1f} s until {end:%H:%M:%S} UTC; messages of "
            "that time may be missing in the bag"
        )

    def _record_topic(self, name: str, type_name: str, offered_qos: list[QoSProfile]) -> None:
        try:
            definition = self._types.definition(type_name)
            bag_qos = []
            for q in offered_qos:
                policies = {k: getattr(q, k).name.lower() for k in ("reliability", "durability")}
                bag_qos.append(BagQos(depth=q.depth, **policies))
            self._writer.add_topic(name, definition, bag_qos)
        except BagError as error:
            self.get_logger().warning(f"not recorded: {error}")
            return

        def write(data: bytes, name: str = name) -> None:
            if self._failure:
                return
            try:
                self._writer.write(name, data, time.time_ns())
                self._count += 1
            except BagError as error:
                self._failure = str(error)
                self.get_logger().error(f"recording stopped: {error}")

        qos = compatible_qos(offered_qos, depth=1000)
        self.create_subscription(load_interface(type_name, "msg"), name, write, qos, raw=True)

    def _report(self) -> None:
        values: dict[str, object] = {"messages": self._count, "topics": len(self._recorded_topics)}
        if self._gap_count:
            values["holes"] = f"{self._gap_count}, of {self._idle:.1f} s together"
        if self._failure:
            self._health.report(ERROR, self._failure, values)
        elif not self._count:
            self._health.report(WARN, "nothing to record yet", values)
        elif self._gap_count:
            text = f"recording, with holes of {self._idle:.1f} s in which the recorder stood still"
            self._health.report(WARN, text, values)
        else:
            self._health.report(OK, f"recording {len(self._recorded_topics)} topics", values)


def main() -> None:
    """Run the node."""
    run(BagRecorder)
