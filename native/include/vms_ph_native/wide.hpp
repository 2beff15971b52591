// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Functions that are compiled twice: for every machine, and for those with fused multiplication and
// addition. The loader chooses once.
#pragma once

// Only instructions differ, neither types nor their alignment, so that both fit the prebuilt
// Pinocchio. What such a function calls without inlining it is compiled for every machine, lambdas
// too.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define VMS_PH_WIDE __attribute__((target_clones("fma", "default")))
#else
#define VMS_PH_WIDE
#endif

// Small functions that the others call in their loops: compiled for the machine of their caller.
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define VMS_PH_INLINED __attribute__((always_inline))
#else
#define VMS_PH_INLINED
#endif
