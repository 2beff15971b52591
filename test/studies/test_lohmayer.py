# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs and vms-ph reproduce lohmayer-mbs."""

import json

from typer.testing import CliRunner

from vms_ph_ephs.examples import TwoBodies
from vms_ph_io.progress import Stages, no_progress
from vms_ph_nodes.cli.app import make_app
from vms_ph_studies.reproduce.lohmayer.multibody import _motions


def test_the_equations_of_source_c_are_reproduced_and_its_misprints_refuted() -> None:
    words = ["--json", "--set", "duration=0.05", "--set", "states=2"]
    arguments = ["reproduce", "lohmayer-mbs", *words]
    done = CliRunner().invoke(make_app(), arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    checks = json.loads(done.output)["checks"]
    verdicts = {check["name"]: check["verdict"] for check in checks}
    refuted = [name for name, verdict in verdicts.items() if verdict == "refuted"]
    assert refuted == [
        "constraint of section 6 as printed, with Ad_{o1} and Ad_{o2}",
        "relative velocity u_r in frame C1, as 5.2.5 states",
    ]
    assert {v for n, v in verdicts.items() if n not in refuted} == {"agrees"}


def test_the_error_of_the_first_law_grows_with_the_step() -> None:
    name = "first law: the same, projected Runge-Kutta"

    def largest(dt: float) -> float:
        checks = _motions(TwoBodies(), 0.1, dt, Stages(no_progress, 2))
        return next(check.obtained for check in checks if check.name == name)

    assert largest(1e-2) > 100 * largest(2e-3)
