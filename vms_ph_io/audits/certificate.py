# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a recording: the energy that controllers gave to a robot through its ports."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.ledger import RESETS
from vms_ph_dynamics.energy.port_certificate import PortCertificate
from vms_ph_dynamics.energy.samples import MotionSamples, displacements
from vms_ph_dynamics.identification.effort_meaning import hidden_power
from vms_ph_dynamics.robot.joints import BASE_COMPONENTS

from ..progress import Progress, no_progress
from ..recordings.motion import Block, RecordedMotion
from ..recordings.recording import RecordingError

# Standard deviations of work at random, also of its largest value at any time; and the variance of
# third differences of white noise of variance one.
_QUANTILE, _THIRD_DIFFERENCE = 3.0, 20.0

# A step in time beyond this many periods has lost samples.
_LONGEST_STEP_PERIODS = 1.5


@dataclass(frozen=True, slots=True, repr=False)
class RecordedCertificate(PortCertificate):
    """What a recording shows of the energy through the ports of the actuators; energies in J.

    Attributes:
        ports: the ports that are in the recording.
        duration: time with samples, s.
        samples: number of samples.
        lost: samples that are missing, by the usual period.
        gaps: number of gaps, and ``gap_time`` their duration, s, in which nothing was seen.
        supplied: energy given beyond the weight, from the first sample to the last.
        largest_supplied: its largest value since the first sample, and ``time`` of it, s.
        largest_rise: largest energy given in any interval: the capacity of a tank that
            returned energy refills.
        largest_step: largest energy given between two samples, which is not resolved.
        uncertainty: of the quadrature, the largest difference that twice the period makes, of noise
            and lags of the efforts, and of vibrations that are too fast for the samples.
        weight_work: work of what compensates gravity, booked apart.
        budget: to certify, or None; ``margin`` is what is left of it.
        method: how energies were integrated.
    """

    VERDICTS: ClassVar[Mapping[str, str]] = {
        "kept": "the energy given stayed within the budget",
        "excess": "the energy given exceeded the budget",
        "undecided": "the budget is met, but for gaps, or within the uncertainty",
        "": "of the ports that are recorded; give --budget to certify one",
    }

    ports: tuple[str, ...]
    duration: float
    samples: int
    lost: int
    gaps: int
    gap_time: float
    supplied: float
    largest_supplied: float
    time: float
    largest_rise: float
    largest_step: float
    uncertainty: float
    weight_work: float
    budget: float | None
    margin: float | None
    method: str

    @property
    def verdict(self) -> str:
        """``kept``, ``excess``, ``undecided`` by gaps or uncertainty; empty without a budget."""
        if self.margin is None:
            return ""
        if self.margin >= self.uncertainty:
            return "undecided" if self.gaps else "kept"
        return "excess" if self.margin < -self.uncertainty else "undecided"

    @property
    def not_seen(self) -> tuple[str, ...]:
        """What the recording cannot show, in sentences."""
        sentences = [
            "energy at other ports: contacts, people, springs, actuators that are not recorded",
            "efforts that differ from those recorded: friction in the drives, wrong gains",
            f"peaks between two samples; between two of them up to {self.largest_step:.4g} J "
            "was given",
        ]
        if self.lost:
            sentences.append(f"{self.lost} samples that are missing")
        if self.gaps:
            sentences.append(f"{self.gap_time:.3f} s in {self.gaps} gaps")
        if "wrench_base" not in self.ports:
            sentences.append("a wrench of actuators on a moving base, if the robot has one")
        return tuple(sentences)

    def rows(self) -> Iterable[tuple[str, str]]:
        """Return what was observed: names and text."""
        yield (
            "observed",
            f"{self.duration:.3f} s, {self.samples} samples, {self.lost} lost, "
            f"{self.gaps} gaps of {self.gap_time:.3f} s",
        )
        if self.budget is not None:
            yield "budget", f"{self.budget:.6g} J, margin {self.margin:.6g} J"
        yield (
            "given",
            f"{self.supplied:.6g} J in all, at most {self.largest_supplied:.6g} J at "
            f"{self.time:.3f} s",
        )
        yield "", f"at most {self.largest_rise:.6g} J in any interval"
        yield "uncertainty", f"{self.uncertainty:.3g} J ({self.method})"
        yield "weight", f"{self.weight_work:.6g} J, booked apart"


