# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Fluids and their immersed bodies, loaded from files in config/fluids."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vms_ph_dynamics.arrays import Array, vector
from vms_ph_dynamics.errors import ModelError, StateError

from .yaml_files import check_keys, items, moderate, number, read_mapping

if TYPE_CHECKING:
    from vms_ph_dynamics.actuation.fluid import Fluid, ImmersedBody


def load_fluid(path: str | Path) -> "Fluid":
    """Return the fluid defined in a file.

    Raises:
        VmsPhError: no such file.
        ModelError: a file that does not have the format of config/fluids/bluerov2_alpha5.yaml.
    """
    from vms_ph_dynamics.actuation.fluid import Fluid

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


def _body(item: Any, subject: str, density: float) -> "ImmersedBody":
    import numpy as np

    from vms_ph_dynamics.actuation.fluid import ImmersedBody, immersed_cylinder

    if isinstance(item, Mapping) and "cylinder" in item:
        check_keys(item, subject, ("link", "cylinder"))
        shape = item["cylinder"]
        check_keys(shape, f"the cylinder of {subject}", ("radius", "from", "to"))
        return immersed_cylinder(
            str(item["link"]),
            number(shape["radius"], f"radius of {subject}"),
            _vector_of(shape, "from", 3, subject),
            _vector_of(shape, "to", 3, subject),
            density,
        )
    names = ("volume", "centre_of_buoyancy", "added_mass", "linear_drag", "quadratic_drag")
    check_keys(item, subject, ("link", *names))
    return ImmersedBody(
        str(item["link"]),
        np.diag(_vector_of(item, "added_mass", 6, subject)),
        number(item["volume"], f"volume of {subject}"),
        _vector_of(item, "centre_of_buoyancy", 3, subject),
        _vector_of(item, "linear_drag", 6, subject),
        _vector_of(item, "quadratic_drag", 6, subject),
    )


def _vector_of(item: Mapping[str, Any], key: str, size: int, owner: str) -> Array:
    return moderate(vector(item[key], size, f"{key} of {owner}"), f"{key} of {owner}")
