# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Diagrams of patterns."""

from .svg import draw, draw_powers

__all__ = ["draw", "draw_powers"]
