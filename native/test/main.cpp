// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Runs one test: core_test NAME FOLDER.
#include "core_test.hpp"

int main(int count, char** arguments) {
  const auto test = registered_tests.find(count == 3 ? arguments[1] : "");
  if (test == registered_tests.end()) {
    std::fprintf(stderr, "usage: core_test NAME FOLDER; the names are:\n");
    for (const auto& known : registered_tests) std::fprintf(stderr, "  %s\n", known.first.c_str());
    return 2;
  }
  test->second(arguments[2]);
  return 0;
}
