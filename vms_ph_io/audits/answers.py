# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What an audit says to someone who has ten seconds: two to five sentences to act on."""

from collections.abc import Iterator

import numpy as np

from vms_ph_dynamics import Array

from .energy_audit import Audit

_CLOSED = 0.02  # share of gross that is left over where the balance closes
_MOSTLY = 0.6  # share of what is unaccounted with which one joint is named alone
_EXPLAINED = 0.7  # share of its variation that friction must explain at a joint
_MOST = 5


def answers(audit: Audit) -> list[str]:
    """Return two to five sentences: what was wrong, where, and what to do about it."""
    return list(_sentences(audit))[:_MOST]


def _sentences(audit: Audit) -> Iterator[str]:
    ledger, meaning = audit.ledger, audit.conditioning.meaning
    share = ledger.largest / ledger.gross if ledger.gross else 0.0
    if not ledger.gross:
        yield "The joints exchanged no energy: the recording has no efforts, or nothing moved."
        yield "Record efforts in N m while the robot moves."
        return
    if share < _CLOSED or ledger.largest <= ledger.band[-1]:
        yield (
            f"The energy adds up: of {ledger.gross:.3g} J that the joints exchanged, at most "
            f"{ledger.largest:.2g} J ({100 * share:.2g} %) is unaccounted for."
        )
        yield "There is nothing to mend in the model or the recording."
    elif meaning is not None and not meaning.fits:
        yield (
            "The recorded efforts are no torques of this robot: friction alone explains them as "
            "well as any reading of them, so the energies below mean nothing."
        )
        yield "Check which robot and which columns or topics they are."
    elif meaning is not None and meaning.best != audit.conditioning.chosen:
        yield (
            "The recorded efforts are not taken for what they are, so the energies below are "
            f"wrong: {audit.conditioning.remedy(audit.model.joint_names)}."
        )
        yield "Do that first, and audit again."
    else:
        yield from _vanished(audit, share)
    yield from (str(one["text"]).capitalize() + "." for one in audit.findings[:2])
    for appearance in audit.appearances[:1] if share >= _CLOSED else ():
        did = "appeared" if appearance.energy > 0.0 else "vanished"
        yield (
            f"Between {appearance.begin:.1f} and {appearance.end:.1f} s "
            f"{abs(appearance.energy):.2g} J {did} at once: look there for a contact, a person or "
            "a wrong clock."
        )


def _vanished(audit: Audit, share: float) -> Iterator[str]:
    """Say at which joint energy vanished or appeared, and whether it looks like friction."""
    ledger = audit.ledger
    joints = ledger.series["residual_by_joint"][
        :, [ledger.balanced.index(n) for n in ledger.joints]
    ]
    total = joints[-1] - joints[0]
    size = float(np.abs(total).sum()) or 1.0
    order = np.argsort(-np.abs(total))
    worst = int(order[0])
    did = "vanished" if total[worst] < 0.0 else "appeared from nowhere"
    amount = f"{abs(ledger.unaccounted):.3g} J, {100 * share:.2g} % of what the joints exchanged,"
    if abs(total[worst]) > _MOSTLY * size:
        part = 100 * abs(total[worst]) / size
        yield f"{amount} {did}, {part:.0f} % of it at {ledger.joints[worst]}."
    else:
        names = " and ".join(ledger.joints[k] for k in order[:2])
        yield f"{amount} is unaccounted for, most of it at {names}."
    coulomb, viscous, explained = _friction(audit, joints[:, worst], worst)
    unit = "N" if audit.model.joints.prismatic[worst] else "N m"
    if total[worst] < 0.0 and explained > _EXPLAINED:
        yield (
            f"It looks like friction of {coulomb:.2g} {unit} and {viscous:.2g} {unit} s/rad that "
            "the model lacks."
        )
        yield (
            f"Put this line into the joint '{ledger.joints[worst]}' of the URDF: <dynamics "
            f'damping="{viscous:.3g}" friction="{coulomb:.3g}"/>'
        )
    elif total[worst] < 0.0:
        yield (
            "It does not look like friction of that joint alone: see what --identify "
            "payload,friction finds."
        )
    else:
        yield (
            f"No passive part gives energy: check the sign and the unit of the effort of "
            f"{ledger.joints[worst]}, and the load."
        )


def _friction(audit: Audit, energy: Array, joint: int) -> tuple[float, float, float]:
    """Return Coulomb and viscous friction that dissipate an energy (K,), and their share of it."""
    model, time = audit.model, audit.ledger.time
    if model.nq - model.nq_base != model.n or len(time) < 20:
        return 0.0, 0.0, 0.0
    count = min(200, len(time) // 4)
    index = np.linspace(0, len(time) - 1, count + 1).astype(int)
    step = np.diff(audit.q[:, model.nq_base + joint])
    dt = np.maximum(np.diff(time), 1e-12)

    def summed(values: Array) -> Array:
        return np.diff(np.concatenate([[0.0], np.cumsum(values)])[index])

    columns = np.column_stack([summed(np.abs(step)), summed(step**2 / dt)])
    lost = -np.diff(energy[index])
    x = np.linalg.lstsq(columns, lost, rcond=1e-8)[0]
    if x.min() < 0.0:  # one of them alone
        k = int(np.argmax(x))
        x = np.where(np.arange(2) == k, columns[:, k] @ lost / (columns[:, k] @ columns[:, k]), 0.0)
    rest = float(((lost - columns @ x) ** 2).sum()) / max(float((lost**2).sum()), 1e-300)
    return float(x[0]), float(x[1]), 1.0 - rest
