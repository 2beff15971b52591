# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What is done about defects of inertias: the modes that a user chooses from."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..arrays import Array
from ..errors import ModelError
from .inertia import check_mass_matrix
from .inertia_defects import InertiaDefect
from .inertia_repair import Repaired, repair
from .link_inertia import LinkInertia

InertiaMode = Literal["auto", "strict", "repair", "as_given"]

MODES = ("auto", "strict", "repair", "as_given")

_HINTS = {
    "strict": "inertia='strict' refuses all of these, inertia='auto' the grave ones",
    "auto": "correct the description, or give inertia='repair' to take the repaired inertias, or "
    "inertia='as_given' where the mass matrix is positive definite",
}


def accept(
    model: Any, links: Sequence[LinkInertia], mode: InertiaMode, projection: Array | None = None
) -> Repaired:
    """Return a robot that the mode accepts, and the defects that were repaired.

    Args:
        model: a ``pinocchio.Model``; it is not changed.
        links: the inertias of all links, whose sums are the bodies of the model.
        mode: ``"auto"`` repairs negligible defects and refuses grave ones, ``"strict"`` refuses
            all, ``"repair"`` repairs all, ``"as_given"`` repairs none.
        projection: (nv_full,nv) where joints mimic others.

    Raises:
        ModelError: a defect that the mode refuses; the message lists all of them.
    """
    if check_mode(mode) == "as_given":
        check_mass_matrix(model, projection, everywhere=True)
        return Repaired(model, ())
    repaired, defects = repair(model, links, projection)
    if refused := refused_defects(defects, mode):
        listed = "; ".join(str(defect) for defect in refused)
        raise ModelError(f"{listed}; {_HINTS[mode]}")
    check_mass_matrix(repaired, projection)
    return Repaired(repaired, repaired_defects(defects, mode))


def check_mode(mode: InertiaMode) -> InertiaMode:
    """Return a mode, or raise a :exc:`.ModelError` that lists the modes."""
    if mode not in MODES:
        raise ModelError(f"inertia must be {', '.join(MODES[:-1])} or {MODES[-1]}; given: {mode!r}")
    return mode


def refused_defects(
    defects: Iterable[InertiaDefect], mode: InertiaMode
) -> tuple[InertiaDefect, ...]:
    """Return those of some defects that a mode refuses."""
    grades = {"strict": ("harmless", "negligible", "grave"), "auto": ("grave",)}.get(mode, ())
    return tuple(defect for defect in defects if defect.grade in grades)


def repaired_defects(
    defects: Iterable[InertiaDefect], mode: InertiaMode
) -> tuple[InertiaDefect, ...]:
    """Return those of some defects that a mode repairs."""
    grades = {"auto": ("negligible",), "repair": ("negligible", "grave")}.get(mode, ())
    return tuple(defect for defect in defects if defect.grade in grades)
