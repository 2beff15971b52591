# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a recording tells of the model that it is compared with, with contacts and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..energy.regressor import EnergyRegressor
from ..energy.samples import MotionSamples
from ..model import VMSModel
from .identify import load_unknowns
from .result import LEFT_OUT, NO_TORQUES, UNSURE_GAINS, Identification, Unknown, prior_of
from .torque import torque_error, torque_windows, with_described_load
from .windows import FrictionLaw, Motion, WindowSettings, energy_windows, motion_of, stack

_MIN_EXCESS = 6.0  # standard deviations
_MAX_ERROR = 0.25  # held-out error, as a share of the efforts, of joints that tell of contacts
_SECOND_RATIO = 3.0  # standard deviations, that a second joint must feel
_SLOW_SHARE = 0.2  # share of the usual speed, below which the sign of dry friction is uncertain
_EFFORT_PERIOD = 0.01  # s, between the efforts that are compared
_CONTACT_GAP = 0.3  # s, within which two excesses are one contact
_SHORTEST_CONTACT = 0.05  # s
_SMALL_EFFORT = 0.02  # share of the largest, below which a wrong load alone contradicts them
_MAX_OFFSET_SHARE = 0.5  # share of the efforts of a joint that no offset of its friction reaches
_GAIN_TOLERANCE = 0.3  # by which a gain may differ from one
_NEAR_END = 0.01  # share of the range of a joint, within which it may be at its end
_MAX_CONTACT_SHARE = 0.3  # of a recording; what lasts longer is a wrong model


@dataclass(frozen=True)
class Finding:
    """One thing that a recording tells.

    Attributes:
        kind: efforts, payload, sign (also of a zero), gravity, disagreement, contact or stop.
        text: a sentence.
        evidence: numbers that support it, by name.
        begin, end: times of a contact, s.
        energy: that a contact brought, J; negative if it took some.
        remedy: what to do, in sentences.
    """

    kind: str
    text: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    begin: float | None = None
    end: float | None = None
    energy: float | None = None
    remedy: str = ""

    def as_dictionary(self) -> dict[str, object]:
        """Return the finding ready for JSON."""
        times = {"begin": self.begin, "end": self.end, "energy": self.energy}
        interval = {name: value for name, value in times.items() if value is not None}
        texts = {"kind": self.kind, "text": self.text, "remedy": self.remedy}
        return {**texts, "evidence": dict(self.evidence), **interval}


