"""Rotors and fluids of robots, from the files in config/."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import ModelError, VmsPhError

if TYPE_CHECKING:
    from vms_ph_dynamics.allocation import Allocation
    from vms_ph_dynamics.fluid import Fluid, ImmersedBody

_DRAG = 1.2  # of a circular cylinder across the flow


def load_allocation(path: str | Path) -> "Allocation":
    """Return the rotors of a file as an input map.

    Raises:
        VmsPhError: no such file, or one that is not as config/rotors/hextilt.yaml is.
    """
    import pinocchio as pin

    from vms_ph_dynamics.allocation import Allocation, Rotor

    content = _read(path)
    try:
        lower, upper = content["thrust"]
        rotors = [
            Rotor(
                np.array(item["position"]),
                pin.Quaternion(np.array(item["orientation"])).toRotationMatrix()[:, 2],
                float(item["torque_sign"]) * float(content["drag_ratio"]),
                float(lower),
                float(upper),
            )
            for item in content["rotors"]
        ]
        return Allocation(rotors, content.get("base", "floating"))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} is not a file of rotors: {error!r} is missing or wrong") from None


def load_fluid(path: str | Path) -> "Fluid":
    """Return the fluid of a file.

    Raises:
        VmsPhError: no such file, or one that is not as config/fluids/bluerov2_alpha5.yaml is.
    """
    from vms_ph_dynamics.fluid import Fluid

    content = _read(path)
    try:
        density = float(content["density"])
        return Fluid(tuple(_body(item, density) for item in content["bodies"]), density)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(
            f"{path} is not a file of a fluid: {error!r} is missing or wrong"
        ) from None


def _body(item: dict[str, Any], density: float) -> "ImmersedBody":
    from vms_ph_dynamics.fluid import ImmersedBody

    if "cylinder" in item:
        return _cylinder(item["link"], item["cylinder"], density)
    return ImmersedBody(
        item["link"],
        np.diag(np.array(item["added_mass"], dtype=np.float64)),
        float(item["volume"]),
        np.array(item["centre_of_buoyancy"], dtype=np.float64),
        np.array(item["linear_drag"], dtype=np.float64),
        np.array(item["quadratic_drag"], dtype=np.float64),
    )


def _cylinder(link: str, shape: dict[str, Any], density: float) -> "ImmersedBody":
    """Return a slender cylinder by strip theory: each strip moves as if it were in a plane flow."""
    from vms_ph_dynamics.fluid import ImmersedBody
    from vms_ph_dynamics.groups import skew

    radius = float(shape["radius"])
    start, end = (np.array(shape[key], dtype=np.float64) for key in ("from", "to"))
    length = float(np.linalg.norm(end - start))
    centre, axis = (start + end) / 2, (end - start) / length
    across = np.eye(3) - np.outer(axis, axis)
    per_length = density * np.pi * radius**2
    inertia = per_length * length**3 / 12 * across
    about_centre = np.block(
        [[per_length * length * across, np.zeros((3, 3))], [np.zeros((3, 3)), inertia]]
    )
    # The twist at the centre from that at the link's origin: v + w x centre.
    shift = np.block([[np.eye(3), -skew(centre)], [np.zeros((3, 3)), np.eye(3)]])
    # Quadratic drag couples all components; this is its diagonal, about the link's origin.
    drag = 0.5 * density * _DRAG * 2 * radius * length
    turning = 0.5 * density * _DRAG * 2 * radius * length**4 / 32
    return ImmersedBody(
        link,
        shift.T @ about_centre @ shift,
        np.pi * radius**2 * length,
        centre,
        np.zeros(6),
        np.concatenate([drag * _share(across), turning * _share(across)]),
    )


def _share(across: Array) -> Array:
    return np.diag(across).copy()


def _read(path: str | Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(Path(path).read_text())
    except OSError as error:
        raise VmsPhError(f"{path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ModelError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path} must hold names and values")
    return content
