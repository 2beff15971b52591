# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The simulator with the actuators of a base: topics, failures, and what it refuses."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import rclpy
from built_core import compiled  # noqa: F401
from rclpy.parameter import Parameter

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_nodes import closed_loop
from vms_ph_nodes.controller import ControllerNode
from vms_ph_nodes.simulator import Simulator

Published = dict[str, list]


@contextmanager
def nodes(*parameters: str) -> Iterator[list]:
    arguments = [part for each in parameters for part in ("-p", each)]
    rclpy.init(args=["--ros-args", *arguments], domain_id=57)
    made: list = []
    try:
        made = closed_loop.make()
        yield made
    finally:
        for node in made:
            node.destroy_node()
        rclpy.shutdown()


def listen(node: Simulator) -> Published:
    found: Published = {}

    def noted(name: str, publish: Callable) -> Callable:
        def publish_too(message: object) -> None:
            found.setdefault(name, []).append(message)
            publish(message)

        return publish_too

    for publisher in node.publishers:
        publisher.publish = noted(publisher.topic_name, publisher.publish)
    return found


def test_thrusters_that_start_to_turn_enter_the_map_of_exergy() -> None:
    with nodes("robot:=bluerov2_alpha5", "actuators:=own") as (simulator, _):
        found = listen(simulator)
        simulator._publish()  # before any of them turns
        for _ in range(60):
            simulator._advance(10)
            simulator._publish()
            if any(x.startswith("thruster_") for x in found["/vms_ph/exergy"][-1].destroyers):
                break
        first, *_, last = found["/vms_ph/exergy"]
        entered = set(last.destroyers) - set(first.destroyers)
        powers = dict(zip(last.destroyers, last.power, strict=True))
        assert any(name.startswith("thruster_") for name in entered)
        assert all(powers[name] >= 0.0 for name in entered)


def test_the_simulator_publishes_its_actuators_and_where_their_energy_goes() -> None:
    with nodes("robot:=borinot", "actuators:=own") as (simulator, controller):
        assert isinstance(controller, ControllerNode)
        found = listen(simulator)
        simulator._advance(20)
        for _ in range(4):
            simulator._publish()
        (state, *_) = found["/vms_ph/actuator_states"]
        assert list(state.name) == [f"rotor_{k}" for k in range(6)]
        assert min(state.effort) > 1.0
        assert min(state.velocity) > 400.0
        map_ = found["/vms_ph/exergy"][0]
        stored = dict(zip(map_.stores, map_.stored, strict=True))
        destroyed = dict(zip(map_.destroyers, map_.destroyed, strict=True))
        # Hovering takes power from the supply, all of it lost in the air and in the windings.
        assert stored["supply"] < -1.0
        assert destroyed["rotor_3/fluid"] > 10.0 * destroyed["rotor_3/winding"] > 0.0
        assert abs(map_.residual) < 1e-10
        assert "energy from the supply (J)" in simulator._diagnostics()
        (refused,) = simulator.set_parameters([Parameter("failed_actuators", value="rotor_9")])
        assert not refused.successful
        assert "no actuator 'rotor_9'; there are rotor_0, " in refused.reason
        (taken,) = simulator.set_parameters([Parameter("failed_actuators", value="rotor_2?")])
        assert taken.successful
        simulator._advance(200)
        held = simulator.simulation.actuation.step_efforts
        assert held.commands[2] > 1.0
        assert held.inputs[2] < 0.01


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("robot:=panda", "actuators:=own"), "robot 'panda' has no actuators of its own"),
        (("robot:=hextilt", "actuators:=mine"), "own, ideal or the path of a file; given: 'mine'"),
        (
            ("robot:=hextilt", "actuators:=own", "engine:=ephs"),
            "move the base, which the drives of engine:=ephs move already",
        ),
        (("robot:=hextilt", "failed_actuators:=rotor_1"), "the base has no actuators"),
    ],
)
def test_actuators_that_cannot_be_simulated_are_refused(given: tuple[str, ...], said: str) -> None:
    with pytest.raises((OptionError, VmsPhError), match=said), nodes(*given):
        pass
