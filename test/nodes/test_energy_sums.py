# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is shown of a run adds up, on every kind of base and for a robot of a user."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from built_core import compiled  # noqa: F401
from std_msgs.msg import Header
from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_controllers import Command, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import Ports, PositionTask, StandardForm
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies
from vms_ph_dynamics.energy.legend import label_of
from vms_ph_dynamics.energy.task_exchange import TaskExchange
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io.audits.plots import plot_run
from vms_ph_io.audits.run_record import RunRecord, balance, report
from vms_ph_io.energy_split import BASE, TASK, LawSplit, parts_of_law, parts_of_robot
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.messages.energy_messages import to_controller_state, to_energy, to_power

DRONE = RobotSettings(str(Path(__file__).parent / "own_drone.urdf"), "floating", "tip")
CASES = {
    "panda": (RobotSettings("panda"), 10.0, TASK),
    "hextilt": (RobotSettings("hextilt"), 0.1, BASE),
    "cart": (RobotSettings("omnidirectional_panda"), 20.0, BASE),
    "satellite": (RobotSettings("satellite_panda"), 10.0, BASE),
    "a drone of a user": (DRONE, 1.0, BASE),
}

Messages = tuple[Energy, Power, ControllerState]


def _messages(settings: RobotSettings, push: float) -> Iterator[Messages]:
    """Return what a run publishes: 0.3 s with a push at the end effector."""
    model = settings.model(settings.description())
    actuated = settings.robot != "satellite_panda"
    law = make_controller("auto", model, settings.allocation(), actuated)
    home = settings.initial_configuration(model)
    law.reset(RobotState(home, np.zeros(model.nv)))
    last: list[Command] = []

    def control(q: np.ndarray, v: np.ndarray, dt: float) -> Command:
        last[:] = [law.update(RobotState(q, v), Reference(), dt)]
        return last[0]

    simulation = Simulation(StandardForm(model), home, 1e-3, control, friction=False)
    task = PositionTask(model)
    exchange, audit = TaskExchange(model, task), EnergyAudit()
    force = np.array([push, 0.5 * push, 0.0, 0.0, 0.0, 0.0])
    for k in range(30):
        simulation.advance(10, Ports(wrench_end_effector=force * (5 <= k < 20)))
        s = simulation.sample()
        header = Header(frame_id="odom" if model.b else "panda_link0")
        d = model.evaluate(s.q, s.v)
        ports = Ports(s.torque, s.wrench_base if model.b else None, s.wrench_end_effector)
        energy = to_energy(header, d, task)
        totals = PortEnergies(s.port_energy, s.dissipated, 0)
        supplied, lost = ports.supplied(d), ports.dissipated(d)
        flow = EnergySample(round(s.time * 1e9), energy.total, supplied, lost, totals)
        audit.add(flow)
        yield (
            energy,
            to_power(header, flow, audit, exchange.exchange(d)),
            to_controller_state(header, last[0]),
        )


def _table(messages: list[object]) -> dict[str, np.ndarray]:
    names = [
        name
        for name, kind in messages[0].get_fields_and_field_types().items()  # type: ignore[attr-defined]
        if kind == "double"
    ]
    table = {name: np.array([getattr(m, name) for m in messages]) for name in names}
    return {"time": 0.01 * np.arange(len(messages)), **table}


@pytest.fixture(scope="module", params=CASES)
def messages(request: pytest.FixtureRequest) -> tuple[str, list[Messages]]:
    settings, push, _ = CASES[request.param]
    return request.param, list(_messages(settings, push))


@pytest.fixture
def run(messages: tuple[str, list[Messages]]) -> RunRecord:
    name, found = messages
    energy, power, control = ([*column] for column in zip(*found, strict=True))
    return RunRecord(
        name, _table(energy), _table(power), _table(control), energy[0].header.frame_id
    )


def test_the_parts_of_every_sum_add_up_to_rounding(run: RunRecord) -> None:
    split = CASES[run.name][2]
    assert run.split == split
    assert [*run.law_energies] == ["shaped_potential", *split]
    stored, total = run.power["stored"], run.energy["total"]
    scale = np.abs(total).max() + 1.0
    for whole, parts in (
        (run.control["closed_loop_energy"], run.law_energies),
        (total, run.robot_energies),
    ):
        np.testing.assert_allclose(sum(parts.values()), whole, rtol=0, atol=1e-13 * scale)
    assert sum(balance(run).values()) == pytest.approx(stored[-1], abs=1e-13 * scale)
    assert np.abs(run.law_energies[split[0]]).max() > 1e-6
    # What the robot stores is no sum of zeros.
    assert np.abs(stored).max() > 1e-5


def test_the_base_port_is_shown_on_a_moving_base_only(run: RunRecord) -> None:
    moving = run.name != "panda"
    assert run.is_moving_base is moving
    assert ("wrench_base" in run.shown_ports) is moving
    assert ("wrench_base" in balance(run)) is moving


def test_the_printed_report_adds_up_to_its_digits(run: RunRecord, tmp_path: Path) -> None:
    lines = [*report(run)]
    sums: list[list[float]] = []
    for line in lines:
        found = re.match(r"( +).* ([+-]\d+\.\d{6}) J$", line)
        if found and len(found[1]) == 2:
            sums.append([float(found[2])])
        elif found:
            sums[-1].append(float(found[2]))
    assert len(sums) == 3
    for whole, *parts in sums:
        assert len(parts) >= 3
        # Each printed number is rounded by at most half of the last digit.
        assert whole == pytest.approx(sum(parts), abs=0.5e-6 * (len(parts) + 1.01))
    drawn = tmp_path / "run.svg"
    plot_run(run, drawn)
    text = drawn.read_text()
    for part in (*CASES[run.name][2], *run.shown_ports):
        assert label_of(part) in text


def test_live_views_show_the_same_parts_from_messages_one_by_one(
    messages: tuple[str, list[Messages]],
) -> None:
    name, found = messages
    law = LawSplit()
    for energy, _, control in found:
        law.base_moves = energy.header.frame_id == "odom"
        law.update(partial(getattr, control))
        parts = parts_of_law(partial(getattr, control), law.split)
        assert sum(parts.values()) == pytest.approx(control.closed_loop_energy, abs=1e-12)
        parts = parts_of_robot(partial(getattr, energy), law.split)
        assert sum(parts.values()) == pytest.approx(energy.total, rel=1e-12)
    assert law.split == CASES[name][2]


def test_where_the_task_is_singular_the_parts_are_base_and_shape() -> None:
    energy = Energy(total=4.0, potential=1.0, kinetic_shape=3.0, kinetic_task=float("nan"))
    parts = parts_of_robot(partial(getattr, energy), TASK)
    assert parts == {"potential": 1.0, "kinetic_base": 0.0, "kinetic_shape": 3.0}
