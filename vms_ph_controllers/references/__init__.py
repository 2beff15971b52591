# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""References that laws follow: poses, joint positions, and the reference governor."""
