# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in scenes with contacts, simulated by MuJoCo, with energy accounting."""

from .mujoco_engine import Contact, MujocoEngine
from .mujoco_robot import RobotShape
from .scene import Body, Scene, Shape, Surface
from .task import ForceGoal, Goal, Move, PlaceGoal, RestGoal, Task

__all__ = [
    "Body", "Contact", "ForceGoal", "Goal", "Move", "MujocoEngine", "PlaceGoal", "RestGoal",
    "RobotShape", "Scene", "Shape", "Surface", "Task",
]  # fmt: skip
