# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The entries of an energy balance, whose parts add up to the stored energy."""

from typing import NamedTuple

from vms_ph_dynamics.energy.recorded_energies import DISSIPATED

from .audit import Audit


class Entry(NamedTuple):
    """One entry: name, energy (J, positive into the robot), and whether it is the sum."""

    name: str
    energy: float
    is_sum: bool = False


def balance(audit: Audit) -> list[Entry]:
    """Return the stored energy and its parts."""
    ledger = audit.ledger
    entries = [Entry("stored", ledger.stored, True)]
    if ledger.exact:
        entries += [
            Entry(name, energy)
            for name, energy in ledger.exact.items()
            if name != DISSIPATED and (energy or name == "torque")
        ]
    else:
        entries.append(Entry("joints (torque)", float(ledger.supplied_by_joint.sum())))
        entries += [
            Entry(audit.port_name(name), float(energy))
            for name, energy in zip(ledger.ports, ledger.supplied_by_port, strict=True)
        ]
    entries.append(Entry("friction and drag", 0.0 - ledger.dissipated))
    entries.append(Entry("unaccounted", ledger.unaccounted))
    if ledger.gaps and ledger.unobserved:
        entries.append(Entry("in gaps, not accounted", ledger.unobserved, True))
    return entries