def contacts(
    model: VMSModel,
    motions: Sequence[Motion],
    identification: Identification,
    friction: FrictionLaw | None = None,
) -> tuple[Finding, ...]:
    """Return the contacts of a recording, of which the motions are parts, in the order of time.

    The efforts are compared with those of the model with all that was identified. A contact begins
    where a joint differs by six standard deviations, by the median of the deviations, from what it
    differs by most of the time; a robust measure, as contacts are rare. Its energy is what the
    balance of the windows lacks meanwhile, more than in as long a time without a contact.
    """
    settings = WindowSettings(identification.frame, identification.length, friction)
    unknowns = identification.unknowns
    pairs = zip(unknowns, identification.consistent, strict=True)
    if any(u.kind == "gains" and abs(x - 1.0) > _GAIN_TOLERANCE for u, x in pairs):
        return ()  # the regression holds for gains about one
    regressor, parts = EnergyRegressor(model), []
    for motion in motions:
        stride = max(1, round(_EFFORT_PERIOD / float(np.median(np.diff(motion.samples.t)))))
        parts.append(torque_windows(model, motion, unknowns, settings, stride))
    windows = stack([energy_windows(model, regressor, m, unknowns, settings) for m in motions])
    unaccounted = windows.target - windows.columns @ identification.consistent
    rows, n = stack(parts), model.n
    t, part_numbers = rows.begin[::n], rows.recording[::n]
    error = ((rows.target - rows.columns @ identification.consistent) * rows.gross).reshape(-1, n)
    is_calm = np.ones(len(t), dtype=bool)
    for begin, end in identification.disturbed:
        is_calm &= (t < begin) | (t > end)
    excess = error - np.median(error[is_calm], axis=0)
    # Of a joint at rest the noise alone would be too small.
    rms = np.sqrt(np.mean(rows.gross.reshape(-1, n) ** 2, axis=0))
    deviation = np.median(np.abs(excess[is_calm]), axis=0)
    effort_noise = 1.4826 * deviation + 0.01 * rms + 0.003 * np.max(rms)
    # Of a slow joint dry friction may be anything between both signs.
    estimates = {u.name: x for u, x in zip(unknowns, identification.consistent, strict=True)}
    coulomb = np.array([estimates.get(f"friction.{j}.coulomb", 0.0) for j in model.joint_names])
    stamps, velocity = (
        np.concatenate(x) for x in zip(*((m.samples.t, m.v) for m in motions), strict=True)
    )
    speed = np.abs(velocity[np.searchsorted(stamps, t), model.b :])
    is_slow = speed < _SLOW_SHARE * np.sqrt(np.mean(speed**2, axis=0))
    ratio = np.maximum(np.abs(excess) - 2.0 * coulomb * is_slow, 0.0) / effort_noise
    is_held = is_slow & (excess * _ends(model, motions, t) > 0.0)  # by a stop, as it presses on it
    # None goes on over a gap between two parts.
    is_exceeded = (ratio.max(axis=1) > _MIN_EXCESS) & (np.diff(part_numbers, prepend=0.0) == 0.0)
    spans = _intervals(t + 2.0 * _CONTACT_GAP * part_numbers, is_exceeded)
    in_spans = [(windows.end > t[a]) & (windows.begin < t[b - 1]) for a, b in spans]
    is_elsewhere = ~np.any([np.zeros(len(windows), bool), *in_spans], axis=0)
    lacking = np.cumsum(np.append(0.0, unaccounted * is_elsewhere))
    found_contacts, duration = [], 0.0
    for (first, last), is_within in zip(spans, in_spans, strict=True):
        peaks = ratio[first:last].max(axis=0)
        joint = int(np.argmax(peaks))
        name, begin, end = model.joint_names[joint], float(t[first]), float(t[last - 1])
        held_out_error = identification.error.get(name, (np.inf, np.inf))[0]
        peak = first + int(np.argmax(ratio[first:last, joint]))
        is_stop, is_alone = bool(is_held[peak, joint]), np.sort(peaks)[-2:-1] < _SECOND_RATIO
        if not is_stop and (held_out_error > _MAX_ERROR or is_alone.any()):
            continue  # what one joint feels alone is its own, such as friction that fits badly
        numbers = {"largest_effort": excess[peak, joint], "standard_deviations": ratio[peak, joint]}
        evidence = {label: float(number) for label, number in numbers.items()}
        if is_stop:
            text = f"{name} seems to press on its stop between {begin:.2f} s and {end:.2f} s, with "
            unit = "N" if model.joints.prismatic[joint] else "N m"
            text += f"up to {abs(excess[peak, joint]):.2g} {unit}"
            found_contacts.append(Finding("stop", text, evidence, begin, end))
            continue
        # The balance of energy is exact from window to window, while errors of many joints add up.
        energy, count = -float(np.sum(unaccounted[is_within])), np.count_nonzero(is_within)
        # As long a time without a contact must lack less.
        if abs(energy) <= np.abs(lacking[count:] - lacking[: lacking.size - count]).max():
            continue
        text = (
            f"what looks like a contact between {begin:.2f} s and {end:.2f} s "
            f"{'brought' if energy >= 0.0 else 'took'} {abs(energy):.2g} J; {name} felt it most"
        )
        found_contacts.append(Finding("contact", text, evidence, begin, end, energy))
        duration += end - begin
    is_wrong_model = len(t) and duration > _MAX_CONTACT_SHARE * (t[-1] - t[0])
    return () if is_wrong_model and not identification.disturbed else tuple(found_contacts)


