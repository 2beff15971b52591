# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The exergy map as message and on the page, and the engine ephs in the simulator."""

from pathlib import Path

import pytest
import rclpy
from builtin_interfaces.msg import Time
from ephs.driven_arm import URDF, simulation
from std_msgs.msg import Header

from vms_ph_dynamics import OptionError
from vms_ph_ephs.nodes.exergy_view import ExergyFlow, colour_of, exergy_list
from vms_ph_nodes.simulation.robot_publishers import ExergyMessages
from vms_ph_nodes.simulator import Simulator
from vms_ph_nodes.views.sankey import quantity


def test_powers_are_the_destruction_since_the_last_message_and_begin_anew_after_a_reset() -> None:
    run, messages = simulation(), ExergyMessages()
    first = messages.next_message(Header(), run.exergy_map(), run.resets)
    run.advance(10)
    second = messages.next_message(Header(), run.exergy_map(), run.resets)
    assert not any(first.power)
    for power, destroyed in zip(second.power, second.destroyed, strict=True):
        assert power == pytest.approx(destroyed / 0.02)
    assert second.power[list(second.destroyers).index("electronics")] == pytest.approx(5.0)
    assert second.current > 0.0
    assert abs(second.residual) < 1e-9
    run.reset()
    run.advance(1)
    assert not any(messages.next_message(Header(), run.exergy_map(), run.resets).power)


def test_the_flow_of_exergy_adds_up_and_names_who_destroys_it() -> None:
    run, messages, flows = simulation(), ExergyMessages(), ExergyFlow()
    assert flows.update(messages.next_message(stamped(0), run.exergy_map(), run.resets)) is None
    run.advance(20)
    message = messages.next_message(stamped(40), run.exergy_map(), run.resets)
    flow = flows.update(message)
    assert flow is not None
    sources = {each.name: each.power for each in flow.sources}
    sinks = {each.name: each.power for each in flow.sinks}
    assert sources["supply"] > 0.0
    assert sinks["electronics"] == pytest.approx(5.0)
    assert sum(sources.values()) == pytest.approx(sum(sinks.values()), rel=1e-6)
    assert abs(sources["unaccounted"]) < 1e-6 * sources["supply"]
    said = exergy_list(message)
    assert "electronics" in said
    assert "°C" in said
    # The sentence is the balance of the map.
    given = message.supplied - message.stored[list(message.stores).index("battery")]
    assert f"{quantity(given, 'J')} given = " in said
    assert f"{quantity(sum(message.destroyed), 'J')} destroyed" in said
    run.reset()
    assert flows.update(messages.next_message(stamped(80), run.exergy_map(), run.resets)) is None


def stamped(milliseconds: int) -> Header:
    return Header(stamp=Time(nanosec=1_000_000 * milliseconds))


def test_what_is_warm_is_red_and_what_is_cold_is_blue() -> None:
    cold, hot = colour_of(298.15), colour_of(398.15)
    assert cold[2] > hot[2]
    assert hot[0] > 0.7 > cold[0]


def test_the_simulator_runs_the_engine_with_its_topic_and_refuses_a_floor(tmp_path: Path) -> None:
    file = tmp_path / "driven.urdf"
    file.write_text(URDF)

    def simulator(*parameters: str) -> Simulator:
        arguments = [part for each in parameters for part in ("-p", each)]
        rclpy.init(args=["--ros-args", *arguments], domain_id=87)
        return Simulator()

    given = (f"robot:={file}", "engine:=ephs", "autostart:=false")
    try:
        node = simulator(*given)
        node._advance(5)
        node._publish()
        values = node._diagnostics()
        assert "battery (V)" in values
        assert "/vms_ph/exergy" in [publisher.topic_name for publisher in node.publishers]
        node.destroy_node()
    finally:
        rclpy.shutdown()
    try:
        with pytest.raises(OptionError, match="simulates no floor"):
            simulator(*given, "floor:=true")
    finally:
        rclpy.shutdown()
