# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Names that others have given are text in a browser: of robots, joints, topics, bags, files."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray
from vms_ph.msg import ControllerState, Energy, Exergy, Power

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_io.audits.report import write_page
from vms_ph_io.energy_split import LawSplit

from .chromium import PROGRAM, Chromium
from .test_audit_command import record
from .test_page_server import _free

pytest.importorskip("viser")
from vms_ph_ephs.nodes.exergy_view import exergy_list
from vms_ph_nodes.views.commands import CHOICE_TOPICS, Request
from vms_ph_nodes.views.controls import Choices, Controls, Panel
from vms_ph_nodes.views.marker_scene import MarkerScene, ViewTab
from vms_ph_nodes.views.overview import Overview
from vms_ph_nodes.views.page_address import page_address
from vms_ph_nodes.views.page_server import serve_page, stop_page
from vms_ph_nodes.views.replay import BALANCE, Finding, Replay
from vms_ph_nodes.views.robot_scene import RobotScene
from vms_ph_nodes.views.strip_chart import LivePlots

from .test_replay import _load

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed"),
]

_TOKEN = "of-this-test"


def _hostile(subject: str) -> str:
    """Return a name that leaves text, attributes, code blocks, styles and strings of CSS."""
    strike = f"<img src=x onerror=window.struck='{subject}'>"
    return f"{subject}\"]}}'&lt;</style></title></pre>\n```\n\n{strike}<script>struck=1</script>"


_URDF = """<robot name="{robot}"><link name="{root}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="revolute"><parent link="{root}"/><child link="{link}"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
<link name="{link}"><visual><geometry><box size=".1 .1 .1"/></geometry></visual><inertial>
<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
</robot>"""


def _description() -> str:
    def quoted(name: str) -> str:
        text = _hostile(name).replace("\n", " ").replace("&", "&amp;")
        return text.replace('"', "&quot;").replace("<", "&lt;")

    names = ("robot", "root", "joint", "link")
    return _URDF.format(**{name: quoted(name) for name in names})


@contextmanager
def _browser(server: Any, folder: Path) -> Iterator[Chromium]:
    try:
        page = Chromium(page_address(server.get_port(), _TOKEN), folder)
        try:
            yield page
        finally:
            page.close()
    finally:
        stop_page(server)


def _await_nothing_struck(page: Chromium, *shown: str) -> None:
    """Check that texts are shown as they are, and that no part of them became an element."""
    for text in shown:
        page.await_text(text, 60.0)
    time.sleep(1.0)  # an element would act by then
    assert page.run("window.struck") is None
    elements = page.run("document.querySelectorAll('img[src=x], iframe, body script').length")
    assert elements == 0, page.run("document.body.innerHTML")
    assert not [error for error in page.errors if "Content Security" in error], page.errors


class _Refusing:
    """Commands of a page, each of which is refused in hostile words."""

    def full_name(self, name: str) -> str:
        return f"/{_hostile('namespace')}/{name}"

    def call(self, *_: object, **__: object) -> Request:
        return Request(_hostile("command"), lambda reply: reply(_hostile("answer")))

    set = choose = call


