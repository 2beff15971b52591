# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robots, actuators and wheels that laws of moving bases are compared with."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from dynamics.nonholonomic.carts import RADIUS, TWO_WHEELS, on_two_wheels

from vms_ph_controllers import Controller
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.laws.payload_compensation import PayloadCompensation
from vms_ph_dynamics import Allocation, Rotor, VMSModel
from vms_ph_io import robots


@dataclass(frozen=True)
class Case:
    """A robot and the options of its controller."""

    robot: str
    rotors: str = ""
    base_actuated: bool = True
    endless: bool = False
    law: str = "DecoupledVMSController"
    label: str = field(init=False)

    def __post_init__(self) -> None:
        usual = self.law == "DecoupledVMSController"
        parts = [
            "" if usual else self.law,
            self.robot,
            self.rotors,
            "" if self.base_actuated else "floating_only",
        ]
        parts.append("endless" if self.endless else "")
        object.__setattr__(self, "label", "-".join(filter(None, parts)))

    def description(self) -> str:
        """The URDF, without what is only for the eye."""
        text = robots.get(self.robot).description()
        text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
        text = re.sub(r"<(transmission|gazebo)\b.*?(</\1>|/>)", "", text, flags=re.DOTALL)
        text = re.sub(r"<!--.*?-->|<material\b[^>]*/>", "", text, flags=re.DOTALL)
        if self.endless:
            text = re.sub(r'(name="panda_joint[17]"\s+type=")revolute"', r'\1continuous"', text)
        return re.sub(r">\s*<", ">\n<", text)

    def model(self) -> VMSModel:
        return robots.get(self.robot).model(self.description())

    def allocation(self) -> Allocation | None:
        return ROTORS[self.rotors]()

    def home(self, model: VMSModel) -> np.ndarray:
        known = robots.get(self.robot)
        return model.configuration(known.home, known.home_base or None)

    def wheels(self) -> dict[str, float]:
        """Radii by the joints that turn the wheels."""
        return {}

    @property
    def payload_rate(self) -> float | None:
        """Largest change of the mass in force, kg/s; None for a law that compensates none."""
        return None

    def make_law(self, model: VMSModel, allocation: Allocation | None) -> Controller:
        return make_controller(self.law, model, allocation, self.base_actuated)


@dataclass(frozen=True)
class OnWheels(Case):
    """A cart on two wheels that do not slip, with friction in its joints."""

    robot: str = "differential_drive"
    law: str = "DifferentialDrive"
    base_actuated: bool = False

    def description(self) -> str:
        friction = '<dynamics damping="0.2" friction="0.4"/></joint>'
        return re.sub(r">\s*<", ">\n<", TWO_WHEELS.replace("</joint>", friction))

    def model(self) -> VMSModel:
        return VMSModel.from_urdf(self.description(), base="planar")

    def home(self, model: VMSModel) -> np.ndarray:
        return model.configuration({"shoulder": 0.3, "elbow": 0.4})

    def wheels(self) -> dict[str, float]:
        return {"left": RADIUS, "right": RADIUS}

    def make_law(self, model: VMSModel, allocation: Allocation | None) -> Controller:
        return make_controller(self.law, model, form=on_two_wheels(model))


@dataclass(frozen=True)
class Loaded(Case):
    """A law that compensates the weight of payloads."""

    robot: str = "panda"
    law: str = "CartesianImpedance"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "label", f"PayloadCompensation-{self.label}")

    @property
    def payload_rate(self) -> float:
        return 20.0

    def make_law(self, model: VMSModel, allocation: Allocation | None) -> Controller:
        return PayloadCompensation(super().make_law(model, allocation), self.payload_rate)


def upright(most: float) -> Allocation:
    """Six upright rotors: no side force."""
    angles = np.arange(6) * np.pi / 3
    places = 0.3 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    up = np.array([0.0, 0.0, 1.0])
    return Allocation([Rotor(x, up, 0.02 * (-1) ** i, 0.0, most) for i, x in enumerate(places)])


def wheels() -> Allocation:
    """Three driven wheels of a cart."""
    rotors = []
    for angle in np.arange(3) * 2 * np.pi / 3:
        outward = np.array([np.cos(angle), np.sin(angle), 0.0])
        along = np.array([-outward[1], outward[0], 0.0])
        rotors.append(Rotor(0.3 * outward, along, 0.0, -60.0, 60.0))
    return Allocation(rotors, "planar")


def reaction_wheels() -> Allocation:
    """Three wheels that turn a satellite."""
    matrix = np.vstack([np.zeros((3, 3)), np.eye(3)])
    return Allocation.of_matrix(matrix, np.full(3, -8.0), np.full(3, 8.0))


ROTORS: dict[str, Callable[[], Allocation | None]] = {
    "": lambda: None,
    "hextilt": lambda: robots.get("hextilt").allocation(),
    "upright": lambda: upright(12.0),
    "weak": lambda: upright(2.0),
    "wheels": wheels,
    "reaction_wheels": reaction_wheels,
}

CASES = (
    Case("omnidirectional_panda"),
    Case("omnidirectional_panda", rotors="wheels"),
    Case("omnidirectional_panda", endless=True),
    Case("hextilt"),
    Case("hextilt", rotors="hextilt"),
    Case("borinot", rotors="upright"),
    Case("borinot", rotors="weak"),
    Case("satellite_panda"),
    Case("satellite_panda", base_actuated=False),
    Case("borinot", rotors="upright", law="UnderactuatedFlight"),
    Case("borinot", rotors="weak", law="UnderactuatedFlight"),
    Case("satellite_panda", rotors="reaction_wheels", law="AttitudeControl"),
    Case("satellite_panda", law="PoseIDAPBC"),
    Case("omnidirectional_panda", rotors="wheels", law="PoseIDAPBC"),
    Case("hextilt", rotors="hextilt", law="PoseIDAPBC"),
    Case("panda", endless=True, law="CartesianImpedance"),
    Case("hextilt", rotors="hextilt", law="CartesianImpedance"),
    Case("satellite_panda", base_actuated=False, law="CartesianImpedance"),
    Case("panda", law="PushingImpedance"),
    Case("hextilt", rotors="hextilt", law="PushingImpedance"),
    Case("satellite_panda", base_actuated=False, law="PushingImpedance"),
    Case("omnidirectional_panda", rotors="wheels", law="MobileManipulation"),
    Case("hextilt", law="MobileManipulation"),
    Case("satellite_panda", base_actuated=False, law="ResolvedMotion"),
    OnWheels(),
    OnWheels(law="WheeledImpedance"),
    Loaded(),
    Loaded("hextilt", rotors="hextilt"),
)

# Laws whose reference of a pose is that of the end effector.
OF_END_EFFECTOR = (
    "PoseIDAPBC",
    "CartesianImpedance",
    "PushingImpedance",
    "ResolvedMotion",
    "WheeledImpedance",
)
