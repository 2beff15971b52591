# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an audit says: sentences to act on, one document of plain values, lines for a terminal."""

import shlex
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np

from vms_ph_dynamics.energy.ledger import Ledger
from vms_ph_dynamics.energy.legend import label_of

from ..installation import command_name
from ..recordings.conditioning import ADD_GAINS
from .energy_audit import Audit, balance

NO_PROBLEM = "No problem was found"
"""How the answers of an audit say that there is nothing to do."""

_OF_IDENTIFICATION = "--identify --also --reference --payload-frame --prior --load-friction"
_CLOSED_SHARE = 0.02  # share of gross that is left over where the balance closes
_DOUBT_SHARE = 0.05  # of gross, that a joint or noise may leave where the balance closes
_DOUBT_MISFIT = 0.5  # of the momentum balances, above which closed energies may be chance
_DOMINANT_SHARE = 60  # % of the residuals with which one joint is named alone
_FRICTION_SHARE = 0.5  # of the misfit of efforts, that friction may leave where it is named
_MAX_SENTENCES = 5
_STANDSTILL = 1e-3  # rad or m, of all motion, below which nothing moved


def answers(audit: Audit) -> list[str]:
    """Return two to five sentences: what was wrong, where, and what to do about it."""
    return list(_sentences(audit))[:_MAX_SENTENCES]


def asks_for_identification(audit: Audit) -> bool:
    """Return whether much energy is open, and the answers leave the cause to an identification."""
    is_open = audit.ledger.largest_unaccounted >= _CLOSED_SHARE * audit.ledger.exchanged
    return is_open and any("--identify payload" in sentence for sentence in answers(audit))


