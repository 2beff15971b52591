# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures show what the patterns contain."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from vms_ph_ephs import flatten
from vms_ph_ephs.examples import EXAMPLES
from vms_ph_ephs.patterns import split
from vms_ph_ephs.pictures import arrange, draw


def elements(text: str, kind: str, cls: str) -> list[ET.Element]:
    found = ET.fromstring(text).iter(f"{{http://www.w3.org/2000/svg}}{kind}")
    return [e for e in found if cls in e.get("class", "").split()]


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_a_flat_picture_has_every_box_junction_and_wire(name: str) -> None:
    system = flatten(EXAMPLES[name]())
    text = draw(system, flat=True)
    pattern = system.pattern
    assert len(elements(text, "rect", "box")) == len(pattern.boxes)
    assert len(elements(text, "circle", "dot")) == len(pattern.junctions)
    ends = [end for wires in pattern.junctions.values() for end in wires]
    assert len(elements(text, "line", "wire")) == len(ends)
    dashed = [end for end in ends if pattern.port(end).kind == "state"]
    assert len(elements(text, "line", "state")) == len(dashed)


def test_a_hierarchical_picture_shows_every_different_pattern_once() -> None:
    text = draw(EXAMPLES["pendulum"](), title="pendulum")
    # The pendulum, the body and the joint; two bodies of one pattern are drawn once.
    assert len(elements(text, "rect", "frame")) == 3
    assert len(elements(text, "rect", "composite")) == 4


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_boxes_do_not_cover_each_other(name: str) -> None:
    place = arrange(flatten(EXAMPLES[name]()).pattern)
    boxes = list(place.boxes.values())
    for k, (x, y, half) in enumerate(boxes):
        for x2, y2, half2 in boxes[:k]:
            assert abs(x - x2) > half + half2 or abs(y - y2) > 30.0


def test_the_same_pattern_is_always_drawn_the_same() -> None:
    assert draw(EXAMPLES["two_bodies"]()) == draw(EXAMPLES["two_bodies"]())


def test_outer_ports_end_on_the_frame() -> None:
    pattern = EXAMPLES["joint"]().pattern
    place = arrange(pattern)
    for end, (x, y) in place.outer.items():
        assert not split(end)[0]
        edges = np.array([x - 14, y - 14, place.size[0] - 14 - x, place.size[1] - 14 - y])
        assert np.abs(edges).min() < 1e-9
