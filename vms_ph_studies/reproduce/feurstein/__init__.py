# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Source B, Feurstein: two hopping legs, experiment by experiment."""
