# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded run in a real browser: its poses and its plots."""

from pathlib import Path

import numpy as np
import pytest

from .chromium import PROGRAM, Chromium
from .conftest import Start
from .test_audit_command import record

pytest.importorskip("viser")
from .page_geometry import SeenRobot
from .page_session import BEGINS, CANVAS, CLOSE_NOTES, LONG, STRONG, await_change, shown

pytestmark = [
    pytest.mark.wire,
    pytest.mark.slow,
    LONG,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

# The field beside the time line.
_TIME = "[...document.querySelectorAll('input')].find(e => e.inputMode == 'decimal')"


def test_a_recorded_run_is_scrubbed(start: Start, tmp_path: Path) -> None:
    bag = record(tmp_path / "run")
    words = ("bag", "view", str(bag), "--robot", "panda")
    with shown(start, tmp_path / "profile", *words) as page:
        page.await_text("unaccounted", BEGINS)
        page.await_text("Energies over the run", BEGINS)
        page.run(CLOSE_NOTES)
        pictures = []
        for seconds in (0.5, 1.0):
            before = page.picture()
            page.fill(_TIME, str(seconds))
            await_change(page, before, 0.003)
            pictures.append(_still(page))
        _has_moved(page, *pictures)
        page.choose("plot", "power, as in the audit's report")
        page.await_text("panda_joint7")


def _still(page: Chromium) -> np.ndarray:
    """Return the picture of a page as soon as nothing moves in its scene."""
    left, top, width, height = (round(each) for each in page.run(CANVAS))
    part = slice(top, top + height), slice(left, left + width)
    picture = page.picture()
    while np.abs((after := page.picture()) - picture)[part].max() > STRONG:
        picture = after
    return after


def _has_moved(page: Chromium, first: np.ndarray, second: np.ndarray) -> None:
    """Check that the robot has the pose of 0.5 s in the first picture, of 1 s in the second one."""
    canvas = tuple(page.run(CANVAS))
    masks = []
    for seconds in (0.5, 1.0):
        q = np.zeros(7)
        q[0] = np.sin(3.0 * seconds)  # the angle of the first joint, as it is recorded
        robot = SeenRobot("panda", canvas, q, np.zeros(7))
        masks.append(robot.silhouette(*first.shape[:2]))
    changed = np.abs(second - first).max(axis=2) > STRONG
    changed[:, round(canvas[0] + canvas[2]) :] = False
    assert changed.sum() > 500
    # The shadows move as well, but change less; edges are smoothed.
    near = _wider(_wider(masks[0] | masks[1]))
    assert (changed & near).sum() > 0.98 * changed.sum()
    for only, gone in ((masks[0], masks[1]), (masks[1], masks[0])):
        inner = only & ~_wider(gone) & ~_wider(~only)
        assert inner.sum() > 100
        different = np.abs(second - first).max(axis=2)[inner] > 0.01
        assert different.mean() > 0.9


def _wider(mask: np.ndarray) -> np.ndarray:
    """Return a mask with the pixels around it, up to three away."""
    wide = mask.copy()
    for _ in range(3):
        for axis in (0, 1):
            wide |= np.roll(wide, 1, axis) | np.roll(wide, -1, axis)
    return wide
