# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""vms-ph ephs and vms-ph reproduce lohmayer-mbs."""

import json
from functools import cache

from typer.testing import CliRunner

from vms_ph_nodes.cli.app import make_app


def run(*arguments: str) -> str:
    result = CliRunner().invoke(make_app(), list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@cache
def checks(*settings: str) -> dict[str, dict[str, object]]:
    words = [word for setting in settings for word in ("--set", setting)]
    document = json.loads(run("reproduce", "lohmayer-mbs", "--json", *words))
    return {check["name"]: check for check in document["checks"]}


def test_the_equations_of_source_c_are_reproduced_and_its_misprints_refuted() -> None:
    found = checks("duration=0.2", "states=2")
    verdicts = {name: check["verdict"] for name, check in found.items()}
    refuted = [name for name, verdict in verdicts.items() if verdict == "refuted"]
    assert refuted == [
        "constraint of section 6 as printed, with Ad_{o1} and Ad_{o2}",
        "relative velocity u_r in frame C1, as 5.2.5 states",
    ]
    assert {v for n, v in verdicts.items() if n not in refuted} == {"agrees"}


def test_the_error_of_the_first_law_grows_with_the_step() -> None:
    name = "first law: the same, projected Runge-Kutta"
    short = "duration=0.2", "states=2"
    fine, coarse = (checks(*short, *dt)[name] for dt in ((), ("dt=1e-2",)))
    assert float(str(coarse["obtained"])) > 100 * float(str(fine["obtained"]))
