"""Robots in scenes with contacts, judged by the goals of their tasks."""

from .scene_run import run_scene

__all__ = ["run_scene"]
