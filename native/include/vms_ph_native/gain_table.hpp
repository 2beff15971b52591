// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The gains of a law in one table: names, descriptions and bounds.
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
  GainField(const char* its_name, const char* what, double Record::* member, double least,
            double most, bool is_limit = false)
      : name(its_name),
        description(what),
        number(member),
        low(least),
        high(most),
        at_once(is_limit) {}
  GainField(const char* its_name, const char* what, bool Record::* member)
      : name(its_name), description(what), flag(member) {}
  template <class Base>
  GainField(const GainField<Base>& field)  // NOLINT: implicit conversion intended
      : name(field.name),
        description(field.description),
        number(field.number),
        flag(field.flag),
        low(field.low),
        high(field.high),
        at_once(field.at_once) {}

  double of(const Record& record) const noexcept {
    return flag ? static_cast<double>(record.*flag) : record.*number;
  }

  /// Move this member of a record towards that of another by at most a share of its range.
  void follow(Record& now, const Record& target, double share) const noexcept {
    if (flag) {
      now.*flag = target.*flag;
    } else if (at_once) {
      now.*number = target.*number;
    } else {
      const double step = share * (high - low), was = now.*number;
      now.*number = std::min(std::max(target.*number, was - step), was + step);
    }
  }

  const char *name, *description;
  double Record::* number = nullptr;
  bool Record::* flag = nullptr;
  double low = 0.0, high = 1.0;
  bool at_once = false;  ///< whether a change acts at once, as limits do
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
      const auto same = std::find_if(fields_.begin(), fields_.end(),
                                     [&](const auto& given) { return name == given.name; });
      if (same == fields_.end()) {
        fields_.push_back(field);
      } else {
        *same = field;
      }
    }
  }

  const std::vector<GainField<Record>>& fields() const { return fields_; }

  /// The gains with the values of a record.
  std::vector<Gain> list(const Record& record) const {
    static const Record defaults{};
    std::vector<Gain> gains;
    for (const auto& field : fields_) {
      gains.push_back({field.name, field.description, field.of(record), field.low, field.high,
                       field.of(defaults), field.flag != nullptr});
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

}  // namespace vms_ph
