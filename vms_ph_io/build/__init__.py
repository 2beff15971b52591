# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What builds: the C++ core of a checkout, and a new package of a user."""
