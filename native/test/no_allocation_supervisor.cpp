// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// A guarded law takes no memory from the heap, whatever is measured or wanted, and gives no number
// that is not finite nor a torque beyond the limits.
#include <cmath>
#include <memory>

#include "allocations.hpp"
#include "arm.hpp"
#include "core_test.hpp"
#include "vms_ph_native/laws.hpp"
#include "vms_ph_native/supervisor.hpp"

namespace no_allocation_supervisor {

using namespace vms_ph;

TEST(no_allocation_supervisor) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  const Model model = Model::from_urdf(kArm, Base::floating);
  Supervisor supervisor(model, std::make_unique<PayloadCompensation>(
                                   model, make_law("DecoupledVMSController", model, {}, true)));
  CHECK(supervisor.carry(0.1, Eigen::Vector3d(0.01, 0.0, 0.0), 0.0));
  RobotState home_state{model.neutral_configuration(), Eigen::VectorXd::Zero(model.nv())};
  CHECK(supervisor.reset(home_state));
  const double values[] = {nan, infinite, -infinite, 1e155, 1e6, 3.0, 0.5, 0.0};
  RobotState state = home_state;
  Reference no_reference, far_reference;
  no_reference.joints = far_reference.joints = Eigen::VectorXd::Zero(model.n());
  far_reference.pose = Eigen::Matrix4d::Identity();
  far_reference.has_joints = true;
  int statuses[4] = {0, 0, 0, 0};
  const long initial_count = allocations();
  for (int k = 0; k < updates(5000); ++k) {
    state.q = home_state.q;
    state.v = home_state.v;
    double dt = 1e-3;
    const double value = values[k % 8];
    const int kind = (k / 40) % 8;
    // Forty updates in order, then forty with a fault.
    if ((k / 40) % 2 == 1) {
      if (kind == 1) state.q[k % model.nq()] = value;
      if (kind == 3) state.v[k % model.nv()] = value;
      if (kind == 5) dt = value;
      if (kind == 7) (*far_reference.pose)(k % 3, 3) = far_reference.joints[k % 2] = value;
    }
    const Command& command =
        k % 100 == 99 ? supervisor.hold("the state is old", 1e-3)
                      : supervisor.update(state, k % 3 == 0 ? far_reference : no_reference, dt);
    ++statuses[static_cast<int>(command.status)];
    CHECK(command.torque.allFinite() && command.wrench_base.allFinite());
    CHECK((command.torque.cwiseAbs().array() <= model.max_effort().array()).all());
  }
  CHECK(allocations() == initial_count);
  CHECK(statuses[0] > 1000 && statuses[1] > 100 && statuses[2] > 1000);

  // A size that is not the robot's is held too.
  const RobotState foreign_state{Eigen::VectorXd::Zero(3), Eigen::VectorXd::Zero(1)};
  CHECK_HAS(supervisor.update(foreign_state, no_reference, 1e-3).reason,
            "its size is not that of this robot");
}

}  // namespace no_allocation_supervisor
