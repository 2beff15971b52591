# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The momentum of the whole robot in the axes of the inertial frame."""

from ..momentum import Momenta, SpatialVector, in_space, momenta

__all__ = ["Momenta", "SpatialVector", "in_space", "momenta"]
