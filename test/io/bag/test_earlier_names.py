# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bags recorded under earlier names of ports, topics and fields.

``data/earlier_names`` was recorded by the demo of the Panda before the ports had their present
names: vms_ph/external_wrench, vms_ph/port_work, and Power with joint_torque, ..., drift.
"""

from pathlib import Path

import numpy as np
import pytest
from bag_samples import SHARE

from vms_ph_io.audits.plots import plot_run
from vms_ph_io.audits.run_record import read_run
from vms_ph_io.bag import BagReader, PresentNames, bag_info, present_topic
from vms_ph_io.bag.earlier_names import FIELDS, TOPICS, TYPES

BAG = Path(__file__).parent / "data/earlier_names"


def test_an_earlier_bag_is_read_with_its_own_definitions() -> None:
    found = {t.topic.name: t for t in bag_info(BAG).topics}
    assert found["/vms_ph/port_work"].topic.type == "vms_ph/msg/PortWork"
    message = next(BagReader(BAG).messages({"/vms_ph/power"}))
    assert hasattr(message.decode(), "joint_torque_work")


def test_translation_keeps_every_value_under_its_present_name() -> None:
    present = PresentNames()
    count = 0
    for recorded in BagReader(BAG).messages():
        translated = present.translate(recorded)
        assert translated.topic == present_topic(recorded.topic)
        assert translated.log_time == recorded.log_time
        if recorded.type not in FIELDS:
            assert translated.data == recorded.data
            continue
        count += 1
        before, after = vars(recorded.decode()), vars(translated.decode())
        for name, value in before.items():
            if name == "header":
                assert (value.stamp.sec, value.stamp.nanosec, value.frame_id) == (
                    after[name].stamp.sec,
                    after[name].stamp.nanosec,
                    after[name].frame_id,
                )
            elif not name.startswith("__"):
                new = name if name in after else FIELDS[recorded.type][name]
                np.testing.assert_equal(after[new], value)
        assert len(after.get("tool_names", [])) == 0
    assert count > 300


def test_the_present_names_are_those_of_the_message_files() -> None:
    for recorded, renamed in FIELDS.items():
        kind = TYPES.get(recorded, recorded).removeprefix("vms_ph/msg/")
        text = (SHARE / f"msg/{kind}.msg").read_text()
        fields = {line.split()[1] for line in text.splitlines() if line and line[0] not in "#"}
        assert set(renamed.values()) <= fields


@pytest.mark.parametrize(
    ("name", "present"),
    [
        ("/left/vms_ph/port_work", "/left/vms_ph/port_energy"),
        ("vms_ph/base_wrench", "vms_ph/wrench_base"),
        ("/base_wrench", "/base_wrench"),
        ("/other_vms_ph/port_work", "/other_vms_ph/port_work"),
        ("/vms_ph/port_energy", "/vms_ph/port_energy"),
    ],
)
def test_only_topics_of_this_package_are_renamed_in_any_namespace(name: str, present: str) -> None:
    assert present_topic(name) == present


def test_no_present_topic_has_an_earlier_name() -> None:
    assert not TOPICS.keys() & set(TOPICS.values())


def test_an_earlier_run_is_summarised_and_plotted(tmp_path: Path) -> None:
    run = read_run(BAG)
    # The values printed by the demo that recorded it.
    assert run.seconds == pytest.approx(2.36)
    assert run.power["stored"][-1] == pytest.approx(0.465874, abs=5e-7)
    assert run.port_energies["torque"][-1] == pytest.approx(0.055572, abs=5e-7)
    assert run.port_energies["wrench_end_effector"][-1] == pytest.approx(0.411575, abs=5e-7)
    assert run.power["dissipated_energy"][-1] == pytest.approx(0.001272, abs=5e-7)
    assert run.largest_residual == pytest.approx(6.833e-13, rel=1e-3)
    assert run.unaccounted_energy == pytest.approx(2.171e-15, rel=1e-3)
    plot_run(run, tmp_path / "energy.png")
    assert (tmp_path / "energy.png").stat().st_size > 10_000
