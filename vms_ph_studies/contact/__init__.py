# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots in scenes with contacts, judged by the goals of their tasks."""

from .scene_run import run_scene

__all__ = ["run_scene"]