def _ends(model: VMSModel, motions: Sequence[Motion], t: Array) -> Array:
    """Return 1 where joints are at their upper ends, -1 at their lower, else 0, (T,n), at times."""
    if model.nq - model.nq_base != model.n:  # continuous joints, which have no ends
        return np.zeros((len(t), model.n))
    stamps = np.concatenate([motion.samples.t for motion in motions])
    joint_positions = np.concatenate([m.samples.q for m in motions])[np.searchsorted(stamps, t)]
    lower, upper = model.joints.lower, model.joints.upper
    # From 0 to 1, or NaN without ends.
    range_share = (joint_positions[:, model.nq_base :] - lower) / (upper - lower)
    return 1.0 * (range_share > 1.0 - _NEAR_END) - 1.0 * (range_share < _NEAR_END)


def _intervals(t: Array, exceeded: Array) -> list[tuple[int, int]]:
    """Return the first and the last index plus one of the intervals, joined across short gaps."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], exceeded.astype(int), [0]]))).reshape(-1, 2)
    intervals: list[list[int]] = []
    for first, last in edges.tolist():
        if intervals and t[first] - t[intervals[-1][1] - 1] < _CONTACT_GAP:
            intervals[-1][1] = last
        else:
            intervals.append([first, last])
    return [(a, b) for a, b in intervals if t[b - 1] - t[a] >= _SHORTEST_CONTACT]


# rad, by which gravity must point elsewhere; a longer or shorter one is a load.
_GRAVITY_TURN = 0.15
_GRAVITY_SIZE = 0.1  # share by which the length of gravity may seem another
_MODEL_ERROR = 0.05  # share of the efforts below which the model is not wrong
_SUSPECT_COUNT = 3  # joints whose efforts may be swapped: those that fit worst
_INSTANT_COUNT = 800  # at which signs and gravity are compared
# Distance of a load from zero in halves of its interval: what is reported unasked must be certain.
_MIN_DISTANCE = 1.6
_SEPARATION = 0.5  # of both half intervals, by which those that disagree are apart
_MIN_EFFORT_SHARE = 1e-3  # of the efforts of a joint; less friction disagrees with nothing
# A change of the model is found if it reduces the residuals to this share.
_BETTER_SHARE = 0.6
_MAX_SIGN_ERROR = 0.25  # of the efforts, that another sign may leave


def findings(
    model: VMSModel,
    samples: MotionSamples | Sequence[MotionSamples],
    identification: Identification,
    friction: FrictionLaw | None = None,
) -> tuple[Finding, ...]:
    """Return what a recording tells of the model.

    Args:
        model: the model that it was compared with.
        samples: the recording, or its parts between gaps in the order of time.
        identification: of the payload and of friction, from this recording.
        friction: the law of friction that was given to the identification, if any.
    """
    reasons = {parameter.reason for parameter in identification.parameters}
    refusals = [text for text in reasons if text.startswith((NO_TORQUES, UNSURE_GAINS))]
    if any(text.startswith(NO_TORQUES) for text in refusals):  # nothing else can be told before
        return (Finding("efforts", refusals[0]),)
    parts = [samples] if isinstance(samples, MotionSamples) else samples
    motions = [motion_of(model, part) for part in parts]
    if any(unknown.kind == "gains" for unknown in identification.unknowns) and model.fluid is None:
        motions = [with_described_load(model, m, identification.length) for m in motions]
    in_motion = [motion for motion in motions if motion.moves]
    model_findings = _model_errors(model, in_motion, identification, friction) if in_motion else ()
    # Contacts cannot be told from a model that explains little.
    if model_findings or refusals:
        return model_findings or (Finding("efforts", refusals[0]),)
    torque_rms = np.sqrt(np.mean(np.concatenate([part.torque for part in parts]) ** 2, axis=0))
    rms = dict(zip(model.joint_names, torque_rms, strict=True))
    contradictions = _contradictions(identification, rms)
    further_findings = (*_payload(model, identification), *_disagreements(identification, rms))
    if contradictions:  # what looks like a contact may be what is wrong
        return (*contradictions, *further_findings)
    return (*further_findings, *contacts(model, motions, identification, friction))


def _contradictions(
    identification: Identification, rms: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Return the joints that contradict the model, or whose friction is none that joints have."""
    left_out = {p.joint for p in identification.parameters if p.reason.startswith(LEFT_OUT)}
    joints = {joint for joint in left_out if rms[joint] > _SMALL_EFFORT * max(rms.values())}
    has_gains = any(u.kind == "gains" for u in identification.unknowns)
    for p in () if has_gains else identification.claims:
        is_large = abs(p.value or 0.0) > _MAX_OFFSET_SHARE * rms.get(p.joint, np.inf)
        if p.name.endswith(".offset") and is_large and not p.contains(0.0):
            joints.add(p.joint)
    text = (
        f"the efforts of {', '.join(sorted(joints))} contradict the model: check their columns, "
        "sign, gear ratio and zero, and the load, in this order"
    )
    contradictions = [Finding("efforts", text, {"joints": float(len(joints))})] if joints else []
    if scaled := identification.scaled:
        factors = ", ".join(f"{gain:.2g} at {joint}" for joint, gain in scaled.items())
        text = (
            f"the efforts look scaled, by the factors {factors} that the model asks for: try "
            "--identify gains,friction"
        )
        contradictions.append(Finding("efforts", text, scaled))
    return tuple(contradictions)


