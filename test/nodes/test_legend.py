# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ports, stores and losses have one word and one colour, wherever they are shown."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_controllers.guard.certificate import guarded_ports
from vms_ph_dynamics.energy.legend import LEGEND, rgb, styles
from vms_ph_dynamics.forms import PORTS, port_names
from vms_ph_dynamics.simulation.contact.mujoco_engine import CONTACT, JOINT_STOPS, MIMICS
from vms_ph_io import robots
from vms_ph_io.energy_split import BASE, TASK

pytest.importorskip("viser")
from vms_ph_nodes.views.overview import LoopFlow, RobotFlow

ROOT = Path(__file__).parents[2]
OKABE_ITO = {"#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#000000"}
GREY = "#8c8c8c"


def _flowing() -> Iterator[str]:
    """Yield the names of what flows through robots and laws."""
    for split in (BASE, TASK):
        flow = RobotFlow().flow(Power(), Energy(), split, True)
        loop = LoopFlow()
        loop.add(ControllerState(tank_level=1.0))
        of_law = loop.flow(split)
        assert flow is not None
        assert of_law is not None
        yield from (s.name for f in (flow, of_law) for s in (*f.sources, *f.sinks))


def test_every_port_and_store_of_robots_laws_effects_and_bags_has_a_word_and_a_colour() -> None:
    of_messages = {*Energy.get_fields_and_field_types(), *Power.get_fields_and_field_types()}
    of_messages -= {"header", "tool_names", "exact_energies", "null_to_task", "null_to_task_g12"}
    of_messages = {name for name in of_messages if not name.endswith(("_energy", "_power"))}
    names = {
        "payload",
        "driver_weight",
        *PORTS,
        CONTACT,
        JOINT_STOPS,
        MIMICS,
        *of_messages,
        *_flowing(),
    }
    assert names - LEGEND.keys() == set()
    joints = {*robots.load("panda").joint_names}
    assert {
        name for name in guarded_ports(robots.load("hextilt")) if name == "wrench_base"
    } <= names
    assert joints & LEGEND.keys() == set()


def test_colours_are_those_that_colour_blind_readers_tell_apart_on_light_and_on_dark() -> None:
    for name, style in LEGEND.items():
        assert style.colour in OKABE_ITO | {GREY}, name
        for ground in ("#ffffff", "#1a1b1e"):
            low, high = sorted((_luminance(style.colour), _luminance(ground)))
            assert (high + 0.05) / (low + 0.05) > 2.2, (name, ground)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in np.array(rgb(colour)) / 255]  # fmt: skip
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_no_two_curves_of_a_plot_look_alike() -> None:
    model = robots.load("panda")
    for names in (
        [*PORTS, "left", "right", "stored", "dissipated", CONTACT],
        [*model.joint_names, "wrench_base", "wrench_end_effector"],
        ["total", "shaped_potential", *TASK],
        ["total", "potential", *BASE],
    ):
        looks = [style[1:] for style in styles(names).values()]
        assert len({*looks}) == len(names)
    tools = styles((*port_names(model), "left"))
    assert tools["left"] == styles(["torque", "left", "stored"])["left"]


def test_no_other_file_has_a_colour_of_its_own_for_a_port_or_store() -> None:
    table = ROOT / "vms_ph_dynamics/energy/legend.py"
    folders = [folder for folder in ROOT.glob("vms_ph_*") if folder.is_dir()]
    colours = {style.colour for style in LEGEND.values()}
    triples = [", ".join(map(str, rgb(colour))) for colour in colours]
    for file in (file for folder in folders for file in folder.rglob("*.py") if file != table):
        text = file.read_text(encoding="utf-8").lower()
        assert not [c for c in (*colours, *triples) if c in text], file


# Where lines have no dashes, dashed ones of the table are darker or paler, and parts of the
# kinetic energy have the colours of their ports.
_DARK, _PALE = "#00503a", "#7fd1b9"
_UNDASHED = {
    "potential": _DARK, "shaped_potential": _DARK, "tank_level": _PALE,
    "kinetic_base": LEGEND["wrench_base"].colour, "kinetic_shape": LEGEND["torque"].colour,
    "kinetic_task": LEGEND["wrench_end_effector"].colour, "kinetic_null": GREY,
    "closed_loop_energy": LEGEND["total"].colour, "task_error": LEGEND["torque"].colour,
}  # fmt: skip


@pytest.mark.parametrize("file", ["foxglove/energy.json", "plotjuggler/energy.xml"])
def test_layouts_of_other_viewers_have_the_colours_of_the_table(file: str) -> None:
    text = (ROOT / "config" / file).read_text(encoding="utf-8")
    pattern = r'"(/vms_ph/(?:energy|power)|/controller/state)[./](\w+)"[^#{}<]*"(#\w+)"'
    curves = re.findall(pattern, text)
    assert len(curves) > 12
    for _, name, colour in curves:
        port = name.removesuffix("_energy")
        known = LEGEND[port].colour if port in LEGEND else ""
        assert colour == _UNDASHED.get(name, known), name


@pytest.mark.parametrize("kind", ["fixed", "moving", "hopper"])
def test_wrenches_in_rviz_have_the_colour_of_their_port(kind: str) -> None:
    text = (ROOT / "rviz" / f"{kind}.rviz").read_text(encoding="utf-8")
    found = re.findall(r"(?:Force|Torque) Color: (.*)", text)
    assert found == 2 * ["; ".join(map(str, LEGEND["wrench_end_effector"].rgb))]
