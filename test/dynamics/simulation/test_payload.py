# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A body that is taken: its momentum and energy, seen before and after."""

from dataclasses import replace

import numpy as np
import pytest

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.groups import SE3
from vms_ph_dynamics.simulation import Payload
from vms_ph_dynamics.simulation.payload import motion_energy, plastic_loss
from vms_ph_dynamics.space import capture
from vms_ph_dynamics.structure.momenta import momenta
from vms_ph_io import robots

BODY = Payload(
    30.0,
    np.array([1.0, 1.2, 1.4]),
    at=2.0,
    centre=np.array([0.1, 0.2, -0.1]),
    velocity=np.array([0.03, -0.02, 0.01]),
    spin=np.array([0.1, -0.2, 0.05]),
)


def test_a_caught_body_brings_its_momentum_and_loses_what_the_mobilities_say(
    rng: np.random.Generator,
) -> None:
    model = robots.load("satellite_panda")
    q, v = model.random_configuration(rng), 0.05 * rng.standard_normal(model.nv)
    d = model.evaluate(q, v)
    pose = d.placement(model.end_effector)
    handle = pose[:3, 3] + np.array([0.004, -0.002, 0.003])
    body, twist = BODY.in_grasp(d, handle)
    seen = SE3().Ad(SE3().inverse(pose)).T @ (body.spatial() @ twist)
    np.testing.assert_allclose(seen, BODY.momentum(handle), atol=1e-13)
    assert 0.5 * twist @ body.spatial() @ twist == pytest.approx(BODY.kinetic_energy, abs=1e-14)
    caught = capture(model, q, v, body, twist)
    after = momenta(caught.model.evaluate(q, caught.v)).spatial
    np.testing.assert_allclose(after, momenta(d).spatial + BODY.momentum(handle), atol=1e-12)
    assert plastic_loss(d, body, twist) == pytest.approx(caught.lost, rel=1e-9)
    assert caught.lost > 1e-3
    carried = motion_energy(model, body, q, caught.v)[0]
    own = model.evaluate(q, caught.v).kinetic_energy
    assert own + carried == pytest.approx(
        caught.model.evaluate(q, caught.v).kinetic_energy, rel=1e-12
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mass": 0.0}, "a body has a positive mass"),
        ({"moments": np.array([1.0, 1.0, 3.0])}, "none larger than the sum of the others"),
        ({"spin": np.zeros(2)}, r"spin of a payload must have shape \(3,\)"),
        ({"reach": 0.0}, "reach of a payload must be above zero; given: 0"),
        ({"release": 1.0}, "must come after at=2 s; given: 1 s"),
    ],
)
def test_what_is_no_body_to_take_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        replace(BODY, **change)
