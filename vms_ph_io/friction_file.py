"""Friction of joints in a YAML file."""

from pathlib import Path

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.errors import VmsPhError

from .yaml_text import read_yaml

FIELDS = ("viscous", "coulomb", "slip", "shift", "offset")
"""Numbers of a joint, see :class:`.JointFriction`; those left out are zero, ``slip`` 0.01."""


def read_friction(path: Path, model: VMSModel) -> JointFriction:
    """Return the friction in a file of the form ``friction: {joint: {viscous: 1.0, ...}}``.

    Joints that are left out have no friction.

    Raises:
        VmsPhError: the file cannot be read, or names a joint or a number that does not exist.
    """
    content = read_yaml(path)
    joints = content.get("friction", content) if isinstance(content, dict) else None
    if not isinstance(joints, dict) or not all(isinstance(v, dict) for v in joints.values()):
        raise VmsPhError(
            f"{path} must have the form friction: {{joint: {{viscous: 1.0, coulomb: 0.5}}}}"
        )
    values = {name: np.zeros(model.n) for name in FIELDS}
    values["slip"][:] = 0.01
    for joint, numbers in joints.items():
        if joint not in model.joint_names:
            raise VmsPhError(
                f"{path}: '{joint}' is no joint of '{model.name}'; its joints are "
                f"{', '.join(model.joint_names)}"
            )
        for name, value in numbers.items():
            if name not in FIELDS or isinstance(value, bool) or not isinstance(value, (int, float)):
                raise VmsPhError(
                    f"{path}: '{joint}' must have numbers of {', '.join(FIELDS)}; given: "
                    f"{name}: {value!r}"
                )
            values[name][model.joint_index(str(joint))] = value
    return JointFriction(**values)
