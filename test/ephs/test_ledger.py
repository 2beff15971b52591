# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ledger from the battery to heat."""

import json

import pytest
from typer.testing import CliRunner

from vms_ph_dynamics import VmsPhError
from vms_ph_ephs.ledger import exergy_ledger
from vms_ph_nodes.cli.app import make_app


def test_the_ledger_of_a_flight_names_every_joule() -> None:
    run = CliRunner().invoke(
        make_app(),
        ["ephs", "ledger", "hextilt", "--seconds", "0.04", "--step", "0.002", "--json"],
        catch_exceptions=False,
    )
    found = json.loads(run.output)
    given, stored = sum(found["given"].values()), sum(found["stored"].values())
    destroyed = sum(found["destroyed"].values())
    assert given > 5.0
    assert given - stored - destroyed == pytest.approx(found["unaccounted"], abs=1e-12)
    # An explicit step of a motion that begins with a jump of the thrust is off by 1e-11 J.
    assert abs(found["unaccounted"]) < 1e-9
    assert found["least_destruction"] >= 0.0
    assert sum(found["destroyed_by_part"].values()) == pytest.approx(destroyed)
    assert found["destroyed"]["rotor_wake"] > 0.4 * destroyed
    for name in ("rotor_drag", "rotor_winding", "battery", "electronics", "winding"):
        assert found["destroyed"][name] > 0.0


@pytest.mark.slow
def test_the_ledger_of_a_minute_of_flight_closes() -> None:
    found = exergy_ledger("hextilt", seconds=60.0)
    assert found.supplied[0].energy > 1e4
    assert abs(found.residual) < 1e-7
    assert found.least_destruction >= 0.0


def test_the_ledger_of_an_underwater_robot_names_the_drag_of_the_water() -> None:
    found = exergy_ledger("bluerov2_alpha5", seconds=0.02)
    assert abs(found.residual) < 1e-10
    assert found.least_destruction >= 0.0
    drag = {line.name: line.energy for line in found.destroyed}["fluid_drag"]
    assert drag > 0.0


def test_a_robot_that_the_engine_does_not_cover_is_refused() -> None:
    with pytest.raises(VmsPhError, match=r"prismatic_hopper.*rigid body needs.*engine:=vms_ph"):
        exergy_ledger("prismatic_hopper", seconds=0.01)
