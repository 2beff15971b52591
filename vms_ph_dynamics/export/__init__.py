# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Exports of the model to other tools: graphs of CasADi, functions of JAX, expressions of SymPy."""
