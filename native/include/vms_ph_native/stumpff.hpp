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

// Stumpff functions, of which exponentials of rotations consist; exact down to angle zero.
#pragma once

namespace vms_ph {

/// The Stumpff functions c_1 to c_6 at s, the square of an angle t: c_1 = sin t / t,
/// c_2 = (1 - cos t) / t^2, c_3 = (t - sin t) / t^3, c_n = 1/n! - s c_{n+2}.
/// As in vms_ph_dynamics/groups/stumpff.py, computed without differences of nearly equal numbers.
struct Stumpff {
  explicit Stumpff(double s) noexcept;

  /// e(s) = (1 - (t/2) cot(t/2)) / t^2, of the inverse differential of the exponential.
  double inverse() const noexcept { return -(c4 - 0.5 * c3) / c2; }

  double c1, c2, c3, c4, c5, c6;
};

}  // namespace vms_ph
