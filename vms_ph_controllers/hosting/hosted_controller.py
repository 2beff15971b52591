"""A controller between flat arrays, as a host in another language calls it.

All of it runs in one thread of the host. Nothing here catches what a controller raises: the host
does, and gives its safe output instead.
"""

import gc
import sys
import traceback
from collections.abc import Sequence
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.arrays import Array, frozen
from vms_ph_dynamics.effects.allocation import Allocation, Rotor

from ..interface import Command, ControlEnergy, Reference, RobotState
from .loading import make_controller

ENERGIES = tuple(item.name for item in fields(ControlEnergy))


class HostedController:
    """A controller, and the arrays that it reads a state from and writes a command to.

    Attributes:
        model: the robot.
        controller: the law.
        inputs: q (nq,), v (nv,), dt, position (3,), velocity (3,), pose (4,4) by rows, twist (6,)
            and joints (n,), one behind the other.
        given: (6,) which of the last five the reference has, and whether the safe output has acted
            since the last update.
        outputs: wrench (b,), torque (n,), the same of the safe output, the energies in the order of
            :data:`ENERGIES`, task_error, smallest_singular_value, authority and status.
    """

    def __init__(
        self, kind: str, model: VMSModel, rotors: Sequence[Sequence[Any]], base_actuated: bool
    ) -> None:
        """Construct the controller that ``kind`` names for a robot.

        Args:
            kind: "module.Class".
            model: the robot.
            rotors: arguments of :class:`Rotor` for each, for controllers that ask; may be empty.
            base_actuated: whether the base has actuators, likewise.

        Raises:
            VmsPhError: no such controller, or it is not for this robot.
        """
        self.model = model
        allocation = Allocation([Rotor(*rotor) for rotor in rotors], model.base) if rotors else None
        self.controller = make_controller(kind, model, allocation, base_actuated)
        b, n, nq, nv = model.b, model.n, model.nq, model.nv
        self.inputs = np.zeros(nq + nv + 29 + n)
        self.given = np.zeros(6, dtype=np.uint8)
        self.outputs = np.zeros(2 * (b + n) + len(ENERGIES) + 4)
        self._wrench, self._torque = self.outputs[:b], self.outputs[b:nv]
        self._safe_wrench, self._safe_torque = (
            self.outputs[nv : nv + b],
            self.outputs[nv + b : 2 * nv],
        )
        self._record = self.outputs[2 * nv :]

    def gains(self) -> list[tuple[str, str, float, float, float, float, bool]]:
        """Return name, description, value, bounds, default and whether it is a switch, of each."""
        listed = []
        defaults = self.controller.Gains()
        for item in fields(self.controller.gains):
            value = getattr(self.controller.gains, item.name)
            if not isinstance(value, (bool, int, float)):
                continue
            low, high = item.metadata.get("low"), item.metadata.get("high")
            switch = isinstance(value, bool)
            low = (0.0 if switch else -inf) if low is None else float(low)
            high = (1.0 if switch else inf) if high is None else float(high)
            text = str(item.metadata.get("description", ""))
            default = float(getattr(defaults, item.name))
            listed.append((item.name, text, float(value), low, high, default, switch))
        return listed

    def set_gain(self, name: str, value: float) -> None:
        """Change a gain, in the type that it has."""
        present = getattr(self.controller.gains, name)
        self.controller.gains = replace(self.controller.gains, **{name: type(present)(value)})

    def reset(self) -> None:
        """Begin anew at the state in the inputs.

        Raises:
            StateError: it is not one of the robot.
        """
        nq, nv = self.model.nq, self.model.nv
        # A controller may keep what it is given; the inputs are written over.
        given = frozen(self.inputs.copy())
        state = RobotState(given[:nq], given[nq : nq + nv])
        self.controller.reset(state)
        self._hold(state.q)

    def update(self) -> str:
        """Make outputs of inputs; return the reason that the command gives."""
        nq, nv = self.model.nq, self.model.nv
        given = frozen(self.inputs.copy())
        state = RobotState(given[:nq], given[nq : nq + nv])
        dt, wanted = float(given[nq + nv]), given[nq + nv + 1 :]
        if self.given[5]:
            self.controller.missed_updates()
        command = self.controller.update(state, self._reference(wanted), dt)
        if not isinstance(command, Command):
            raise TypeError(
                f"update() of {type(self.controller).__name__} must return a Command; "
                f"it gave {command!r}"
            )
        if state.is_usable(self.model):
            self._hold(state.q)
        _fill(self._wrench, command.wrench_base, "wrench_base")
        _fill(self._torque, command.torque, "torque")
        energy = command.energy
        self._record[:] = (
            *(getattr(energy, name) for name in ENERGIES),
            command.task_error,
            command.smallest_singular_value,
            command.authority,
            command.status,
        )
        return command.reason

    def _reference(self, wanted: Array) -> Reference:
        position, velocity, pose, twist, joints = self.given[:5].tolist()
        return Reference(
            wanted[:3] if position else None,
            wanted[3:6] if velocity else None,
            wanted[6:22].reshape(4, 4) if pose else None,
            wanted[22:28] if twist else None,
            wanted[28:] if joints else None,
        )

    def _hold(self, q: Array) -> None:
        safe = self.controller.safe_output(q)
        _fill(self._safe_wrench, safe.wrench_base, "wrench_base of the safe output")
        _fill(self._safe_torque, safe.torque, "torque of the safe output")


def make_hosted(
    kind: str,
    robot: tuple[str, Any, str, Sequence[str], Sequence[float]],
    rotors: Sequence[Sequence[Any]],
    base_actuated: bool,
) -> HostedController:
    """Return a controller for a robot, which is given as to :func:`make_model`."""
    return HostedController(kind, make_model(*robot), rotors, base_actuated)


def make_model(
    urdf: str, base: Any, end_effector: str, locked_joints: Sequence[str], gravity: Sequence[float]
) -> VMSModel:
    """Return the model of :meth:`VMSModel.from_urdf`; an empty end effector is the last link."""
    return VMSModel.from_urdf(urdf, base, end_effector or None, gravity, locked_joints)


def describe(error: BaseException) -> str:
    """Return the sentence of a user's mistake, and the traceback of anything else."""
    if isinstance(error, VmsPhError):
        return str(error)
    return "".join(traceback.format_exception(error)).rstrip()


def settle() -> None:
    """Prepare an interpreter that is ours alone, once all modules are imported, for control.

    The collector then never looks at what the modules hold, which takes it milliseconds; and a
    thread that waits for the interpreter gets it from one that computes after a tenth of a
    millisecond, not after five.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(1e-4)


def _fill(target: Array, values: Array, name: str) -> None:
    # Without the check numpy would spread a single number over all joints.
    if np.shape(values) != target.shape:
        raise ValueError(
            f"{name} must have shape {target.shape}; the controller gave shape {np.shape(values)}"
        )
    target[:] = values
