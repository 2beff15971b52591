# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The combinations of inertial parameters that the energy of a robot depends on."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..energy.regressor import PARAMETERS, EnergyRegressor

_TOLERANCE = 1e-8


@dataclass(frozen=True)
class BaseParameters:
    """Base parameters of a robot: as few numbers as its energy has.

    Attributes:
        names: ``inertia.<joint>.<parameter>`` of the parameter that leads a combination.
        meanings: the whole combination in words, such as ``Izz of joint1 + Iyy of joint2 + ...``.
        matrix: (k, 10 bodies), from the parameters of the bodies to the combinations.
    """

    names: tuple[str, ...]
    meanings: tuple[str, ...]
    matrix: Array


def base_parameters(regressor: EnergyRegressor, states: int = 0) -> BaseParameters:
    """Return the base parameters, found from the rows of the regressor at random states."""
    model = regressor.model
    rng = np.random.default_rng(0)
    count = states or 2 * regressor.parameters.size + 50
    q = np.array([model.random_configuration(rng) for _ in range(count)])
    rows = regressor.rows(q, rng.normal(size=(count, model.nv)))
    # A constant energy is in no balance.
    rows = rows - rows.mean(axis=0)
    size = np.linalg.norm(rows, axis=0)
    # Moments before masses, from the base outwards: what is regrouped goes to the body before it.
    inside = (4, 6, 9, 5, 7, 8, 1, 2, 3, 0)
    order = [10 * b + k for b in range(len(regressor.bodies)) for k in inside]
    kept: list[int] = []
    directions = np.empty((count, 0))
    largest = max(float(size.max()), 1e-300)
    for column in order:
        if size[column] < _TOLERANCE * largest:
            continue
        unit = rows[:, column] / size[column]
        for _ in range(2):
            unit = unit - directions @ (directions.T @ unit)
        length = np.linalg.norm(unit)
        if length > _TOLERANCE:
            kept.append(column)
            directions = np.column_stack([directions, unit / length])
    coefficients = np.linalg.lstsq(rows[:, kept], rows, rcond=1e-12)[0]
    coefficients[np.abs(coefficients) < 1e-7] = 0.0
    labels = [f"{name} of {body}" for body in regressor.bodies for name in PARAMETERS]
    names = [f"inertia.{regressor.bodies[c // 10]}.{PARAMETERS[c % 10]}" for c in kept]
    meanings = [_words(row, labels) for row in coefficients]
    return BaseParameters(tuple(names), tuple(meanings), coefficients)


def _words(row: Array, labels: list[str]) -> str:
    words = ""
    for factor, label in zip(row, labels, strict=True):
        if factor == 0.0:
            continue
        sign = "-" if factor < 0 else "+"
        number = "" if abs(abs(factor) - 1.0) < 1e-6 else f"{abs(factor):.4g} "
        words += f" {sign} {number}{label}"
    return words[3:] if words.startswith(" + ") else words.strip()
