# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The top of the page: verdict, status line and the flow of energy."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from std_msgs.msg import Header
from vms_ph.msg import ControllerState, Energy, Power

from vms_ph_io.energy_split import BASE, TASK

pytest.importorskip("viser")
from vms_ph_nodes.node.health import SPEED_KEY
from vms_ph_nodes.views.overview import (
    LoopFlow,
    Overview,
    RobotFlow,
    TimeRatio,
    status_line,
    verdict,
)
from vms_ph_nodes.views.sankey import Flow, Sankey, Scale, Stream, quantity


def _at(milliseconds: int) -> Header:
    return Header(stamp=Time(sec=milliseconds // 1000, nanosec=milliseconds % 1000 * 1_000_000))


def _powers(streams: tuple[Stream, ...]) -> dict[str, float]:
    return {each.name: each.power for each in streams}


def test_the_flow_through_the_robot_adds_up_and_is_a_mean_of_the_time_between() -> None:
    flow = RobotFlow()
    first = Power(header=_at(0), tool_names=["left"], tool_energy=[0.0])
    begun = flow.flow(first, Energy(header=_at(0), potential=1.0), BASE, True)
    assert begun is not None
    assert not any({**_powers(begun.sources), **_powers(begun.sinks)}.values())
    second = Power(
        header=_at(200), torque_energy=0.5, wrench_base_energy=-0.1, dissipated_energy=0.06,
        stored=0.35, unaccounted_energy=0.0, tool_names=["left"], tool_energy=[0.01],
    )  # fmt: skip
    energy = Energy(header=_at(200), potential=1.2, kinetic_base=0.1, kinetic_shape=0.05)
    found = flow.flow(second, energy, BASE, True)
    assert found is not None
    assert found.seconds == pytest.approx(0.2)
    sources, sinks = _powers(found.sources), _powers(found.sinks)
    assert sources["torque"] == pytest.approx(2.5)
    assert sources["left"] == pytest.approx(0.05)
    assert sinks["kinetic_base"] == pytest.approx(0.5)
    assert sinks["dissipated"] == pytest.approx(0.3)
    assert sum(sources.values()) == pytest.approx(sum(sinks.values()))
    assert flow.flow(second, energy, BASE, True) is None  # no time has passed
    # A robot that begins anew has no powers until it has moved on.
    flow.restart()
    anew = flow.flow(Power(header=_at(250)), Energy(header=_at(250)), BASE, True)
    assert anew is not None
    assert not any({**_powers(anew.sources), **_powers(anew.sinks)}.values())


def test_a_fixed_base_has_no_port_and_the_split_is_that_of_the_law() -> None:
    flow = RobotFlow()
    for k in (0, 100):
        found = flow.flow(Power(header=_at(k)), Energy(header=_at(k)), TASK, False)
    assert found is not None
    assert _powers(found.sources).keys() == {"torque", "wrench_end_effector", "unaccounted"}
    assert {"potential", "kinetic_task", "kinetic_null"} < _powers(found.sinks).keys()


def test_the_flow_through_the_closed_loop_adds_up_and_has_the_tank() -> None:
    flow = LoopFlow()
    for k in range(11):
        flow.add(
            ControllerState(
                header=_at(10 * k), shaped_potential=1.0 - 0.05 * k, kinetic_task=0.02 * k,
                closed_loop_energy=1.0 - 0.03 * k, damping_task=2.0, reference_power=0.5,
                tank_level=4.0 + 0.01 * k,
            )
        )  # fmt: skip
        if k == 0:
            begun = flow.flow(TASK)
            assert begun is not None
            assert not any({**_powers(begun.sources), **_powers(begun.sinks)}.values())
    found = flow.flow(TASK)
    assert found is not None
    sources, sinks = _powers(found.sources), _powers(found.sinks)
    assert sinks["damping"] == pytest.approx(2.0)
    assert sinks["shaped_potential"] == pytest.approx(-5.0)
    assert sources["reference"] == pytest.approx(0.5)
    assert sources["tank"] == pytest.approx(-1.0)
    assert sum(sources.values()) == pytest.approx(sum(sinks.values()))


def test_pushes_of_the_closed_loop_are_counted_since_it_is_heard() -> None:
    flow = LoopFlow()
    flow.add_pushes(Power(wrench_end_effector_energy=3.0))
    flow.add(ControllerState(header=_at(0)))
    flow.flow(TASK)
    flow.add_pushes(Power(wrench_end_effector_energy=3.5, tool_names=["left"], tool_energy=[0.25]))
    flow.add(ControllerState(header=_at(100)))
    found = flow.flow(TASK)
    assert found is not None
    pushes = next(each for each in found.sources if each.name == "pushes")
    assert (pushes.energy, pushes.power) == (pytest.approx(0.75), pytest.approx(7.5))


def _flow(watts: float, seconds: float = 0.2) -> Flow:
    return Flow((Stream("torque", watts, 1.0),), (Stream("a <b>", watts, 2.0),), seconds)


def _bands(svg: str) -> list[float]:
    """Return the widths of the bands, which nothing else changes."""
    assert "stroke-width:" not in svg
    return [float(width) for width in re.findall(r'class="w"[^>]* stroke-width="([0-9.]+)"', svg)]


def test_bands_are_as_wide_as_the_power_beside_them_and_what_flows_is_thick() -> None:
    sankey = Sankey()
    assert _bands(sankey.draw(_flow(10.0), "robot")) == [46.0, 46.0]
    after = sankey.draw(_flow(5.0), "robot")
    assert "robot: 5.00 W" in after
    # The scale falls slowly.
    assert _bands(after) == [pytest.approx(46.0 * 5.0 / 9.33, abs=0.06)] * 2
    # Not so slowly that a small power after a large one is a line.
    small = sankey.draw(_flow(0.02), "robot")
    assert _bands(small) == [pytest.approx(0.4 * 46.0, abs=0.06)] * 2


def test_no_band_is_drawn_where_nothing_flows() -> None:
    sources = Stream("torque", 2.0, 1.0), Stream("unaccounted", 0.0, 0.0)
    sinks = Stream("potential", 1.999, 2.0), Stream("friction", 1e-3, 2.0)
    svg = Sankey().draw(Flow(sources, sinks, 0.2), "robot")
    assert len(_bands(svg)) == 2
    assert _bands(Sankey().draw(Flow(sources[1:], sinks[:0], 0.2), "robot")) == []
    # What is too small to be seen as motion does not fill the picture.
    for watts in (0.0, 4e-4, 9e-3):
        rest = Sankey().draw(_flow(watts), "robot")
        assert "robot: at rest" in rest
        assert _bands(rest) == []


def test_what_supplies_is_left_and_what_receives_right_and_both_are_equally_wide() -> None:
    pushed = Flow(
        (Stream("torque", -46.0, -4.0), Stream("hand", 37.0, 9.0)),
        (Stream("potential", -12.0, 97.6), Stream("motion", 3.0, 1.0)),
        0.2,
    )
    svg = Sankey().draw(pushed, "robot")
    root = ET.fromstring(svg)
    texts = [e for e in root.iter() if e.tag == "text"]
    left = [e.text for e in texts if e.get("text-anchor") == "end"]
    right = [e.text for e in texts if e.get("text-anchor") == "start"]
    assert left == ["hand", "37.0 W · 9.0 J", "potential", "12.0 W · 97.6 J"]
    assert right == ["joint torques", "46.0 W · -4.0 J", "motion", "3.0 W · 1.0 J"]
    hand, potential, torque, motion = _bands(svg)
    assert hand + potential == pytest.approx(torque + motion, abs=0.2)
    # All arrowheads point to the right, and all dashes move there.
    assert len(re.findall('class="h"', svg)) == 4
    for now, before in re.findall(r'stroke-dashoffset="([-0-9.]+)" style="--a:([-0-9.]+)"', svg):
        assert float(now) < float(before)


def test_bars_of_a_side_are_in_the_picture_and_apart_also_where_stores_supply() -> None:
    sankey = Sankey()
    ports = [Stream(name, 0.0, 0.0) for name in ("torque", "hand", "unaccounted")]
    for base, kinetic in ((5.0, -5.0), (10.0, 0.0)):
        sources = Stream("wrench_base", base, 1.0), *ports
        stores = [Stream(name, kinetic / 2.0, 1.0) for name in ("base", "shape")]
        flow = Flow(sources, (*stores, Stream("potential", 10.0, 1.0)), 0.2)
        svg = sankey.draw(flow, "robot")
    bars = re.findall('<rect x="118" y="([-0-9.]+)" width="5" height="([0-9.]+)"', svg)
    ends = [(float(top), float(top) + float(high)) for top, high in bars]
    assert len(ends) == 6
    assert ends[0][0] >= 0.0
    assert all(low <= top for (_, low), (top, _) in pairwise(ends))


def test_a_stream_that_hardly_flows_stays_on_its_side() -> None:
    sankey, sides = Sankey(), []
    for watts in (10.0, -0.1, -10.0, 0.1):
        other = Stream("other", 10.0, 0.0), Stream("torque", watts, 1.0)
        svg = sankey.draw(Flow(other, (Stream("a", 10.0 + watts, 0.0),), 0.2), "robot")
        texts = [e for e in ET.fromstring(svg).iter() if e.tag == "text"]
        sides += [e.get("text-anchor") for e in texts if e.text == "joint torques"]
    assert sides == ["end", "end", "start", "start"]


def test_the_numbers_of_a_picture_have_one_unit_and_at_most_three_digits() -> None:
    scale = Scale(12.34, "W")
    found = [scale.text(value) for value in (12.34, -0.04, 1e-12, float("nan"))]
    assert found == ["12.3 W", "0.0 W", "0.0 W", ""]
    assert [Scale(size, "W").text(size) for size in (999.7, 0.0999, 1e-12, 0.0)] == [
        "1.00 kW", "99.9 mW", "0.00 mW", "0.00 mW",
    ]  # fmt: skip


def test_the_caption_says_what_the_numbers_are() -> None:
    flow = Flow((Stream("torque", 2.0, 1.0),), (), 0.2, "since 0 s")
    svg = Sankey().draw(flow, "at 2.40 s")
    assert "energy since 0 s" in svg
    assert "at 2.40 s: 2.00 W" in svg


@pytest.mark.parametrize("watts", [0.0, float("nan"), float("inf"), 1e-30, 1e12])
def test_every_flow_is_drawn_as_well_formed_xml(watts: float) -> None:
    sankey = Sankey()
    for _ in range(3):
        svg = sankey.draw(_flow(watts), "robot & law")
        root = ET.fromstring(svg)
        assert len([e for e in root.iter() if e.tag == "text"]) == 6
        assert "a <b>" in [e.text for e in root.iter()]
        numbers = re.findall(r'(?:width|y|height)="([^"%]+)"', svg)
        assert all(abs(float(number)) < 1000.0 for number in numbers)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0 J"), (1.0, "1 J"), (-0.0321, "-32.1 mJ"), (999.7, "1 kJ"), (4e-15, "0 J"),
     (2e-12, "0 J"), (3e-6, "3 µJ"), (float("nan"), "")],
)  # fmt: skip
def test_quantities_have_three_digits_and_a_prefix(value: float, text: str) -> None:
    assert quantity(value, "J") == text