def _sentences(audit: Audit) -> Iterator[str]:
    ledger, meaning = audit.ledger, audit.conditioning.meaning
    share = ledger.largest_unaccounted / ledger.exchanged if ledger.exchanged else 0.0
    if notes := "; ".join(audit.recording.notes):
        yield f"Not all was read: {notes}. All below is of the {ledger.duration:.3f} s that were."
    is_empty = share >= _CLOSED_SHARE and not (ledger.gross or ledger.supplied)
    if not ledger.exchanged or is_empty or np.ptp(audit.q, axis=0).max() < _STANDSTILL:
        if ledger.joints:
            yield "The joints exchanged no energy: the recording has no efforts, or nothing moved."
            yield "Record efforts in N m while the robot moves."
        else:
            yield "No wrench of rotors or thrusters is recorded: what moved the robot is unknown."
            yield "Compute it from recorded speeds of the rotors (docs/audit.md, a flight)."
        return
    amount = _energy_text(ledger, ledger.largest_unaccounted)
    if joint_names := ", ".join(audit.conditioning.without_effort):
        if audit.conditioning.gains:
            yield f"No gain is given for the effort of {joint_names}: {amount} is unaccounted for."
            yield f"Do this: {ADD_GAINS}"
        else:
            yield f"No effort of joint '{joint_names}' was recorded: {amount} is unaccounted for."
            yield "Do this: make the driver publish it, record again, and audit that recording."
    threshold = _CLOSED_SHARE * ledger.exchanged
    facts = [f for f in audit.findings if f["kind"] != "contact" or abs(f["energy"]) > threshold]
    is_meaningful = meaning is None or meaning.beats_null
    facts = [f for f in facts if is_meaningful or f["kind"] != "efforts"]
    causes = []
    for text, remedy in ((str(fact["text"]), fact.get("remedy")) for fact in facts[:2]):
        causes += [_sentence(text), *([str(remedy)] if remedy else [])]
    is_within_band = ledger.largest_unaccounted <= ledger.band[-1]
    is_closed = share < _CLOSED_SHARE or is_within_band
    remedy = audit.conditioning.remedy(audit.model.joint_names)
    if remedy and is_meaningful and not is_closed:
        yield _sentence(f"{remedy.finding}: {amount} is unaccounted for")
        yield f"Do this: {command_line(audit, '--effort', remedy.option)}"
        yield from remedy.advice
        return
    yield from causes
    if is_closed:
        ports, noise = audit.other_energies, max(float(ledger.band[-1]), ledger.sampling_bound)
        is_different = abs(ledger.from_samples) > (limit := max(threshold, noise))
        balance_text = (
            f"at most {ledger.largest_unaccounted:.2g} J of {ledger.exchanged:.3g} J "
            f"({100 * share:.2g} %) is unaccounted for at any time"
        )
        if is_different:
            yield f"By its port energies the recording adds up: {balance_text}."
            if abs(ledger.from_samples - sum(ports.values())) <= limit:
                names = " and ".join(f"{label_of(name)} ({e:+.3g} J)" for name, e in ports.items())
                yield f"Positions and efforts lack the {names}, which explains their difference."
                yield f"{NO_PROBLEM}."
            else:
                yield from _joint_sentences(audit, "from_samples", "By positions and efforts ")
        elif reasons := ", and ".join(_doubts(audit)):
            yield f"Unsure, because {reasons}, though {balance_text}."
            action = "Check rate and clock, columns or topics and their units, and the robot."
            yield f"Do this: {command_line(audit, '--effort', remedy.option)}" if remedy else action
        elif ledger.joints and ledger.largest_unaccounted > max(3.0 * noise, 0.1 * threshold):
            source = "It is little, but more than noise: "
            if is_idle := audit.identified and not (causes or remedy or joint_names):
                source = f"{NO_PROBLEM} that needs action: "
            yield from _joint_sentences(audit, "unaccounted", source)
            if is_idle:
                yield "Do this: nothing. This is more than noise, but too little to matter."
        elif causes or remedy:
            if remedy:
                yield _sentence(remedy.finding)
                yield f"Do this: {command_line(audit, '--effort', remedy.option)}"
            yield f"The energy adds up: {balance_text}."
        else:
            yield f"{NO_PROBLEM}, and there is nothing to do."
            yield _sentence(balance_text)
    elif not is_meaningful and not any(fact["kind"] == "gravity" for fact in facts):
        yield (
            "Nothing can be said about the model: friction alone explains the efforts as well as "
            f"any reading of them. {amount} is unaccounted for."
        )
        yield "Check gravity (--identify payload,friction tells a tilt), description and columns."
    else:
        yield from _joint_sentences(audit, "unaccounted")
    is_explained = share < _CLOSED_SHARE or (meaning is not None and bool(meaning.bursts))
    for jump in () if is_explained else audit.energy_jumps[:1]:
        verb, cause = "appeared" if jump.energy > 0.0 else "vanished", "look there for a "
        cause += "contact, a joint stop, a person or a wrong clock"
        # What is left of a change is at most twice the largest energy that is left at any time.
        if (remainder := 2.0 * audit.identified.get("largest_unaccounted", np.inf)) < threshold:
            cause = f"with what --identify found, {remainder:.2g} J of it remain"
        times = f"Between {jump.begin:.1f} and {jump.end:.1f} s"
        yield f"{times} {abs(jump.energy):.2g} J {verb} at once: {cause}."


def _doubts(audit: Audit) -> Iterator[str]:
    """Say what contradicts a balance that closes: its parts cancel, or are not known."""
    ledger, meaning = audit.ledger, audit.conditioning.meaning
    limit, residuals = _DOUBT_SHARE * ledger.exchanged, ledger.series["residual_by_joint"]
    largest = np.abs(residuals - residuals[0]).max(axis=0)
    if largest.max() > limit:
        yield f"residuals cancel ({largest.max():.3g} J at {ledger.momenta[largest.argmax()]})"
    if ledger.band[-1] > limit:
        yield f"the noise of the signals leaves {ledger.band[-1]:.2g} J open"
    misfit = min(meaning.misfit[audit.conditioning.chosen_meaning]) if meaning else 0.0
    if misfit > _DOUBT_MISFIT:
        yield f"the efforts miss what the motion requires by {100 * misfit:.0f} %"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _energy_text(ledger: Ledger, energy: float) -> str:
    share = energy / ledger.exchanged
    share_text = f"{float(f'{100 * share:.3g}'):g} % of" if share < 1.0 else f"{share:.2g} times"
    ports = "joints" if ledger.joints else "ports"
    return f"{float(f'{energy:.3g}'):g} J ({share_text} the energy through the {ports})"


