# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded run as time series."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from vms_ph_dynamics.forms import PORTS
from vms_ph_io.audits.plots import plot_run
from vms_ph_io.audits.run_record import read_run, report
from vms_ph_io.bag import BagWriter, MessageTypes
from vms_ph_io.installation import share_directory


@pytest.fixture
def bag_with_a_tool(tmp_path: Path) -> Path:
    """Return a bag of a robot with a tool port that appears after the first sample."""
    return bag_of(tmp_path, range(3))


def bag_of(tmp_path: Path, seconds: Iterable[int]) -> Path:
    types = MessageTypes()
    types.register_folder("vms_ph", share_directory() / "msg")
    store, folder = types.store, tmp_path / "run"
    header, time = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]
    with BagWriter(folder) as bag:
        for name in ("Energy", "Power"):
            bag.add_topic(f"/vms_ph/{name.lower()}", types.definition(f"vms_ph/msg/{name}"))
        for count, i in enumerate(seconds):
            stamp = header(stamp=time(sec=i, nanosec=0), frame_id="odom")
            for name in ("Energy", "Power"):
                kind = f"vms_ph/msg/{name}"
                fields = [field for field, _ in store.fielddefs[kind][1]]
                values: dict[str, object] = dict.fromkeys(fields, float(i))
                if name == "Power":
                    tools = ["left_hand"] if i else []
                    values |= {
                        "tool_names": tools,
                        "tool_power": np.full(len(tools), 0.5 * i),
                        "tool_energy": np.full(len(tools), 0.25 * i),
                        "exact_energies": True,
                    }
                message = store.types[kind](**{**values, "header": stamp})
                data = bytes(store.serialize_cdr(message, kind))
                bag.write(f"/vms_ph/{name.lower()}", data, count * 10**9)
    return folder


def test_tool_ports_are_columns_of_the_run_and_lines_of_its_plot(
    bag_with_a_tool: Path, tmp_path: Path
) -> None:
    run = read_run(bag_with_a_tool)
    assert run.ports == (*PORTS, "left_hand")
    np.testing.assert_array_equal(run.port_powers["left_hand"], [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(run.port_energies["left_hand"], [0.0, 0.25, 0.5])
    drawn = tmp_path / "energy.svg"
    plot_run(run, drawn)
    assert "left_hand" in drawn.read_text()


def test_of_a_bag_whose_time_began_anew_the_last_run_is_read_and_said(tmp_path: Path) -> None:
    run = read_run(bag_of(tmp_path, [0, 1, 2, 3, 0, 1, 2, 0, 1]))
    np.testing.assert_array_equal(run.energy["time"], [0.0, 1.0])
    np.testing.assert_array_equal(run.power["time"], [0.0, 1.0])
    assert next(report(run)) == "recorded  1.00 s, 2 energy messages, the last of 3 runs"
    once = read_run(bag_of(tmp_path / "once", [4, 5, 6]))
    assert next(report(once)) == "recorded  2.00 s, 3 energy messages"
