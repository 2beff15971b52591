# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A recorded run as the page shows it: poses, energy balance and findings over time."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_io.audits import Audit

from .sankey import Flow, Stream

_WINDOW = 0.2  # s, of which the powers of a flow are means

BALANCE = "energy balance"


@dataclass(frozen=True)
class Finding:
    """Something of a run to look at.

    Attributes:
        time: when it begins, s.
        text: what it is.
    """

    time: float
    text: str


class RecordedRun:
    """A run and its audit.

    Attributes:
        path: of the recording.
        audit: of the recording.
        description: URDF of the robot.
        findings: what the audit has found, in the order of time.
    """

    def __init__(self, path: Path, audit: Audit, description: str) -> None:
        self.path, self.audit, self.description = path, audit, description
        self.findings = _findings(audit)
        ledger = audit.ledger
        series = ledger.series
        joints = np.asarray(series["supplied_by_joint"]).sum(axis=1)
        ports = np.asarray(series["supplied_by_port"])
        self._sources = {"torque": joints} | {
            audit.port_name(port): ports[:, k] for k, port in enumerate(ledger.ports)
        }
        self._stores = {name: np.asarray(series[name]) for name in ("potential", "kinetic")}
        self._dissipated = series["dissipated_by_joint"].sum(axis=1) + series["drag"].sum(axis=1)

    @property
    def duration(self) -> float:
        """Time from the first to the last instant, s."""
        return float(self._time[-1] - self._time[0])

    @property
    def _time(self) -> Array:
        return np.asarray(self.audit.ledger.time)

    def configuration(self, time: float) -> Array:
        """Return the recorded configuration nearest to a time (s) since the first one, (nq,)."""
        log_time = time + self._time[0]
        k = int(np.clip(np.searchsorted(self._time, log_time), 1, len(self._time) - 1))
        k -= log_time - self._time[k - 1] < self._time[k] - log_time
        return np.asarray(self.audit.q[k])

    def flow(self, time: float) -> Flow:
        """Return the flow of energy in the time before a time (s) since the first instant.

        What the balance leaves is unaccounted for.
        """
        end = self._time[0] + max(time, _WINDOW)
        span = np.array([end - _WINDOW, end])

        def stream(name: str, series: Array) -> Stream:
            before, now = np.interp(span, self._time, series)
            return Stream(name, float(now - before) / _WINDOW, float(now))

        sources = [stream(name, energies) for name, energies in self._sources.items()]
        sinks = [stream(name, energies) for name, energies in self._stores.items()]
        sinks.append(stream("dissipated", self._dissipated))
        unaccounted = np.asarray(self.audit.ledger.series["unaccounted"])
        sources.append(stream("unaccounted", unaccounted))
        return Flow(tuple(sources), tuple(sinks), _WINDOW, "since 0 s")

    def curves(self, most: int) -> tuple[Array, dict[str, tuple[str, Mapping[str, Array]]]]:
        """Return the times since the first instant, and groups of curves by name.

        A group has the label of its axis and the curves by name: the energy balance, in J since
        the first instant, and those of the audit's report.

        Args:
            most: largest number of instants.
        """
        drawn = self.audit.curves(most)
        energy = drawn.groups["energy"][1]
        balance = {
            "stored": energy["stored"],
            "supplied": np.sum([energy[name] for name in self._sources], axis=0),
            "dissipated": -energy["dissipated"],
            "unaccounted": drawn.unaccounted,
        }
        groups = {
            f"{name}, as in the audit's report": group for name, group in drawn.groups.items()
        }
        return drawn.time - drawn.time[0], {BALANCE: ("J", balance)} | groups


def _findings(audit: Audit) -> tuple[Finding, ...]:
    begin = float(audit.ledger.time[0])
    findings = []
    for appearance in audit.appearances:
        where = next(iter(appearance.shares), "")
        change = "appeared" if appearance.energy > 0.0 else "disappeared"
        text = f"{abs(appearance.energy):.3g} J {change}" + (f" at {where}" if where else "")
        findings.append(Finding(max(appearance.begin - begin, 0.0), text))
    for supply in audit.supplies:
        if supply.violates:
            text = f"{supply.name} has supplied {supply.net:.3g} J beyond what it had taken"
            findings.append(Finding(max(supply.time - begin, 0.0), text))
    largest = audit.ledger
    findings.append(
        Finding(
            max(float(largest.largest_time) - begin, 0.0),
            f"largest unaccounted energy, {largest.largest:.3g} J",
        )
    )
    return tuple(sorted(findings, key=lambda finding: finding.time))
