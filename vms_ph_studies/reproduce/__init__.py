# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Reproduced results of the sources, one folder for each source."""
