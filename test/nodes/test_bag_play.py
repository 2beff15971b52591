# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Replay of a recorded run: nodes compute the same energies as during the recording."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from vms_ph.msg import Energy
from vms_ph.srv import SeekBag, StepBag

from vms_ph_io.bag import BagReader, bag_info

from .conftest import Start
from .observer import Observer

pytestmark = pytest.mark.wire

INPUTS = (
    "/joint_states", "/odom", "/vms_ph/wrench_end_effector", "/vms_ph/wrench_base",
    "/vms_ph/port_energy", "/robot_description",
)  # fmt: skip


@pytest.fixture(scope="module")
def recorded(start: Start, observer: Observer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    bag = tmp_path_factory.mktemp("live") / "bag"
    program = start("launch", "hextilt", "push_period:=0.5", "record:=true", f"bag:={bag}")
    observer.receive(Energy, "/vms_ph/energy", 240)
    assert program.interrupt() == 0
    return bag


@pytest.fixture(scope="module")
def replayed(recorded: Path, start: Start, tmp_path_factory: pytest.TempPathFactory) -> Path:
    bag = tmp_path_factory.mktemp("again") / "bag"
    monitor = start("launch", "replay", "robot:=hextilt")
    recorder = start("bag", "record", "-o", str(bag))
    topics = [word for topic in INPUTS for word in ("--topics", topic)]
    # The delay is for discovery: messages without a subscriber are lost, as in ROS 2.
    play = start("bag", "play", str(recorded), "--clock", "100", "--delay", "3", *topics)
    assert play.wait(60) == 0
    assert "played" in play.output
    time.sleep(0.5)
    assert recorder.interrupt() == 0
    assert monitor.interrupt() == 0
    return bag


def _by_stamp(bag: Path, topic: str) -> dict[int, object]:
    found = {}
    for message in BagReader(bag).messages({topic}):
        content = message.decode()
        stamp = content.header.stamp  # type: ignore[attr-defined]
        found[stamp.sec * 10**9 + stamp.nanosec] = content
    return found


# A pose that arrives behind the joints of its stamp is predicted to them from the one before.
_EXACT_SHARE = 0.95


def _numbers(message: object) -> np.ndarray:
    names = message.__dataclass_fields__  # type: ignore[attr-defined]
    values = [getattr(message, name) for name in names]
    return np.array([float(value) for value in values if isinstance(value, float)])


def test_the_energies_of_a_replayed_run_are_those_recorded(recorded: Path, replayed: Path) -> None:
    live, again = (_by_stamp(bag, "/vms_ph/energy") for bag in (recorded, replayed))
    common = sorted(live.keys() & again.keys())
    # Topics are discovered one after the other, so messages may be missing at the beginning and end
    # of the recordings.
    played = _by_stamp(recorded, "/joint_states").keys() & _by_stamp(recorded, "/odom").keys()
    assert len(played & live.keys()) > 200
    assert len(common) > 0.9 * len(played & live.keys())
    equal = [np.allclose(_numbers(again[s]), _numbers(live[s]), 1e-7, 1e-9) for s in common]
    assert np.mean(equal) > _EXACT_SHARE


def test_the_powers_and_momenta_of_a_replayed_run_are_those_recorded(
    recorded: Path, replayed: Path
) -> None:
    live, again = (_by_stamp(bag, "/vms_ph/power") for bag in (recorded, replayed))
    # In the first second the monitor has not discovered every publisher of the replay.
    found = min(again) + 10**9
    assert sum(stamp >= found for stamp in again) > 20
    for stamp in (s for s in live.keys() & again.keys() if s >= found):
        a, b = again[stamp], live[stamp]
        for port in ("torque", "wrench_end_effector", "wrench_base", "dissipated"):
            assert getattr(a, port) == pytest.approx(getattr(b, port), abs=1e-9)
    late = [message for stamp, message in again.items() if stamp >= found]
    assert late[-1].exact_energies  # type: ignore[attr-defined]
    # Where a pose was predicted, energies of the state are off; those of the ports are exact.
    closed = [abs(m.unaccounted_energy) < 1e-9 for m in late]  # type: ignore[attr-defined]
    assert np.mean(closed) > _EXACT_SHARE
    live, again = (_by_stamp(bag, "/vms_ph/momentum") for bag in (recorded, replayed))
    for stamp in live.keys() & again.keys():
        a, b = again[stamp], live[stamp]
        np.testing.assert_allclose(a.shape_momentum, b.shape_momentum, atol=1e-9)  # type: ignore[attr-defined]


def test_the_markers_of_a_replayed_run_are_those_recorded(recorded: Path, replayed: Path) -> None:
    def places(bag: Path) -> dict[int, tuple[float, float, float]]:
        found = {}
        for message in BagReader(bag).messages({"/vms_ph/markers"}):
            for marker in message.decode().markers:  # type: ignore[attr-defined]
                if marker.ns == "centre of mass":
                    stamp, p = marker.header.stamp, marker.pose.position
                    found[stamp.sec * 10**9 + stamp.nanosec] = (p.x, p.y, p.z)
        return found

    again = places(replayed)
    assert len(again) > 50
    # The published samples depend on the first one received; those published both times agree.
    live = places(recorded)
    common = live.keys() & again.keys()
    others = [stamp for stamp in common if again[stamp] != pytest.approx(live[stamp], abs=1e-9)]
    assert len(others) <= (1.0 - _EXACT_SHARE) * len(common)
    # Where none was published both times, places lie on the way between those recorded.
    stamps, places_live = np.array(sorted(live)), np.array([live[stamp] for stamp in sorted(live)])
    inside = np.array([stamp for stamp in sorted(again) if stamps[0] <= stamp <= stamps[-1]])
    assert len(inside) > 40
    times, instants = (stamps - stamps[0]) * 1e-9, (inside - stamps[0]) * 1e-9
    way = np.stack([np.interp(instants, times, axis) for axis in places_live.T], axis=1)
    distances = np.linalg.norm(np.array([again[stamp] for stamp in inside]) - way, axis=1)
    extent = np.linalg.norm(np.ptp(places_live, axis=0))
    assert np.mean(distances < 0.02 * extent) > _EXACT_SHARE, (distances, extent)


def test_the_clock_of_the_bag_drives_the_nodes(recorded: Path, replayed: Path) -> None:
    times = []
    for message in BagReader(replayed).messages({"/clock"}):
        clock = message.decode().clock  # type: ignore[attr-defined]
        times.append(clock.sec * 10**9 + clock.nanosec)
    # The clock counts from the begin of the bag. How many ticks pass before the recorder is
    # discovered, and how many at once a busy machine publishes, is not the clock's.
    bag = bag_info(recorded)
    assert bag.start_time is not None
    assert bag.end_time is not None
    ticks, rest = np.divmod(np.array(times) - bag.start_time, 10_000_000)
    assert not rest.any()
    assert np.all(np.diff(ticks) >= 1)
    assert 0 <= ticks[0] < ticks[-1] <= (bag.end_time - bag.start_time) // 10_000_000
    assert len(ticks) > 100
    # A node on simulated time stamps its diagnostics with it.
    stamps = []
    for message in BagReader(replayed).messages({"/diagnostics"}):
        array = message.decode()
        if array.status[0].name.startswith("energy_monitor"):  # type: ignore[attr-defined]
            stamp = array.header.stamp  # type: ignore[attr-defined]
            stamps.append(stamp.sec * 10**9 + stamp.nanosec)
    assert any(times[0] <= stamp <= times[-1] for stamp in stamps)


def test_a_bag_recorded_under_earlier_names_feeds_the_monitor(start: Start, tmp_path: Path) -> None:
    recorded, bag = Path(__file__).parents[1] / "io/bag/data/earlier_names", tmp_path / "bag"
    monitor = start("launch", "replay", "robot:=panda")
    recorder = start("bag", "record", "-o", str(bag), "/vms_ph/power")
    # Either name selects a topic.
    inputs = ("/joint_states", "/vms_ph/wrench_end_effector", "/vms_ph/port_work")
    topics = [word for topic in inputs for word in ("--topics", topic)]
    play = start("bag", "play", str(recorded), "--clock", "100", "--delay", "3", *topics)
    assert play.wait(60) == 0
    time.sleep(0.5)
    assert recorder.interrupt() == 0
    assert monitor.interrupt() == 0
    again = _by_stamp(bag, "/vms_ph/power")
    assert len(again) > 30
    last = again[max(again)]
    assert last.exact_energies  # type: ignore[attr-defined]
    assert abs(last.unaccounted_energy) < 1e-9  # type: ignore[attr-defined]
    assert any(message.wrench_end_effector for message in again.values())  # type: ignore[attr-defined]


def test_a_bag_without_messages_to_play_is_reported(recorded: Path, start: Start) -> None:
    play = start("bag", "play", str(recorded), "--topics", "/nothing")
    assert play.wait(20) == 1
    assert "contains no message to play; its topics are /controller/state" in play.output
    assert "Traceback" not in play.output
    missing = start("bag", "play", "/no/such/bag")
    assert missing.wait(20) == 1
    assert "Traceback" not in missing.output


def test_a_paused_bag_is_stepped_exactly_and_moved_to_other_times(
    recorded: Path, start: Start, observer: Observer
) -> None:
    states = [m.log_time for m in BagReader(recorded).messages({"/joint_states"})]
    play = start("bag", "play", str(recorded), "--paused", "--loop", "--topics", "/joint_states")
    seen: list[int] = []
    observer.node.create_subscription(
        JointState, "/joint_states", lambda m: seen.append(_nanoseconds(m.header.stamp)), 1000
    )
    first = observer.call(StepBag, "/bag_player/step", StepBag.Request(messages=3))
    assert first.success, first.message
    assert _nanoseconds(first.stamp) == states[2]
    refused = observer.call(StepBag, "/bag_player/step", StepBag.Request(messages=0))
    assert "messages must be from 1" in refused.message
    late = observer.call(SeekBag, "/bag_player/seek", SeekBag.Request(time=1e6))
    assert not late.success
    assert "time must be from 0 to" in late.message
    middle = (states[60] - _first_of(recorded)) * 1e-9
    assert observer.call(SeekBag, "/bag_player/seek", SeekBag.Request(time=middle - 1e-4)).success
    again = observer.call(StepBag, "/bag_player/step", StepBag.Request(messages=1))
    assert _nanoseconds(again.stamp) == states[60]
    observer.until(lambda: len(seen) == 4, "the stepped messages did not arrive", 10.0)
    playing = observer.call(SetBool, "/bag_player/pause", SetBool.Request(data=False))
    assert playing.message == "playing"
    observer.until(lambda: len(seen) > 20, "the bag does not play on", 20.0)
    assert (
        "pause it"
        in observer.call(StepBag, "/bag_player/step", StepBag.Request(messages=1)).message
    )
    assert play.interrupt() == 0


def _nanoseconds(stamp: Any) -> int:
    return int(stamp.sec * 10**9 + stamp.nanosec)


def _first_of(bag: Path) -> int:
    return next(BagReader(bag).messages()).log_time
