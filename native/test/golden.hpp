// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Golden vectors: text files with a key a line, then numbers or words; a dash stands for nothing.
// test/native/golden_format.py writes them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "file_text.hpp"

namespace vms_ph::golden {

struct Line {
  std::string key, text;

  /// The numbers that follow the key.
  Eigen::VectorXd numbers() const {
    std::vector<double> values;
    const char* at = text.c_str();
    for (char* end = nullptr;; at = end) {
      const double value = std::strtod(at, &end);
      if (end == at) break;
      values.push_back(value);
    }
    return Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  }
  double number() const { return numbers()[0]; }

  /// The words that follow the key.
  std::vector<std::string> words() const {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }
};

inline std::vector<Line> read(const std::string& path) {
  std::istringstream stream(file_text(path));
  std::vector<Line> lines;
  for (std::string row; std::getline(stream, row);) {
    if (row.empty() || row[0] == '#') continue;
    const std::size_t space = row.find(' ');
    lines.push_back(
        {row.substr(0, space), space == std::string::npos ? "" : row.substr(space + 1)});
  }
  return lines;
}

/// Counts what is compared, and says what differs.
class Comparison {
 public:
  explicit Comparison(std::string name) : name_(std::move(name)) {}

  /// To 1e-9 of the size of the quantity, which counts as one where it is less.
  void numbers(const Line& expected_line, const Eigen::VectorXd& computed) {
    const Eigen::VectorXd golden_numbers = expected_line.numbers();
    if (golden_numbers.size() != computed.size()) return differs(expected_line, "of another size");
    for (Eigen::Index i = 0; i < golden_numbers.size(); ++i) {
      ++compared_count_;
      if (golden_numbers[i] == computed[i]) continue;  // infinite too
      const double difference =
          std::abs(golden_numbers[i] - computed[i]) / std::max(1.0, std::abs(golden_numbers[i]));
      max_difference_ = std::max(max_difference_, difference);
      if (!(difference <= 1e-9)) differs(expected_line, std::to_string(computed[i]));
    }
  }
  void words(const Line& expected_line, const std::string& computed) {
    ++compared_count_;
    if (expected_line.text != (computed.empty() ? "-" : computed)) differs(expected_line, computed);
  }
  void differs(const Line& expected_line, const std::string& computed) {
    ++difference_count_;
    std::printf("%s: %s should be '%s', is %s\n", name_.c_str(), expected_line.key.c_str(),
                expected_line.text.c_str(), computed.c_str());
  }

  /// Print the sum; whether all is the same.
  bool passed() const {
    std::printf("%s: %d compared, %d differ, furthest apart %.1e\n", name_.c_str(), compared_count_,
                difference_count_, max_difference_);
    return compared_count_ > 1000 && difference_count_ == 0;
  }

 private:
  std::string name_;
  int compared_count_ = 0, difference_count_ = 0;
  double max_difference_ = 0.0;
};

}  // namespace vms_ph::golden
