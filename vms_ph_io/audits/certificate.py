# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a recording: the energy that controllers gave to a robot through its ports."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.ledger import RESETS
from vms_ph_dynamics.energy.port_certificate import PortCertificate
from vms_ph_dynamics.energy.samples import displacements

from ..progress import Progress, no_progress
from ..recordings.motion import Block, RecordedMotion
from ..recordings.recording import RecordingError
from ..settings.bounded_text import writing

# Components of a wrench that a planar base has.
_PLANAR_COMPONENTS = [0, 1, 5]

_CONFIGURATIONS = 30  # at which the inertia of a recording is evaluated

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
        largest_supplied: its largest value since the first sample, and ``when``, s.
        largest_rise: largest energy given in any interval: the capacity of a tank that
            returned energy refills.
        largest_step: largest energy given between two samples, which is not resolved.
        uncertainty: of the quadrature, the largest difference that twice the period makes, and of
            vibrations that are too fast for the samples.
        weight_work: work of what compensates gravity, booked apart.
        budget: to certify, or None; ``margin`` is what is left of it.
        method: how energies were integrated.
    """

    VERDICTS: ClassVar[Mapping[str, str]] = {
        "kept": "the energy given stayed within the budget",
        "excess": "the energy given exceeded the budget",
        "undecided": "the budget is met, but for gaps, quadrature and vibrations too fast to see",
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
    when: float
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
            f"{self.when:.3f} s",
        )
        yield "", f"at most {self.largest_rise:.6g} J in any interval"
        yield "uncertainty", f"{self.uncertainty:.3g} J ({self.method})"
        yield "weight", f"{self.weight_work:.6g} J, booked apart"


class _EnergySums:
    """Energies along a recording, block by block."""

    def __init__(self, motion: RecordedMotion) -> None:
        self._model = motion.model
        self.supplied = self.peak = self.peak_time = self.largest_rise = self.largest_step = 0.0
        self.has_work = False
        self.weight_work = self._lowest = self._coarse_error = self.quadrature_error = 0.0

    def add(self, block: Block) -> None:
        samples = block.samples
        if len(samples) < 2:
            return
        weight_work = np.diff(self._model.evaluate_batch(samples.q, samples.v).potential_energy)
        work, coarse_work = self._work(block)
        given_energy = work - weight_work
        self.has_work |= bool(work.any())
        self.weight_work += float(weight_work.sum())
        supplied = self.supplied + np.concatenate([[0.0], np.cumsum(given_energy)])
        k = int(np.argmax(supplied))
        if supplied[k] > self.peak:
            self.peak, self.peak_time = float(supplied[k]), float(samples.t[k])
        lowest = np.minimum(np.minimum.accumulate(supplied), self._lowest)
        self.largest_rise = max(self.largest_rise, float(np.max(supplied - lowest)))
        self._lowest = float(lowest[-1])
        self.largest_step = max(self.largest_step, float(np.abs(given_energy).max()))
        if coarse_work is not None and len(coarse_work):
            cumulative_work = np.cumsum(work)[1 : 2 * len(coarse_work) : 2]
            coarse_error = self._coarse_error + np.cumsum(coarse_work) - cumulative_work
            self.quadrature_error = max(self.quadrature_error, float(np.abs(coarse_error).max()))
            self._coarse_error = float(coarse_error[-1])
        self.supplied = float(supplied[-1])

    def _work(self, block: Block) -> tuple[Array, Array | None]:
        """Return the work between samples, (N-1,), and that with twice the period, or None."""
        samples, b = block.samples, self._model.b
        exact = block.exact_energies
        if exact is not None and not np.diff(exact[RESETS]).any():
            names = [name for name in ("torque", "wrench_base") if name in exact]
            return sum((np.diff(exact[name]) for name in names), np.zeros(len(samples) - 1)), None
        effort, flow = samples.torque, samples.v[:, b:]
        if b and "base" in samples.wrenches:
            wrench = samples.wrenches["base"]
            wrench = wrench[:, _PLANAR_COMPONENTS] if b == 3 else wrench
            effort, flow = np.hstack([wrench, effort]), samples.v
        if samples.zero_order_hold:
            steps = displacements(self._model, samples.q)[:, -effort.shape[1] :]
            return (effort[:-1] * steps).sum(axis=1), None
        power = (effort * flow).sum(axis=1)
        series = (samples.t, power), (samples.t[::2], power[::2])
        fine_work, coarse_work = (0.5 * np.diff(t) * (p[:-1] + p[1:]) for t, p in series)
        return fine_work, coarse_work


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
    is_exact = motion.recording.port_energies is not None
    has_base_wrench = "base" in motion.ports or (is_exact and model.b > 0)
    ports = [*(["wrench_base"] if has_base_wrench else []), *model.joint_names]
    if not is_exact and (remedy := motion.conditioning.remedy(model.joint_names)):
        raise RecordingError(
            f"the efforts are not what they seem, so nothing is certified: {remedy}"
        )
    joints = motion.conditioning.without_effort or ([] if ports else ["the base"])
    if joints and not is_exact:
        text = f"no effort of {', '.join(joints)} is recorded: what it gave cannot be certified"
        raise RecordingError(text)
    duration, step_count, lost = 0.0, 0, 0
    for block in motion.blocks():
        steps = np.diff(block.samples.t)
        if len(steps):
            period = float(np.median(steps))
            long_steps = steps[steps > _LONGEST_STEP_PERIODS * period]
            lost += int(np.round(long_steps / period - 1.0).sum())
        duration += float(steps.sum())
        sums.add(block)
        step_count += len(steps)
        progress(step_count / len(motion), "certifying")
    method = "trapezoidal rule over measured efforts"
    if is_exact:
        method = "port energies that the simulation has integrated"
    elif motion.options.commanded:
        method = "efforts held from sample to sample"
    if not sums.has_work and sums.largest_step > 0.0 and not is_exact:
        raise RecordingError("all efforts are zero while the robot moves: nothing can be certified")
    margin = None if budget is None else budget - sums.peak
    vibration_work = 0.0 if is_exact else _work_of_vibrations(motion, duration)
    return RecordedCertificate(
        tuple(ports), duration, len(motion), lost, len(gaps), sum(length for _, length in gaps),
        sums.supplied, sums.peak, sums.peak_time, sums.largest_rise, sums.largest_step,
        sums.quadrature_error + vibration_work, sums.weight_work, budget, margin, method,
    )  # fmt: skip


def _work_of_vibrations(motion: RecordedMotion, duration: float) -> float:
    """Return a bound of the work of vibrations that are too fast for the samples, J.

    All that motion and friction leave of the efforts may be such a vibration, seen at another
    frequency. At half the sampling rate or faster it moves the inertia of the joints by so little.
    """
    meaning, model = motion.conditioning.meaning, motion.model
    if meaning is None:
        return 0.0
    samples = next(iter(motion.blocks())).samples
    thinning = slice(None, None, 1 + len(samples) // _CONFIGURATIONS)
    inertia = model.evaluate_batch(samples.q[thinning], samples.v[thinning], terms=("M",)).M
    mobility = np.diagonal(np.linalg.inv(inertia), axis1=1, axis2=2).mean(axis=0)[model.b :]
    residual = meaning.residual[motion.conditioning.chosen_meaning]
    return float(duration * residual**2 @ mobility / (np.pi * motion.order.rate))


def write_certificate(certificate: RecordedCertificate, folder: Path) -> Path:
    """Write ``certificate.json`` into a folder, which is made where it is missing."""
    path = folder / "certificate.json"
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(certificate.document(), indent=2) + "\n")
    return path
