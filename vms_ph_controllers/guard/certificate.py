# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of an energy guard: what went through its ports, and what it could not see."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.port_certificate import PortCertificate
from vms_ph_dynamics.errors import WithHints

from ..safety.energy_tank import EnergyTank

# A margin above minus this is kept up to rounding, J.
_ROUNDING = 1e-9

# The energies do not balance where the kinetic energy rises by more than this beyond the energy
# given, J, in more than this share of the samples. A push ends; a weight that is not there, or
# another delay than the declared one, does not.
_SMALLEST_RISE, _RISE_SHARE = 1e-9, 0.25

# What noise of velocities may add to the kinetic energy: so many J, and a share of it.
_SMALLEST_NOISE, _NOISE_SHARE = 1e-3, 0.1


class SampleCounts:
    """What a guard counts besides energy given: the attributes of :class:`Certificate`."""

    def __init__(self) -> None:
        self.samples = self.lost = self.scaled = self.braked = self.reflexes = 0
        self.duration = self.weight_work = self.largest_unseen = 0.0
        self.lent = self.unsettled = self.supplied = self._largest_kinetic = 0.0
        self.first_loss = ""
        self._rise_count, self._last_surplus, self._first_surplus = 0, np.nan, np.nan

    def record_unobserved_work(self, unobserved_work: float, largest_loan: float) -> None:
        """Note the work not seen at a sample, and what was lent to repay debts, J."""
        self.largest_unseen = max(self.largest_unseen, unobserved_work)
        self.lent = largest_loan

    def record_lost_work(self, largest_work: float, tank: EnergyTank) -> None:
        """Note the largest work since the last state, after which others were lost, J."""
        if largest_work > 0.0:
            self.unsettled = max(self.unsettled, largest_work - (tank.budget - tank.spent))

    def record_surplus(self, surplus: float, kinetic_energy: float, holds_weight: bool) -> None:
        """Note the kinetic energy, and what it is more than the energy given, J, at a state.

        Where the actuators do not hold the whole weight it falls, and nothing is noted.
        """
        if not np.isfinite(self._last_surplus):
            self._first_surplus = surplus
        elif holds_weight:
            rise = surplus - self._last_surplus
            self.supplied = max(self.supplied, surplus - self._first_surplus)
            self._rise_count += rise > _SMALLEST_RISE and surplus > self._first_surplus
        self._last_surplus = surplus
        self._largest_kinetic = max(self._largest_kinetic, kinetic_energy)

    def judge_surplus(self, margin: float) -> None:
        """Compare the kinetic energy that is not from the ports with a margin of the budget, J."""
        excess = self.supplied - max(0.0, margin)
        noise_energy = _SMALLEST_NOISE + _NOISE_SHARE * self._largest_kinetic
        if self._rise_count > _RISE_SHARE * self.samples and excess > noise_energy:
            self.unsettled = max(self.unsettled, excess)


