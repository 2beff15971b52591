# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings of robots: bags of ROS 2 and ROS 1, and files of columns, as motions of a model."""

from .reading import read_recording
from .recording import Recording, RecordingError, Series

__all__ = ["Recording", "RecordingError", "Series", "read_recording"]
