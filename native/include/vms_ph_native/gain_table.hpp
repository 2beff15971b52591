// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The gains of a law: their table, and the ramp by which changes come into force.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "vms_ph_native/controller.hpp"

namespace vms_ph {

/// One member of a record of gains: a number with bounds, or a switch that is on or off.
template <class Record>
struct GainField {
  GainField(const char* gain_name, const char* gain_description, double Record::* member,
            double lower_bound, double upper_bound, bool is_limit = false)
      : name(gain_name),
        description(gain_description),
        number(member),
        low(lower_bound),
        high(upper_bound),
        is_immediate(is_limit) {}
  GainField(const char* gain_name, const char* gain_description, bool Record::* member)
      : name(gain_name), description(gain_description), flag(member) {}
  template <class Base>
  GainField(const GainField<Base>& field)  // NOLINT: implicit conversion intended
      : name(field.name),
        description(field.description),
        number(field.number),
        flag(field.flag),
        low(field.low),
        high(field.high),
        is_immediate(field.is_immediate) {}

  double value_in(const Record& record) const noexcept {
    return flag ? static_cast<double>(record.*flag) : record.*number;
  }

  /// Move this member of a record towards that of another by at most a share of its range.
  void follow(Record& gains, const Record& target, double share) const noexcept {
    if (flag) {
      gains.*flag = target.*flag;
    } else if (is_immediate) {
      gains.*number = target.*number;
    } else {
      const double max_change = share * (high - low), start = gains.*number;
      gains.*number = std::min(std::max(target.*number, start - max_change), start + max_change);
    }
  }

  const char *name, *description;
  double Record::* number = nullptr;
  bool Record::* flag = nullptr;
  double low = 0.0, high = 1.0;
  bool is_immediate = false;  ///< whether a change acts at once, as limits do
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

/// Time in which a gain crosses the whole range between its bounds, s.
constexpr double kCrossingTime = 1.0;

/// The share of the crossing time in a time step, s.
inline double crossing_share(double dt) noexcept {
  return dt > 0.0 ? std::min(dt / kCrossingTime, 1.0) : 0.0;
}

/// A value moved towards a target by at most a step.
inline double approach(double start, double target, double max_change) noexcept {
  return std::min(std::max(target, start - max_change), start + max_change);
}

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
    if (is_started_) {
      const double share = crossing_share(dt);
      for (const auto& field : Record::table().fields()) field.follow(active_, target, share);
    } else {
      active_ = target;
      is_started_ = true;
    }
    return active_;
  }

  const Record& active_gains() const noexcept { return active_; }

 private:
  Record active_;
  bool is_started_ = false;
};

/// The share, in [0, 1], of a part of a law that is switched on or off.
class SwitchRamp {
 public:
  /// Take the next position of the switch as it is.
  void restart() noexcept {
    share_ = 0.0;
    is_started_ = false;
  }

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
