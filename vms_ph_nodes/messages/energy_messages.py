# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of energies, momenta, powers, port energies, certificates and commands of laws."""

from dataclasses import fields

from geometry_msgs.msg import Twist
from std_msgs.msg import Header
from vms_ph.msg import ControllerState, Energy, EnergyCertificate, Momentum, PortEnergy, Power

from vms_ph_controllers import Command, ControlEnergy
from vms_ph_controllers.guard import Certificate, GuardedCommand, GuardedEffort
from vms_ph_dynamics import Evaluation, PositionTask, StateError, momenta
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies
from vms_ph_dynamics.energy.task_exchange import Exchange, energy_parts
from vms_ph_dynamics.evaluation import in_space
from vms_ph_dynamics.forms import PORTS
from vms_ph_io.energy_fields import port_energy_fields, power_fields

from .conversions import to_point, to_vector

# Largest port energy of a message, J; sums of such energies cannot overflow.
_LARGEST_ENERGY = 1e30


def to_energy(header: Header, d: Evaluation, task: PositionTask) -> Energy:
    """Return the energies of a state, split into base and shape, and into task and null space."""
    return Energy(header=header, **energy_parts(d, task))


def to_momentum(header: Header, base_frame: str, d: Evaluation) -> Momentum:
    """Return the momenta of a state."""
    momentum = momenta(d)
    linear, angular = in_space(d.model.b, d.p)
    velocity, angular_velocity = in_space(d.model.b, d.v_hat)
    return Momentum(
        header=header,
        base_frame=base_frame,
        linear=to_vector(momentum.spatial[:3]),
        spatial_angular=to_vector(momentum.spatial[3:]),
        centroidal_angular=to_vector(momentum.centroidal[3:]),
        centre_of_mass=to_point(momentum.centre_of_mass),
        base_linear=to_vector(linear),
        base_angular=to_vector(angular),
        locked_velocity=Twist(linear=to_vector(velocity), angular=to_vector(angular_velocity)),
        joint_names=list(d.model.joint_names),
        joint_momentum=d.pi.tolist(),
        shape_momentum=d.pi_hat.tolist(),
    )


def to_power(header: Header, sample: EnergySample, audit: EnergyAudit, exchange: Exchange) -> Power:
    """Return the port powers of a sample and the energy balance up to it."""
    return Power(header=header, **power_fields(sample, audit, exchange))


def to_port_energy(header: Header, energies: PortEnergies) -> PortEnergy:
    """Return the energy that has crossed each port."""
    return PortEnergy(header=header, **port_energy_fields(energies))


def from_port_energy(message: PortEnergy) -> PortEnergies:
    """Return the port energies of a message.

    Raises:
        StateError: an energy is not finite or above any that occurs.
    """
    supplied_energy = {port: getattr(message, port) for port in PORTS}
    supplied_energy.update(zip(message.tool_names, message.tool_energy, strict=False))
    energies = [*supplied_energy.values(), message.dissipated]
    if not all(abs(energy) <= _LARGEST_ENERGY for energy in energies):
        raise StateError(
            f"port energies must be finite and at most {_LARGEST_ENERGY:g} J; given: {energies}"
        )
    return PortEnergies(supplied_energy, message.dissipated, message.resets)


def to_certificate(
    header: Header, certificate: Certificate, guard_output: GuardedEffort | GuardedCommand
) -> EnergyCertificate:
    """Return a certificate, with what the guard does now, as a message."""
    names = EnergyCertificate.get_fields_and_field_types()
    numbers = {f.name: getattr(certificate, f.name) for f in fields(certificate) if f.name in names}
    return EnergyCertificate(
        header=header,
        status=int(guard_output.status),
        reason=guard_output.reason,
        verdict=certificate.verdict,
        **{**numbers, "ports": list(certificate.ports)},
    )


ENERGY_FIELDS = tuple(field.name for field in fields(ControlEnergy))
"""The fields of the energy record; the message uses the same names."""

# Fields of a command that are published in other messages, or have another type in this one.
_OTHER_FIELDS = ("wrench_base", "torque", "energy", "status")

COMMAND_FIELDS = tuple(field.name for field in fields(Command) if field.name not in _OTHER_FIELDS)
"""The fields of a command for which the message uses the same names."""


def to_controller_state(header: Header, command: Command) -> ControllerState:
    """Return a command as a message."""
    return ControllerState(
        header=header,
        status=int(command.status),
        **{name: getattr(command, name) for name in COMMAND_FIELDS},
        **{name: getattr(command.energy, name) for name in ENERGY_FIELDS},
    )
