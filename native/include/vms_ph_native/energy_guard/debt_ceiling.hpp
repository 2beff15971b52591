// The bound of what efforts may risk while a debt of the tank is repaid.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

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
/// vms_ph_controllers.energy_guard.debt_ceiling.
class DebtCeiling {
 public:
  /// A debt below this, J, is a rounding error.
  static constexpr double kRounding = 1e-12;

  /// What efforts that repay a debt may risk beyond the work that made it, J.
  static constexpr double kLoan = 1e-3;

  /// @param speeds  (nv,) largest plausible speeds of the coordinates.
  DebtCeiling(VectorV speeds, int delay) : speeds_(std::move(speeds)), delay_(delay) {}

  /// Begin without a debt.
  void restart() noexcept {
    unseen_ = UnseenWork(delay_);
    ceiling_ = 0.0;
    room_ = std::numeric_limits<double>::infinity();
  }

  /// Note that a sample in which energy was given, J, has led to a level of the tank, J.
  void settle(double level, double work) noexcept {
    const double unseen = unseen_.add(work), debt = -level;
    if (debt <= kRounding) {
      ceiling_ = 0.0;
      room_ = std::numeric_limits<double>::infinity();
      return;
    }
    ceiling_ = std::max(ceiling_, unseen + kLoan);
    if (debt > ceiling_) ceiling_ = debt + kLoan;
    room_ = ceiling_ - debt;
  }

  /// What may be risked, J.
  double room() const noexcept { return room_; }

  /// What an effort beyond the resting one (nv,) risks in a sample, J.
  double risk(const VectorV& active, double dt) const noexcept {
    return dt * active.cwiseAbs().dot(speeds_);
  }

 private:
  const VectorV speeds_;
  const int delay_;
  UnseenWork unseen_{delay_};
  double ceiling_ = 0.0, room_ = std::numeric_limits<double>::infinity();
};

}  // namespace vms_ph
