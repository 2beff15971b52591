// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Sines and cosines of the angles of many joints at once.
#pragma once

#include <cmath>
#include <cstddef>

namespace vms_ph {

/// Angles are given in groups of this many: as many as a machine computes at once.
constexpr std::size_t kTogether = 4;

/// Largest angle, rad, of which the whole turns are subtracted without a loss of digits.
constexpr double kLargestAngle = 1e5;

/// Sines and cosines of `count` angles, a multiple of kTogether, to two units in the last place.
///
/// The C library computes one angle at a time, in a third of the time of a whole placement of an
/// arm. An angle that is larger than kLargestAngle, or not finite, is left to it.
inline void sines_and_cosines(const double* angles, std::size_t count, double* sines,
                              double* cosines) noexcept {
  // A quarter turn in three parts, of which multiples by less than 2^20 are exact but for the last.
  constexpr double kPerQuarter = 0.63661977236758134308;
  constexpr double kHigh = 1.57079632673412561417, kMiddle = 6.07710050630396597660e-11,
                   kLow = 2.02226624879595063154e-21;
  constexpr double kToInteger = 6755399441055744.0;  // 1.5 * 2^52: a sum with it has no fraction
  bool small = true;
  for (std::size_t i = 0; i < count; ++i) small &= std::abs(angles[i]) <= kLargestAngle;
  if (!small) {
    for (std::size_t i = 0; i < count; ++i) {
      sines[i] = std::sin(angles[i]);
      cosines[i] = std::cos(angles[i]);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = angles[i];
    const double quarters = (x * kPerQuarter + kToInteger) - kToInteger;
    const double r = ((x - quarters * kHigh) - quarters * kMiddle) - quarters * kLow, z = r * r;
    // The polynomials of Cephes for an eighth of a turn to both sides.
    const double sine =
        r +
        r * z *
            (-1.66666666666666307295e-1 +
             z * (8.33333333332211858878e-3 +
                  z * (-1.98412698295895385996e-4 +
                       z * (2.75573136213857245213e-6 +
                            z * (-2.50507477628578072866e-8 + z * 1.58962301576546568060e-10)))));
    const double cosine =
        1.0 - 0.5 * z +
        z * z *
            (4.16666666666665929218e-2 +
             z * (-1.38888888888730564116e-3 +
                  z * (2.48015872888517045348e-5 +
                       z * (-2.75573141792967388112e-7 +
                            z * (2.08757008419747316778e-9 - z * 1.13585365213876817300e-11)))));
    // Quarter turns modulo four in floating point: machines compare these faster than integers.
    const double turns = (0.25 * quarters + kToInteger) - kToInteger;
    const double rest = quarters - 4.0 * turns;  // -2, -1, 0, 1 or 2
    const bool odd = std::abs(rest) == 1.0;
    const double s = odd ? cosine : sine, c = odd ? sine : cosine;
    sines[i] = (rest == -1.0 || std::abs(rest) == 2.0) ? -s : s;
    cosines[i] = (rest == 1.0 || std::abs(rest) == 2.0) ? -c : c;
  }
}

}  // namespace vms_ph
