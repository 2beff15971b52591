# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The checks of a study: comparison of an obtained value with a reference of stated origin."""

from dataclasses import dataclass
from typing import Literal

Quantity = float | str
Verdict = Literal["agrees", "differs", "refuted"]
Origin = Literal["published", "independent", "bound", "baseline"]

ORIGINS: tuple[Origin, ...] = ("published", "independent", "bound", "baseline")

# Largest tolerance as a share of the reference: the rounding of one printed digit, as in "3 deg".
MAX_RELATIVE_TOLERANCE = 0.2


@dataclass(frozen=True)
class Check:
    """Comparison of an obtained value with a reference.

    Attributes:
        name: description of the compared quantity.
        unit: unit of both values, or an empty string.
        reference: the number or the statement to compare with.
        origin: where the reference comes from. ``published``: the source prints it.
            ``independent``: a separate computation, where the source prints nothing. ``bound``: a
            limit or condition of this project, such as a zero error. ``baseline``: an established
            method, run here on the same problem.
        obtained: the value computed here.
        tolerance: largest accepted difference; None for statements.
        verdict: ``refuted`` means that the source is wrong, and ``why`` gives the reason.
        why: explanation of the verdict.
    """

    name: str
    unit: str
    reference: Quantity
    origin: Origin
    obtained: Quantity
    tolerance: float | None
    verdict: Verdict
    why: str = ""

    def document(self) -> dict[str, object]:
        """Return the check as a JSON document, with the reference under the key of its origin."""
        return {
            "name": self.name,
            "unit": self.unit,
            **{origin: self.reference if origin == self.origin else None for origin in ORIGINS},
            "obtained": self.obtained,
            "tolerance": self.tolerance,
            "verdict": self.verdict,
            "why": self.why,
        }


def verdict_of(is_true: bool) -> Verdict:
    """Return ``agrees`` or ``differs``."""
    return "agrees" if is_true else "differs"


def compared(
    name: str,
    reference: float,
    obtained: float,
    tolerance: float,
    unit: str = "",
    why: str = "",
    origin: Origin = "published",
) -> Check:
    """Return the check of a number: it agrees within the tolerance, or it differs.

    The tolerance is small beside the reference, so that zero, the opposite sign or a change of a
    quarter differ.
    """
    assert reference == 0.0 or tolerance <= MAX_RELATIVE_TOLERANCE * abs(reference), (
        name,
        reference,
        tolerance,
    )
    verdict = verdict_of(bool(abs(obtained - reference) <= tolerance))
    return Check(
        name, unit, float(reference), origin, float(obtained), float(tolerance), verdict, why
    )


def bounded(name: str, obtained: float, limit: float, unit: str = "", why: str = "") -> Check:
    """Return the check of an error that should vanish: it agrees while it is below the limit."""
    return compared(name, 0.0, obtained, limit, unit, why, "bound")


def stated(
    name: str,
    reference: str,
    obtained: str,
    is_true: bool,
    why: str = "",
    origin: Origin = "published",
) -> Check:
    """Return the check of a statement."""
    return Check(name, "", reference, origin, obtained, None, verdict_of(is_true), why)


def required(name: str, condition: str, obtained: str, is_true: bool, why: str = "") -> Check:
    """Return the check of a condition of this project; no source states it."""
    return stated(name, condition, obtained, is_true, why, "bound")


def refuted_unless(
    is_true: bool,
    name: str,
    claim: str,
    obtained: Quantity,
    why: str,
    unit: str = "",
    tolerance: float | None = None,
) -> Check:
    """Return the check of a published statement that is refuted unless it ``is_true`` here."""
    verdict: Verdict = "agrees" if is_true else "refuted"
    return Check(
        name, unit, claim, "published", obtained, tolerance, verdict, "" if is_true else why
    )
