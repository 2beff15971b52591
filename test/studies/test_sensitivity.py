# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""No check agrees with everything: what is changed by a tenth, or in its sign, is seen."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_ephs.examples import TwoBodies
from vms_ph_ephs.multibody import Friction
from vms_ph_studies import Check, get
from vms_ph_studies.check import MAX_RELATIVE_TOLERANCE, bounded, compared
from vms_ph_studies.reproduce import equivalence, nonholonomy
from vms_ph_studies.reproduce.feurstein import prismatic, revolute
from vms_ph_studies.reproduce.feurstein.experiments import trial_of
from vms_ph_studies.reproduce.lohmayer import multibody
from vms_ph_studies.study import Stages


def differing(identifier: str, **given: str) -> set[str]:
    study = get(identifier)
    checks = study.run(study.settings(given)).checks
    return {check.name for check in checks if check.verdict == "differs"}


Change = Callable[[pytest.MonkeyPatch], None]


def a_heavier_link(patch: pytest.MonkeyPatch) -> None:
    """The reference, articulated bodies, has a last link of 1.1 times its mass."""

    def heavier(model: Any, data: Any, *rest: np.ndarray) -> np.ndarray:
        other = model.copy()
        inertia = other.inertias[other.njoints - 1]
        other.inertias[other.njoints - 1] = pin.Inertia(
            1.1 * inertia.mass, inertia.lever, inertia.inertia
        )
        return np.asarray(original(other, other.createData(), *rest))

    original = equivalence.pin.aba
    patch.setattr(equivalence.pin, "aba", heavier)


def opposite_structure_constants(patch: pytest.MonkeyPatch) -> None:
    original = equivalence.structure_constants
    patch.setattr(equivalence, "structure_constants", lambda model: -original(model))


def a_curvature_one_tenth_larger(patch: pytest.MonkeyPatch) -> None:
    original = nonholonomy.turn_by_curvature
    patch.setattr(nonholonomy, "turn_by_curvature", lambda *given: 1.1 * original(*given))


def a_base_that_turns_the_other_way(patch: pytest.MonkeyPatch) -> None:
    original = nonholonomy.base_motion
    patch.setattr(
        nonholonomy, "base_motion", lambda *given: np.linalg.inv(np.array(original(*given)))
    )


def friction_one_tenth_larger(patch: pytest.MonkeyPatch) -> None:
    forces, mu = Friction.forces, Friction.mu
    patch.setattr(Friction, "forces", lambda *given: [1.1 * force for force in forces(*given)])
    patch.setattr(Friction, "mu", lambda *given: 1.1 * mu(*given))


def a_heavier_reference_body(patch: pytest.MonkeyPatch) -> None:
    """The bodies of the reference in minimal coordinates have 1.1 times their mass."""
    original = pin.Inertia

    class Heavier(original):  # type: ignore[misc, valid-type]
        def __init__(self, mass: float, *rest: np.ndarray) -> None:
            super().__init__(1.1 * mass, *rest)

    patch.setattr(multibody.pin, "Inertia", Heavier)


SHORT_RUNS = [
    ("rashad-equivalence", {"states": "2"}, a_heavier_link, "is that of ABA"),
    ("rashad-equivalence", {"states": "2"}, opposite_structure_constants, "(117)"),
    ("free-floating-nonholonomy", {"steps": "100"}, a_curvature_one_tenth_larger, "curvature"),
    ("free-floating-nonholonomy", {"steps": "100"}, a_base_that_turns_the_other_way, "curvature"),
]


@pytest.mark.parametrize(
    ("identifier", "given", "change", "seen"),
    SHORT_RUNS,
    ids=[f"{row[0]}-{row[2].__name__}" for row in SHORT_RUNS],
)
def test_a_study_sees_a_change_of_its_model_or_its_reference(
    identifier: str,
    given: dict[str, str],
    change: Change,
    seen: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change(monkeypatch)
    assert [name for name in differing(identifier, **given) if seen in name]


def test_the_equations_of_bodies_and_joints_are_seen_to_change(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    friction_one_tenth_larger(monkeypatch)
    checks = multibody._equation_checks(TwoBodies(), rng, 1)
    found = {check.name for check in checks if check.verdict == "differs"}
    assert found == {"(31) and section 6, all rows"}


def test_the_motion_of_bodies_and_joints_is_seen_to_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_heavier_reference_body(monkeypatch)
    checks = multibody._motion_checks(TwoBodies(), 0.05, 1e-3, Stages(lambda *given: None, 4))
    found = {check.name for check in checks if check.verdict == "differs"}
    assert found == {"pendulum against minimal coordinates"}


@pytest.mark.parametrize(
    ("identifier", "setting", "of"),
    [
        ("feurstein-prismatic-1", {"joint": 0.114}, prismatic._start_checks),
        ("feurstein-prismatic-1", {"gravity": 9.9}, prismatic._start_checks),
        ("feurstein-revolute-5", {"gravity": 9.9}, revolute._start_checks),
        ("feurstein-revolute-5", {"theta": 0.1}, revolute._start_checks),
    ],
)
def test_the_start_of_a_hopper_is_seen_to_change(
    identifier: str, setting: dict[str, float], of: Callable[[Any], list[Check]]
) -> None:
    assert {check.verdict for check in of(trial_of(identifier))} == {"agrees"}
    changed = of(trial_of(identifier, **setting))
    assert "differs" in {check.verdict for check in changed}


def test_a_tolerance_as_large_as_its_reference_is_no_check() -> None:
    # Such as 3 deg with a tolerance of 3 deg, which agrees with anything from 0 to 6 deg.
    with pytest.raises(AssertionError):
        compared("rotation", 3.0, 0.2, 3.0, "deg")
    for reference in (3.0, -0.4):
        tolerance = MAX_RELATIVE_TOLERANCE * abs(reference)
        for wrong in (0.0, -reference, 0.75 * reference, 1.25 * reference):
            assert compared("x", reference, wrong, tolerance).verdict == "differs"
    assert bounded("error", 2e-9, 1e-9).verdict == "differs"
    # What is not a number agrees with nothing.
    assert compared("x", 1.0, float("nan"), 0.1).verdict == "differs"
    assert bounded("error", float("nan"), 1e-9).verdict == "differs"


CHANGED = {
    "disturbance-rejection": {"frequency_base": "0.3", "seconds": "2"},
    "califano-fig2": {"seconds": "0.7", "sampled": "no", "force": "11"},
    "feurstein-prismatic-1": {"gravity": "10.8"},
    "feurstein-prismatic-2": {"gravity": "10.8"},
    "feurstein-prismatic-3": {"gravity": "10.8"},
    "feurstein-revolute-1": {"joint": "1.7"},
    "feurstein-revolute-2": {"joint": "1.7", "duration": "2.5"},
    "feurstein-revolute-4": {"K_E": "20", "duration": "9"},
    "feurstein-revolute-5": {"gravity": "10.8", "duration": "12"},
    "feurstein-revolute-6": {"K_E": "20"},
}


@pytest.mark.slow
@pytest.mark.parametrize("identifier", CHANGED)
def test_a_study_sees_a_change_of_a_parameter(identifier: str) -> None:
    given = CHANGED[identifier]
    same = {k: v for k, v in given.items() if k in ("seconds", "duration", "sampled")}
    assert differing(identifier, **given) - differing(identifier, **same)
