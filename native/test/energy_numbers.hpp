// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy record of a command as the numbers of a golden file.
#pragma once

#include "vms_ph_native/controller.hpp"

namespace vms_ph::golden {

inline Eigen::VectorXd numbers(const ControlEnergy& energy) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(std::size(kControlEnergyFields)));
  Eigen::Index k = 0;
  for (const auto& field : kControlEnergyFields) values[k++] = energy.*field.value;
  return values;
}

}  // namespace vms_ph::golden