def command_line(audit: Audit, option: str, value: str) -> str:
    """Return the command of an audit with another option, as it is typed.

    Args:
        audit: the audit.
        option: such as ``--effort``.
        value: of the option, or one of the files that an identification leaves with the report; the
            command asks for the report where there is none.
    """
    typed_options = audit.options or (("", str(audit.recording.path)), ("...", ""))
    folder = dict(typed_options).get("--out", "")
    if value in ("friction.yaml", "identified.urdf"):
        option, value = (option, f"{folder}/{value}") if folder else ("--out", "report")
    changes = {option: value, **({"--out": f"{folder}/again"} if folder else {})}
    dropped_options = {*changes, *("" if option == "--out" else _OF_IDENTIFICATION).split()}
    pairs = [pair for pair in typed_options if pair[0] not in dropped_options] + [*changes.items()]
    return f"{command_name()} audit {shlex.join(word for pair in pairs for word in pair if word)}"


def _joint_sentences(audit: Audit, series: str, source: str = "") -> Iterator[str]:
    """Say why, how much and at which joint energy is unaccounted for.

    Args:
        audit: the audit.
        series: of the ledger, with the energy (K,), which is told where it is largest.
        source: words for where the energy is from.
    """
    ledger = audit.ledger
    energies, exchanged = np.abs(ledger.series[series]), ledger.exchanged
    instant = int(np.argmax(energies))
    energy = energies[instant]
    loss_text = f"{source}{_energy_text(ledger, energy)} is unaccounted for"
    if names := " and ".join(map(label_of, audit.other_energies)):
        yield f"{loss_text}."
        yield f"No joint is named: the forces of {names} are not recorded, and act on all."
        return
    if (meaning := audit.conditioning.meaning) is not None and meaning.bursts:
        misfit = 100 * min(meaning.misfit[meaning.reading])
        yield (
            f"From {meaning.burst_times} something seems to have touched, pushed or loaded the "
            "robot, or signals were lost."
        )
        yield (
            "Check what happened then. If it was intended, record its wrench too. If not, find its "
            f"cause, or leave that time out: the rest balances within {misfit:.2g} %."
        )
        yield f"{loss_text}."
        return
    residuals, balanced = ledger.series["residual_by_joint"], ledger.momenta
    changes = residuals[instant] - residuals[0]
    order = np.argsort(-np.abs(changes))
    row = int(order[0])
    percentages = 100 * np.abs(changes) / (np.abs(changes).sum() or 1.0)
    if balanced[row] not in ledger.joints:
        yield f"{loss_text}; it is missing at the base."
        yield "Look for drag, a wrench that is not recorded, and axes that are not those of ROS."
        return
    order = order[: 1 if percentages[row] > _DOMINANT_SHARE else 2]
    names, percent = " and ".join(balanced[k] for k in order), percentages[order].sum()
    if audit.findings and not audit.identified:  # they tell the cause
        yield f"{loss_text}."
        return
    loss_text += f", {percent:.0f} % of it at {names}."
    left = audit.identified.get("largest_unaccounted", 0.0)
    if balanced[row] in audit.conditioning.without_effort or left > 0.5 * energy:
        yield from [] if audit.conditioning.without_effort else [loss_text]
        return
    row = ledger.joints.index(balanced[row])
    changes = changes[-len(ledger.joints) :]
    joint, described, cause = ledger.joints[row], audit.model.joints, ""
    is_much = energy >= _CLOSED_SHARE * exchanged
    as_recorded, with_friction = meaning.misfit["torque"] if meaning else (0.0, 0.0)
    kinds = "payload,friction" if audit.friction[:4] in ("URDF", "none") else "payload"
    is_loss = changes[row] < 0.0 and "friction" in kinds  # that is not in a file of friction
    if is_much and is_loss and with_friction < _FRICTION_SHARE * as_recorded:
        cause = "The joints seem to have friction that the URDF lacks: "
    if audit.identified:
        sure_texts = [
            f'{name}="{p["value"]:.3g}" ({p["low"]:.3g} to {p["high"]:.3g} {p["unit"]})'
            for name, term in (("damping", "viscous"), ("friction", "coulomb"))
            if (p := audit.identified.get(f"friction.{joint}.{term}", {"low": 0.0}))["low"] > 0.0
            and not (p.get("meaning") or p["low"] <= getattr(described, name)[row] <= p["high"])
        ]
        meaning_text = audit.identified.get(f"friction.{joint}.viscous", {}).get("meaning", "")
        reason = f"none of {joint} is sure"
        if meaning_text.startswith("unsure"):
            reason = f"that of {joint} is {meaning_text}"
        option, file = "--friction", "friction.yaml"
        advice = "That counts the friction that was found. If it reports no problem, you are done. "
        advice += f"Do not put this friction into the URDF: {reason}."
        if is_much and sure_texts:
            cause = "The friction of the joints seems to differ from what the URDF says: "
            option, file = "--robot", "identified.urdf"
            advice = "If it reports no problem, use identified.urdf in place of your URDF. Only "
            advice += "friction that is surely not that of your URDF was changed, as at "
            advice += f"{joint}: {' and '.join(sure_texts)}."
        yield f"{cause}{loss_text}"
        if is_much and any(name.startswith("friction.") for name in audit.identified):
            yield f"Do this: {command_line(audit, option, file)}"
            yield advice
        if is_much:
            yield f"Counting all that was found, {left:.2g} J are left in the part that was fitted."
        return
    if meaning is not None and meaning.unrelated_joints.any():
        names = ", ".join(np.array(ledger.joints)[meaning.unrelated_joints])
        yield loss_text
        yield f"The model contradicts the efforts of {names}, so friction is not sought."
        yield "Check signs, zeros, gears, load, static friction and the tilt (--identify payload)."
        return
    yield f"{cause}{loss_text}"
    action = f"nothing, or seek its cause with --identify {kinds}."
    yield f"Do this: {command_line(audit, '--identify', kinds) if is_much else action}"
    if is_much and changes[row] >= 0.0:
        yield f"No passive part gives energy: check the sign, the unit and the load of {joint}."


