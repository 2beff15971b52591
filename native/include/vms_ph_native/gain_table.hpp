// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The gains of a law: their table, and the ramp by which changes come into force.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "vms_ph_native/controller.hpp"

namespace vms_ph {

/// Time in which a gain crosses the whole range between its bounds, s; largest rate at which a
/// limit changes, of its value, 1/s.
constexpr double kCrossingTime = 1.0, kLimitRate = 10.0;

/// The share of the crossing time in a time step, s.
inline double crossing_share(double dt) noexcept {
  return dt > 0.0 ? std::min(dt / kCrossingTime, 1.0) : 0.0;
}

/// A value moved towards a target by at most a step.
inline double approach(double start, double target, double max_change) noexcept {
  return std::min(std::max(target, start - max_change), start + max_change);
}

/// What bounds the rate of a change: the range, the ratio (of a limit, 0 for none), or nothing.
enum class Ramp { range, ratio, none };

/// What is said of a gain, and how it changes.
struct GainBounds {
  const char *name, *description;
  double low = 0.0, high = 1.0;
  Ramp ramp = Ramp::none;
};

/// One member of a record of gains: a number with bounds, or a switch that is on or off.
template <class Record>
struct GainField : GainBounds {
  GainField(const char* gain_name, const char* gain_description, double Record::* member,
            double lowest = 0.0, double highest = 1.0, Ramp gain_ramp = Ramp::range)
      : GainBounds{gain_name, gain_description, lowest, highest, gain_ramp}, number(member) {}
  GainField(const char* gain_name, const char* gain_description, bool Record::* member)
      : GainBounds{gain_name, gain_description}, flag(member) {}
  template <class Base>
  GainField(const GainField<Base>& field)  // NOLINT: implicit conversion intended
      : GainBounds(field), number(field.number), flag(field.flag) {}

  double value_in(const Record& record) const noexcept {
    return flag ? static_cast<double>(record.*flag) : record.*number;
  }

  /// Move this member of a record towards that of another by at most a share of its range. A limit
  /// where there was none begins at what it limits now.
  void follow(Record& gains, const Record& target, double share,
              const Record& demand) const noexcept {
    if (flag) {
      gains.*flag = target.*flag;
    } else if (ramp == Ramp::none) {
      gains.*number = target.*number;
    } else if (ramp == Ramp::range) {
      gains.*number = approach(gains.*number, target.*number, share * (high - low));
    } else if (gains.*number != target.*number) {
      const double ratio = 1.0 + kLimitRate * kCrossingTime * share;
      const double end = target.*number > 0.0 ? target.*number : high;
      const double start =
          gains.*number > 0.0 ? gains.*number : std::max(end, std::min(demand.*number, high));
      const double value = std::min(std::max(end, start / ratio), start * ratio);
      gains.*number = value == end ? target.*number : value;
    }
  }

  double Record::* number = nullptr;
  bool Record::* flag = nullptr;
};

/// The gains in the order in which hosts show them. A default-made record holds the defaults.
template <class Record>
class GainTable {
 public:
  GainTable(std::initializer_list<GainField<Record>> fields) : fields_(fields) {}

  /// The table of a record derived from another: the fields of that one, in place of which those
  /// of the same name stand, and further ones.
  template <class Base>
  GainTable(const GainTable<Base>& base, std::initializer_list<GainField<Record>> fields)
      : fields_(base.fields().begin(), base.fields().end()) {
    for (const GainField<Record>& field : fields) {
      const std::string name = field.name;
      const auto base_field = std::find_if(fields_.begin(), fields_.end(),
                                           [&](const auto& entry) { return name == entry.name; });
      if (base_field == fields_.end()) {
        fields_.push_back(field);
      } else {
        *base_field = field;
      }
    }
  }

  const std::vector<GainField<Record>>& fields() const { return fields_; }

  /// The gains with the values of a record.
  std::vector<Gain> list(const Record& record) const {
    static const Record defaults{};
    std::vector<Gain> gains;
    for (const auto& field : fields_) {
      gains.push_back({field.name, field.description, field.value_in(record), field.low, field.high,
                       field.value_in(defaults), field.flag != nullptr});
    }
    return gains;
  }

  /// Change a gain; false for an unknown name or a value out of bounds.
  bool set(Record& record, const std::string& name, double value) const noexcept {
    for (const auto& field : fields_) {
      if (name != field.name) continue;
      if (!(value >= field.low && value <= field.high)) return false;
      if (field.flag) {
        record.*field.flag = value != 0.0;
      } else {
        record.*field.number = value;
      }
      return true;
    }
    return false;
  }

 private:
  std::vector<GainField<Record>> fields_;
};

/// The gains in force: each moves to the value set at most its whole range in kCrossingTime, s.
/// After a restart the next values are taken as they are: no effort depends on earlier ones.
template <class Record>
class GainRamp {
 public:
  explicit GainRamp(const Record& gains = {}) : active_(gains) {}

  /// Take these gains, and the next ones, as they are.
  void restart(const Record& gains) noexcept {
    active_ = gains;
    is_started_ = false;
  }

  /// Move towards the gains set, for a time step in s, and return those in force.
  const Record& follow(const Record& target, double dt) noexcept {
    if (!std::exchange(is_started_, true)) active_ = target;
    const double share = crossing_share(dt);
    for (const auto& field : Record::table().fields())
      field.follow(active_, target, share, limit_demand);
    return active_;
  }

  const Record& active_gains() const noexcept { return active_; }

  Record limit_demand;  ///< what limited quantities have now, in the fields of their limits

 private:
  Record active_;
  bool is_started_ = false;
};

/// The share, in [0, 1], of a part of a law that is switched on or off.
class SwitchRamp {
 public:
  /// Take the next position of the switch as it is.
  void restart() noexcept { *this = SwitchRamp(); }

  /// Move towards one or zero, for a time step in s, and return the share.
  double follow(bool is_on, double dt) noexcept {
    share_ = approach(share_, is_on ? 1.0 : 0.0, is_started_ ? crossing_share(dt) : 1.0);
    is_started_ = true;
    return share_;
  }

  double share() const noexcept { return share_; }

 private:
  double share_ = 0.0;
  bool is_started_ = false;
};

}  // namespace vms_ph
