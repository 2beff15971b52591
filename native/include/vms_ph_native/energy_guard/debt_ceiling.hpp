// The bound of what efforts may risk while a debt of the tank is repaid.
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// Largest delay of an energy guard from measurement to effort, samples.
constexpr int kMostDelay = 3;

/// The largest sum of what is positive in a few samples in succession.
class SampleSum {
 public:
  explicit SampleSum(int samples) noexcept : size_(static_cast<std::size_t>(samples)) {}

  /// Add a sample, and return the sum of those that are positive of the last ones.
  double add(double value) noexcept {
    values_[next_] = std::max(0.0, value);
    next_ = (next_ + 1) % size_;
    double sum = 0.0;
    for (std::size_t i = 0; i < size_; ++i) sum += values_[i];
    return sum;
  }

 private:
  std::array<double, kMostDelay + 1> values_{};
  std::size_t size_, next_ = 0;
};

/// Keeps efforts that repay a debt from raising it without end; see
/// vms_ph_controllers.energy_guard.debt_ceiling.
class DebtCeiling {
 public:
  /// A debt below this, J, is a rounding error.
  static constexpr double kRounding = 1e-12;

  DebtCeiling(int nv, int delay) noexcept : reach_(VectorV::Zero(nv)), works_(delay + 1) {}

  /// Note that a sample has led to a level.
  ///
  /// @param level  energy in the tank, J.
  /// @param work   energy given in the sample, J.
  /// @param way    (nv,) displacement over the sample.
  /// @param ahead  (nv,) displacement that the present velocity would cause in the next one.
  void settle(double level, double work, const VectorV& way, const VectorV& ahead) noexcept {
    reach_ = way.cwiseAbs().cwiseMax(ahead.cwiseAbs()).cwiseMax(kFading * reach_);
    const double sum = works_.add(work), debt = -level;
    if (debt <= kRounding) {
      ceiling_ = 0.0;
      room_ = std::numeric_limits<double>::infinity();
      return;
    }
    const double lent = (1.0 + kLent) * debt;
    if (ceiling_ == 0.0) {
      ceiling_ = std::max(sum, lent);
    } else if (debt > ceiling_) {
      // More than was risked: a further event that was not seen.
      ceiling_ = lent;
    }
    room_ = ceiling_ - debt;
  }

  /// What may be risked, J.
  double room() const noexcept { return room_; }

  /// What an effort beyond the resting one (nv,) risks in a sample, J.
  double risk(const VectorV& active) const noexcept { return active.cwiseAbs().dot(reach_); }

 private:
  // Part of a debt that the efforts which repay it may risk on top of it.
  static constexpr double kLent = 0.25;
  // Factor per sample at which the reach of a joint is forgotten.
  static constexpr double kFading = 0.9;

  VectorV reach_;
  SampleSum works_;
  double ceiling_ = 0.0, room_ = std::numeric_limits<double>::infinity();
};

}  // namespace vms_ph
