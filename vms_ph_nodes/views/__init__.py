# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Views of the robot: markers, and the web page."""
