# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The promise of the energy tank for the laws in C++, over the random runs of those in Python."""

from dataclasses import fields
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from controllers.support.tank_runs import CASES, Account, run

from vms_ph_controllers import (
    Command,
    Controller,
    Reference,
    RobotState,
)
from vms_ph_dynamics import VMSModel

from .conftest import native_model


class Native:
    """A law in C++ behind the interface of one in Python."""

    def __init__(
        self,
        native: ModuleType,
        kind: type[Controller],
        model: VMSModel,
        options: dict[str, Any],
    ) -> None:
        self._kind, self._model = kind, model
        self._robot, given = native_model(native, model), dict(options)
        rotors = given.pop("allocation", None)
        if rotors is not None:
            given["allocation"] = native.Allocation.of_matrix(
                rotors.matrix, rotors.lower, rotors.upper
            )
        self._law = native.make_law(kind.__name__, self._robot, **given)
        self._gains: Any = kind.Gains()
        self._weight = np.zeros(model.nv)

    @property
    def gains(self) -> Any:
        return self._gains

    @gains.setter
    def gains(self, gains: Any) -> None:
        self._gains = gains
        for each in fields(gains):
            assert self._law.set_gain(each.name, float(getattr(gains, each.name)))

    def reset(self, state: RobotState) -> None:
        assert self._law.reset(state.q, state.v)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Any:
        if np.isfinite(state.q).all():
            self._weight = self._model.evaluate(state.q, state.v).g
        r = reference
        return self._law.update(
            state.q, state.v, dt, r.position, r.velocity, r.pose, r.twist, r.joints, r.wrench
        )

    def note_missed_updates(self) -> None:
        nowhere = RobotState(np.full(self._model.nq, np.nan), np.zeros(self._model.nv))
        self.update(nowhere, Reference(), 1e-3)

    def safe_output(self, q: np.ndarray) -> Command:
        """Return the weight at the last state; runs of bases that cannot hold it end."""
        b = self._model.b
        return Command(self._weight[:b], self._weight[b:])


LONG = (pytest.mark.slow, pytest.mark.timeout(3600))

# What the plant resolves, J; and what the settlement of a wrench in turning axes leaves out.
_ROUNDING, _SETTLED = 1e-9, 5e-9


def in_c(native: ModuleType, seed: int, faults: str = "") -> Account:
    cases = [case for case in CASES if case[0].__name__ == "TaskSpaceIDAPBC"]
    return run(seed, faults, lambda *given: Native(native, *given), cases, seconds=0.1)


@pytest.mark.parametrize("count", [8, pytest.param(4000, marks=LONG)])
def test_a_law_in_c_gives_at_most_what_the_tank_held(native: ModuleType, count: int) -> None:
    for seed in range(count):
        account = in_c(native, seed)
        assert account.excess <= _ROUNDING, (seed, account)
        assert account.concealed <= _SETTLED, (seed, account)


@pytest.mark.parametrize("count", [4, pytest.param(2000, marks=LONG)])
@pytest.mark.parametrize("faults", ["pushes", "lost"])
def test_the_excess_of_a_law_in_c_is_what_it_could_not_see(
    native: ModuleType, faults: str, count: int
) -> None:
    for seed in range(count):
        account = in_c(native, seed, faults)
        assert account.excess <= account.unseen + _ROUNDING, (seed, account)
        assert account.risen <= _ROUNDING, (seed, account)