@pytest.mark.parametrize(
    ("unaccounted", "said"),
    [(1e-9, "Energy is conserved"), (0.02, "nearly conserved"), (-0.5, "not accounted for")],
)
def test_the_verdict_goes_by_the_share_of_the_energy_that_was_moved(
    unaccounted: float, said: str
) -> None:
    power = Power(torque_energy=2.0, stored=2.0, unaccounted_energy=unaccounted)
    badge, sums = verdict(power)
    assert said in badge
    assert "since the start: 2.00 J stored = 2.00 J supplied" in sums


def test_the_balance_has_the_digits_with_which_it_adds_up() -> None:
    power = Power(
        torque_energy=-93.63, wrench_end_effector_energy=97.0, stored=3.34, dissipated_energy=0.03
    )
    sums = verdict(power)[1]
    assert "3.34 J stored = 3.37 J supplied − 0.03 J dissipated + <b>0.00 J unacc" in sums


def test_the_pace_is_that_of_the_last_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    pace = TimeRatio()
    for k in range(100):
        now = 0.1 * k
        pace.add(round(0.5e8 * k))
        assert (pace.ratio is None) == (now < 2.05)
    assert pace.ratio == pytest.approx(0.5)
    assert "0.50 × real time" in status_line(None, {}, pace.ratio)
    pace.add(0)  # the simulation was reset
    assert pace.ratio is None


