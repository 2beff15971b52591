# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Comparisons of this project with established methods; no source reports them."""
