# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A page that a command serves, in a browser."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from .chromium import Chromium, field
from .conftest import Program, Start
from .page_geometry import SeenRobot

# Time that a page has at most to begin, and to end, on a busy machine, s.
BEGINS, _ENDS = 300.0, 120.0

# What takes a minute takes half an hour on a machine with much other work.
LONG = pytest.mark.timeout(3600)

# What a command prints that serves a page, with its token.
ADDRESS = r"web page at (http://127.0.0.1:\d+/\?token=\S+)"

# Of the page, pixels; the panel takes 400 of them. A browser without a graphics card draws slowly.
_SIZE = (960, 540)

_MARKERS = ("centre of mass", "momentum", "locked velocity", "temperature", "power")

# The canvas of the scene, and its box.
_SCENE = "[...document.querySelectorAll('canvas')].find(c => !c.closest('.uplot'))"
CANVAS = f"(b => [b.x, b.y, b.width, b.height])({_SCENE}.getBoundingClientRect())"

_PLOT = "document.querySelector('.uplot canvas').toDataURL()"

# A browser that draws without a graphics card is told so, over the scene.
CLOSE_NOTES = (
    "document.querySelectorAll('[class*=Notification-closeButton]').forEach(b => b.click());"
    "document.head.insertAdjacentHTML('beforeend',"
    "'<style>#vms-pictures {display: none}</style>')"
)

# Changes of a pixel: by anything that is drawn, and by more than a shadow on the floor. Distance
# to which edges are found, pixels: they are smoothed, and the camera has the size of a real pixel.
DRAWN, STRONG, _NEAR = 0.03, 0.25, 6.0


@contextmanager
def served(start: Start, *words: str, port: int = 0) -> Iterator[tuple[Program, str]]:
    """Run a command that serves a page; return it and its address. It ends by Ctrl-C."""
    with socket.create_server(("127.0.0.1", port)) as probe:
        port = probe.getsockname()[1]
    launched = ("web:=true", f"port:={port}")
    program = start(*words, *(launched if words[0] == "launch" else ("--port", str(port))))
    try:
        yield program, program.await_output(ADDRESS, BEGINS)[1]
        assert program.interrupt(_ENDS) == 0, program.output
    finally:
        program.close()


@contextmanager
def browser(address: str, folder: Path) -> Iterator[Chromium]:
    """Show a page; at its end the console of the browser has no errors."""
    page = Chromium(address, folder)
    try:
        page.resize(*_SIZE)
        yield page
        # A page that begins anew is away for a moment.
        errors = [error for error in page.errors if "WebSocket connection" not in error]
        assert not errors, errors
    finally:
        page.close()


@contextmanager
def shown(start: Start, folder: Path, *words: str) -> Iterator[Chromium]:
    """Run a command that serves a page, and show it."""
    with served(start, *words) as (_, address), browser(address, folder) as page:
        yield page


def await_rest(page: Chromium) -> None:
    """Let time stand at the start, without markers; plots and balance have moved before."""
    page.await_text("Energy is conserved", BEGINS)
    page.await_true(f"!!{_PLOT}", "there is no plot")
    page.run(f"window.before = {_PLOT}")
    page.await_true(f"{_PLOT} != window.before", "the plot does not move")
    assert page.run("document.querySelectorAll('svg.ef rect').length") >= 7
    page.click("View")
    for marker in _MARKERS:
        if page.run(f"!!{field(marker)}"):
            page.untick(marker)
    page.click("Control")
    page.tick("paused")
    page.await_text("simulation paused")
    page.click("reset")
    page.await_text("simulator/reset std_srvs")
    assert "not done" not in page.text()
    # A new energy balance begins, although time stands.
    page.await_text("nothing has moved yet")
    page.click("View")


def seen(page: Chromium, name: str) -> tuple[SeenRobot, np.ndarray]:
    """Check that the robot is where it should be; return it, and by how much it changes pixels.

    Time stands, at the initial configuration; the page may have to draw it yet.
    """
    robot = SeenRobot(name, tuple(page.run(CANVAS)))
    end = time.monotonic() + BEGINS
    while fault := _fault(robot, change := _drawn(page), name.endswith("hopper")):
        assert time.monotonic() < end, f"{name} {fault}"
    return robot, change