@dataclass(frozen=True, slots=True, repr=False)
class Certificate(PortCertificate, WithHints):
    """What a guard saw since its engagement; energies in J.

    Attributes:
        ports: names of the guarded ports: ``wrench_base`` of a moving base, and the joints.
        duration: time observed, s.
        samples: number of updates.
        lost: number of updates without a plausible configuration.
        scaled, braked, reflexes: updates in which an effort was scaled or limited, in which the
            robot was braked, and in which a reflex acted.
        budget: energy granted: initial level and what was refilled less what was drained.
        given: net energy given through the ports; of a servo guard, no more than which was given.
        largest_given: its largest value at a sample.
        margin: smallest value of budget less energy given at a sample; negative for an excess.
        largest_unseen: largest work of efforts over the ``delay + 1`` samples that pass between a
            decision and the measurement of its outcome; with ``lent`` the bound of an excess.
        lent: largest energy that the tank lent the guard to repay a debt.
        unsettled: energy that may have been given beyond the budget without being booked: in
            samples that were lost, or because the energies at the ports do not balance.
        supplied: kinetic energy that is not from the guarded ports, at most at a sample.
        level: energy in the tank at the end.
        weight_work: work of what compensates gravity, which is no energy of the controller.
        delay: time from measurement to effort, samples.
        effort_carries_weight: whether the efforts compensate gravity.
        first_loss: why the first of the lost updates was, in words, with the joint.
        law_failures: updates in which the law raised, and gravity compensation took its place.
        first_failure: first error that the law raised, in words.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        "largest_given": "largest max_energy largest_energy max_given peak",
        "given": "energy energy_given",
    }
    VERDICTS: ClassVar[Mapping[str, str]] = {
        "kept": "the energy given stayed within the budget",
        "excess": "the energy given exceeded the budget by no more than the work not yet seen",
        "broken": "the energy given exceeded the budget by more than the work not yet seen",
        "unknown": "more than the budget may have been given, in samples that were lost or by "
        "efforts other than those known",
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
    unsettled: float
    supplied: float
    level: float
    weight_work: float
    delay: int
    effort_carries_weight: bool
    first_loss: str = ""
    law_failures: int = 0
    first_failure: str = ""

    @classmethod
    def from_guard(
        cls,
        model: VMSModel,
        tank: EnergyTank,
        counts: SampleCounts,
        delay: int,
        carries_weight: bool,
        largest_work: float = 0.0,
    ) -> "Certificate":
        """Return the certificate of a guard.

        Args:
            model: the robot.
            tank: the tank, with the sums of what went in and out.
            counts: counts of the guard's samples by what became of them.
            delay: time from measurement to effort, samples.
            carries_weight: whether the efforts compensate gravity.
            largest_work: largest work of efforts since the last state, where states were lost, J.
        """
        counts = copy(counts)
        counts.record_lost_work(largest_work, tank)
        counts.judge_surplus(tank.margin)
        count_by_name = {name: count for name, count in vars(counts).items() if name[0] != "_"}
        return cls(
            ports=guarded_ports(model),
            budget=tank.budget,
            given=tank.spent,
            largest_given=tank.largest_spent,
            margin=tank.margin,
            level=tank.level,
            delay=delay,
            effort_carries_weight=carries_weight,
            **count_by_name,
        )

    @property
    def summary(self) -> str:
        """The verdict in words; before it, how often the law failed and a reflex acted."""
        statements = []
        if self.law_failures:
            failures = f"the law failed in {self.law_failures} of {self.samples} updates"
            statements.append(f"{failures}, first: {self.first_failure}")
        if self.reflexes:
            statements.append(f"a reflex acted in {self.reflexes} of {self.samples} updates")
        return "; ".join([*statements, self.VERDICTS[self.verdict]])

    @property
    def verdict(self) -> str:
        """``kept`` within the budget, ``excess`` within the bound, ``broken``, or ``unknown``."""
        if -self.margin > self.largest_unseen + self.lent + _ROUNDING:
            return "broken"
        if self.unsettled > _ROUNDING:
            return "unknown"
        return "kept" if self.margin >= -_ROUNDING else "excess"

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
            "a weight in the model that the robot has not, or another delay than the declared one, "
            f"as long as the energies balance; {self.supplied:.4g} J of kinetic energy came from "
            "elsewhere than these ports, or are the error of the samples",
        ]
        if self.lost:
            sentences.append(
                f"{self.lost} samples without a plausible state, for which the largest work along "
                "the displacement was charged"
            )
        if self.unsettled > _ROUNDING:
            sentences.append(
                f"{self.unsettled:.4g} J that may have been given without being booked"
            )
        if not self.effort_carries_weight:
            sentences.append("the compensation of gravity, which the hardware adds")
        return tuple(sentences)

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what was observed: names and text."""
        note = f", the first as {self.first_loss}" if self.first_loss else ""
        yield "observed", f"{self.duration:.3f} s, {self.samples} samples, {self.lost} lost{note}"
        yield "budget", f"{self.budget:.6g} J"
        yield "given", f"{self.given:.6g} J, at most {self.largest_given:.6g} J"
        yield "margin", f"{self.margin:.6g} J"
        yield "not yet seen", f"{self.largest_unseen:.6g} J at most, over {self.delay + 1} samples"
        yield "weight", f"{self.weight_work:.6g} J, booked apart"
        yield ("changed", f"{self.scaled} scaled, {self.braked} braked, {self.reflexes} reflexes")


def guarded_ports(model: VMSModel) -> tuple[str, ...]:
    """Return the names of the ports at which efforts act: that of a moving base, and the joints."""
    return (*(("wrench_base",) if model.b else ()), *model.joint_names)
