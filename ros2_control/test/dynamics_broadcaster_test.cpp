// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// DynamicsBroadcaster with an arm that moves, without velocities and without a state.
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <control_msgs/msg/dynamic_joint_state.hpp>
#include <vms_ph/msg/energy.hpp>

#include "../../native/test/allocations.hpp"
#include "broadcaster_fixture.hpp"
#include "vms_ph_native/evaluation.hpp"

namespace {

using control_msgs::msg::DynamicJointState;
using vms_ph::msg::Energy;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

class DynamicsBroadcaster : public BroadcasterFixture {
 protected:
  void begin(const std::string& other = "") {
    BroadcasterFixture::begin("DynamicsBroadcaster", {{"end_effector", "lower"}}, 0.0, other);
  }

  /// Update until both messages have come, for at most two seconds.
  void listen() {
    rclcpp::Node listener("listener");
    joints_.reset();
    energy_.reset();
    const auto hears_joints = listener.create_subscription<DynamicJointState>(
        "/broadcaster/joint_dynamics", 10, [this](const DynamicJointState& m) { joints_ = m; });
    const auto hears_energy = listener.create_subscription<Energy>(
        "/broadcaster/energy", 10, [this](const Energy& m) { energy_ = m; });
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_node(listener.get_node_base_interface());
    for (int k = 0; !(joints_ && energy_) && k < 200; ++k) {
      update();
      executor.spin_some(std::chrono::milliseconds(10));
    }
  }

  std::optional<DynamicJointState> joints_;
  std::optional<Energy> energy_;
};

TEST_F(DynamicsBroadcaster, BeginsOnlyWithInterfacesThatAreDoubles) {
  begin("elbow/velocity");
  EXPECT_FALSE(activate());
}

TEST_F(DynamicsBroadcaster, PublishesWeightInertiaAndEnergiesOfTheState) {
  begin();
  ASSERT_TRUE(activate());
  set_interface("shoulder/position", 0.7);
  set_interface("elbow/position", -0.4);
  set_interface("shoulder/velocity", 1.5);
  set_interface("elbow/velocity", -2.0);
  listen();
  ASSERT_TRUE(joints_ && energy_);
  const auto model = vms_ph::Model::from_urdf(flying_arm("fixed"), vms_ph::Base::fixed, "lower");
  vms_ph::Evaluation evaluation(model);
  Eigen::VectorXd q(3);
  q << 0.7, std::cos(-0.4), std::sin(-0.4);
  evaluation.set(q, Eigen::Vector2d(1.5, -2.0));
  ASSERT_EQ(joints_->joint_names, model.joint_names());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& terms = joints_->interface_values[i];
    EXPECT_THAT(terms.interface_names, testing::ElementsAre("gravity", "inertia"));
    const auto k = static_cast<Eigen::Index>(i);
    EXPECT_DOUBLE_EQ(terms.values[0], evaluation.g()[k]);
    EXPECT_DOUBLE_EQ(terms.values[1], evaluation.M()(k, k));
  }
  EXPECT_DOUBLE_EQ(energy_->kinetic, evaluation.kinetic_energy());
  EXPECT_DOUBLE_EQ(energy_->potential, evaluation.potential_energy());
  EXPECT_EQ(energy_->header.frame_id, "base_link");
}

TEST_F(DynamicsBroadcaster, HasNoKineticEnergyWithoutVelocitiesAndNothingWithoutPositions) {
  begin();
  ASSERT_TRUE(activate());
  set_interface("shoulder/velocity", kNaN);
  listen();
  ASSERT_TRUE(joints_ && energy_);
  EXPECT_TRUE(std::isfinite(joints_->interface_values[0].values[0]));
  EXPECT_TRUE(std::isfinite(energy_->potential));
  EXPECT_TRUE(std::isnan(energy_->kinetic));
  EXPECT_TRUE(std::isnan(energy_->total));
  set_interface("elbow/position", kNaN);
  listen();  // what was on its way before
  listen();
  EXPECT_FALSE(joints_ || energy_);
}

TEST_F(DynamicsBroadcaster, DoesNotAllocateWhileItPublishes) {
  begin();
  ASSERT_TRUE(activate());
  for (int k = 0; k < 10; ++k) update();
  const long before = allocations();
  ASSERT_GT(before, 0);
  for (int k = 0; k < 100; ++k) update();
  EXPECT_EQ(allocations(), before);
}

}  // namespace
