# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What drivers of real arms do with torque commands, by the name of the driver.

``drivers.get("franka_fr3").law("CartesianImpedance", model)`` is the law for that driver;
``simulate(..., driver="franka_fr3")`` simulates both. The files are in config/drivers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

from vms_ph_controllers.guard import EnergyGuardSettings, PortGuard
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_dynamics import Friction, ModelError, OptionError, VMSModel

from .settings.yaml_files import Reader, bundled_names, fields_of, load_named

# Share of the limit of the driver at which a law limits the rate of its torques.
_RATE_SHARE = 0.9


@dataclass(frozen=True)
class PayloadService:
    """The service by which a driver learns the payload of its robot.

    Attributes:
        name: of the service, relative to the namespace of the robot.
        type: of the service, package/srv/Type.
        flange: end of the name of the frame in which the payload is stated.
        with_tool: whether the payload includes what is mounted beyond the flange.
        largest: mass of the heaviest payload, kg.
    """

    name: str
    type: str
    flange: str
    with_tool: bool = False
    largest: float = inf


@dataclass(frozen=True)
class Driver:
    """The conventions of a driver.

    Attributes:
        name: of the file in config/drivers.
        title: robot and driver.
        compensates_weight: whether the robot adds the torques that carry its weight.
        compensates_friction: whether it adds torques against its friction.
        interfaces: command interfaces of a joint that torques need; none where it takes no torques.
        rate: of the controller manager, Hz.
        delay: samples from a measurement to the effort computed from it.
        torque: (n,) limits, N m; empty where those of the description hold.
        torque_rate: largest rate of a torque, N m/s; 0 where none is published.
        measured_effort: kind of the state ``effort``: torque (with gravity), current or none.
        switch: how torques are switched on.
        note: further sentence on the driver.
        read: day on which the sources were last read.
        sources: each a fact, and where it was read.
        payload: the service that sets the payload; None where there is none.
        robot: name or description of an arm that it moves.
    """

    name: str
    title: str
    compensates_weight: bool
    compensates_friction: bool
    interfaces: tuple[str, ...]
    rate: float
    delay: float
    torque: tuple[float, ...]
    torque_rate: float
    measured_effort: str
    switch: str
    note: str
    read: str
    sources: tuple[Mapping[str, str], ...]
    payload: PayloadService | None = None
    robot: str = ""

    def model(self, model: VMSModel) -> VMSModel:
        """Return the robot as its torques move it: without weight where the driver carries it.

        Raises:
            OptionError: the driver takes no torques.
            ModelError: the base moves, or the robot has another number of joints.
        """
        if not self.interfaces:
            raise OptionError(f"{self.title} takes no torques ({self.switch}). {self.note}")
        if model.b or (self.torque and len(self.torque) != model.n):
            raise ModelError(
                f"{self.title} moves {len(self.torque) or 'the'} joints of an arm on a fixed base; "
                f"'{model.name}' on a {model.base} base has {', '.join(model.joint_names)}. Lock "
                "those that the driver does not move: load_urdf(path, locked_joints=[...])"
            )
        return model.without_gravity() if self.compensates_weight else model

    def gains(self, gains: Any) -> Any:
        """Return gains with the delay of the driver and a margin below its torque rate."""
        limits = {"delay": self.delay}
        if self.torque_rate > 0.0:
            limits["torque_rate"] = _RATE_SHARE * self.torque_rate
            if (stricter := getattr(gains, "torque_rate", 0.0)) > 0.0:
                limits["torque_rate"] = min(limits["torque_rate"], stricter)
        if self.compensates_friction:
            limits["friction_compensation"] = 0.0
        return replace(gains, **{k: value for k, value in limits.items() if hasattr(gains, k)})

    def guard(
        self, model: VMSModel, settings: EnergyGuardSettings | None = None, **options: Any
    ) -> PortGuard:
        """Return the guard of efforts that the driver sends, within its limits.

        Args:
            model: the robot.
            settings: tank and limits; the defaults when None.
            options: of :class:`.PortGuard`, in place of the delay and the weight of the driver.

        Raises:
            OptionError, ModelError: as :meth:`model`.
        """
        self.model(model)
        settings = self.gains(settings or EnergyGuardSettings())
        limits = zip(self.torque, model.joints.effort.tolist(), strict=False)
        shares = [limit / effort for limit, effort in limits if effort < inf]
        settings = replace(settings, torque=min([settings.torque, *shares]))
        ours = {"delay": round(self.delay), "effort_carries_weight": not self.compensates_weight}
        return PortGuard(model, settings, **{"period": 1.0 / self.rate} | ours | options)

    def observed_friction(self, model: VMSModel) -> Friction | None:
        """Return the friction between the torques that the driver measures and the motion.

        Where the robot compensates friction they are those at the link, and it is None.

        Raises:
            OptionError: it measures no torques, which observers need.
        """
        if self.measured_effort != "torque":
            kind = "a motor current" if self.measured_effort == "current" else "not measured"
            raise OptionError(
                f"observers need torques; the state effort of {self.title} is {kind}. {self.note}"
            )
        return None if self.compensates_friction else Friction.from_model(model)

    def law(self, law: Any, model: VMSModel) -> Any:
        """Return a law that sends what the driver expects.

        Args:
            law: its class or the name of the class, see :func:`make_controller`, or an object or a
                function that was made for :meth:`model`.
            model: the robot.

        Raises:
            OptionError: the law adds weight or friction that the driver adds too.
        """
        if isinstance(law, str | type):
            law = make_controller(law, self.model(model))
            law.gains = self.gains(law.gains)
        share = getattr(getattr(law, "gains", None), "friction_compensation", 0.0)
        if self.compensates_friction and share > 0.0:
            raise OptionError(
                f"this law compensates a share of {share:g} of the friction, and {self.title} "
                "compensates it again; set friction_compensation=0.0"
            )
        law_model = getattr(law, "model", None)
        if self.compensates_weight and isinstance(law_model, VMSModel) and law_model.gravity.any():
            raise OptionError(
                f"the torques of this law carry the weight, and {self.title} adds it again; make "
                f"the law by drivers.get({self.name!r}).law(...), or for its .model(model)"
            )
        return law


_FOLDER = "config/drivers"


def _read_driver(name: str, content: Any) -> Driver:
    readers: dict[str, Reader] = {
        "payload": lambda value, owner: PayloadService(**fields_of(PayloadService, value, owner))
    }
    keys = [field.name for field in fields(Driver) if field.name != "name"]
    return Driver(name, **fields_of(Driver, content, "the driver", readers, keys[:-2], keys))


def names() -> tuple[str, ...]:
    """Return the names of the drivers."""
    return bundled_names(_FOLDER)


def get(name: "str | Driver") -> Driver:
    """Return a driver by its name, or by the path of a file like those in config/drivers.

    Raises:
        OptionError: there is none of that name.
        ModelError: the file does not have the format.
    """
    return name if isinstance(name, Driver) else load_named(name, _FOLDER, "driver", _read_driver)
