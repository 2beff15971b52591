# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What was found about the signals of a recording, and what was done about it."""

import itertools
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vms_ph_dynamics.energy.samples import LONGEST_LAG, SampleNoise
from vms_ph_dynamics.identification.effort_meaning import BETTER_FIT, FOLDS, MEANINGS, EffortMeaning
from vms_ph_dynamics.identification.estimate import student

from .clock_order import ClockOrder
from .signal_checks import VelocityDefect

ADD_GAINS = (
    "look up the gains in a data sheet, add them to --effort as JOINT=GAIN, and run that again. "
    "Of currents: torque constant times gear ratio, negative if they count against the joint."
)
"""What to do about efforts that are currents, whose gains are unknown."""


class EffortRemedy(NamedTuple):
    """Another reading of the efforts that fits clearly better than the one that is chosen.

    Attributes:
        option: value of ``--effort`` that chooses it.
        finding: what is wrong, in words.
        advice: sentences about the option.
    """

    option: str
    finding: str
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.finding}: --effort {shlex.quote(self.option)}"


@dataclass(frozen=True)
class Conditioning:
    """The signals of a recording before the audit.

    Attributes:
        order: times of the joint states.
        clock: source of the times that are used: "stamps", "log times", "uniform" or "motion".
        clock_jitter: deviation of the stamps from even times of that source, s; 0 for stamps.
        velocity_defects: by joint, why velocities were not taken as they are; empty if all were.
        lag: time by which recorded velocities lag the positions, s; NaN if none is found.
        lag_corrected: whether velocities were shifted by it.
        effort_lag: time by which efforts followed the motion and were shifted, s.
        noise: noise of the samples.
        saturated: by joint, share of the samples at its largest effort.
        meaning: how well each meaning of the efforts fits; None without efforts or motion.
        chosen_meaning: the meaning that is used.
        commands_held: whether efforts are commands that act until the next sample.
        rates: Hz, of each other series that is used.
        without_effort: joints of which no effort is recorded, though it is of others.
        notes: further statements, in sentences.
        gains: by joint, factors of the efforts that are used; empty: all are, as they are.
    """

    order: ClockOrder
    clock: str
    clock_jitter: float
    velocity_defects: Mapping[str, VelocityDefect]
    lag: float
    lag_corrected: bool
    effort_lag: float
    noise: SampleNoise
    saturated: Mapping[str, float]
    meaning: EffortMeaning | None
    chosen_meaning: str
    commands_held: bool
    rates: Mapping[str, float]
    without_effort: Sequence[str] = ()
    notes: tuple[str, ...] = field(default=())
    gains: Mapping[str, float] = field(default_factory=dict)

    def statements(self, joints: tuple[str, ...]) -> list[str]:
        """Return what was found and done, in sentences."""
        order = self.order
        sentences = [
            f"{len(order.t)} samples at {order.rate:.4g} Hz; the periods vary by "
            f"{1e3 * order.jitter:.3g} ms (standard deviation), the longest is "
            f"{1e3 * order.longest_period:.3g} ms"
        ]
        if order.source != "stamps":
            sentences.append("the stamps do not advance; the times of the log are used")
        if self.clock in ("uniform", "motion"):
            sentences.append(
                f"positions and velocities fit {_CLOCKS[self.clock]} better than the stamps, which "
                f"deviate by {1e3 * self.clock_jitter:.3g} ms (standard deviation); these times "
                "are used"
            )
        if order.repeated_count:
            sentences.append(f"{order.repeated_count} samples repeat a time and were left out")
        if order.disorder_count:
            sentences.append(f"{order.disorder_count} samples were out of order and were sorted")
        sentences += [
            f"the clock was set back at {t:.3f} s; the recording goes on there"
            for t in order.reset_times
        ]
        sentences += [
            f"a gap of {length:.3f} s begins at {begin:.3f} s; what happened in it is not accounted"
            for begin, length in order.gaps[:20]
        ]
        if len(order.gaps) > 20:
            sentences.append(f"{len(order.gaps) - 20} further gaps")
        by_reason = itertools.groupby(self.velocity_defects.items(), lambda item: item[1].reason)
        for reason, items in by_reason:
            names = ", ".join(joint for joint, _ in items)
            sentences.append(f"the velocity of {names} is estimated from the positions: {reason}")
        sentences.append(self._lag_sentence())
        if self.effort_lag:
            lag = f"{1e3 * self.effort_lag:.0f} ms"
            text = f"efforts followed the motion {lag} later and were shifted; what their shift "
            text += "leaves unknown at an end is not accounted"
            sentences.append(text)
        noise = self.noise
        base_size = len(noise.velocity) - len(joints)
        sentences.append(
            "noise (largest standard deviation): positions "
            f"{np.max(noise.position[base_size:], initial=0.0):.2g}, velocities "
            f"{np.max(noise.velocity[base_size:], initial=0.0):.2g}, efforts "
            f"{np.max(noise.effort, initial=0.0):.2g} in SI units"
        )
        sentences += [
            f"the effort of {joint} is at its largest size in {100 * share:.1f} % of the samples "
            "(saturated)"
            for joint, share in self.saturated.items()
        ]
        sentences += [
            f"{name} has {rate:.4g} Hz and is interpolated to the joint states"
            for name, rate in self.rates.items()
        ]
        return [*sentences, *self._effort_sentences(joints), *self.notes]

    def _lag_sentence(self) -> str:
        if np.isnan(self.lag):
            return (
                f"no lag of velocities behind positions is found up to {1e3 * LONGEST_LAG:.0f} ms, "
                "where the search ends; none is corrected"
            )
        if not self.lag_corrected:
            return f"velocities lag positions by {1e3 * self.lag:.2f} ms, which is left as it is"
        return f"velocities lagged positions by {1e3 * self.lag:.2f} ms and were shifted"

    def _effort_sentences(self, joints: tuple[str, ...]) -> list[str]:
        timing = "are samples of continuous signals (measurements)"
        if self.commands_held:
            timing = "act until the next sample (commands)"
        gains = f", times {_gain_option(self.gains.items())}" * bool(self.gains)
        sentences = [f"efforts are taken as {MEANINGS[self.chosen_meaning]}{gains}; they {timing}"]
        meaning = self.meaning
        if meaning is None:
            return sentences
        misfits = "; ".join(
            f"{MEANINGS[name]}: {100 * error:.0f} %, with friction fitted {100 * fit_error:.0f} %"
            for name, (error, fit_error) in meaning.misfit.items()
        )
        omitted = f" (without {meaning.burst_times})" if meaning.bursts else ""
        sentences.append(f"misfit of the momentum balances{omitted} if the efforts are {misfits}")
        if not meaning.beats_null:
            text = "no reading of the efforts explains them better than friction alone "
            text += f"({100 * meaning.null:.0f} %): nothing is concluded from them"
            sentences.append(text)
        elif remedy := self.remedy(joints):
            sentences.append(str(remedy))
        if self.chosen_meaning == "torque" and meaning.reading == "torque":
            sentences += [
                f"friction alone fits the effort of {joint} better than the model: check columns, "
                "gravity, load and description, and if static friction holds a joint that rests"
                for joint in itertools.compress(joints, meaning.unrelated_joints)
            ]
        if meaning.command_misfit < 0.9 and not self.commands_held:
            sentences.append(
                "efforts fit better as commands that act until the next sample (--commanded)"
            )
        return sentences

    def remedy(self, joints: tuple[str, ...]) -> EffortRemedy | None:
        """Return what the efforts fit clearly better as than what is chosen; None for nothing."""
        meaning = self.meaning
        if meaning is None:
            return None
        chosen_gains = np.array([self.gains.get(joint, 1.0) for joint in joints])
        reading, misfit, chosen = meaning.reading, meaning.misfit, self.chosen_meaning
        if reading != "scaled" and not misfit[reading][1] < BETTER_FIT * misfit[chosen][1]:
            is_flipped = meaning.has_other_sign(chosen)
            names = ", ".join(itertools.compress(joints, is_flipped))
            signed_gains = np.where(is_flipped, -1.0, 1.0) * chosen_gains
            option = f"{chosen} {_gain_option(zip(joints, signed_gains, strict=True))}"
            finding = f"the sign of the effort of {names} is opposite"
            return EffortRemedy(option.removeprefix("torque "), finding) if names else None
        if reading != "scaled":
            option = f"{reading} {_gain_option(self.gains.items())}".strip()
            return EffortRemedy(option, f"the efforts fit clearly better as {MEANINGS[reading]}")
        rows = np.flatnonzero(meaning.scaled)
        errors = 100.0 * student(FOLDS - 1) * meaning.gain_errors / np.abs(meaning.gains)
        parts = ", ".join(f"{joints[k]} (±{max(errors[k], 1.0):.0f} %)" for k in rows)
        advice = [f"The gains of {parts} come from this recording, if no payload was carried."]
        advice[0] += " If one was, take them from a data sheet too."
        if unknown := ", ".join(itertools.compress(joints, ~meaning.scaled)):
            advice.append(f"Afterwards, for {unknown}: {ADD_GAINS}")
        option = _gain_option((joints[k], meaning.gains[k] * chosen_gains[k]) for k in rows)
        finding = "the recorded efforts seem to be motor currents or another unit, not N m"
        return EffortRemedy(option, finding, tuple(advice))

    def as_dictionary(self, joints: tuple[str, ...]) -> dict[str, Any]:
        """Return the findings as plain values for JSON."""
        order, meaning, defects = self.order, self.meaning, self.velocity_defects
        base_size = len(self.noise.velocity) - len(joints)
        effort: dict[str, Any] = {"taken_as": self.chosen_meaning, "held": self.commands_held}
        effort |= {"fits_best_as": None, "misfit": {}, "gains": {}}
        if meaning is not None:
            gains = zip(joints, meaning.gains, meaning.gain_errors, strict=True)
            effort["fits_best_as"] = meaning.reading
            effort["misfit"] = {
                name: {"plain": a, "with_friction": b} for name, (a, b) in meaning.misfit.items()
            }
            effort["gains"] = {
                joint: {"value": float(gain), "error": float(e) if e < 1e300 else None}
                for joint, gain, e in gains
            }
        return {
            "samples": len(order.t),
            "rate": order.rate,
            "clock": self.clock,
            "clock_jitter": self.clock_jitter,
            "period_deviation": order.jitter,
            "repeated": order.repeated_count,
            "out_of_order": order.disorder_count,
            "set_back": list(order.reset_times),
            "gaps": [{"begin": a, "length": b} for a, b in order.gaps],
            "velocity_estimated": {joint: defect.reason for joint, defect in defects.items()},
            "velocity_factor": {j: d.factor for j, d in defects.items() if d.factor != 1.0},
            "velocity_lag": self.lag,
            "velocity_lag_corrected": self.lag_corrected,
            "effort_lag": self.effort_lag,
            "noise": {
                joint: {
                    "position": float(self.noise.position[base_size + k]),
                    "velocity": float(self.noise.velocity[base_size + k]),
                    "effort": float(self.noise.effort[k]),
                }
                for k, joint in enumerate(joints)
            },
            "saturated": dict(self.saturated),
            "effort": effort,
            "statements": self.statements(joints),
        }


def _gain_option(gains: Iterable[tuple[str, float]]) -> str:
    return " ".join(f"{joint}={gain:.4g}" for joint, gain in gains)


_CLOCKS = {"uniform": "even times", "motion": "multiples of one period"}
