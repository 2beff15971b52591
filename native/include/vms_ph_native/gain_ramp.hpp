// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Gains that follow their changes without a step in the effort.
#pragma once

#include <algorithm>

#include "vms_ph_native/gain_table.hpp"

namespace vms_ph {

/// Time in which a gain crosses the whole range between its bounds, s.
constexpr double kCrossing = 1.0;

/// The share of the crossing time in a time step, s.
inline double crossing_share(double dt) noexcept {
  return dt > 0.0 ? std::min(dt / kCrossing, 1.0) : 0.0;
}

/// A value moved towards a target by at most a step.
inline double approach(double now, double target, double step) noexcept {
  return std::min(std::max(target, now - step), now + step);
}

/// The gains in force: each moves to the value set at most its whole range in kCrossing seconds.
/// After a restart the next values are taken as they are: no effort depends on earlier ones.
template <class Record>
class GainRamp {
 public:
  explicit GainRamp(const Record& gains = {}) : now_(gains) {}

  /// Take these gains, and the next ones, as they are.
  void restart(const Record& gains) noexcept {
    now_ = gains;
    begun_ = false;
  }

  /// Move towards the gains set, for a time step in s, and return those in force.
  const Record& follow(const Record& target, double dt) noexcept {
    if (begun_) {
      const double share = crossing_share(dt);
      for (const auto& field : Record::table().fields()) field.follow(now_, target, share);
    } else {
      now_ = target;
      begun_ = true;
    }
    return now_;
  }

  const Record& now() const noexcept { return now_; }

 private:
  Record now_;
  bool begun_ = false;
};

/// The share, in [0, 1], of a part of a law that is switched on or off.
class SwitchRamp {
 public:
  /// Take the next position of the switch as it is.
  void restart() noexcept {
    share_ = 0.0;
    begun_ = false;
  }

  /// Move towards one or zero, for a time step in s, and return the share.
  double follow(bool on, double dt) noexcept {
    share_ = approach(share_, on ? 1.0 : 0.0, begun_ ? crossing_share(dt) : 1.0);
    begun_ = true;
    return share_;
  }

  double share() const noexcept { return share_; }

 private:
  double share_ = 0.0;
  bool begun_ = false;
};

}  // namespace vms_ph
