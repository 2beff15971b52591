# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Identification in an audit: what is asked for, what is printed, and the files it leaves."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.energy.samples import MotionSamples
from vms_ph_dynamics.identification import (
    Identification,
    LoadEstimate,
    Posterior,
    Reference,
    Settings,
    findings,
    identify,
    left_out_loads,
    reference_loads,
    scatter,
    widen_interval,
)

from ..descriptions.urdf.identified_urdf import identified_urdf
from ..recordings.motion import RecordedMotion
from ..settings.bounded_text import read_text, writing
from .document import asks_for_identification
from .energy_audit import Audit

_CAUSES = ("payload", "sign", "gravity", "efforts")  # findings that tell why a balance is open
_MIN_SAMPLES = 20  # samples of a part without gaps

FILES = ("identified.urdf", "friction.yaml", "prior.json")
"""What an identification leaves besides the report, where there is something to write."""


@dataclass(frozen=True)
class RecordedReference:
    """The motion of a recording whose load is known, kg; see :class:`.Reference`."""

    name: str
    load: float
    motion: RecordedMotion
    session: str = ""


def with_identification(
    audit: Audit,
    motions: Sequence[RecordedMotion],
    parameters: Sequence[str],
    *,
    frame: str = "",
    friction: JointFriction | None = None,
    prior: Posterior | None = None,
    load_friction: bool | None = None,
    references: Sequence[RecordedReference] = (),
) -> tuple[Audit, Identification]:
    """Return an audit with what its recording, and further ones, tell of the robot.

    Args:
        audit: of the first motion.
        motions: the motion of the audit first, and others of the same robot.
        parameters: of payload, friction, gains, armature, inertia.
        frame: at which a payload is fixed; the end effector if empty.
        friction: what is known of friction; None: it is estimated.
        prior: what an earlier identification found.
        load_friction: whether friction may grow with the load of the gears; None: where gains are
            unknown.
        references: recordings of the same robot with known loads. Where a load is asked for, its
            interval covers how far the loads found in them lie from the known ones. Otherwise
            those without a load are identified from too, and each session is left out in turn to
            find its loads.

    Raises:
        VmsPhError: what is asked for cannot be identified.
    """
    load_references = [
        Reference(ref.name, ref.load, _gapless_parts(ref.motion), ref.session) for ref in references
    ]
    if "payload" in parameters and any(ref.motion is motions[0] for ref in references):
        raise VmsPhError("a recording whose load is asked for cannot be a reference for itself")
    other_motions = [m for m in motions if all(m is not ref.motion for ref in references)]
    other_samples = [part for motion in other_motions for part in _gapless_parts(motion)]
    samples = [*other_samples]
    if "payload" not in parameters:
        samples += [part for ref in load_references if ref.load == 0.0 for part in ref.samples]
    if not samples:
        raise VmsPhError(f"no part of the recording without a gap has {_MIN_SAMPLES} samples")
    friction_law = None if friction is None else (lambda rate: -friction.force(rate))
    settings = Settings(load_friction=load_friction)
    options: dict[str, Any] = {"frame": frame or None, "prior": prior, "settings": settings}
    identification = identify(audit.model, samples, parameters, friction=friction_law, **options)
    if "payload" in parameters:
        loads = () if prior is None else prior.references
        if load_references:
            loads = reference_loads(
                audit.model, load_references, kinds=parameters, friction=friction_law, **options
            )
        if load_references or loads:
            identification = widen_interval(identification, loads)
    elif load_references:
        loads = left_out_loads(audit.model, other_samples, load_references, parameters, **options)
        posterior = replace(identification.posterior, references=loads)
        identification = replace(identification, posterior=posterior)
    model_findings = findings(audit.model, _gapless_parts(motions[0]), identification, friction_law)
    text_by_kind = {finding.kind: finding.text for finding in model_findings}
    if contradiction := text_by_kind.get("sign", text_by_kind.get("gravity", "")):
        identification = identification.without_values(f"unsure, because {contradiction}")
    elif "efforts" in text_by_kind:
        warning = "unsure, because efforts contradict the model"
        estimates = (replace(p, meaning=p.meaning or warning) for p in identification.parameters)
        identification = replace(identification, parameters=tuple(estimates))
    identified = {
        **identification.as_dictionary(),
        "windows": identification.windows,
        "largest_unaccounted_before": identification.unaccounted_before,
        "largest_unaccounted": identification.unaccounted,
    }
    if identification.posterior.references:
        identified["references"] = [asdict(ref) for ref in identification.posterior.references]
    entries = tuple(finding.as_dictionary() for finding in model_findings)
    return replace(audit, identified=identified, findings=entries), identification


def with_findings(audit: Audit, motion: RecordedMotion) -> Audit:
    """Return an audit with what tells the cause of an open balance, if its answers ask for that.

    Loads, signs and another gravity are sought, with friction.
    """
    if not asks_for_identification(audit):
        return audit
    try:
        result, _ = with_identification(audit, [motion], ("payload", "friction"))
    except VmsPhError:  # such as no part without gaps
        return audit
    return replace(audit, findings=tuple(x for x in result.findings if x["kind"] in _CAUSES))


