# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in scenes with contacts, simulated by MuJoCo, with energy accounting."""

from .contacts import Contact
from .mujoco_robot import RobotShape
from .mujoco_simulation import MujocoSimulation
from .scene import Body, Scene, Shape, Surface
from .task import ForceGoal, Goal, Move, PlaceGoal, RestGoal, Task

__all__ = [
    "Body",
    "Contact",
    "ForceGoal",
    "Goal",
    "Move",
    "MujocoSimulation",
    "PlaceGoal",
    "RestGoal",
    "RobotShape",
    "Scene",
    "Shape",
    "Surface",
    "Task",
]
