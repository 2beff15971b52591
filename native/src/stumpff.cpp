// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/stumpff.hpp"

#include <cmath>

namespace vms_ph {
namespace {

// Below this argument the series is used; above it the closed forms are accurate.
constexpr double kSmallArgument = 4.0;

// The first omitted term of the series is below 1e-22.
constexpr int kTerms = 12;

struct InverseFactorials {
  constexpr InverseFactorials() : of() {
    double factorial = 1.0;
    for (int n = 0; n < 7 + 2 * kTerms; ++n) {
      of[n] = 1.0 / factorial;
      factorial *= n + 1;
    }
  }
  double of[7 + 2 * kTerms];
};
constexpr InverseFactorials kInverseFactorials;

/// sum_k (-s)^k / (n + 2k)!, from its last term to its first.
double series(int n, double s) noexcept {
  double total = 0.0;
  for (int k = kTerms; k >= 0; --k) total = kInverseFactorials.of[n + 2 * k] - s * total;
  return total;
}

}  // namespace

Stumpff::Stumpff(double s) noexcept {
  if (s < kSmallArgument) {
    c5 = series(5, s);
    c6 = series(6, s);
    c4 = 1.0 / 24.0 - s * c6;
    c3 = 1.0 / 6.0 - s * c5;
    c2 = 0.5 - s * c4;
    c1 = 1.0 - s * c3;
    return;
  }
  const double t = std::sqrt(s);
  c1 = std::sin(t) / t;
  const double half = std::sin(0.5 * t) / t;
  c2 = 2.0 * half * half;
  c3 = (1.0 - c1) / s;
  c4 = (0.5 - c2) / s;
  c5 = (1.0 / 6.0 - c3) / s;
  c6 = (1.0 / 24.0 - c4) / s;
}

}  // namespace vms_ph
