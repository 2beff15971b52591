"""Messages paired by their stamps."""

from vms_ph_nodes.pairing import StampPairing


def collecting() -> tuple[StampPairing, list[tuple[str, str | None]]]:
    done: list[tuple[str, str | None]] = []
    pairing = StampPairing(("work",), lambda leader, work: done.append((leader, work)))
    return pairing, done


def test_a_leader_waits_for_its_companion_whichever_comes_first() -> None:
    pairing, done = collecting()
    pairing.expect({"work"})
    pairing.accompany("work", 1, "w1")
    pairing.lead(1, "s1")
    assert done == [("s1", "w1")]
    pairing.lead(2, "s2")
    assert len(done) == 1
    pairing.accompany("work", 2, "w2")
    assert done[1] == ("s2", "w2")


def test_a_lost_companion_holds_a_leader_only_until_the_next() -> None:
    pairing, done = collecting()
    pairing.expect({"work"})
    pairing.lead(1, "s1")
    pairing.lead(2, "s2")
    assert done == [("s1", None)]
    pairing.accompany("work", 2, "w2")
    assert done == [("s1", None), ("s2", "w2")]


def test_without_a_publisher_nobody_is_waited_for() -> None:
    pairing, done = collecting()
    pairing.lead(1, "s1")
    assert done == [("s1", None)]


def test_companions_without_a_leader_do_not_pile_up() -> None:
    pairing, done = collecting()
    pairing.expect({"work"})
    for stamp in range(1000):
        pairing.accompany("work", stamp, "w")
    pairing.lead(999, "s")
    assert done == [("s", "w")]
    assert sum(len(waiting) for waiting in pairing._waiting.values()) == 0
