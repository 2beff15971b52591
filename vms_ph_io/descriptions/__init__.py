# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robot descriptions: URDF, xacro and MJCF, with their packages and shapes."""
