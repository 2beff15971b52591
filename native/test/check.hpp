// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Checks of the C++ tests, which are on in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (false)

/// Says what the text was when it does not have a part.
#define CHECK_HAS(text, part)                                                                      \
  do {                                                                                             \
    const std::string has_text = (text);                                                           \
    if (has_text.find(part) == std::string::npos) {                                                \
      std::fprintf(stderr, "%s:%d: no '%s' in: %s\n", __FILE__, __LINE__, part, has_text.c_str()); \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)
