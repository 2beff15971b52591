"""Systems that several tests look at."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import ephs
from vms_ph_dynamics.ephs import Environment, Irreversible, Quadratic, Reversible, compose, power
from vms_ph_dynamics.ephs import multibody as mb
from vms_ph_dynamics.ephs.quantities import displacement, entropy, momentum
from vms_ph_dynamics.groups import SE3, SO3, pose

PARAMETERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "golden" / "C_ephs.json").read_text()
)["params"]


def oscillator(k: float = 2.0, m: float = 3.0) -> ephs.System:
    """The oscillator of [C fig. 5]."""
    return compose(
        {
            "pe": Quadratic({"q": power(displacement)}, k),
            "ke": Quadratic({"p": power(momentum)}, 1.0 / m),
            "pkc": Reversible(
                {"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]]
            ),
        },
        {"q": ("pe.q", "pkc.q"), "p": ("pkc.p", "ke.p", "p")},
        ["p"],
    )


def damper(d: float = 0.7) -> Irreversible:
    """The friction of [C (6)]."""

    def onsager(states: Any, e: np.ndarray, theta_0: float) -> np.ndarray:
        v, theta = e[0], theta_0 + e[1]
        return d * np.array([[theta, -v], [-v, v * v / theta]])

    return Irreversible({"p": power(momentum), "s": power(entropy)}, onsager)


def damped_oscillator(k: float = 2.0, m: float = 3.0, d: float = 0.7) -> ephs.System:
    """The damped oscillator of [C fig. 6]."""
    return compose(
        {"osc": oscillator(k, m), "mf": damper(d), "env": Environment(300.0)},
        {"p": ("osc.p", "mf.p"), "s": ("mf.s", "env.s")},
    )


def golden_pose(name: str) -> np.ndarray:
    return np.array(PARAMETERS[name])


def golden_bodies() -> dict[str, ephs.System]:
    mass, inertia = PARAMETERS["mass"], PARAMETERS["J"]
    return {f"b{i + 1}": mb.rigid_body(mass[i], inertia[i]) for i in range(2)}


def hinge(o1: str, o2: str, i: int, heat: mb.Heat | None = None) -> ephs.System:
    pair = mb.Revolute()
    return mb.joint(
        pair,
        golden_pose(o1),
        golden_pose(o2),
        friction=PARAMETERS["mu"][i],
        potential=mb.Spring(pair, PARAMETERS["kr"][i]),
        heat=heat,
    )


def two_free_bodies() -> ephs.System:
    """Two bodies and a revolute joint with friction, heat and a spring [C section 6]."""
    return mb.mechanism(golden_bodies(), {"j": mb.Between("b1", "b2", hinge("o1", "o2", 1))})


def two_free_bodies_state(equations: ephs.Equations) -> np.ndarray:
    """The initial state of the golden motion."""
    axis = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    return mb.place(
        equations,
        {"j": -0.8},
        {"j": -2.2},
        poses={"b1": pose(SO3().exp(0.9 * axis), np.array([0.1, 0.2, 0.3]))},
        twists={"b1": np.array([0.3, -0.2, 0.4, 0.8, -1.1, 0.6])},
    )


def pendulum(heat: mb.Heat | None = None) -> ephs.System:
    """Two bodies below the ground with two revolute joints, friction and heat."""
    return mb.mechanism(
        golden_bodies(),
        {
            "j1": mb.Between("ground", "b1", hinge("oG", "o1g", 0, heat)),
            "j2": mb.Between("b1", "b2", hinge("o1", "o2", 1, heat)),
        },
    )


def pendulum_state(equations: ephs.Equations) -> np.ndarray:
    """The initial state of the golden motion."""
    return mb.place(equations, {"j1": 0.4, "j2": -0.8}, {"j1": 1.5, "j2": -2.2})


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return SE3().exp(rng.uniform(-1, 1, 6))
