"""Published results, run again: one file a study."""

from importlib import import_module

from vms_ph_dynamics.errors import VmsPhError

from .study import Check, Outcome, Parameter, Settings, Study, bounded, compared

# Modules in the order in which they are listed; each has a STUDY or, for a series, STUDIES.
_MODULES = (
    "rashad_equivalence",
    "free_floating_nonholonomy",
    "disturbance_rejection",
    "califano_fig2",
    "impedance_identification",
    "operational_space_comparison",
    "sampled_passivity",
    "lohmayer_mbs",
    "feurstein",
)


def studies() -> dict[str, Study]:
    """Return all studies by their id."""
    found: list[Study] = []
    for name in _MODULES:
        module = import_module(f"{__name__}.{name}")
        found += getattr(module, "STUDIES", None) or [module.STUDY]
    return {study.id: study for study in found}


def get(identifier: str) -> Study:
    """Return a study.

    Raises:
        VmsPhError: there is none of this id.
    """
    known = studies()
    if identifier not in known:
        raise VmsPhError(f"there is no study '{identifier}'; there are {', '.join(known)}")
    return known[identifier]


__all__ = [
    "Check",
    "Outcome",
    "Parameter",
    "Settings",
    "Study",
    "bounded",
    "compared",
    "get",
    "studies",
]
