# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The report of a recorded run: its energy balance, and its energies in the parts of its law."""

from collections.abc import Iterator

import numpy as np

from .run_record import RunRecord

_WIDTH = 22


def report(run: RunRecord) -> Iterator[str]:
    """Return the lines of the report; the parts of a sum are indented and add up to it."""
    yield f"recorded  {run.seconds:.2f} s, {len(run.energy['time'])} energy messages"
    yield "energy balance, from the start to the end"
    yield from _sum("stored", run.power["stored"][-1], balance(run))
    yield "energy of the robot, at the end"
    ends = {name: values[-1] for name, values in run.robot_energies.items()}
    yield from _sum("total", run.energy["total"][-1], ends)
    if run.control:
        yield "energy of the closed loop, at the end"
        ends = {name: values[-1] for name, values in run.law_energies.items()}
        yield from _sum("total", run.control["closed_loop_energy"][-1], ends)
    yield f"largest power-balance residual  {run.largest_residual:.3e} W"
    yield f"unaccounted energy                {run.unaccounted_energy:+.3e} J"


def balance(run: RunRecord) -> dict[str, float]:
    """Return the parts of the stored energy, J: supplied by ports, dissipated, unaccounted."""
    parts = {port: run.port_energies[port][-1] for port in run.shown_ports}
    parts["friction"] = -run.power["dissipated_energy"][-1]
    parts["unaccounted"] = run.unaccounted_energy
    return {name: float(value) for name, value in parts.items()}


def _sum(name: str, total: float, parts: dict[str, float]) -> Iterator[str]:
    yield f"  {name:<{_WIDTH}}{_joules(total)}"
    for part, value in parts.items():
        yield f"    {part:<{_WIDTH - 2}}{_joules(value)}"


def _joules(value: float) -> str:
    # Zero has no sign of its own.
    return f"{round(value, 6) + 0.0:+.6f} J" if np.isfinite(value) else "not defined"
