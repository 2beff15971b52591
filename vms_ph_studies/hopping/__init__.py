# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies of this project on the hopping legs of source B; the source does not report them."""
