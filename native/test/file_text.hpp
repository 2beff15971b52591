// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The text of a file of the golden data.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
