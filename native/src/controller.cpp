// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/controller.hpp"

#include <cmath>

#include "vms_ph_native/model.hpp"

namespace vms_ph {

bool RobotState::is_usable(const Model& model) const noexcept {
  return q.size() == model.nq() && v.size() == model.nv() && std::isfinite(q.sum() + v.sum());
}

}  // namespace vms_ph
