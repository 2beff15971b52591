# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of an energy guard: what went through its ports, and what it could not see."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.port_certificate import PortCertificate

from ..safety.energy_tank import EnergyTank

# A margin above minus this is kept up to rounding, J.
_ROUNDING = 1e-9


class Counts:
    """What a guard counts besides energy given; see :class:`Certificate` for the quantities."""

    def __init__(self) -> None:
        self.samples = self.lost = self.scaled = self.braked = self.reflexes = 0
        self.time = self.weight_work = self.largest_unmeasured = 0.0
        self.lent = 0.0

    def count_work(self, unmeasured: float, lent: float) -> None:
        """Note the work not seen at a sample, and what was lent to repay debts, J."""
        self.largest_unmeasured = max(self.largest_unmeasured, unmeasured)
        self.lent = lent


@dataclass(frozen=True, slots=True)
class Certificate(PortCertificate):
    """What a guard saw since its engagement; energies in J.

    Attributes:
        ports: names of the guarded ports: ``wrench_base`` of a moving base, and the joints.
        duration: time observed, s.
        samples: number of updates.
        lost: updates without a state that could be believed.
        scaled, braked, reflexes: updates in which an effort was scaled or limited, in which the
            robot was braked, and in which a reflex acted.
        budget: energy granted: initial level and what was refilled less what was drained.
        given: net energy given through the ports.
        largest_given: its largest value at a sample.
        margin: smallest value of budget less energy given at a sample; negative for an excess.
        largest_unseen: largest work of efforts over the ``delay + 1`` samples that pass between a
            decision and the measurement of its outcome; with ``lent`` the bound of an excess.
        lent: largest energy lent to repay a debt.
        level: energy in the tank at the end.
        weight_work: work of what compensates gravity, which is no energy of the controller.
        delay: from measurement to effort, samples.
        effort_carries_weight: whether the efforts compensate gravity.
        law_failures: updates in which the law raised, and gravity compensation took its place.
        first_failure: what it raised first, in words.
    """

    VERDICTS: ClassVar[Mapping[str, str]] = {
        "kept": "the energy given stayed within the budget",
        "excess": "the energy given exceeded the budget by no more than the work not yet seen",
        "broken": "the energy given exceeded the budget by more than the work not yet seen",
    }

    ports: tuple[str, ...]
    duration: float
    samples: int
    lost: int
    scaled: int
    braked: int
    reflexes: int
    budget: float
    given: float
    largest_given: float
    margin: float
    largest_unseen: float
    lent: float
    level: float
    weight_work: float
    delay: int
    effort_carries_weight: bool
    law_failures: int = 0
    first_failure: str = ""

    @classmethod
    def of(
        cls, model: VMSModel, tank: EnergyTank, counts: Counts, delay: int, carries_weight: bool
    ) -> "Certificate":
        """Return the certificate of a guard.

        Args:
            model: the robot.
            tank: the tank, with the sums of what went in and out.
            counts: of samples.
            delay: from measurement to effort, samples.
            carries_weight: whether the efforts compensate gravity.
        """
        return cls(
            ports_of(model),
            counts.time,
            counts.samples,
            counts.lost,
            counts.scaled,
            counts.braked,
            counts.reflexes,
            tank.budget,
            tank.spent,
            tank.largest_spent,
            tank.margin,
            counts.largest_unmeasured,
            counts.lent,
            tank.level,
            counts.weight_work,
            delay,
            carries_weight,
        )

    @property
    def verdict(self) -> str:
        """``kept`` within the budget, ``excess`` within the bound, or ``broken``."""
        if self.margin >= -_ROUNDING:
            return "kept"
        bound = self.largest_unseen + self.lent + _ROUNDING
        return "excess" if -self.margin <= bound else "broken"

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What a guard at these ports cannot see, in sentences."""
        samples = self.delay + 1
        sentences = [
            f"the work of efforts over the last {samples} sample{'s' * (samples > 1)}, which is "
            f"not measured yet; it was at most {self.largest_unseen:.4g} J",
            "energy at other ports: contacts, people, springs, other actuators",
            "efforts that differ from those sent: friction in the drives, wrong gains, saturation",
            "peaks between two samples",
        ]
        if self.lost:
            sentences.append(
                f"{self.lost} samples without a believable state, for which the largest work along "
                "the displacement was charged"
            )
        if not self.effort_carries_weight:
            sentences.append("the compensation of gravity, which the hardware adds")
        return tuple(sentences)

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what was observed: names and text."""
        yield "observed", f"{self.duration:.3f} s, {self.samples} samples, {self.lost} lost"
        yield "budget", f"{self.budget:.6g} J"
        yield "given", f"{self.given:.6g} J, at most {self.largest_given:.6g} J"
        yield "margin", f"{self.margin:.6g} J"
        yield (
            "not yet seen",
            f"{self.largest_unseen:.6g} J at most, over {self.delay + 1} samples",
        )
        yield "weight", f"{self.weight_work:.6g} J, booked apart"
        yield (
            "changed",
            f"{self.scaled} scaled, {self.braked} braked, {self.reflexes} reflexes",
        )
        if self.law_failures:
            yield (
                "law failed",
                f"in {self.law_failures} of {self.samples} updates, first: {self.first_failure}",
            )


def ports_of(model: VMSModel) -> tuple[str, ...]:
    """Return the names of the ports at which efforts act: that of a moving base, and the joints."""
    return (*(("wrench_base",) if model.b else ()), *model.joint_names)