def _gapless_parts(motion: RecordedMotion) -> list[MotionSamples]:
    """Return the parts of a motion without gaps, those that are long enough.

    Raises:
        VmsPhError: forces acted that are not recorded.
    """
    if ports := motion.constraints:
        text = f"nothing can be identified from {motion.recording.path.name}: it had a port "
        raise VmsPhError(f"{text}{ports}, whose forces are not recorded; record a free motion")
    parts = [block.samples for block in motion.blocks(len(motion))]
    return [part for part in parts if len(part) >= _MIN_SAMPLES]


def identified_lines(audit: Audit, identification: Identification) -> Iterator[str]:
    """Return the lines of an identification for a terminal."""
    yield (
        f"identified from {identification.windows} windows of {identification.length:g} s; the "
        f"largest unaccounted energy changes from {identification.unaccounted_before:.4g} J to "
        f"{identification.unaccounted:.4g} J"
    )
    for begin, end in identification.disturbed:
        yield f"  without {begin:.1f} to {end:.1f} s, where other forces seem to act"
    for p in identification.claims:
        unit = "" if p.unit == "1" else f" {p.unit}"
        bound = ", at the bound" if p.at_bound else ""
        note = ""
        if (by_energy := identification.energy.get(p.name)) and by_energy.low is not None:
            note = f"; energy {by_energy.low:.4g} to {by_energy.high:.4g}"
            if not p.overlaps(by_energy):
                note += ", which disagrees: what is assumed does not fit"
        yield (f"  {p.name:<36} {p.value:>10.4g}{unit} ({p.low:.4g} to {p.high:.4g}{bound}{note})")
        if p.meaning:
            yield f"    {p.meaning}"
    yield from _reference_lines(identification)
    if identification.not_excited:
        yield "  not excited: " + ", ".join(p.name for p in identification.not_excited)
    for finding in audit.findings:
        yield f"finding    {finding['text']}"


def _reference_lines(identification: Identification) -> Iterator[str]:
    """Return what references tell, or that there are none."""
    mass = next((p for p in identification.parameters if p.name == "payload_mass"), None)
    loads = identification.posterior.references
    if mass is not None:
        if mass.value is not None and not loads:
            yield (
                "    the interval of the load covers the noise of this recording, not what changes "
                "from one to another: --reference"
            )
        return
    for ref in loads:
        yield (
            f"  reference {ref.name}: load {ref.estimate:.4g} kg found, {ref.load:.4g} kg known "
            f"(noise {ref.deviation:.2g} kg)"
        )
    if loads:
        deviation, sessions = scatter(loads)
        yield f"  {sessions} sessions scatter by {deviation:.2g} kg beyond that noise"


def write_identified(
    audit: Audit, identification: Identification, description: str, folder: Path
) -> list[Path]:
    """Write the URDF with what was identified, the friction, and the prior for a later one.

    Raises:
        VmsPhError: the folder cannot be written.
    """
    posterior, texts = identification.posterior, dict[str, str]()
    if posterior.names:
        texts["prior.json"] = json.dumps(asdict(posterior), default=np.ndarray.tolist) + "\n"
    if any(p.kind in ("friction", "payload", "inertia") for p in identification.claims):
        texts["identified.urdf"] = identified_urdf(description, audit.model, identification)
    if friction := friction_text(identification):
        texts["friction.yaml"] = friction
    names = [name for name in FILES if name in texts]
    with writing(folder):
        for name in names:
            (folder / name).write_text(texts[name], encoding="utf-8")
    return [folder / name for name in names]


def friction_text(identification: Identification) -> str:
    """Return the friction that is claimed as the text of a friction file, or an empty text."""
    joints: dict[str, dict[str, float]] = {}
    for p in identification.claims:
        joint, _, term = p.name.removeprefix("friction.").rpartition(".")
        if p.kind == "friction" and term in ("viscous", "coulomb", "offset"):
            joints.setdefault(joint, {})[term] = float(f"{p.value:.6g}")
    header = "# Identified, also what is unsure; for vms-ph audit --friction and launch files.\n"
    return header + yaml.safe_dump({"friction": joints}, sort_keys=False) if joints else ""


def read_prior(path: Path) -> Posterior:
    """Return the prior in a file that an identification wrote.

    Raises:
        VmsPhError: the file cannot be read or is no such file.
    """
    try:
        document: Any = json.loads(read_text(path))
        names = tuple(str(name) for name in document["names"])
        mean = np.array(document["mean"], dtype=np.float64)
        covariance = np.array(document["covariance"], dtype=np.float64)
        references = tuple(LoadEstimate(**estimate) for estimate in document.get("references", ()))
    except (ValueError, KeyError, TypeError):
        raise VmsPhError(
            f"{path} is no prior of an identification; give a prior.json that --out wrote"
        ) from None
    if mean.shape != (len(names),) or covariance.shape != 2 * mean.shape:
        raise VmsPhError(f"{path} has {len(names)} names, but numbers of shape {covariance.shape}")
    return Posterior(names, mean, covariance, references)
