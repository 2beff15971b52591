# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Public objects show what they are in at most five lines, and notebooks get tables and plots."""

import inspect
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from urllib.request import urlopen

import numpy as np
import pytest
import typer
from built_core import compiled  # noqa: F401

import vms_ph_controllers
import vms_ph_dynamics
import vms_ph_io
from vms_ph_controllers import CartesianImpedance, EnergyGuard, Status, TaskSpaceIDAPBC
from vms_ph_dynamics import (
    DecoupledForm,
    Ports,
    PoseTask,
    TaskSpaceForm,
    energy_derivatives,
    integrate,
    integrate_batch,
    linear_port_hamiltonian,
    rate_derivatives,
)
from vms_ph_io import Trajectory, audit, robots, simulate
from vms_ph_nodes.cli.app import make_app


@pytest.fixture(scope="module")
def run() -> Trajectory:
    return simulate("panda", EnergyGuard(TaskSpaceIDAPBC(robots.load("panda"))), seconds=0.2)


@pytest.mark.parametrize("package", [vms_ph_dynamics, vms_ph_controllers, vms_ph_io])
def test_no_public_class_shows_an_address(package: ModuleType) -> None:
    classes = [getattr(package, name) for name in package.__all__]
    silent = [
        kind.__name__
        for kind in classes
        if inspect.isclass(kind)
        and kind.__repr__ is object.__repr__
        and not inspect.isabstract(kind)
    ]
    assert silent == []


def test_a_run_is_animated_on_a_page_until_it_is_interrupted(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="viser is not installed (the extra page)")
    lines = (
        "from vms_ph_io import simulate",
        'simulate("panda", lambda q, v, dt: -2.0 * v, 0.1).animate()',
        'print("ended")',
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    program = subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines)], env=environment, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert program.stdout is not None
    said = next(line for line in program.stdout if "http" in line)
    with urlopen(said.split("web page at ")[1].split()[0], timeout=60) as page:
        assert page.status == 200
    os.killpg(program.pid, signal.SIGINT)
    assert "ended" in program.communicate(timeout=60)[0]
    assert program.returncode == 0
    assert len(list(tmp_path.glob("vms_ph_*/run/metadata.yaml"))) == 1


def test_objects_show_themselves_in_five_lines(run: Trajectory) -> None:
    model = robots.load("hextilt")
    v = np.linspace(-1.0, 1.0, model.nv)
    form = DecoupledForm(model)
    state = form.state(model.home, v)
    ports = Ports(torque=np.ones(model.n))
    arm = robots.load("panda")
    objects = [
        model, form, state, ports, TaskSpaceForm(arm, PoseTask(arm)),
        model.evaluate(model.home, v), model.evaluate_batch([model.home] * 3, [v] * 3),
        form.hamiltonian(state), form.rate(state, ports), form.power_balance(state, ports),
        integrate(form, state, dt=1e-3, steps=2), CartesianImpedance(model),
        EnergyGuard(CartesianImpedance(model), budget=2.0), run, run.audit, run.certificate,
        robots.get("panda"), energy_derivatives(form, state), rate_derivatives(form, state, ports),
        linear_port_hamiltonian(form, state, ports),
        integrate_batch(form, [state], dt=1e-3, steps=2),
    ]  # fmt: skip
    for thing in objects:
        text = repr(thing)
        assert text.count("\n") < 5, text
        assert " at 0x" not in text, text
        assert len(text) < 1000, text


def test_what_changed_is_shown() -> None:
    model = robots.load("panda")
    law = TaskSpaceIDAPBC(model, gains=TaskSpaceIDAPBC.Gains(stiffness=31.0))
    assert repr(law) == "TaskSpaceIDAPBC('panda', stiffness=31)"
    guard = EnergyGuard(law, budget=2.0)
    assert "EnergyTank(2 of 2 J, 0 J spent)" in repr(guard)
    assert str(Status.SATURATED) == "SATURATED"
    assert int(Status.SATURATED) == 1


def test_notebooks_get_tables_and_plots(run: Trajectory) -> None:
    table = run.model._repr_html_()
    assert table.count("<tr>") == 8
    html = run._repr_html_()
    assert "data:image/png;base64," in html
    assert "verdict: closed" in html


def test_audits_of_recordings_and_flows_of_energy_have_pictures(
    run: Trajectory, tmp_path: Path
) -> None:
    found = audit(run.save(tmp_path / "run"), "panda")
    assert len(found.plot(tmp_path / "audit.png").axes) >= 3
    assert (tmp_path / "audit.png").stat().st_size > 10_000
    html = found._repr_html_()
    assert "joint torques" in html
    assert "data:image/png;base64," in html
    pytest.importorskip("viser")
    from vms_ph_nodes.views.replay import RecordedRun

    flow = RecordedRun(tmp_path, found, "").flow(0.1)._repr_html_()
    assert flow.startswith("<svg")
    assert "joint torques" in flow


def test_every_command_is_in_a_group_of_the_help() -> None:
    application = typer.main.get_command(make_app())
    assert len(application.commands) > 15
    assert [name for name, c in application.commands.items() if not c.rich_help_panel] == []
