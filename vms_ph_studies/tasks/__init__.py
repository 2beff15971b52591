# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of robots with their own actuators, and Monte Carlo studies of them."""

from vms_ph_io.tasks.task_run import TaskRun, run_task
from vms_ph_io.tasks.uncertainty import Uncertainty

__all__ = ["TaskRun", "Uncertainty", "run_task"]
