"""Every node's heartbeat on /diagnostics, and its eye on the heartbeats of the others.

A killed process stays in DDS discovery for seconds, so absence there says little. Each node
therefore publishes a status four times a second; when one falls silent, the first (by name) of
those still alive reports it as an error under the lost node's own name, until it is back.
"""

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from .rate_statistics import RateStatistics

PERIOD = 0.25  # s between heartbeats
SILENCE = 1.5  # s after which a node counts as lost; a busy machine delays heartbeats
QUIET = 2.0  # s without what a node lives on, after which it says so
TOPIC = "/diagnostics"

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

_SUFFIX = ": vms_ph node"
_FAREWELL = "stopped"
_REPORTER = "reported by"


def node_name(status: DiagnosticStatus) -> str:
    """Return which node of ours a status is about; empty when it is about something else."""
    name = status.name
    return name.removesuffix(_SUFFIX) if name.endswith(_SUFFIX) else ""


def undecoded_messages(node: Node) -> Mapping[str, int]:
    """Return how many messages a node has dropped by topic, because they could not be decoded.

    The embedded runtime counts them; a real ROS 2 drops and logs them below rclpy.
    """
    return getattr(node, "_ros_undecoded", {})


class Health:
    """Publishes the status of a node and watches its peers."""

    def __init__(self, node: Node, lives_on: str = "") -> None:
        """Begin.

        Args:
            node: whose health it is.
            lives_on: what the node works on, in words; once :meth:`tick` has been called, it warns
                when that stays away.
        """
        self._node = node
        self._lives_on = lives_on
        self._rate = RateStatistics()
        self._name = node.get_fully_qualified_name().lstrip("/")
        self._level, self._message, self._values = OK, "running", {}
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._heard: dict[str, int] = {}
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, 10)
        node.create_subscription(DiagnosticArray, TOPIC, self._listen, 50)
        node.create_timer(PERIOD, self._beat, clock=self._clock)

    def report(
        self, level: bytes, message: str, values: Mapping[str, object] | None = None
    ) -> None:
        """Set what the next heartbeats say of this node."""
        self._level, self._message = level, message
        self._values = dict(values or {})

    def tick(self) -> None:
        """Count one piece of work; the next heartbeats tell how many there are a second."""
        self._rate.tick()

    def announce_shutdown(self) -> None:
        """Tell the others that this node ends on purpose."""
        self._publish([self._status(self._name, OK, _FAREWELL)])

    def _beat(self) -> None:
        now = self._clock.now().nanoseconds
        statuses = [self._own(now)]
        silent = {name: (now - at) / 1e9 for name, at in self._heard.items()}
        lost = {name: seconds for name, seconds in silent.items() if seconds > SILENCE}
        if self._name == min([self._name, *(n for n in self._heard if n not in lost)]):
            statuses += [
                self._status(
                    name,
                    ERROR,
                    f"{name} is lost: no heartbeat for {seconds:.1f} s",
                    {_REPORTER: self._name},
                )
                for name, seconds in lost.items()
            ]
        self._publish(statuses)

    def _own(self, now: int) -> DiagnosticStatus:
        frequency, quiet = self._rate.look(now)
        level, message, values = self._level, self._message, self._values
        if undecoded := sum(undecoded_messages(self._node).values()):
            values = {**values, "messages that could not be decoded": undecoded}
        if not self._rate.has_begun:
            return self._status(self._name, level, message, values)
        if self._lives_on and quiet > QUIET:
            level, message = max(level, WARN), f"no {self._lives_on} for {quiet:.1f} s"
        values = {**values, "frequency (Hz)": f"{frequency:.1f}"}
        return self._status(self._name, level, message, values)

    def _listen(self, message: DiagnosticArray) -> None:
        now = self._clock.now().nanoseconds
        for status in message.status:
            name = node_name(status)
            # What another says of a lost node is not that node's heartbeat.
            hearsay = any(pair.key == _REPORTER for pair in status.values)
            if name in ("", self._name) or hearsay:
                continue
            if status.message == _FAREWELL:
                self._heard.pop(name, None)
            else:
                self._heard[name] = now

    def _status(
        self, name: str, level: bytes, message: str, values: Mapping[str, object] | None = None
    ) -> DiagnosticStatus:
        pairs = [KeyValue(key=k, value=str(v)) for k, v in (values or {}).items()]
        return DiagnosticStatus(name=name + _SUFFIX, level=level, message=message, values=pairs)

    def _publish(self, statuses: list[DiagnosticStatus]) -> None:
        array = DiagnosticArray(status=statuses)
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