def _fault(robot: SeenRobot, change: np.ndarray, hops: bool) -> str:
    """Return how the pixels that a robot changes are not those that it should; or nothing."""
    wanted, near = robot.box, _NEAR
    if hops:  # the view has gone with it when it hopped
        drawn = _edges(_largest(change > DRAWN))
        wanted = wanted + np.tile(drawn[2:] + drawn[:2] - wanted[2:] - wanted[:2], 2) / 2.0
        near = 2.0 * _NEAR
    rows, columns = np.ogrid[: change.shape[0], : change.shape[1]]
    inside = (columns > wanted[0] - near) & (columns < wanted[2] + near)
    inside = inside & (rows > wanted[1] - near) & (rows < wanted[3] + near)
    strong = change > STRONG
    found = _edges((change > DRAWN) & inside)
    filled = float(max((found[2:] - found[:2]) / np.array(robot.canvas[2:])))
    said = f"at {found.round()}, projected {wanted.round()}, fills {filled:.0%}"
    print(said)
    if strong[inside].sum() <= 0.995 * strong.sum() or np.abs(found - wanted).max() > near + 1.0:
        return f"is elsewhere: {said}"
    return "" if 0.25 < filled < 0.75 else f"is too small or too large: {said}"


def _drawn(page: Chromium) -> np.ndarray:
    """Return by how much every pixel of the scene changes where the robot is hidden."""
    page.run(CLOSE_NOTES)
    left, _, width, _ = page.run(CANVAS)
    shown = slice(int(left), int(left + width))
    pictures = []
    for hidden in (False, True):
        if hidden:
            page.tick("links")
        end = time.monotonic() + 300.0
        while True:  # until it stands still, as it is wanted
            picture = page.picture()
            time.sleep(0.3)
            still = _change(page.picture(), picture, shown).max() < DRAWN
            if still and (not hidden or _change(picture, pictures[0], shown).max() > STRONG):
                break
            assert time.monotonic() < end, "the robot is not drawn"
        pictures.append(picture)
    page.tick("links")
    change = np.abs(pictures[1] - pictures[0]).max(axis=2)
    end = time.monotonic() + 300.0
    # The page draws its edges finer when it has time to.
    while (_change(page.picture(), pictures[0], shown) > STRONG).sum() > 0.01 * (
        change[:, shown] > STRONG
    ).sum():
        assert time.monotonic() < end, "the robot is not drawn again"
    change[:, shown.stop :] = 0.0
    return np.asarray(change)


def _change(picture: np.ndarray, other: np.ndarray, columns: slice) -> np.ndarray:
    return np.asarray(np.abs(picture - other)[:, columns].max(axis=2))


def _largest(pixels: np.ndarray) -> np.ndarray:
    """Return those of the largest group; gaps of a few pixels, as in white before grey, join."""
    from scipy.ndimage import binary_dilation, label

    groups, _ = label(binary_dilation(pixels, iterations=4))
    sizes = np.bincount(groups.ravel())
    return np.asarray(pixels & (groups == 1 + sizes[1:].argmax()))


def _edges(pixels: np.ndarray) -> np.ndarray:
    high, wide = np.nonzero(pixels)
    assert len(high), "nothing is drawn"
    return np.array([wide.min(), high.min(), wide.max(), high.max()], float)


def await_change(page: Chromium, before: np.ndarray, share: float) -> None:
    """Wait until a share of the pixels in the scene differs from a picture before."""
    left, top, width, height = (round(each) for each in page.run(CANVAS))
    part = slice(top, top + height), slice(left, left + width)
    end = time.monotonic() + 300.0
    while (np.abs(page.picture() - before)[part].max(axis=2) > 0.1).mean() < share:
        assert time.monotonic() < end, "the scene does not change"
        time.sleep(0.2)


def hand(robot: SeenRobot, change: np.ndarray) -> tuple[float, float]:
    """Return x and y of a pixel of the robot near its end effector; a fixed base is not moved."""
    (x, y), *_ = robot.pixels(robot.end_effector[:3, 3][None])
    rows, columns = np.ogrid[: change.shape[0], : change.shape[1]]
    return _amid((change > DRAWN) & (np.hypot(columns - x, rows - y) < 40.0))


def _amid(mask: np.ndarray) -> tuple[float, float]:
    """Return x and y of the pixel amid the largest area."""
    depth, layer = mask.astype(int), mask
    while layer.any():
        inner = np.zeros_like(layer)
        inner[1:-1, 1:-1] = layer[1:-1, 1:-1] & layer[:-2, 1:-1] & layer[2:, 1:-1]
        inner[1:-1, 1:-1] &= layer[1:-1, :-2] & layer[1:-1, 2:]
        layer = inner
        depth += layer
    row, column = np.unravel_index(depth.argmax(), depth.shape)
    return float(column), float(row)