@pytest.mark.parametrize("text", ["abc", "", "nan", "inf", "-1", "0", "1e300", "9" * 5000, "²"])
def test_a_speed_that_is_none_is_not_known(text: str) -> None:
    overview = Overview.__new__(Overview)
    value = KeyValue(key=SPEED_KEY, value=text)
    overview._node_statuses = {"simulator": DiagnosticStatus(values=[value])}
    assert overview.pause_and_speed("simulator")[1] is None
    value.value = "0.25"
    assert overview.pause_and_speed("simulator")[1] == 0.25


def test_the_status_line_is_in_words_and_escapes_what_others_say() -> None:
    def status(level: Any, message: str) -> DiagnosticStatus:
        return DiagnosticStatus(level=level, message=message)

    state = ControllerState(
        status=ControllerState.HOLDING, reason="no <reference>", task_error=0.012
    )
    line = status_line(state, {"simulator": status(DiagnosticStatus.OK, "running")})
    assert "holds the robot (no &lt;reference&gt;)" in line
    assert "12 mm" in line
    assert "1 nodes" not in line
    assert "1 node" in line
    idle = status(DiagnosticStatus.WARN, "no joint states for 2.3 s")
    assert "no joint states" in status_line(None, {"monitor": idle})
    # It is no fault where time stands.
    line = status_line(None, {"monitor": idle, "simulator": status(DiagnosticStatus.OK, "paused")})
    assert "no joint states" not in line
    assert "<b>simulation</b> paused" in line
    line = status_line(None, {"a": status(DiagnosticStatus.ERROR, "<script>")})
    assert "<script>" not in line
    assert "&lt;script&gt;" in line
