// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The power audit of a controller that does not see its robot for a moment.
#include <cmath>
#include <limits>

#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/energy_split.hpp"

namespace power_audit {

using namespace vms_ph;

TEST(power_audit) {
  const Model model = Model::from_urdf(kArm, Base::fixed, "", {});
  PowerAudit audit(model, false);
  Command pushed;
  pushed.wrench_base.resize(0);
  pushed.torque = Eigen::Vector2d(2.0, 0.0);
  const RobotState turning{Eigen::Vector2d::Zero(), Eigen::Vector2d(3.0, 0.0)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const RobotState unknown{turning.q, Eigen::Vector2d(nan, 0.0)};
  audit.add(unknown, pushed, pushed, nan, 0.0);
  audit.add(turning, pushed, pushed, 10.0, 0.1);
  audit.add(turning, pushed, pushed, 10.6, 0.1);
  const PowerBalance blind = audit.add(unknown, pushed, pushed, nan, 0.1);
  CHECK(std::abs(blind.torque_energy - 0.6) < 1e-12 && std::isnan(blind.torque_power));
  // What was done in the meantime is that of the powers before and after.
  const PowerBalance& balance = audit.add(turning, pushed, pushed, 11.8, 0.1);
  CHECK(std::abs(balance.torque_energy - 1.8) < 1e-12 && balance.torque_power == 6.0);
  CHECK(std::abs(balance.stored_energy - 1.8) < 1e-12 &&
        std::abs(balance.unaccounted_power) < 1e-12);
}

}  // namespace power_audit
