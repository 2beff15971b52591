# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Rotors and fluids of robots, loaded from files in config/."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics.arrays import Array, vector
from vms_ph_dynamics.errors import ModelError, StateError

from .yaml_text import YamlError, read_yaml

if TYPE_CHECKING:
    from vms_ph_dynamics.effects.allocation import Allocation, Rotor
    from vms_ph_dynamics.effects.fluid import Fluid, ImmersedBody


_LARGEST = 1e12  # in SI units


def load_allocation(path: str | Path) -> "Allocation":
    """Return the actuator allocation of the rotors in a file.

    Raises:
        VmsPhError: no such file.
        ModelError: a file that does not have the format of config/rotors/hextilt.yaml.
    """
    from vms_ph_dynamics.effects.allocation import Allocation

    content = _read(path)
    try:
        _keys(content, "the file", ("thrust", "drag_ratio", "rotors"), ("base",))
        lower, upper = vector(content["thrust"], 2, "thrust")
        ratio = _number(content["drag_ratio"], "drag_ratio")
        rotors = [
            _rotor(item, f"rotor {i}", ratio, lower, upper)
            for i, item in enumerate(_items(content["rotors"], "rotors"))
        ]
        return Allocation(rotors, str(content.get("base", "floating")))
    except (ModelError, StateError) as error:
        raise ModelError(f"{path} is not a valid rotor file: {error}") from None


def load_fluid(path: str | Path) -> "Fluid":
    """Return the fluid defined in a file.

    Raises:
        VmsPhError: no such file.
        ModelError: a file that does not have the format of config/fluids/bluerov2_alpha5.yaml.
    """
    from vms_ph_dynamics.effects.fluid import Fluid

    content = _read(path)
    try:
        _keys(content, "the file", ("density", "bodies"))
        density = _number(content["density"], "density")
        bodies = [
            _body(item, f"body {i}", density)
            for i, item in enumerate(_items(content["bodies"], "bodies"))
        ]
        return Fluid(tuple(bodies), density)
    except (ModelError, StateError) as error:
        raise ModelError(f"{path} is not a valid fluid file: {error}") from None


def _rotor(item: Any, what: str, ratio: float, lower: float, upper: float) -> "Rotor":
    import pinocchio as pin

    from vms_ph_dynamics.effects.allocation import Rotor
    from vms_ph_dynamics.robot.joints import NORM_TOLERANCE

    _keys(item, what, ("position", "orientation", "torque_sign"))
    orientation = vector(item["orientation"], 4, f"orientation of {what}")
    length = float(orientation @ orientation) ** 0.5
    if abs(length - 1.0) > NORM_TOLERANCE:
        raise ModelError(
            f"the orientation of {what} must be a quaternion [x y z w] of length 1; its length is "
            f"{length:.9g}"
        )
    sign = _number(item["torque_sign"], f"torque_sign of {what}")
    if sign not in (-1.0, 1.0):
        raise ModelError(f"torque_sign of {what} must be 1 or -1; given: {sign:g}")
    return Rotor(
        vector(item["position"], 3, f"position of {what}"),
        pin.Quaternion(orientation).toRotationMatrix()[:, 2],
        sign * ratio,
        lower,
        upper,
    )


def _body(item: Any, what: str, density: float) -> "ImmersedBody":
    import numpy as np

    from vms_ph_dynamics.effects.fluid import ImmersedBody
    from vms_ph_dynamics.effects.strip_theory import immersed_cylinder

    if isinstance(item, Mapping) and "cylinder" in item:
        _keys(item, what, ("link", "cylinder"))
        shape = item["cylinder"]
        _keys(shape, f"the cylinder of {what}", ("radius", "from", "to"))
        return immersed_cylinder(
            str(item["link"]),
            _number(shape["radius"], f"radius of {what}"),
            _vector_of(shape, "from", 3, what),
            _vector_of(shape, "to", 3, what),
            density,
        )
    names = ("volume", "centre_of_buoyancy", "added_mass", "linear_drag", "quadratic_drag")
    _keys(item, what, ("link", *names))
    return ImmersedBody(
        str(item["link"]),
        np.diag(_vector_of(item, "added_mass", 6, what)),
        _number(item["volume"], f"volume of {what}"),
        _vector_of(item, "centre_of_buoyancy", 3, what),
        _vector_of(item, "linear_drag", 6, what),
        _vector_of(item, "quadratic_drag", 6, what),
    )


def _vector_of(item: Mapping[str, Any], key: str, size: int, what: str) -> Array:
    return _moderate(vector(item[key], size, f"{key} of {what}"), f"{key} of {what}")


def _number(value: Any, name: str) -> float:
    return float(_moderate(vector([value], 1, name), name)[0])


def _moderate(values: Array, name: str) -> Array:
    """Reject numbers of which products overflow."""
    if (abs(values) > _LARGEST).any():
        raise ModelError(f"{name} must be at most {_LARGEST:g}; given: {values.tolist()}")
    return values


def _items(value: Any, name: str) -> Sequence[Any]:
    if not isinstance(value, list) or not value:
        raise ModelError(f"'{name}' must be a list with at least one entry; given: {value!r}")
    return value


def _keys(item: Any, what: str, needed: Sequence[str], possible: Sequence[str] = ()) -> None:
    """Reject an item that is not a mapping with exactly these keys."""
    known = (*needed, *possible)
    if not isinstance(item, Mapping):
        raise ModelError(f"{what} must have the keys {', '.join(known)}; given: {item!r}")
    for key in item:
        if key not in known:
            raise ModelError(f"{what} has the unknown key '{key}'; known are {', '.join(known)}")
    for key in needed:
        if key not in item:
            raise ModelError(f"{what} lacks '{key}'")


def _read(path: str | Path) -> dict[str, Any]:
    try:
        content = read_yaml(path)
    except YamlError as error:
        raise ModelError(str(error)) from None
    if not isinstance(content, dict):
        raise ModelError(f"{path} must contain a mapping")
    return content
