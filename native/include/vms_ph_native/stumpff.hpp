// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Stumpff functions, of which exponentials of rotations consist; exact down to angle zero.
#pragma once

namespace vms_ph {

/// The Stumpff functions c_1 to c_6 at s, the square of an angle t: c_1 = sin t / t,
/// c_2 = (1 - cos t) / t^2, c_3 = (t - sin t) / t^3, c_n = 1/n! - s c_{n+2}.
/// As in vms_ph_dynamics/groups/spatial.py, computed without differences of nearly equal numbers.
struct Stumpff {
  explicit Stumpff(double s) noexcept;

  /// e(s) = (1 - (t/2) cot(t/2)) / t^2, of the inverse differential of the exponential.
  double inverse() const noexcept { return -(c4 - 0.5 * c3) / c2; }

  double c1, c2, c3, c4, c5, c6;
};

}  // namespace vms_ph
