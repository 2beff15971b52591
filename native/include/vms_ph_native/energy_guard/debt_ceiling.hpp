// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The bound of what efforts may risk while a debt of the tank is repaid.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Largest delay of an energy guard from measurement to effort, samples.
constexpr int kMostDelay = 3;

/// Energy given over the delay + 1 samples from a decision to the sight of its outcome.
class UnseenWork {
 public:
  explicit UnseenWork(int delay) noexcept : size_(static_cast<std::size_t>(delay + 1)) {}

  /// Count the work of a sample, J; return the largest of the last samples up to its end, J.
  double add(double work) noexcept {
    starts_[next_] = given_;
    next_ = (next_ + 1) % size_;
    given_ += work;
    double least = given_;
    for (std::size_t i = 0; i < size_; ++i) least = std::min(least, starts_[i]);
    return given_ - least;
  }

 private:
  std::array<double, kMostDelay + 1> starts_{};  // energy given at the start of each sample, J
  std::size_t size_, next_ = 0;
  double given_ = 0.0;
};

/// Keeps efforts that repay a debt from raising it; see
/// vms_ph_controllers.guard.debt_ceiling.
class DebtCeiling {
 public:
  /// A debt below this, J, is a rounding error.
  static constexpr double kRounding = 1e-12;

  explicit DebtCeiling(int delay) noexcept : unseen_(delay) {}

  /// Note that a sample in which energy was given, J, has led to a level of the tank, J, and to a
  /// kinetic energy of the robot, J; return the work not seen at its end, J.
  double settle(double level, double work, double kinetic) noexcept {
    fastest_ = std::max(fastest_, kinetic);
    const double unseen = unseen_.add(work), debt = -level;
    if (debt <= kRounding) {
      ceiling_ = 0.0;
      room_ = std::numeric_limits<double>::infinity();
      return unseen;
    }
    const double loan = std::max(kLeastLoan, kLent * kinetic);
    lent_ = std::max(lent_, loan);
    ceiling_ = std::max(ceiling_, unseen + loan);
    if (debt > ceiling_) ceiling_ = debt + std::min(loan, debt - ceiling_);
    room_ = ceiling_ - debt;
    return unseen;
  }

  /// By how much efforts may raise the root of twice the kinetic energy, one after the other.
  double rise() const noexcept {
    return std::sqrt(2.0 * (fastest_ + kRisked * std::max(0.0, room_))) - std::sqrt(2.0 * fastest_);
  }

  /// Largest loan so far, J.
  double lent() const noexcept { return lent_; }

 private:
  // What efforts that repay a debt may risk beyond the work that made it: a share of the kinetic
  // energy, and at least so many J.
  static constexpr double kLent = 0.05, kLeastLoan = 1e-3;
  // Share of what is left below the ceiling that is risked at once.
  static constexpr double kRisked = 0.8;

  UnseenWork unseen_;
  double ceiling_ = 0.0, fastest_ = 0.0, lent_ = kLeastLoan;
  double room_ = std::numeric_limits<double>::infinity();
};

}  // namespace vms_ph
