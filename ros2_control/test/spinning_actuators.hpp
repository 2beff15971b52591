// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Actuators of a base that spin and tilt, as elements of a robot description.
#pragma once

#include <initializer_list>
#include <string>

inline std::string allocation(const std::string& inputs, const std::string& base = "floating") {
  const std::string weights = base == "floating" ? "1 1 1 1 1 1" : "1 1 1";
  return "<vms_ph_allocation base='" + base + "' weights='" + weights + "'>" + inputs +
         "</vms_ph_allocation>";
}

/// A reaction wheel about an axis of the base.
inline std::string wheel(const std::string& axis, const std::string& opposite,
                         const std::string& rate, const std::string& more = "") {
  return "<input name='wheel " + axis + "' kind='reaction_wheel' column='0 0 0 " + opposite +
         "' lower='-0.5' upper='0.5' inertia='0.002' spin_axis='" + axis + "' rate='" + rate +
         "' largest_rate='300' friction='0.0001' torque_constant='0.05' resistance='0.2' " + more +
         "/>";
}

inline std::string three_wheels() {
  return allocation(wheel("1 0 0", "-1 0 0", "200") + wheel("0 1 0", "0 -1 0", "-250") +
                    wheel("0 0 1", "0 0 -1", "290"));
}

/// Four rotors that tilt about the y axis of the base.
inline std::string tilting_rotors() {
  std::string xml;
  for (int i = 0; i < 4; ++i) {
    const double x = i < 2 ? 0.2 : -0.2, y = i % 2 == 0 ? 0.2 : -0.2;
    const double turn = i == 0 || i == 3 ? 0.02 : -0.02;
    const auto text = [](std::initializer_list<double> values) {
      std::string words;
      for (const double value : values) words += std::to_string(value) + " ";
      return words;
    };
    // Along z, and a quarter turn about y from there along x: force, place x force + drag.
    const std::string flat = text({0, 0, 1, y, -x, turn}), forward = text({1, 0, 0, turn, 0, -y});
    xml += "<input name='rotor_" + std::to_string(i) + "' column='" + flat + "' column_cos='" +
           flat + "' column_sin='" + forward +
           "' tilt_lower='-0.4' tilt_upper='0.5' tilt_rate='2' lower='0' upper='20' "
           "thrust_constant='1e-5' loss_ratio='0.02' inertia='2e-5' spin_axis='0 0 " +
           (turn > 0 ? "-1" : "1") + "' spin_axis_sin='" + (turn > 0 ? "-1" : "1") + " 0 0'/>";
  }
  return allocation(xml);
}
