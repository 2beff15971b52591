# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fluids and their immersed bodies, loaded from files in config/fluids."""

from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Fluid, ImmersedBody, ModelError, StateError, immersed_cylinder

from .yaml_files import Reader, check_keys, fields_of, items, number, read_mapping, vector_of

_READERS: dict[str, Reader] = {
    "added_mass": lambda value, name: np.diag(vector_of(6)(value, name)),
    "linear_drag": vector_of(6),
    "quadratic_drag": vector_of(6),
}


def load_fluid(path: str | Path) -> Fluid:
    """Return the fluid that a file describes.

    Raises:
        VmsPhError: no such file.
        ModelError: a file that does not have the format of config/fluids/bluerov2_alpha5.yaml.
    """
    content = read_mapping(path)
    try:
        check_keys(content, "the file", ("density", "bodies"))
        density = number(content["density"], "density")
        bodies = [
            _body(item, f"body {i}", density)
            for i, item in enumerate(items(content["bodies"], "bodies"))
        ]
        return Fluid(tuple(bodies), density)
    except (ModelError, StateError) as error:
        raise ModelError(f"{path} is not a valid fluid file: {error}") from None


def _body(item: Any, subject: str, density: float) -> ImmersedBody:
    if not isinstance(item, dict) or "cylinder" not in item:
        needed_keys = ("volume", "centre_of_buoyancy", *_READERS)
        return ImmersedBody(**fields_of(ImmersedBody, item, subject, _READERS, needed_keys))
    check_keys(item, subject, ("link", "cylinder"))
    shape = item["cylinder"]
    check_keys(shape, f"the cylinder of {subject}", ("radius", "from", "to"))
    radius = number(shape["radius"], f"radius of {subject}")
    start, end = (vector_of(3)(shape[key], f"{key} of {subject}") for key in ("from", "to"))
    return immersed_cylinder(str(item["link"]), radius, start, end, density)
