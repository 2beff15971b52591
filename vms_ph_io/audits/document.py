# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An audit as one document of plain values, and as lines for a terminal."""

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

from vms_ph_dynamics.energy.legend import word

from .answers import answers
from .energy_audit import Audit, Entry, balance


def document(audit: Audit) -> dict[str, Any]:
    """Return an audit as plain values for JSON; energies in J, times in s.

    What is not defined, such as a number that is not finite, is None.
    """
    plain: dict[str, Any] = _finite(_document(audit))
    return plain


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _document(audit: Audit) -> dict[str, Any]:
    ledger, model, links = audit.ledger, audit.model, audit.links
    band = float(ledger.band[-1])
    return {
        "answers": answers(audit),
        "recording": str(audit.recording.path),
        "kind": audit.recording.kind,
        "robot": model.name,
        "base": model.base,
        "samples": ledger.samples,
        "duration": ledger.duration,
        "gaps": ledger.gaps,
        "gross": ledger.gross,
        "unaccounted": ledger.unaccounted,
        "unaccounted_interval": [ledger.unaccounted - band, ledger.unaccounted + band],
        "largest_unaccounted": {"value": ledger.largest, "time": ledger.largest_time},
        "unaccounted_from_samples": ledger.from_samples,
        "sampling_bound": ledger.sampling_bound,
        "exact_energies": bool(ledger.exact),
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
            "port": _ports(audit),
            "link": {
                name: {
                    "kinetic_change": float(kinetic[-1] - kinetic[0]),
                    "potential_change": float(potential[-1] - potential[0]),
                    "largest_kinetic": float(kinetic.max()),
                }
                for name, kinetic, potential in zip(
                    links.names, links.kinetic.T, links.potential.T, strict=True
                )
            },
            "supplied": ledger.supplied,
            "dissipated": ledger.dissipated,
            "stored": ledger.stored,
            "unobserved": ledger.unobserved,
            "unaccounted": ledger.unaccounted,
        },
        "appearances": [asdict(appearance) for appearance in audit.appearances],
        "passivity": [{**asdict(s), "name": audit.port_name(s.name)} for s in audit.supplies],
        "agreement": None if audit.agreement is None else asdict(audit.agreement),
        "conditioning": audit.conditioning.as_dictionary(model.joint_names),
        "damage": list(audit.recording.notes),
        "identified": dict(audit.identified),
        "findings": [dict(one) for one in audit.findings],
    }


def _residuals(audit: Audit, name: str) -> dict[str, float]:
    ledger = audit.ledger
    row = ledger.balanced.index(name)
    return {
        "residual": float(ledger.residual_by_joint[row]),
        "residual_effort": float(ledger.residual_effort[row]),
    }


def _ports(audit: Audit) -> dict[str, float]:
    ledger = audit.ledger
    ports = {"torque": float(ledger.supplied_by_joint.sum())}
    for name, energy in zip(ledger.ports, ledger.supplied_by_port, strict=True):
        ports[audit.port_name(name)] = float(energy)
    # What the recording itself contains is exact.
    recorded = {name: e for name, e in ledger.exact.items() if name in ports or e}
    return {**ports, **{name: e for name, e in recorded.items() if name != "dissipated"}}


def lines(audit: Audit) -> Iterator[str]:
    """Return the lines of an audit for a terminal."""
    ledger, recording = audit.ledger, audit.recording
    yield from answers(audit)
    yield ""
    yield (
        f"recorded   {ledger.duration:.3f} s, {ledger.samples} samples of '{audit.model.name}' in "
        f"{recording.path.name} ({recording.kind})"
    )
    for note in recording.notes:
        yield f"damage     {note}"
    yield _throughput(audit)
    yield "energy balance, from the start to the end"
    for entry in balance(audit):
        yield _line(entry)
    yield f"gross      {ledger.gross:.6g} J (sum over the joints of the integral of |tau qdot|)"
    share = ledger.largest / ledger.gross if ledger.gross else 0.0
    yield (
        f"unaccounted {ledger.unaccounted:+.6g} J, 95 % within {ledger.band[-1]:.2g} J by noise "
        f"and sampling; largest {ledger.largest:.4g} J at {ledger.largest_time:.3f} s "
        f"({100 * share:.3g} % of gross)"
    )
    if ledger.exact:
        yield (
            f"           from the samples alone {ledger.from_samples:+.4g} J; their quadrature is "
            f"exact to {ledger.sampling_bound:.2g} J"
        )
    if audit.agreement is not None:
        worst = max(audit.agreement.stored, audit.agreement.unaccounted)
        yield (
            f"live       {audit.agreement.instants} messages of the running energy monitor agree "
            f"within {worst:.2g} J"
        )
    yield f"joint                    gross    supplied  dissipated    residual (J), effort (friction: {audit.friction})"  # noqa: E501  one line of a table
    for k, name in enumerate(ledger.joints):
        row = ledger.balanced.index(name)
        yield (
            f"  {name[:20]:<20}{ledger.gross_by_joint[k]:>10.4g}"
            f"{ledger.supplied_by_joint[k]:>+12.4g}{ledger.dissipated_by_joint[k]:>12.4g}"
            f"{ledger.residual_by_joint[row]:>+12.4g}{ledger.residual_effort[row]:>10.3g} rms"
        )
    for appearance in audit.appearances[:8]:
        change = "appeared" if appearance.energy > 0.0 else "disappeared"
        where = ", ".join(f"{name} {energy:+.3g} J" for name, energy in appearance.shares.items())
        yield (
            f"from {appearance.begin:.2f} s to {appearance.end:.2f} s "
            f"{abs(appearance.energy):.3g} J {change}: {where}"
        )
    for supply in audit.supplies:
        if supply.violates:
            yield (
                f"passivity  {word(audit.port_name(supply.name))} had supplied "
                f"{supply.net:.3g} J more than it took at {supply.time:.2f} s; a passive neighbour "
                "cannot"
            )
    yield "signals"
    for statement in audit.conditioning.statements(audit.model.joint_names):
        yield f"  {statement}"


def _throughput(audit: Audit) -> str:
    recording = audit.recording
    reading, auditing = (max(recording.seconds.get(k, 0.0), 1e-9) for k in ("read", "audited"))
    size = recording.bytes / 1e6
    return (
        f"read       {size:.4g} MB in {reading:.3g} s ({size / reading:.3g} MB/s); audited in "
        f"{auditing:.3g} s, {audit.ledger.duration / auditing:.3g} times as fast as recorded"
    )


def _line(entry: Entry) -> str:
    indent = "  " if entry.is_sum else "    "
    return f"{indent}{entry.name:<{32 - len(indent)}}{entry.energy:+.6g} J"