class _EnergySums:
    """Energies along a recording, block by block."""

    def __init__(self, motion: RecordedMotion) -> None:
        self._model, self.noise_variance, self.fast_work = motion.model, 0.0, 0.0
        self.is_exact = motion.recording.port_energies is not None
        # Times, works, and works of the weight.
        self.blocks: list[Array] = [np.zeros((3, 1))]
        self.squared_rates = self.largest_errors = self._errors = np.zeros(1)

    def add(self, block: Block) -> None:
        samples = block.samples
        if len(samples) > 1:
            weight = np.diff(self._model.evaluate_batch(samples.q, samples.v).potential_energy)
            self.blocks.append(np.stack([samples.t[1:], self._work(block), weight]))

    def _work(self, block: Block) -> Array:
        """Return the work between samples, (N-1,)."""
        samples, b = block.samples, self._model.b
        exact = block.exact_energies
        if exact is not None and not np.diff(exact[RESETS]).any():
            names = [name for name in ("torque", "wrench_base") if name in exact]
            return sum((np.diff(exact[name]) for name in names), np.zeros(len(samples) - 1))
        self.is_exact = False
        effort = samples.torque
        if b and "base" in samples.wrenches:
            effort = np.hstack([samples.wrenches["base"][:, BASE_COMPONENTS[b]], effort])
        steps = displacements(self._model, samples.q)
        steps = steps[:, steps.shape[1] - effort.shape[1] :]
        self._add_errors(effort, steps, samples)
        forces = effort[:-1] if samples.zero_order_hold else 0.5 * (effort[1:] + effort[:-1])
        return np.asarray((forces * steps).sum(axis=1))

    def _add_errors(self, effort: Array, steps: Array, samples: MotionSamples) -> None:
        """Add what the quadrature, lags and noise may have done: efforts (N,k), steps (N-1,k)."""
        change, dt = np.diff(effort, axis=0), np.diff(samples.t)
        dt = np.maximum(dt, np.median(dt))[:, None]
        # What twice the step changes, and what a lag of one second would.
        errors = np.hstack([np.zeros((len(dt), 1)), change * steps / dt])
        if not samples.zero_order_hold:
            crossed = change[:-1] * steps[1:] - change[1:] * steps[:-1]
            errors[1::2, 0] = 0.5 * crossed[::2].sum(axis=1)
        errors = self._errors + np.cumsum(errors, axis=0)
        self.largest_errors = np.maximum(self.largest_errors, np.abs(errors).max(axis=0))
        self._errors, squares = errors[-1], (steps**2).sum(axis=0)
        self.squared_rates = self.squared_rates + (steps**2 / dt).sum(axis=0)
        # White noise; and what is so fast that the mean of two samples hides it.
        noise = [
            (np.diff(x, 2, axis=0) ** 2).sum(axis=0) / _THIRD_DIFFERENCE for x in (change, steps)
        ]
        self.noise_variance += float(noise[0] @ squares) / len(steps)
        self.fast_work += 2.0 * float(np.sqrt(noise[0] * noise[1]).sum())


def certify(
    motion: RecordedMotion, budget: float | None = None, progress: Progress = no_progress
) -> RecordedCertificate:
    """Return the certificate of a recording.

    Args:
        motion: the motion of a robot in it.
        budget: energy that controllers may give, J; None to find out what they gave.
        progress: called with the share that is done.

    Raises:
        RecordingError: efforts are missing, or are no torques.
    """
    sums, model, gaps = _EnergySums(motion), motion.model, motion.order.gaps
    has_energies = sums.is_exact
    has_base_wrench = "base" in motion.ports or (has_energies and model.b > 0)
    ports = [*(["wrench_base"] if has_base_wrench else []), *model.joint_names]
    if not has_energies and (remedy := motion.conditioning.remedy(model.joint_names)):
        raise RecordingError(f"the efforts are not what they seem: nothing is certified; {remedy}")
    joints = motion.conditioning.without_effort or ([] if ports else ["the base"])
    if joints and not has_energies:
        text = f"no effort of {', '.join(joints)} is recorded: what it gave cannot be certified"
        raise RecordingError(text)
    duration, step_count, lost = 0.0, 0, 0
    for block in motion.blocks():
        dt = np.diff(block.samples.t)
        if len(dt):
            period = float(np.median(dt))
            lost += int(np.rint(dt / period - 1.0)[dt > _LONGEST_STEP_PERIODS * period].sum())
        duration += float(dt.sum())
        sums.add(block)
        step_count += len(dt)
        progress(step_count / len(motion), "certifying")
    rule = "held from sample to sample" if motion.options.commanded else "by the trapezoidal rule"
    method = f"efforts {rule}"
    if has_energies:
        interrupted = "" if sums.is_exact else f", and {method} where these are interrupted"
        method = f"port energies that the simulation has integrated{interrupted}"
    times, work, weight = np.hstack(sums.blocks)
    supplied_energy, largest_step = np.cumsum(work - weight), float(np.abs(work - weight).max())
    if not work.any() and largest_step > 0.0 and not has_energies:
        raise RecordingError("all efforts are zero while the robot moves: nothing can be certified")
    peak_index = int(np.argmax(supplied_energy))
    margin = None if budget is None else budget - float(supplied_energy[peak_index])
    return RecordedCertificate(
        tuple(ports), duration, len(motion), lost, len(gaps), sum(length for _, length in gaps),
        float(supplied_energy[-1]), float(supplied_energy[peak_index]), float(times[peak_index]),
        float((supplied_energy - np.minimum.accumulate(supplied_energy)).max()), largest_step,
        0.0 if sums.is_exact else _uncertainty(motion, duration, sums),
        float(weight.sum()), budget, margin, method,
    )  # fmt: skip


def _uncertainty(motion: RecordedMotion, duration: float, sums: _EnergySums) -> float:
    """Return a bound of the errors by steps, noise, lags and vibrations too fast to see, J."""
    meaning, variance, n = motion.conditioning.meaning, sums.noise_variance, motion.model.n
    error_bound = sums.fast_work + float(sums.largest_errors[0])
    if meaning is not None:
        residual, density, lag = meaning.errors[motion.conditioning.chosen_meaning]
        variance += float(density @ sums.squared_rates[-n:])
        samples = next(iter(motion.blocks())).samples
        error_bound += duration * hidden_power(motion.model, samples, residual, np.zeros(n))
        error_bound += float(lag @ sums.largest_errors[-n:])
    return error_bound + _QUANTILE * float(np.sqrt(variance))
