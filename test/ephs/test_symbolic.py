# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Symbolic equations are those of the source, and have the numbers of the assembled system."""

import numpy as np
import pytest

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.groups import pose
from vms_ph_ephs import (
    DryFriction,
    Environment,
    Equations,
    Irreversible,
    StructureError,
    assemble,
    compose,
    entropy,
    momentum,
    power,
)
from vms_ph_ephs import multibody as mb
from vms_ph_ephs.equations.assembly import consistent_sample
from vms_ph_ephs.examples import TwoBodies, damped_oscillator, oscillator
from vms_ph_ephs.library import Radiator, battery, inverter, motor, propeller
from vms_ph_ephs.symbolic import symbolic
from vms_ph_io import robots

from .test_closed_loops import four_bar
from .test_library import drive

sp = pytest.importorskip("sympy")

# Both evaluate sums of products of some hundred terms.
TOLERANCE = 1e-10


def terms(expression: object) -> set:
    """The additive terms of an expression."""
    return set(sp.Add.make_args(sp.expand(expression)))


def test_the_equations_of_the_oscillator_are_those_of_the_source_term_by_term() -> None:
    k, m = sp.symbols("k m", positive=True)
    q, p, f = (sp.Symbol(name, real=True) for name in ("q", "p", "p_f"))
    found = symbolic(assemble(oscillator()), parameters={"pe.matrix": k, "ke.matrix": 1 / m})
    assert terms(found.rate("q")[0]) == {p / m}  # (5)
    assert terms(found.rate("p")[0]) == {-k * q, f}


def test_the_equations_of_the_damped_oscillator_are_those_of_the_source_term_by_term() -> None:
    k, m, d, theta = sp.symbols("k m d theta_0", positive=True)
    q, p = sp.Symbol("osc_q", real=True), sp.Symbol("p", real=True)
    given = {
        "osc.pe.matrix": k,
        "osc.ke.matrix": 1 / m,
        "mf.viscous": d,
        "env.theta_0": theta,
    }
    found = symbolic(assemble(damped_oscillator()), parameters=given)
    v = p / m
    assert terms(found.rate("osc.q")[0]) == {v}  # (8)
    assert terms(found.rate("p")[0]) == {-k * q, -d * v}
    assert terms(found.rate("s")[0]) == {d * v * v / theta}


def pendulum() -> Equations:
    """A rod on a hinge along z of both frames, half a metre below it, which turns with friction."""
    hinge = mb.joint(mb.Revolute(), None, pose(np.eye(3), np.array([0.0, 0.5, 0.0])), friction=0.25)
    rod = mb.rigid_body(2.0, [0.5, 0.25, 0.5], (0.0, -8.0, 0.0))
    return assemble(mb.mechanism({"b": rod}, {"j": mb.Between(mb.GROUND, "b", hinge)}))


def test_the_equations_of_the_damped_pendulum_are_those_of_the_source_term_by_term() -> None:
    equations = pendulum()
    m, mu, theta = sp.symbols("m mu theta_0", positive=True)
    inertia = sp.symbols("I_x I_y I_z", positive=True)
    inverse = sp.diag(1 / m, 1 / m, 1 / m, *(1 / i for i in inertia))
    weight = sp.Matrix([0, -m * 8, 0])
    given = {
        "b.ke.matrix": inverse,
        "b.pe.weight": -weight,
        "j.mf.tensor": mu,
        "j.env.theta_0": theta,
    }
    found = symbolic(equations, parameters=given)
    p = found.x[equations.layout.find("b.p").indices, 0]
    rotation = sp.Matrix(4, 4, list(found.x[equations.layout.find("b.q").indices, 0]))[:3, :3]
    u = inverse @ p
    f, t, v, w = p[:3, 0], p[3:, 0], u[:3, 0], u[3:, 0]
    gyroscopic = sp.Matrix([*f.cross(w), *(t.cross(w) + f.cross(v))])  # (19), (22)
    # (31): lambda along the joint is the force of friction, the others are free.
    rate_of_joint = u[5]
    free = sp.symbols("f_x f_y f_z t_x t_y", real=True)
    wrench = sp.Matrix([*free, -mu * rate_of_joint])
    lever = sp.Matrix([0, 0.5, 0])
    forces = sp.Matrix(wrench[:3, 0])
    reaction = sp.Matrix([*forces, *(sp.Matrix(wrench[3:, 0]) + lever.cross(forces))])
    expected = gyroscopic + sp.Matrix([*(rotation.T @ weight), 0, 0, 0]) + reaction
    # The multipliers of both are the same up to their order and sign.
    rates = found.rate("b.p")
    own = rates.jacobian(found.multipliers)
    theirs = expected.jacobian(sp.Matrix(free))
    substitution = {}
    for column in range(5):
        for other in range(5):
            for sign in (1, -1):
                if (
                    (own[:, column] - sign * theirs[:, other])
                    .applyfunc(sp.nsimplify)
                    .is_zero_matrix
                ):
                    substitution[found.multipliers[column]] = sign * free[other]
    assert len(substitution) == 5
    exact = [sp.nsimplify(each.subs(substitution), rational=True) for each in rates]
    for mine, source in zip(exact, expected, strict=True):
        assert terms(mine) == terms(sp.nsimplify(source, rational=True))
    assert terms(found.rate("j.q_r")[0]) == {rate_of_joint}
    assert terms(found.rate("j.s")[0]) == {mu * rate_of_joint**2 / theta}
    assert [terms(sp.nsimplify(g, rational=True)) for g in found.rate("b.q")] == [
        terms(e) for e in u
    ]


