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
