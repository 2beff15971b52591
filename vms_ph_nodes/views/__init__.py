# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Views of the robot: markers, scenes of the web page and the live view in the terminal."""
