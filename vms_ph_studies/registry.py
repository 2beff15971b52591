# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""All studies by their id, imported on use."""

from importlib import import_module

from vms_ph_dynamics import VmsPhError

from .study import Study

# Modules in the order in which they are listed; each has a STUDY or, for a series, STUDIES.
_MODULES = (
    "reproduce.equivalence",
    "reproduce.nonholonomy",
    "space",
    "contact_limits",
    "comparisons.disturbance_rejection",
    "reproduce.califano.figure_2",
    "comparisons.operational_space",
    "comparisons.sampled_passivity",
    "comparisons.cartesian_impedance",
    "comparisons.simulator_energy",
    "reproduce.lohmayer.multibody",
    "reproduce.feurstein.prismatic",
    "reproduce.feurstein.revolute",
    "reproduce.feurstein.experiment_vi",
)


def studies() -> dict[str, Study]:
    """Return all studies by their id."""
    study_list: list[Study] = []
    for name in _MODULES:
        module = import_module(f"{__package__}.{name}")
        study_list += getattr(module, "STUDIES", None) or [module.STUDY]
    return {study.id: study for study in study_list}


def get(identifier: str) -> Study:
    """Return a study.

    Raises:
        VmsPhError: there is no study with this id.
    """
    studies_by_id = studies()
    if identifier not in studies_by_id:
        raise VmsPhError(f"there is no study '{identifier}'; there are {', '.join(studies_by_id)}")
    return studies_by_id[identifier]
