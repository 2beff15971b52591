# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A base that is mounted with a turned and displaced origin moves as it does without one."""

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import DecoupledForm, Ports, VMSModel, integrate, momenta
from vms_ph_dynamics.integrators import SCHEMES
from vms_ph_dynamics.integrators.moving_base import spatial_momentum
from vms_ph_io import robots

from .mounts import ASKEW, LEVEL, Mounted, mounted, moved

EXACT = ("projected_rk4", "projected_midpoint", "discrete_gradient")
CASES = [("floating", ASKEW), ("planar", ASKEW), ("planar", LEVEL)]
STRENGTH = np.array([1.0, 1.0, 0.5, 0.5, 0.05, 0.05, 0.01])


@pytest.fixture(params=CASES, ids=["floating", "tilted plane", "level plane"])
def robot(request: pytest.FixtureRequest) -> Mounted:
    return mounted(*request.param)


def placed(robot: Mounted, q: np.ndarray) -> np.ndarray:
    """The configuration of the twin at a configuration of the mounted robot."""
    if robot.model.base == "planar" and robot.model.tree.mount[2, 2] < 0.9:
        return q
    mount = robot.model.tree.mount
    return moved(robot.model, pin.SE3(mount), q)


@pytest.mark.parametrize("pushed", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_moves_as_its_twin_does(robot: Mounted, scheme: str, pushed: bool) -> None:
    ports = Ports()
    if pushed:
        wrench = np.linspace(2.0, -1.0, robot.model.b)
        ports = Ports(STRENGTH, wrench, np.array([5.0, 0.0, 3.0, 0.0, 0.2, 0.0]))
    form, twin = DecoupledForm(robot.model), DecoupledForm(robot.twin)
    run, other = (
        integrate(
            form, form.state(q, robot.v), ports, dt=2e-3, steps=25, scheme=scheme, stride=25,
            native=False,
        )
        for form, q in ((form, robot.q), (twin, robot.q_twin))
    )  # fmt: skip
    end, expected = run.states[-1], other.states[-1]
    # The same steps in other axes: what differs is rounding, of positions of some metres.
    apart = robot.twin.difference(expected.q, placed(robot, end.q))
    np.testing.assert_allclose(apart, 0.0, atol=1e-12)
    np.testing.assert_allclose(end.z, expected.z, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.diff(run.energy), np.diff(other.energy), atol=1e-10)


@pytest.mark.parametrize("scheme", EXACT)
def test_it_keeps_its_energy(robot: Mounted, scheme: str) -> None:
    form = DecoupledForm(robot.model)
    run = integrate(form, form.state(robot.q, robot.v), dt=1e-3, steps=80, scheme=scheme, stride=20)
    assert not run.failures
    lost = np.abs(run.energy - run.energy[0]).max()
    # As without a mount: units in the last place of energies of hundreds of joules.
    assert lost < 1e-12 * max(np.abs(run.energy).max(), 100.0)


def test_its_momentum_is_that_of_its_twin_in_inertial_axes(robot: Mounted) -> None:
    ours = momenta(robot.model.evaluate(robot.q, robot.v))
    twin = momenta(robot.twin.evaluate(robot.q_twin, robot.v))
    mount = robot.mount
    # Masses of some ten kg, lengths of some metres.
    np.testing.assert_allclose(
        ours.centre_of_mass, mount.act(twin.centre_of_mass), rtol=0, atol=1e-13
    )
    centroidal = np.kron(np.eye(2), mount.rotation) @ twin.centroidal
    np.testing.assert_allclose(ours.centroidal, centroidal, rtol=0, atol=1e-12)
    spatial = mount.act(pin.Force(twin.spatial)).vector
    np.testing.assert_allclose(ours.spatial, spatial, rtol=0, atol=1e-12)


def test_and_so_is_that_of_a_run(robot: Mounted) -> None:
    d = robot.model.evaluate(robot.q, robot.v)
    twin = robot.twin.evaluate(robot.q_twin, robot.v)
    np.testing.assert_allclose(spatial_momentum(d), spatial_momentum(twin), atol=1e-12)
    if robot.model.base == "floating":
        np.testing.assert_allclose(spatial_momentum(d), momenta(d).spatial, atol=1e-12)


def test_the_added_mass_of_a_fluid_moves_about_the_same_point() -> None:
    known = next(name for name in robots.names() if robots.get(name).fluid)
    twin = robots.load(known)
    assert twin.base == "floating"
    source = twin.pinocchio
    source.jointPlacements[1] = ASKEW
    model = VMSModel.from_pinocchio(source, twin.end_effector)
    assert twin.fluid is not None
    model = model.in_fluid(twin.fluid)
    rng = np.random.default_rng(5)
    q, v = twin.random_configuration(rng), rng.uniform(-1, 1, twin.nv)
    ours = momenta(model.evaluate(q, v))
    theirs = momenta(twin.evaluate(moved(twin, ASKEW, q), v))
    for one, other in zip(vars(ours).values(), vars(theirs).values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12 * max(1.0, np.abs(other).max()))
