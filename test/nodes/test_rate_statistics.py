# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The frequency of events, as the diagnostics publish it."""

import pytest

from vms_ph_nodes.messages.conversions import NS_PER_SEC
from vms_ph_nodes.node.health import BEAT_PERIOD, RateStatistics


def sample(rate: RateStatistics, beat: int) -> tuple[float, float]:
    return rate.sample(round(beat * BEAT_PERIOD * NS_PER_SEC))


def test_a_hundred_events_per_second_are_a_hundred_hertz() -> None:
    rate = RateStatistics()
    for beat in range(20):
        frequency, idle = sample(rate, beat)
        for _ in range(25):
            rate.tick()
    assert frequency == pytest.approx(100.0)
    assert idle == 0.0


def test_a_new_rate_is_fully_reported_after_two_seconds() -> None:
    rate = RateStatistics()
    for beat in range(30):
        for _ in range(25 if beat < 20 else 5):
            rate.tick()
        frequency, _ = sample(rate, beat)
    assert frequency == pytest.approx(20.0)


def test_idle_time_counts_from_the_last_event() -> None:
    rate = RateStatistics()
    assert not rate.count
    sample(rate, 0)
    rate.tick()
    assert rate.count
    assert sample(rate, 1)[1] == 0.0
    assert sample(rate, 13) == (pytest.approx(1 / 3.25), pytest.approx(3.0))
    for beat in range(14, 22):
        frequency, idle = sample(rate, beat)
    assert frequency == 0.0
    assert idle == pytest.approx(21 * BEAT_PERIOD - BEAT_PERIOD)
