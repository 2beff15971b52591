# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whatever arrives is accepted and sound, or refused in one sentence: mutated inputs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.surface import Surface
from fuzz.surfaces import SURFACES

_TEST = Path(__file__).parents[1]
_INPUTS_PER_PROCESS = 50_000  # inputs of one process, whose memory is bounded
_ALL = pytest.mark.parametrize("surface", SURFACES.values(), ids=SURFACES)


@_ALL
def test_a_valid_input_is_accepted(surface: Surface) -> None:
    for data in set(surface.valid()):
        assert surface.run(data) == "accepted", data[:200]


@_ALL
def test_a_mutated_input_is_accepted_or_refused_in_a_sentence(surface: Surface) -> None:
    assert surface.survive(range(surface.short)).total() == surface.short


@pytest.mark.slow
@pytest.mark.timeout(4 * 3600)
@_ALL
def test_the_campaign_finds_no_crash_no_hang_and_bounded_memory(surface: Surface) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_TEST.parent), str(_TEST)])}
    for first in range(0, surface.long, _INPUTS_PER_PROCESS):
        count = min(_INPUTS_PER_PROCESS, surface.long - first)
        words = [sys.executable, "-m", "fuzz.worker", surface.name, str(first), str(count)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        print(done.stdout.strip())
        assert done.returncode == 0, done.stderr[-5000:]


def test_the_campaign_has_a_million_inputs() -> None:
    assert sum(surface.long for surface in SURFACES.values()) >= 10**6
