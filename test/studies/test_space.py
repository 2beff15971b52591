# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The studies of free-floating robots, in short form; all of them whole behind --campaign."""

import pytest

from .test_reproduce_command import checks


def _differing(identifier: str, **given: str) -> set[str]:
    found = checks(identifier, **given)
    return {name for name, check in found.items() if check["verdict"] != "agrees"}


def test_a_satellite_turns_by_its_arm_alone_as_planned() -> None:
    short = {"angle": "2", "amplitude": "1.2", "rate": "2", "step": "0.002"}
    assert not _differing("space-reorientation", **short)


def test_reactionless_motion_leaves_the_attitude_of_the_base() -> None:
    found = checks("space-reactionless", duration="1.6", step="0.004", offset_z="-0.02")
    for name in ("base held: attitude of the base", "attitude of a base that is not held"):
        assert found[name]["verdict"] == "agrees", found[name]


def test_a_captured_body_keeps_the_momentum_and_reaction_wheels_take_it_up() -> None:
    assert not _differing("space-capture", duration="30", step="0.04")


@pytest.mark.slow
@pytest.mark.parametrize("study", ["reorientation", "reactionless", "capture"])
def test_whole_studies_in_space_agree(study: str) -> None:
    assert not _differing(f"space-{study}")
