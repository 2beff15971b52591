# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Powers and energies at the ports by the names of the messages Power and PortEnergy."""

from math import nan
from typing import Any

from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies
from vms_ph_dynamics.energy.task_exchange import Exchange
from vms_ph_dynamics.forms import PORTS


def power_fields(sample: EnergySample, audit: EnergyAudit, exchange: Exchange) -> dict[str, Any]:
    """Return the port powers of a sample, W, and the energy balance up to it, J."""
    tools = [name for name in audit.port_energy if name not in PORTS]
    return {
        **{port: sample.power[port] for port in PORTS},
        "tool_names": tools,
        "tool_power": [sample.power.get(name, nan) for name in tools],
        "dissipated": sample.dissipated_power,
        "null_to_task": exchange.total,
        "null_to_task_g12": exchange.through_g12,
        **{f"{port}_energy": audit.port_energy[port] for port in PORTS},
        "tool_energy": [audit.port_energy[name] for name in tools],
        "dissipated_energy": audit.dissipated,
        "stored": audit.stored,
        "unaccounted_energy": audit.unaccounted_energy,
        "residual": audit.unaccounted_power,
        "exact_energies": audit.is_simulated,
    }


def port_energy_fields(energies: PortEnergies) -> dict[str, Any]:
    """Return the energy that has crossed each port, J."""
    tools = {name: e for name, e in energies.supplied.items() if name not in PORTS}
    return {
        **{port: energies.supplied[port] for port in PORTS},
        "tool_names": list(tools),
        "tool_energy": list(tools.values()),
        "dissipated": energies.dissipated,
        "resets": energies.resets,
    }
