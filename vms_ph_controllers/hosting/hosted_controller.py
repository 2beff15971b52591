# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A controller with flat arrays as interface, for hosts in other languages.

All methods run in one thread of the host. Exceptions of a controller are not caught here: the host
catches them and applies its safe output.
"""

import gc
import sys
import traceback
from collections.abc import Sequence
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from vms_ph_dynamics import Allocation, Array, Fluid, ImmersedBody, VMSModel, VmsPhError
from vms_ph_dynamics.actuation.fluid import WATER
from vms_ph_dynamics.arrays import frozen

from ..controller import Command, ControlEnergy, Reference, RobotState
from .loading import make_controller

ENERGIES = tuple(field.name for field in fields(ControlEnergy))
_SCALARS = ("task_error", "smallest_singular_value", "authority", "status")  # of a command


class Layout(dict[str, slice]):
    """Named slices of a flat array, one after the other.

    A host in another language reads offset and size of every part by name when it loads a
    controller; offsets are not repeated elsewhere.

    Attributes:
        size: size of the whole array.
    """

    def __init__(self, **sizes: int) -> None:
        """Lay out parts one after the other.

        Args:
            sizes: number of entries of every part, in the order of the array.
        """
        super().__init__()
        self.size = 0
        for name, size in sizes.items():
            self[name] = slice(self.size, self.size + size)
            self.size += size

    def parts(self) -> dict[str, tuple[int, int]]:
        """Return offset and size of every part."""
        return {name: (span.start, span.stop - span.start) for name, span in self.items()}


def layouts(b: int, n: int, nq: int, nv: int) -> dict[str, Layout]:
    """Return the layouts of the arrays of a controller.

    These are the inputs; the flags, which say what parts of the reference are given and whether
    updates were missed; and the outputs, a command and the safe output.

    Args:
        b: dimension of the base velocity.
        n: number of joints.
        nq: size of a configuration.
        nv: size of a velocity.
    """
    efforts = {"wrench_base": b, "torque": n, "safe_wrench_base": b, "safe_torque": n}
    reference = {"position": 3, "velocity": 3, "pose": 16, "twist": 6, "joints": n, "wrench": 6}
    return {
        "inputs": Layout(q=nq, v=nv, dt=1, age=1, measured_wrench=6, **reference),
        "flags": Layout(**dict.fromkeys(reference, 1), missed_updates=1),
        "outputs": Layout(**efforts, energy=len(ENERGIES), **dict.fromkeys(_SCALARS, 1)),
    }


class HostedController:
    """A controller, and the arrays that it reads a state from and writes a command to.

    Attributes:
        model: the robot.
        controller: the law.
        inputs: state, time step and reference, laid out as ``layout["inputs"]``.
        flags: laid out as ``layout["flags"]``: which parts of the reference are given, and whether
            the safe output has acted since the last update.
        outputs: command and safe output, laid out as ``layout["outputs"]``; the energies are in the
            order of :data:`.hosted_controller.ENERGIES`.
        layout: the :class:`.hosted_controller.Layout` of the three arrays.
    """

    def __init__(
        self,
        kind: str,
        model: VMSModel,
        base_actuated: bool,
        allocation: Sequence[Any] | None = None,
    ) -> None:
        """Construct the controller that ``kind`` names for a robot.

        Args:
            kind: "module.Class".
            model: the robot.
            base_actuated: whether the base has actuators, for controllers with a parameter for it.
            allocation: arguments of :meth:`Allocation.of_matrix`, for controllers with a parameter
                for it.

        Raises:
            VmsPhError: there is no such controller, or it does not support this robot.
        """
        self.model = model
        actuators = None if allocation is None else Allocation.of_matrix(*allocation)
        self.controller = make_controller(kind, model, actuators, base_actuated)
        self.layout = layouts(model.b, model.n, model.nq, model.nv)
        self.inputs = np.zeros(self.layout["inputs"].size)
        self.inputs[self.layout["inputs"]["measured_wrench"]] = np.nan  # none
        self.flags = np.zeros(self.layout["flags"].size, dtype=np.uint8)
        self.outputs = np.zeros(self.layout["outputs"].size)

    def gains(self) -> list[tuple[str, str, float, float, float, float, bool]]:
        """Return name, description, value, bounds, default and kind of each gain."""
        records = []
        defaults = self.controller.Gains()
        for gain in fields(self.controller.gains):
            value = getattr(self.controller.gains, gain.name)
            if not isinstance(value, (bool, int, float)):
                continue
            low, high = gain.metadata.get("low"), gain.metadata.get("high")
            is_switch = isinstance(value, bool)
            low = (0.0 if is_switch else -inf) if low is None else float(low)
            high = (1.0 if is_switch else inf) if high is None else float(high)
            description = str(gain.metadata.get("description", ""))
            default = float(getattr(defaults, gain.name))
            records.append((gain.name, description, float(value), low, high, default, is_switch))
        return records

    def set_gain(self, name: str, value: float) -> None:
        """Set a gain; its type is kept."""
        last_value = getattr(self.controller.gains, name)
        self.controller.gains = replace(self.controller.gains, **{name: type(last_value)(value)})

    def reset(self) -> None:
        """Reset the controller at the state in the inputs.

        Raises:
            StateError: it is not a state of the robot.
        """
        state, _, _ = self._read_inputs()
        self.controller.reset(state)
        self._write_safe_output(state.q)

    def update(self) -> str:
        """Compute the outputs from the inputs and return the reason of the command."""
        state, reference, dt = self._read_inputs()
        if self.flags[self.layout["flags"]["missed_updates"]].any():
            self.controller.note_missed_updates()
        command = self.controller.update(state, reference, dt)
        if not isinstance(command, Command):
            raise TypeError(
                f"update() of {type(self.controller).__name__} must return a Command; "
                f"it returned {command!r}"
            )
        if state.is_usable(self.model):
            self._write_safe_output(state.q)
        self._write_effort("wrench_base", command.wrench_base)
        self._write_effort("torque", command.torque)
        outputs, layout = self.outputs, self.layout["outputs"]
        outputs[layout["energy"]] = [getattr(command.energy, name) for name in ENERGIES]
        for name in _SCALARS:
            outputs[layout[name]] = getattr(command, name)
        return command.reason

    def _read_inputs(self) -> tuple[RobotState, Reference, float]:
        # A controller may keep its arguments, whereas the inputs are overwritten.
        inputs, layout = frozen(self.inputs.copy()), self.layout["inputs"]

        def reference_field(name: str) -> Array | None:
            return inputs[layout[name]] if self.flags[self.layout["flags"][name]].any() else None

        reference = Reference(*(reference_field(field.name) for field in fields(Reference)))
        if reference.pose is not None:
            reference = replace(reference, pose=reference.pose.reshape(4, 4))
        dt, age = (float(inputs[layout[name]][0]) for name in ("dt", "age"))
        q, v, wrench = (inputs[layout[name]] for name in ("q", "v", "measured_wrench"))
        return RobotState(q, v, age, wrench), reference, dt

    def _write_safe_output(self, q: Array) -> None:
        safe_command = self.controller.safe_output(q)
        self._write_effort("safe_wrench_base", safe_command.wrench_base)
        self._write_effort("safe_torque", safe_command.torque)

    def _write_effort(self, name: str, effort: Array) -> None:
        output = self.outputs[self.layout["outputs"][name]]
        # Without the check numpy would broadcast a single number over all joints.
        if np.shape(effort) != output.shape:
            raise ValueError(
                f"{name} must have shape {output.shape}; the controller returned shape "
                f"{np.shape(effort)}"
            )
        output[:] = effort


def make_hosted(
    kind: str, robot: Sequence[Any], base_actuated: bool, allocation: Sequence[Any] | None = None
) -> HostedController:
    """Return a controller for a robot described by the arguments of :func:`make_model`."""
    return HostedController(kind, make_model(*robot), base_actuated, allocation)


def make_model(
    urdf: str,
    base: Any,
    end_effector: str,
    locked_joints: Sequence[str],
    gravity: Sequence[float],
    immersed: Sequence[Sequence[Any]] = (),
    density: float = WATER,
) -> VMSModel:
    """Return the model of :meth:`VMSModel.from_urdf`; an empty end effector means the default.

    Args:
        urdf: text of the URDF.
        base: kind of base.
        end_effector: name of a frame.
        locked_joints: joints to lock at zero.
        gravity: (3,) in the inertial frame, m/s^2.
        immersed: arguments of :class:`.ImmersedBody` for each link in a fluid.
        density: of that fluid, kg/m^3.
    """
    model = VMSModel.from_urdf(urdf, base, end_effector or None, gravity, locked_joints)
    if not immersed:
        return model
    return model.in_fluid(Fluid(tuple(ImmersedBody(*body) for body in immersed), density))


def describe(error: BaseException) -> str:
    """Return the message of an error of the user, or the traceback of any other exception."""
    if isinstance(error, VmsPhError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def settle() -> None:
    """Prepare an interpreter that only this host uses for control, after all imports.

    Objects of the modules are excluded from garbage collection, which would take milliseconds, and
    the switch interval of threads is set to 0.1 ms instead of 5 ms.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(1e-4)