def document(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain values for JSON; energies in J, times in s.

    What is not defined, such as a number that is not finite, is None.
    """
    return dict(_nonfinite_to_none(_document(audit)))


def _nonfinite_to_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _nonfinite_to_none(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_nonfinite_to_none(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _document(audit: Audit) -> dict[str, Any]:
    ledger, model = audit.ledger, audit.model
    jumps = [{**_fields(a, "begin end energy"), "shares": a.energies} for a in audit.energy_jumps]
    return {
        "answers": answers(audit),
        "recording": str(audit.recording.path),
        "kind": audit.recording.kind,
        "robot": model.name,
        "base": model.base,
        **_fields(ledger, "samples duration gaps gross unaccounted"),
        "unaccounted_interval": [ledger.unaccounted + sign * ledger.band[-1] for sign in (-1, 1)],
        "largest_unaccounted": {"value": ledger.largest_unaccounted, "time": ledger.largest_time},
        "unaccounted_from_samples": ledger.from_samples,
        "sampling_bound": ledger.sampling_bound,
        "exact_energies": bool(ledger.recorded),
        "friction": audit.friction,
        "ledger": {
            "joint": {
                name: {
                    "gross": float(ledger.gross_by_joint[k]),
                    "supplied": float(ledger.supplied_by_joint[k]),
                    "returned": float(-ledger.returned_by_joint[k]),
                    "dissipated": float(ledger.dissipated_by_joint[k]),
                    **_residuals(audit, name),
                }
                for k, name in enumerate(ledger.joints)
            },
            "base": _residuals(audit, "base") if model.b else None,
            "port": audit.port_energies,
            **_fields(ledger, "supplied dissipated stored unobserved unaccounted"),
        },
        "appearances": jumps,
        "passivity": [
            {"name": audit.port_name(supply.name), "net": supply.largest_supply}
            | _fields(supply, "time rise rise_begin rise_end violates")
            for supply in audit.port_supplies
        ],
        "conditioning": audit.conditioning.as_dictionary(model.joint_names),
        "damage": list(audit.recording.notes),
        "identified": dict(audit.identified),
        "findings": [dict(finding) for finding in audit.findings],
    }


def _fields(record: object, names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names.split()}


def _residuals(audit: Audit, name: str) -> dict[str, float]:
    ledger = audit.ledger
    row = ledger.momenta.index(name)
    residual, effort = ledger.residual_by_joint[row], ledger.residual_effort[row]
    return {"residual": float(residual), "residual_effort": float(effort)}


def lines(audit: Audit) -> Iterator[str]:
    """Return the lines of an audit for a terminal."""
    ledger, recording = audit.ledger, audit.recording
    yield from answers(audit)
    yield ""
    yield (
        f"recorded   {ledger.duration:.3f} s, {ledger.samples} samples of '{audit.model.name}' in "
        f"{recording.path.name} ({recording.kind})"
    )
    yield "energy balance, from the start to the end"
    for entry in balance(audit):
        indent = "  " if entry.is_sum else "    "
        yield f"{indent}{entry.name:<{32 - len(indent)}}{entry.energy:+.6g} J"
    yield f"gross      {ledger.gross:.6g} J (sum over the joints of the integral of |tau qdot|)"
    share = ledger.largest_unaccounted / ledger.exchanged if ledger.exchanged else 0.0
    yield (
        f"unaccounted {ledger.unaccounted:+.6g} J, 95 % within {ledger.band[-1]:.2g} J by noise "
        f"and sampling; largest {ledger.largest_unaccounted:.4g} J at {ledger.largest_time:.3f} s "
        f"({100 * share:.3g} % of the energy exchanged)"
    )
    if ledger.recorded:
        samples_text = f"{ledger.from_samples:+.4g} J, exact to {ledger.sampling_bound:.2g} J"
        yield f"           from the samples alone {samples_text}"
    width = max([20, *map(len, ledger.joints)])
    yield f"{'joint':<{width}}       gross    supplied  dissipated    residual (J), effort (friction: {audit.friction})"  # noqa: E501  one line of a table
    for k, name in enumerate(ledger.joints):
        row = ledger.momenta.index(name)
        yield (
            f"  {name:<{width}}{ledger.gross_by_joint[k]:>10.4g}"
            f"{ledger.supplied_by_joint[k]:>+12.4g}{ledger.dissipated_by_joint[k]:>12.4g}"
            f"{ledger.residual_by_joint[row]:>+12.4g}{ledger.residual_effort[row]:>10.3g} rms"
        )
    for jump in audit.energy_jumps[:8]:
        verb = "appeared" if jump.energy > 0.0 else "disappeared"
        parts = ", ".join(f"{name} {energy:+.3g} J" for name, energy in jump.energies.items())
        times = f"from {jump.begin:.2f} s to {jump.end:.2f} s"
        yield f"{times} {abs(jump.energy):.3g} J {verb}: {parts}"
    for supply in (supply for supply in audit.port_supplies if supply.violates):
        yield (
            f"passivity  {label_of(audit.port_name(supply.name))} had supplied "
            f"{supply.largest_supply:.3g} J more than it took at {supply.time:.2f} s: it is "
            "active, or the model lacks friction, a load or a contact"
        )
    yield "signals"
    for statement in audit.conditioning.statements(audit.model.joint_names):
        yield f"  {statement}"