def test_the_equation_of_motion_of_the_pendulum_is_that_of_a_textbook() -> None:
    equations = pendulum()
    x = mb.consistent_state(equations, {"j": 0.6}, {"j": 1.5})
    rates = symbolic(equations).function()(x)
    momentum_rate = rates[equations.layout.find("b.p").tangent]
    # (I + m l^2) a = -m g l sin(angle) - mu w, with g along -y and the rod along -y at zero.
    expected = (-2.0 * 8.0 * 0.5 * np.sin(0.6) - 0.25 * 1.5) / (0.5 + 2.0 * 0.25)
    assert momentum_rate[5] / 0.5 == pytest.approx(expected, rel=1e-12)


def same_numbers(equations: Equations, library: str, rng: np.random.Generator) -> float:
    pytest.importorskip(library)
    function = symbolic(equations, library).function()  # type: ignore[arg-type]
    worst = 0.0
    for _ in range(3):
        x = consistent_sample(equations, rng)
        inputs = {
            name: rng.normal(size=port.quantity.space.dimension)
            for name, port in equations.system.pattern.outer.items()
            if port.kind == "power"
        }
        expected = equations.rates(x, inputs).tangent
        gap = np.abs(function(x, inputs) - expected)
        worst = max(worst, float(gap.max() / (1.0 + np.abs(expected).max())))
    return worst


def test_the_equations_of_the_panda_with_heat_have_the_numbers_of_the_assembled_system(
    rng: np.random.Generator,
) -> None:
    description = robots.get("panda").description()
    system = mb.from_urdf(
        description, heat=mb.Heat(20.0, 0.5), springs={"panda_joint4": (3.0, 0.1)}
    )
    assert same_numbers(assemble(system, check=False), "casadi", rng) < TOLERANCE


def vehicle() -> Equations:
    """A body with a propeller in a fluid, a hot motor, an inverter and a battery."""
    wet = mb.immersed_body(2.0, 0.1 * np.eye(3), mb.body.GRAVITY, [(np.eye(4), _wet())], 1e3, 290.0)
    boxes = {
        "body": wet,
        "prop": propeller(8e-6, 1.2e-7, 4e-3, -1, 2e-5, 1e-5),
        "motor": motor(0.01, 0.1, capacity=15.0, dry=2e-3, slip=1.0),
        "inverter": inverter(),
        "battery": battery(10.0, [9.0, 11.0, 12.0], 0.02, capacity=9.0),
        "rad": Radiator(conductance=0.1, area=0.1),
        "ground": mb.Conduction(2.0),
        "env": Environment(290.0),
    }
    return assemble(
        compose(
            boxes,
            {
                "bus": ("battery.q", "inverter.q"),
                "phi": ("inverter.phi", "motor.phi"),
                "u": ("inverter.u", "u"),
                "shaft": ("motor.p", "prop.p"),
                "b": ("body.p", "prop.b", "b"),
                "hot": ("motor.s", "rad.a"),
                "cells": ("battery.s", "ground.a"),
                "s": ("env.s", "prop.s", "rad.b", "ground.b"),
            },
            ["u", "b"],
        ),
        check=False,
    )


def _wet() -> object:
    from vms_ph_dynamics import ImmersedBody

    at = np.array([0.0, 0.0, 0.1])
    return ImmersedBody("b", 0.1 * np.eye(6), 0.01, at, np.ones(6), np.ones(6))


@pytest.mark.parametrize("library", ["casadi", "sympy"])
def test_the_laws_of_every_part_have_the_numbers_of_the_assembled_system(
    library: str, rng: np.random.Generator
) -> None:
    assert same_numbers(assemble(drive(), check=False), library, rng) < TOLERANCE
    if library == "casadi":  # expressions of SymPy grow too large
        assert same_numbers(vehicle(), library, rng) < TOLERANCE
        for pair in (mb.Planar(), mb.Spherical(), mb.Cylindrical(), mb.Screw(0.1)):
            hinge = mb.joint(pair, friction=0.3, heat=mb.Heat(9.0, 0.1))
            rod = mb.rigid_body(1.0, [0.1, 0.2, 0.3])
            system = mb.mechanism({"b": rod}, {"j": mb.Between(mb.GROUND, "b", hinge)})
            assert same_numbers(assemble(system, check=False), library, rng) < TOLERANCE
        assert same_numbers(assemble(TwoBodies().free()), library, rng) < TOLERANCE


def test_what_has_no_expression_is_named() -> None:
    ports = {"p": power(momentum), "s": power(entropy)}
    own = Irreversible(ports, rows=lambda states, e, theta_0: [[1.0 + e[0] ** 2]], conductance=1.0)
    for box, message in (
        (own, "box 'mf' is given by functions, which have no expressions"),
        (DryFriction(1.0, momentum.space, "p"), "box 'mf' is of the kind 'dry_friction'"),
    ):
        system = compose(
            {"osc": oscillator(), "mf": box, "env": Environment()},
            {"p": ("osc.p", "mf.p"), "s": ("mf.s", "env.s")},
        )
        with pytest.raises(StructureError, match=message):
            symbolic(assemble(system, check=False))
    with pytest.raises(StructureError, match="the constraints repeat each other"):
        symbolic(assemble(four_bar(0.2, 0.5, 0.4, 0.5)), "casadi").explicit()
    with pytest.raises(ModelError, match=r"there is no parameter 'ke\.mass'"):
        symbolic(assemble(oscillator()), parameters={"ke.mass": 1})
    with pytest.raises(ModelError, match="must be one of sympy, casadi; given: 'maple'"):
        symbolic(assemble(oscillator()), "maple")  # type: ignore[arg-type]