def test_names_of_a_live_robot_are_text(tmp_path: Path) -> None:
    model, description = VMSModel.from_urdf(_description()), _description()
    server = serve_page(_free(), title=lambda: _hostile("title"), token=_TOKEN)
    law = LawSplit()
    overview = Overview(server, law)
    overview.set_robot(model, _hostile("robot"))
    overview.on_control(ControllerState(reason=_hostile("reason")))
    status = DiagnosticStatus(
        name=f"{_hostile('node')}: vms_ph node", level=DiagnosticStatus.WARN,
        message=_hostile("warning"),
    )  # fmt: skip
    overview.on_diagnostics(DiagnosticArray(status=[status]))
    tabs = server.gui.add_tab_group()
    with tabs.add_tab("Energy"):
        plots = LivePlots(server, law)
    for k in range(3):
        header = Header(stamp=Time(sec=k))
        power = Power(
            header=header, torque_energy=0.1 * k, tool_names=[_hostile("tool")], tool_power=[1.0],
            tool_energy=[0.3 * k],
        )  # fmt: skip
        overview.on_energy(Energy(header=header))
        overview.on_power(power)
        plots.on_power(power)
        overview.draw()
    plots.draw()
    scene = RobotScene(server, model, description)
    view = ViewTab(server, plots.charts, tabs.add_tab("View"))
    markers = [
        Marker(ns=_hostile("markers"), type=kind, text=_hostile("label"))
        for kind in (Marker.SPHERE, Marker.TEXT_VIEW_FACING)
    ]
    MarkerScene(server).show(MarkerArray(markers=markers))
    view.show(scene)
    exergy = Exergy(
        destroyers=[_hostile("destroyer")], destroyed=[1.0], power=[float("nan")],
        bodies=[_hostile("destroyer")], temperatures=[float("nan")],
    )  # fmt: skip
    server.gui.add_html(exergy_list(exergy))
    control: Any = _Refusing()
    tab = tabs.add_tab("Control")
    panel = Panel(server, tab, control, model)
    nothing: Any = SimpleNamespace()
    controls = Controls(
        panel, nothing, lambda: (np.zeros(3), np.eye(4)[0]), nothing, model.neutral_configuration()
    )
    bounds = [FloatingPointRange(from_value=0.0, to_value=2.0)]
    gain = ParameterDescriptor(description=_hostile("description"), floating_point_range=bounds)
    controls.show_gains({_hostile("gain"): (gain, 1.0)})
    named = {"robot": _hostile("file"), "laws": _hostile("law").replace(",", ""), "scene": ""}
    choices = Choices(panel, named, None, tuple(CHOICE_TOPICS))
    scene = _hostile("scene")
    choices._on_choice("scene", SimpleNamespace(value=scene), (scene,), None)
    server.gui.set_panel_label(_hostile("label"))
    with _browser(server, tmp_path) as page:
        _await_nothing_struck(page, 'robot"]', 'reason"]', 'node"]', 'warning"]', 'tool"]')
        page.click("Control")
        _await_nothing_struck(page, 'scene"]', 'gain"]', "not done")
        page.click("step")
        _await_nothing_struck(page, 'command"]', 'answer"]')
        page.click("View")
        _await_nothing_struck(page)


@pytest.mark.slow
def test_names_of_recorded_runs_are_text(tmp_path: Path) -> None:
    name = _hostile("bag").replace("/", "\u2215").replace("\n", " ")
    bag, broken = tmp_path / name, tmp_path / f"broken {name}"
    record(bag)

    def load(path: Path) -> Any:
        if path == broken:
            raise VmsPhError(f"{path} has the topic {_hostile('topic')}")
        run = _load(path)
        run.findings = [
            replace(run.findings[0], text=_hostile("finding")),
            Finding(0.0, "again"),
        ] * 2
        times, groups = run.curves(500)
        curve = {_hostile("joint"): times}
        run.curves = lambda _: (  # type: ignore[method-assign]
            times, {BALANCE: groups[BALANCE], "joints": (_hostile("axis"), curve)}
        )  # fmt: skip
        return run

    server = serve_page(_free(), token=_TOKEN)
    replay = Replay(server, [bag, broken], load)
    replay._set_time(0.5)
    replay._plot_choice.value = replay._plot_choice.options[1]
    replay.step(0.0)
    with _browser(server, tmp_path / "profile") as page:
        _await_nothing_struck(page, 'bag"]', 'joint"]')
        page.choose("run", replay._run_choice.options[1])
        _await_nothing_struck(page, "cannot be shown", 'topic"]')


@pytest.mark.slow
def test_names_in_the_page_of_a_report_are_text(tmp_path: Path) -> None:
    name = _hostile("bag").replace("/", "\u2215").replace("\n", " ")
    record(tmp_path / name)
    audit = _load(tmp_path / name).audit
    for names in ("joints", "balanced"):
        audit.ledger.__dict__[names] = (_hostile("joint"), *getattr(audit.ledger, names)[1:])
    write_page(audit, tmp_path / "audit.html")
    page = Chromium((tmp_path / "audit.html").as_uri(), tmp_path / "profile")
    try:
        page.await_text("Energy audit of bag", 60.0)
        page.await_true("!!document.querySelector('.js-plotly-plot .main-svg')", "no plot is drawn")
        assert page.run("window.struck") is None
        assert page.run("document.querySelectorAll('img[src=x], iframe').length") == 0
        page.await_true("document.readyState == 'complete'", "the page does not end")
        assert "joint" in page.run("document.getElementById('audit').textContent")
        assert page.run("document.getElementById('audit').textContent.includes('<')") is False
    finally:
        page.close()
