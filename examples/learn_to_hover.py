# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Does a policy learn to hover faster in decoupled coordinates? A drone with an arm says no.

Run it with ``python examples/learn_to_hover.py``; it needs brax, whose PPO learns
(``pip install brax "jax<0.9"``). The plant is ``StandardForm(hextilt).jax()`` in both cases. In
standard coordinates the policy observes the base twist and commands base wrench and joint torques.
In decoupled coordinates it observes the locked velocity; its wrench moves the locked motion alone,
its torques the shape alone: ``torque = shape torque + A^T wrench``. Energy is observed and rewarded
in both: the reward is 1 / (1 + E), E the kinetic energy and that of springs to the hover pose, in
units of ``ENERGY_SCALE``.

After 600,000 steps two seeds had 0.55 and 0.49 of the reward in standard and 0.68 and 0.27 in
decoupled coordinates: seeds differ more than coordinates. The arm has a fifth of the mass. Two
cores take some minutes a seed.
"""

import argparse
import time
from typing import Any

from vms_ph_dynamics import StandardForm
from vms_ph_io import robots

try:
    import jax
    import jax.numpy as jnp
    from brax.envs.base import Env, State
    from brax.training.agents.ppo.train import train
    from jax.scipy.spatial.transform import Rotation
except ImportError:
    raise SystemExit("this example needs brax: pip install brax 'jax<0.9'") from None

DT, EPISODE = 0.02, 150  # s; steps
FORCE, MOMENT, TORQUE = 8.0, 1.0, 0.3  # of a command of one, N, N m, N m
SPRING, TURN_SPRING, JOINT_SPRING = 4.0, 2.0, 0.2  # N/m, N m/rad, N m/rad
ENERGY_SCALE = 0.5  # J


class Hover(Env):
    """A drone with an arm that is to hover at the origin with its arm at home.

    Attributes:
        decoupled: whether observations and commands are in decoupled coordinates.
    """

    def __init__(self, decoupled: bool) -> None:
        self.decoupled, self._model = decoupled, robots.load("hextilt")
        self._form = StandardForm(self._model).jax()
        self._home = jnp.asarray(self._model.home)
        self._largest_effort = jnp.array([FORCE] * 3 + [MOMENT] * 3 + [TORQUE] * self._model.n)

    @property
    def observation_size(self) -> int:
        """Position, rotation, joints, velocities, and kinetic energy."""
        return 12 + self._model.n + self._model.nv + 1

    @property
    def action_size(self) -> int:
        """Base wrench and joint torques."""
        return int(self._model.nv)

    @property
    def backend(self) -> str:
        """Where the plant is computed."""
        return "jax"

    def reset(self, rng: Any) -> State:
        """Start near the hover pose, in motion."""
        step, velocity = jax.random.uniform(rng, (2, self._model.nv), minval=-1.0, maxval=1.0)
        step *= jnp.array([0.5] * 3 + [0.3] * 3 + [0.5] * self._model.n)
        half_turn = jnp.append(step[3:6] / 2.0, 1.0)
        rotation = half_turn / jnp.linalg.norm(half_turn)
        q = jnp.concatenate([step[:3], rotation, self._home[7:] + step[6:]])
        z = self._form.momenta(q, 0.3 * velocity)
        observation, energy = self._observe(q, z)
        return State((q, z), observation, 1.0 / (1.0 + energy), jnp.zeros(()))

    def step(self, state: State, action: Any) -> State:
        """Hold a command over a step."""
        q, z = state.pipeline_state
        effort = self._largest_effort * jnp.clip(action, -1.0, 1.0)
        wrench, torque = effort[:6], effort[6:]
        if self.decoupled:
            torque = torque + self._form.connection(q).T @ wrench
        # The weight is carried: at rest a command of zero hovers.
        gravity = self._form.generalised_gravity(q)
        q, z = self._form.step(
            q, z, DT, wrench_base=wrench + gravity[:6], torque=torque + gravity[6:]
        )
        observation, energy = self._observe(q, z)
        is_lost = (energy > 40.0) | ~jnp.isfinite(energy)
        observation = jnp.where(is_lost, 0.0, observation)  # else one lost run scales them all
        reward = jnp.where(is_lost, 0.0, 1.0 / (1.0 + energy))
        return state.replace(
            pipeline_state=(q, z), obs=observation, reward=reward, done=is_lost.astype(jnp.float32)
        )

    def _observe(self, q: Any, z: Any) -> tuple[Any, Any]:
        rotation = Rotation.from_quat(q[3:7]).as_matrix()
        v = self._form.velocity(q, z)
        kinetic = self._form.hamiltonian(q, z)["kinetic"]
        offset = q[7:] - self._home[7:]
        springs = SPRING / 2.0 * q[:3] @ q[:3] + JOINT_SPRING / 2.0 * offset @ offset
        springs += TURN_SPRING / 2.0 * (3.0 - jnp.trace(rotation))
        if self.decoupled:
            v = jnp.concatenate([self._form.locked_velocity(q, v), v[6:]])
        # Position in the axes of the base, as the wrench.
        observation = jnp.concatenate(
            [rotation.T @ q[:3], rotation.ravel(), offset, v, kinetic[None]]
        )
        return observation, (kinetic + springs) / ENERGY_SCALE


def learning_curve(decoupled: bool, seed: int, steps: int, evaluations: int) -> list[float]:
    """Return the mean reward of a step, in [0, 1], at equal distances in the training."""
    rewards = []

    def note(_: int, metrics: dict[str, Any]) -> None:
        rewards.append(float(metrics["eval/episode_reward"]) / EPISODE)

    train(
        environment=Hover(decoupled),
        num_timesteps=steps,
        episode_length=EPISODE,
        num_envs=512,
        unroll_length=10,
        batch_size=128,
        num_minibatches=16,
        num_updates_per_batch=4,
        discounting=0.97,
        learning_rate=5e-4,
        entropy_cost=1e-3,
        normalize_observations=True,
        num_evals=evaluations,
        seed=seed,
        progress_fn=note,
    )
    return rewards


def main() -> None:
    """Train with several seeds in both coordinates, and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=600_000, help="of the plant, each training")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--evaluations", type=int, default=7)
    options = parser.parse_args()
    for decoupled in (False, True):
        for seed in range(options.seeds):
            start = time.perf_counter()
            curve = learning_curve(decoupled, seed, options.steps, options.evaluations)
            name = "decoupled" if decoupled else "standard"
            rewards = " ".join(f"{reward:.2f}" for reward in curve)
            print(
                f"{name:<10} seed {seed}: {rewards}   ({time.perf_counter() - start:.0f} s)",
                flush=True,
            )


if __name__ == "__main__":
    main()
