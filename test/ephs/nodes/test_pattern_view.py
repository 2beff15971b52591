# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pattern of a robot on the page: the powers of its wires, and what is drawn."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from vms_ph_dynamics import Ports
from vms_ph_ephs.equations.assembly import port_powers
from vms_ph_ephs.patterns import split
from vms_ph_ephs.robot import Mechanism
from vms_ph_io import robots

pytest.importorskip("viser")
from vms_ph_ephs.nodes.pattern_view import picture, styles, wire_powers


@pytest.mark.parametrize("name", ["panda", "borinot"])
def test_the_powers_at_every_junction_add_up_to_what_comes_from_outside(name: str) -> None:
    model, rng = robots.load(name), np.random.default_rng(4)
    mechanism = Mechanism(model, np.full(model.n, 1000.0), 298.15, native=False)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    ports = Ports(rng.normal(size=model.n), rng.normal(size=model.b) if model.b else None)
    inner = port_powers(mechanism.equations, mechanism.state(q, v), mechanism.flows(ports))
    system = mechanism.system
    powers = wire_powers(system, inner)
    outside = 0.0
    for ends in system.pattern.junctions.values():
        into = sum(powers[end] for end in ends if end in powers)
        if all(split(end)[0] for end in ends):
            assert into == pytest.approx(0.0, abs=1e-9)
        else:
            outside += into
    supplied = float(ports.torque @ v[model.b :])
    if ports.wrench_base is not None:
        supplied += float(ports.wrench_base @ v[: model.b])
    assert outside == pytest.approx(supplied, rel=1e-9)
    assert max(map(abs, powers.values())) > 0.1


def test_every_wire_of_the_picture_has_the_colour_of_its_power() -> None:
    model = robots.load("panda")
    system = Mechanism(model, np.full(model.n, 1000.0), 298.15, native=False).system
    root = ET.fromstring(picture(system))
    drawn = {line.get("data-end") for line in root.iter("line")}
    names = [text.text for text in root.iter("text")]
    assert {"joint1", "link7", "ground"} <= set(names)
    powers = dict.fromkeys([end for end in drawn if end and split(end)[0]], 0.0)
    powers["panda_joint1.p_1"], powers["panda_joint1.p_2"] = 2.0, -2.0
    rules = dict(
        re.findall(r'data-end="([^"]+)"\]\{stroke:(rgb\([\d,]+\))', styles(system, powers, 2.0))
    )
    assert rules.keys() == drawn
    assert rules["panda_joint1.p_1"] == "rgb(204,121,167)"
    assert rules["panda_joint1.p_2"] == "rgb(0,114,178)"
    assert rules["panda_link7.p"] == "rgb(200,200,200)"
