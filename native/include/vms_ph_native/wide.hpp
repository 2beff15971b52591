// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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
