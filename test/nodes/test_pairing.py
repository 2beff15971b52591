# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages paired by their stamps."""

from vms_ph_nodes.messages.stamps import StampPairing


def collecting() -> tuple[StampPairing, list[tuple[str, str | None]]]:
    done: list[tuple[str, str | None]] = []
    pairing = StampPairing(("work",), lambda leader, work: done.append((leader, work)))
    return pairing, done


def test_a_leader_waits_for_its_companion_in_either_order() -> None:
    pairing, done = collecting()
    pairing.require({"work"})
    pairing.add_companion("work", 1, "w1")
    pairing.add_primary(1, "s1")
    assert done == [("s1", "w1")]
    pairing.add_primary(2, "s2")
    assert len(done) == 1
    pairing.add_companion("work", 2, "w2")
    assert done[1] == ("s2", "w2")


def test_a_lost_companion_delays_a_leader_only_until_a_later_one_is_received() -> None:
    pairing, done = collecting()
    pairing.require({"work"})
    pairing.add_primary(1, "s1")
    pairing.add_primary(2, "s2")
    assert done == []
    pairing.add_companion("work", 2, "w2")
    assert done == [("s1", None), ("s2", "w2")]


def test_no_message_of_a_delayed_topic_is_lost() -> None:
    pairing, done = collecting()
    pairing.require({"work"})
    for stamp in range(1, 26):
        pairing.add_primary(stamp, f"s{stamp}")
    for stamp in range(1, 26):
        pairing.add_companion("work", stamp, f"w{stamp}")
    assert done == [(f"s{stamp}", f"w{stamp}") for stamp in range(1, 26)]


def test_a_topic_that_stopped_delays_a_bounded_number_of_leaders() -> None:
    pairing, done = collecting()
    pairing.add_companion("work", 0, "w0")
    for stamp in range(1, 200):
        pairing.add_primary(stamp, f"s{stamp}")
    assert 100 < len(done) < 199
    # Leaders no longer wait once the publisher has left discovery.
    pairing.require(set())
    assert len(done) == 199


def test_leaders_wait_for_a_companion_once_it_was_received() -> None:
    pairing, done = collecting()
    pairing.add_companion("work", 1, "w1")
    pairing.add_primary(1, "s1")
    pairing.add_primary(2, "s2")
    assert done == [("s1", "w1")]


def test_leaders_do_not_wait_without_a_publisher() -> None:
    pairing, done = collecting()
    pairing.add_primary(1, "s1")
    assert done == [("s1", None)]


def test_the_number_of_companions_without_a_leader_is_bounded() -> None:
    pairing, done = collecting()
    pairing.require({"work"})
    for stamp in range(1000):
        pairing.add_companion("work", stamp, "w")
    pairing.add_primary(999, "s")
    assert done == [("s", "w")]
    assert sum(len(waiting) for waiting in pairing._companions.values()) == 0


def test_the_nearest_companion_is_taken_where_stamps_may_differ() -> None:
    done: list[tuple[int, int]] = []
    pairing = StampPairing(("odom",), lambda s, odom: done.append((s, odom)), nearest="odom")
    pairing.require({"odom"})
    for stamp in range(0, 100, 10):
        pairing.add_primary(stamp, stamp)
        if stamp % 20 == 0:
            pairing.add_companion("odom", stamp + 4, stamp + 4)
    assert done == [(s, min(range(4, 100, 20), key=lambda o: abs(o - s))) for s in range(0, 90, 10)]
    assert len(pairing._companions["odom"]) <= 3


def test_companions_of_before_a_reset_do_not_remain() -> None:
    pairing, done = collecting()
    for stamp in (500, 501, 1, 2):
        pairing.add_companion("work", stamp, f"w{stamp}")
    assert set(pairing._companions["work"]) == {1, 2}
    pairing.add_primary(2, "s")
    assert done == [("s", "w2")]
