// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The tests of the core, which are compiled together and run one by one.
#pragma once

#include <map>
#include <string>

#include "check.hpp"

/// The tests by name. Each gets the folder of the golden data.
using TestFunction = void (*)(const std::string& folder);
inline std::map<std::string, TestFunction> registered_tests;

/// Begins the test of a file, inside a namespace of its name.
#define TEST(name)                                                        \
  void run(const std::string& folder);                                    \
  const bool is_registered = registered_tests.emplace(#name, run).second; \
  void run([[maybe_unused]] const std::string& folder)
