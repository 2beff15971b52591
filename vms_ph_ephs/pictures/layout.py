# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Layout of boxes and junctions: distances in the picture approximate those along wires."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..patterns import Pattern, split

_STEPS = 400
_WIRE = 74.0


@dataclass(frozen=True)
class Placement:
    """Positions in a picture, px, y downwards.

    Attributes:
        boxes: centre and half width of every box.
        junctions: of every junction.
        outer: end of every outer port on the frame.
        size: width and height.
    """

    boxes: dict[str, tuple[float, float, float]]
    junctions: dict[str, tuple[float, float]]
    outer: dict[str, tuple[float, float]]
    size: tuple[float, float]


def half_width(name: str) -> float:
    """Return the half width of a box with its name, px."""
    return max(21.0, 9.0 + 3.9 * len(name))


def arrange(pattern: Pattern) -> Placement:
    """Return the placement of a pattern; the same pattern always gives the same."""
    boxes, junctions = list(pattern.boxes), list(pattern.junctions)
    names = [("box", n) for n in boxes] + [("junction", n) for n in junctions]
    index = {name: k for k, name in enumerate(names)}
    wires = {
        (index["box", split(end)[0]], index["junction", junction])
        for junction, ends in pattern.junctions.items()
        for end in ends
        if split(end)[0]
    }
    room = np.array([half_width(n) - 21.0 for n in boxes] + [-14.0] * len(junctions))
    xy = _spread(_distances(len(names), wires), room)
    margin = np.array([max((half_width(n) for n in boxes), default=30.0) + 34.0, 58.0])
    xy += margin - xy.min(axis=0)
    size = xy.max(axis=0) + margin
    at = {name: (float(p[0]), float(p[1])) for name, p in zip(names, xy, strict=True)}
    outer = _outer(pattern, at, (float(size[0]), float(size[1])))
    return Placement(
        {n: (*at["box", n], half_width(n)) for n in boxes},
        {n: at["junction", n] for n in junctions},
        outer,
        (float(size[0]), float(size[1])),
    )


def _outer(
    pattern: Pattern, at: dict[tuple[str, str], tuple[float, float]], size: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    found: dict[str, tuple[float, float]] = {}
    for junction, ends in pattern.junctions.items():
        x, y = at["junction", junction]
        for k, end in enumerate(e for e in ends if not split(e)[0]):
            sides = {
                (14.0, y + 16.0 * k): x,
                (size[0] - 14.0, y + 16.0 * k): size[0] - x,
                (x + 24.0 * k, 14.0): y,
                (x + 24.0 * k, size[1] - 14.0): size[1] - y,
            }
            free = {p: d for p, d in sides.items() if p not in found.values()}
            found[end] = min(free, key=lambda p: free[p])
    return found


def _distances(n: int, wires: set[tuple[int, int]]) -> Array:
    d = np.full((n, n), np.inf)
    np.fill_diagonal(d, 0.0)
    for a, b in wires:
        d[a, b] = d[b, a] = 1.0
    for k in range(n):
        d = np.minimum(d, d[:, [k]] + d[[k], :])
    finite = d[np.isfinite(d)]
    return np.where(np.isfinite(d), d, finite.max(initial=1.0) + 1.0)


def _spread(d: Array, room: Array) -> Array:
    """Return positions whose distances are nearest to given ones (stress majorisation)."""
    n = d.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    want = _WIRE * d + room[:, None] + room[None, :]
    want = np.maximum(want, 40.0)
    weight = 1.0 / np.maximum(d, 1.0) ** 2
    np.fill_diagonal(weight, 0.0)
    # Start from the two principal axes of the distances; ties are broken by a small fixed spiral.
    centre = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(-0.5 * centre @ d**2 @ centre)
    order = np.argsort(values)[::-1][:2]
    turn = 2.4 * np.arange(n)
    spiral = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    xy = _WIRE * vectors[:, order] * np.sqrt(np.maximum(values[order], 0.0)) + 4.0 * spiral
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_STEPS):
        gap = xy[:, None] - xy[None, :]
        length = np.maximum(np.linalg.norm(gap, axis=2), 1e-9)
        pull = -weight * want / length
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        xy = inverse @ (pull @ xy)
    return _lying(xy)


def _lying(xy: Array) -> Array:
    """Rotate a picture so that it is wider than high."""
    xy = xy - xy.mean(axis=0)
    _, _, axes = np.linalg.svd(xy, full_matrices=False)
    xy = xy @ axes.T
    # Signs of singular vectors are arbitrary: the first node is at the top left.
    signs = np.where(xy[0] > 0.0, -1.0, 1.0)
    return xy * signs
