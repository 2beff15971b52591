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
  Command command;
  command.wrench_base.resize(0);
  command.torque = Eigen::Vector2d(2.0, 0.0);
  const RobotState turning_state{Eigen::Vector2d::Zero(), Eigen::Vector2d(3.0, 0.0)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const RobotState unknown_state{turning_state.q, Eigen::Vector2d(nan, 0.0)};
  audit.add(unknown_state, command, command, nan, 0.0);
  audit.add(turning_state, command, command, 10.0, 0.1);
  audit.add(turning_state, command, command, 10.6, 0.1);
  const PowerBalance unseen_balance = audit.add(unknown_state, command, command, nan, 0.1);
  CHECK(std::abs(unseen_balance.torque_energy - 0.6) < 1e-12 &&
        std::isnan(unseen_balance.torque_power));
  // What was done in the meantime is that of the powers before and after.
  const PowerBalance& balance = audit.add(turning_state, command, command, 11.8, 0.1);
  CHECK(std::abs(balance.torque_energy - 1.8) < 1e-12 && balance.torque_power == 6.0);
  CHECK(std::abs(balance.stored_energy - 1.8) < 1e-12 &&
        std::abs(balance.unaccounted_power) < 1e-12);
}

}  // namespace power_audit
