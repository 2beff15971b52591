"""The frequency of what nodes do, as their diagnostics tell it."""

import pytest

from vms_ph_nodes.messages.conversions import NANOSECONDS
from vms_ph_nodes.node.health import PERIOD
from vms_ph_nodes.node.rate_statistics import RateStatistics


def look(rhythm: RateStatistics, beat: int) -> tuple[float, float]:
    return rhythm.look(round(beat * PERIOD * NANOSECONDS))


def test_a_hundred_a_second_are_a_hundred_hertz() -> None:
    rhythm = RateStatistics()
    for beat in range(20):
        frequency, quiet = look(rhythm, beat)
        for _ in range(25):
            rhythm.tick()
    assert frequency == pytest.approx(100.0)
    assert quiet == 0.0


def test_a_change_of_pace_is_told_in_full_after_two_seconds() -> None:
    rhythm = RateStatistics()
    for beat in range(30):
        for _ in range(25 if beat < 20 else 5):
            rhythm.tick()
        frequency, _ = look(rhythm, beat)
    assert frequency == pytest.approx(20.0)


def test_silence_is_told_from_the_last_time_that_something_came() -> None:
    rhythm = RateStatistics()
    assert not rhythm.has_begun
    look(rhythm, 0)
    rhythm.tick()
    assert rhythm.has_begun
    assert look(rhythm, 1)[1] == 0.0
    assert look(rhythm, 13) == (pytest.approx(1 / 3.25), pytest.approx(3.0))
    for beat in range(14, 22):
        frequency, quiet = look(rhythm, beat)
    assert frequency == 0.0
    assert quiet == pytest.approx(21 * PERIOD - PERIOD)