def _payload(model: VMSModel, identification: Identification) -> tuple[Finding, ...]:
    mass = next((p for p in identification.parameters if p.name == "payload_mass"), None)
    if mass is None or mass.value is None or mass.low is None or mass.high is None:
        return ()
    if abs(mass.high + mass.low) < _MIN_DISTANCE * (mass.high - mass.low) or not mass.is_sure:
        return ()
    frame = identification.frame
    load_text, remedy = f"{mass.value:.4g} kg at {frame} ({mass.low:.4g} to {mass.high:.4g} kg)", ""
    if mass.value > 0.0:
        text = f"the robot seems to carry {load_text}, which is not in the model"
        remedy = (
            "If it belongs there, run this audit again with --identify payload,friction --out DIR, "
            "which writes a URDF with it. If not, remove it from the robot."
        )
    else:
        links = _link_names(model, frame, -mass.high, -mass.low)
        without_links = f"without {links}" if links else "with less mass"
        text = f"this recording fits better {without_links}: {load_text}"
    evidence = {n: getattr(mass, n) for n in ("value", "low", "high")}
    evidence |= {n: getattr(identification, n) for n in ("unaccounted_before", "unaccounted")}
    return (Finding("payload", text, evidence, remedy=remedy),)


def _disagreements(identification: Identification, rms: Mapping[str, float]) -> tuple[Finding, ...]:
    """Return that torques and energies find different parameters, if they surely do."""
    limits = {f"friction.{joint}": _MIN_EFFORT_SHARE * effort for joint, effort in rms.items()}
    by_energy = identification.energy
    names = [
        p.name
        for p in identification.claims
        if p.name in by_energy
        and p.kind != "timing"
        and not p.overlaps(
            by_energy[p.name], _SEPARATION, limits.get(p.name.rpartition(".")[0], 0.0)
        )
    ]
    if not names:
        return ()
    text = (
        f"torques and energies disagree about {', '.join(names)}: something that both assume does "
        "not hold, mostly the law of friction"
    )
    return (Finding("disagreement", text, {"parameters": float(len(names))}),)


def _link_names(model: VMSModel, frame: str, least_mass: float, largest_mass: float) -> str:
    """Return the links behind a frame whose mass lies in an interval, as words."""
    pinocchio = model.tree.pinocchio
    index = model.frame_id(frame)
    if pinocchio.frames[index].parentJoint == 0:
        return ""
    subtree = {index}
    for i, other in enumerate(pinocchio.frames):
        if i != index and other.parentFrame in subtree:
            subtree.add(i)
    # Pinocchio keeps the inertia of a link behind a fixed joint at the frame of that joint.
    frame_masses = {i: pinocchio.frames[i].inertia.mass for i in sorted(subtree)}
    link_masses = {
        _link_at(pinocchio.frames, i): mass for i, mass in frame_masses.items() if mass > 1e-9
    }
    if not link_masses or not least_mass <= sum(link_masses.values()) <= largest_mass:
        return ""
    names = list(link_masses)
    further_links = f" and what is on it ({', '.join(names[1:])})" if names[1:] else ""
    return f"{names[0]}{further_links}, {sum(link_masses.values()):.2f} kg"


