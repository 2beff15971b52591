# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws of hopping legs, and their references over delays."""