def _link_at(frames: Any, frame: int) -> str:
    """Return the link at a frame, or behind a fixed joint."""
    start_frame, body = frames[frame], pin.FrameType.BODY
    links = (child for child in frames if child.parentFrame == frame and child.type == body)
    return str((start_frame if start_frame.type == body else next(links, start_frame)).name)


def _model_errors(
    model: VMSModel,
    motions: Sequence[Motion],
    identification: Identification,
    friction: FrictionLaw | None,
) -> tuple[Finding, ...]:
    """Return signs that are opposite, swapped efforts or another gravity, if they fit better.

    What is compared are errors of the torque regression on held-out time, with friction and a load
    fitted, as these must not pass for another sign or gravity. The effort of the joint itself, on
    which its sign bears most, must fit better too.
    """
    if model.fluid is not None:  # buoyancy would turn with gravity
        return ()
    settings = WindowSettings(identification.frame, identification.length, friction)
    candidates = [u for u in identification.unknowns if u.kind not in ("inertia", "armature")]
    has_gains = any(candidate.kind == "gains" for candidate in candidates)
    if not any(u.kind == "payload" for u in candidates):
        candidates += load_unknowns(model)
    stride = max(1, sum(len(motion.samples) for motion in motions) // _INSTANT_COUNT)

    def errors_of(motions: Sequence[Motion], has_tilt: bool = False) -> tuple[float, Array, Array]:
        parts = [torque_windows(model, motion, candidates, settings, stride) for motion in motions]
        rows, unknowns = stack(parts), candidates
        if has_tilt:
            pairs = zip(motions, parts, strict=True)
            columns = [_gravity_columns(model, m, part.begin) for m, part in pairs]
            gravity_columns = np.concatenate(columns) / rows.gross[:, None]
            rows = replace(rows, columns=np.hstack([rows.columns, gravity_columns]))
            unknowns = [*candidates, *(Unknown(a, "gravity", "m/s^2", 0.0, 10.0) for a in "xyz")]
        errors, _, solution = torque_error(rows, model.n, *prior_of(unknowns))
        return float(np.sqrt(np.mean(errors**2))), errors, solution[-3:]

    error_before, joint_errors, _ = errors_of(motions)
    if error_before < _MODEL_ERROR:
        return ()
    worst_joints = sorted(np.argsort(joint_errors)[-_SUSPECT_COUNT:].tolist())
    for pair in [] if has_gains else map(list, combinations(worst_joints, 2)):
        error_after, errors, _ = errors_of([_with_swapped_efforts(m, pair) for m in motions])
        if (errors[pair] < _MAX_SIGN_ERROR * np.minimum(joint_errors[pair], 1.0)).all():
            names = " and ".join(model.joint_names[k] for k in pair)
            text = f"the efforts of {names} seem to be swapped"
            remedy = "Swap them in the file, the driver, or a column map (--propose writes one)."
            evidence = {"error_before": error_before, "error": error_after}
            return (Finding("sign", text, evidence, remedy=remedy),)
    trials = []
    # Gains have the signs of the efforts; a position in cosine and sine has none.
    mistakes = [mistake for mistake in _MISTAKES if not (has_gains and "effort" in mistake)]
    if model.nq - model.nq_base != model.n:
        mistakes = [mistake for mistake in mistakes if mistake == _SIGN_TEXT.format("effort")]
    for (j, joint), mistake in product(enumerate(model.joint_names), mistakes):
        if model.joints.prismatic[j] and _MISTAKES[mistake][1]:
            continue  # degrees
        error_after, errors, _ = errors_of([_correct_motion(model, m, j, mistake) for m in motions])
        trials.append((error_after, j, f"{joint}: {mistake}", errors[j]))
    best_error, j, text, own_error = min(trials, default=(np.inf, 0, "", np.inf))
    # Of two joints that explain the recording as well, neither is told.
    other_errors = [error for error, other_joint, *_ in trials if other_joint != j]
    is_clear = best_error < min(_BETTER_SHARE * min([error_before, *other_errors]), _MAX_SIGN_ERROR)
    error_after, _, gravity_change = errors_of(motions, has_tilt=True)
    gravity, g_norm = model.gravity + gravity_change, float(np.linalg.norm(model.gravity))
    sine = float(np.linalg.norm(np.cross(model.gravity, gravity)))
    angle = float(np.arctan2(sine, model.gravity @ gravity))
    is_rotated = angle > _GRAVITY_TURN
    # A robot that is mounted otherwise turns gravity, and makes it neither longer nor shorter.
    is_rotated &= abs(float(np.linalg.norm(gravity)) - g_norm) < _GRAVITY_SIZE * g_norm
    if error_after < _BETTER_SHARE * min(best_error, error_before) and is_rotated:
        components = " ".join(f"{g:.2f}" for g in gravity * g_norm / np.linalg.norm(gravity))
        text = f"the base seems to be tilted by {np.degrees(angle):.0f} degrees"
        remedy = (
            "If it is mounted like that on purpose, run this audit again with --gravity "
            f"'{components}'. If not, level it."
        )
        evidence = {"error_before": error_before, "error": error_after}
        evidence |= {f"gravity_{a}": float(g) for a, g in zip("xyz", gravity, strict=True)}
        return (Finding("gravity", text, evidence, remedy=remedy),)
    if is_clear and own_error < _BETTER_SHARE * joint_errors[j]:
        return (Finding("sign", text, {"error_before": error_before, "error": best_error}),)
    return ()


def _gravity_columns(model: VMSModel, motion: Motion, times: Array) -> Array:
    """Return the efforts that hold the weight per component of gravity, (R,3), at times (R,)."""
    n, b, tree = model.n, model.b, model.tree
    instants = np.searchsorted(motion.samples.t, times[::n])
    columns = np.empty((len(instants), n, 3))
    for axis, direction in enumerate(np.eye(3)):
        pinocchio = tree.pinocchio.copy()
        pinocchio.gravity.linear = direction
        data = pinocchio.createData()
        for row, k in enumerate(instants):
            q_full = tree.full_configuration(motion.samples.q[k])
            weight = pin.computeGeneralizedGravity(pinocchio, data, q_full)
            columns[row, :, axis] = tree.restrict(weight)[b:]
    return columns.reshape(-1, 3)


def _with_swapped_efforts(motion: Motion, pair: Sequence[int]) -> Motion:
    """Return the motion with the efforts of two joints in each other's place."""
    torque, effort = motion.torque.copy(), motion.effort.copy()
    for efforts in (torque, effort):
        efforts[:, pair] = efforts[:, pair[::-1]]
    return replace(motion, torque=torque, effort=effort)


_SIGN_TEXT = "the sign of its {} is opposite to that of the model"
_ZERO_TEXT = "its zero is off by about {} degrees from that of the model"
# What may be wrong of a joint, with the factor of its position, degrees, and factor of its effort
# that mend it.
_MISTAKES = {
    _SIGN_TEXT.format("effort"): (1.0, 0.0, -1.0),
    _SIGN_TEXT.format("position"): (-1.0, 0.0, 1.0),
    _SIGN_TEXT.format("position and effort"): (-1.0, 0.0, -1.0),
    **{_ZERO_TEXT.format(angle): (1.0, -angle, 1.0) for angle in (90, -90, 180)},
}


def _correct_motion(model: VMSModel, motion: Motion, j: int, mistake: str) -> Motion:
    """Return the motion with another sign or zero of a joint."""
    position_sign, zero_angle, effort_sign = (np.ones(model.n) for _ in range(3))
    position_sign[j], zero_angle[j], effort_sign[j] = _MISTAKES[mistake]
    step, v, q = motion.step.copy(), motion.v.copy(), motion.samples.q.copy()
    if mistake != _SIGN_TEXT.format("effort"):
        for columns in (step[:, model.b :], v[:, model.b :], q[:, model.nq_base :]):
            columns *= position_sign
        q[:, model.nq_base + j] += np.deg2rad(zero_angle[j])
    motion = replace(motion, step=step, v=v, rate=motion.rate * position_sign)
    motion = replace(motion, torque=motion.torque * effort_sign, effort=motion.effort * effort_sign)
    return replace(motion, samples=replace(motion.samples, q=q))
