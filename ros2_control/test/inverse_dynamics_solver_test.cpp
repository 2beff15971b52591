// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The solver loaded as users of inverse_dynamics_solver do, against Pinocchio's Newton-Euler
// algorithm, and against the solver of KDL where that is installed.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <inverse_dynamics_solver/exceptions.hpp>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pluginlib/class_loader.hpp>
#include <rclcpp/rclcpp.hpp>

#include "vms_ph_native/model.hpp"
#include "vms_ph_native/pinocchio_model.hpp"

namespace {

using Interface = inverse_dynamics_solver::InverseDynamicsSolver;
using Eigen::VectorXd;
using testing::HasSubstr;

// Both algorithms round sums of some ten terms of at most 100 N m.
constexpr double kTolerance = 1e-9;

std::string link(const std::string& name, const std::string& mass) {
  return "<link name='" + name + "'><inertial><origin xyz='0.03 -0.02 0.11' rpy='0.2 0.1 -0.3'/>" +
         "<mass value='" + mass +
         "'/><inertia ixx='0.03' iyy='0.04' izz='0.02' ixy='0.001' ixz='-0.002' iyz='0.003'/>"
         "</inertial></link>";
}

std::string joint(const std::string& name, const std::string& type, const std::string& parent,
                  const std::string& child, const std::string& axis) {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent +
         "'/><child link='" + child +
         "'/><origin xyz='0.1 0.05 0.3' rpy='0.4 -0.2 0.7'/><axis xyz='" + axis +
         "'/><limit lower='-2' upper='2' effort='90' velocity='3'/>"
         "<dynamics damping='0.5' friction='0.2'/></joint>";
}

/// A torso that carries an arm of four joints, and where wanted a head and a gripper.
std::string robot(bool is_tree) {
  std::string xml = "<robot name='torso'>" + link("base", "5") + link("torso", "4") +
                    link("upper", "3") + link("fore", "2") + link("hand", "1") +
                    joint("lift", "prismatic", "base", "torso", "0 0 1") +
                    joint("shoulder", "revolute", "torso", "upper", "0 1 0") +
                    joint("elbow", "continuous", "upper", "fore", "1 0 0") +
                    joint("wrist", "revolute", "fore", "hand", "0 0.6 0.8");
  if (is_tree) {
    xml += link("head", "2") + joint("neck", "revolute", "torso", "head", "0 0 1") +
           link("finger", "0.3") + joint("grip", "prismatic", "hand", "finger", "1 0 0");
  }
  return xml + "</robot>";
}

class Solver : public testing::Test {
 protected:
  static void SetUpTestSuite() { rclcpp::init(0, nullptr); }
  static void TearDownTestSuite() { rclcpp::shutdown(); }

  std::shared_ptr<Interface> solver(const std::string& urdf,
                                    std::vector<rclcpp::Parameter> parameters,
                                    const std::string& plugin = "vms_ph/InverseDynamicsSolver") {
    node_ = std::make_shared<rclcpp::Node>(
        "robot", rclcpp::NodeOptions()
                     .automatically_declare_parameters_from_overrides(true)
                     .parameter_overrides(std::move(parameters)));
    std::shared_ptr<Interface> made = loader_.createSharedInstance(plugin);
    made->initialize(node_->get_node_parameters_interface(), "arm", urdf);
    return made;
  }

  VectorXd numbers(Eigen::Index size) {
    return VectorXd::NullaryExpr(size, [this] { return uniform_(random_); });
  }

  /// The largest difference to the torques of Pinocchio in twenty states.
  double difference(const Interface& solver, const vms_ph::Model& model) {
    pinocchio::Data data(model.pinocchio());
    double largest = 0.0;
    for (int k = 0; k < 20; ++k) {
      const VectorXd q = numbers(model.n()), v = numbers(model.n()), a = numbers(model.n());
      VectorXd full = model.neutral_configuration();
      for (int i = 0; i < model.n(); ++i) {
        const int first = model.position_index(i);
        full[first] = model.is_continuous(i) ? std::cos(q[i]) : q[i];
        if (model.is_continuous(i)) full[first + 1] = std::sin(q[i]);
      }
      const VectorXd expected = pinocchio::rnea(model.pinocchio(), data, full, v, a);
      largest = std::max(largest, (solver.getTorques(q, v, a) - expected).cwiseAbs().maxCoeff());
    }
    return largest;
  }

  pluginlib::ClassLoader<Interface> loader_{"inverse_dynamics_solver",
                                            "inverse_dynamics_solver::InverseDynamicsSolver"};
  std::shared_ptr<rclcpp::Node> node_;
  std::mt19937 random_{7};
  std::uniform_real_distribution<double> uniform_{-2.0, 2.0};
};

TEST_F(Solver, HasTheTorquesOfPinocchioOfAChain) {
  const auto arm = solver(robot(false), {{"arm.tip", "hand"}});
  EXPECT_LT(difference(*arm, vms_ph::Model::from_urdf(robot(false), vms_ph::Base::fixed)),
            kTolerance);
}

TEST_F(Solver, MovesTheJointsOfTheChainOfATreeAndCarriesItsOtherBodies) {
  const auto arm = solver(robot(true), {{"arm.tip", "hand"}});
  const auto locked =
      vms_ph::Model::from_urdf(robot(true), vms_ph::Base::fixed, "hand", {"neck", "grip"});
  EXPECT_LT(difference(*arm, locked), kTolerance);
}

TEST_F(Solver, TakesGravityInTheAxesOfTheRoot) {
  // The torso's axes are turned against those of the base, at every height.
  const std::vector<double> gravity{1.0, -2.0, 3.0};
  const auto arm =
      solver(robot(false), {{"arm.tip", "hand"}, {"arm.root", "torso"}, {"arm.gravity", gravity}});
  const std::string xml = robot(false);
  const auto begin = xml.find("<link name='base'>"), torso = xml.find("<link name='torso'>");
  const auto lift = xml.find("<joint name='lift'"), shoulder = xml.find("<joint name='shoulder'");
  const std::string upper_part =
      xml.substr(0, begin) + xml.substr(torso, lift - torso) + xml.substr(shoulder);
  const auto model =
      vms_ph::Model::from_urdf(upper_part, vms_ph::Base::fixed).with_gravity({1.0, -2.0, 3.0});
  ASSERT_EQ(model.n(), 3);
  EXPECT_LT(difference(*arm, model), kTolerance);
}

TEST_F(Solver, HasTheTorquesOfTheSolverOfKDL) {
  const std::string kdl = "kdl_inverse_dynamics_solver/InverseDynamicsSolverKDL";
  if (!loader_.isClassAvailable(kdl)) GTEST_SKIP() << "kdl_inverse_dynamics_solver is not here";
  const auto ours = solver(robot(false), {{"arm.tip", "hand"}});
  const auto theirs = solver(robot(false), {{"arm.tip", "hand"}}, kdl);
  for (int k = 0; k < 20; ++k) {
    const VectorXd q = numbers(4), v = numbers(4), a = numbers(4);
    EXPECT_LT((ours->getTorques(q, v, a) - theirs->getTorques(q, v, a)).cwiseAbs().maxCoeff(),
              kTolerance);
    EXPECT_LT((ours->getInertiaMatrix(q) - theirs->getInertiaMatrix(q)).cwiseAbs().maxCoeff(),
              kTolerance);
  }
}

TEST_F(Solver, HasTheFrictionOfTheDescription) {
  const auto arm = solver(robot(false), {{"arm.tip", "hand"}});
  const VectorXd friction = arm->getFrictionVector(Eigen::Vector4d(2.0, -1.0, 0.0, 0.1));
  EXPECT_LT((friction - Eigen::Vector4d(1.2, -0.7, 0.0, 0.25)).cwiseAbs().maxCoeff(), 1e-15);
}

TEST_F(Solver, SaysWhatIsMissingOrWrong) {
  const auto message = [this](std::vector<rclcpp::Parameter> parameters, const std::string& urdf) {
    try {
      solver(urdf, std::move(parameters));
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string xml = robot(true);
  EXPECT_THAT(message({}, xml), HasSubstr("arm.tip"));
  EXPECT_THAT(message({{"arm.tip", "hand"}}, ""), HasSubstr("robot_description"));
  EXPECT_THAT(message({{"arm.tip", "claw"}}, xml), HasSubstr("no frame 'claw'"));
  EXPECT_THAT(message({{"arm.tip", "hand"}, {"arm.root", "head"}}, xml),
              HasSubstr("moves the tip 'hand' against the root 'head'"));
  EXPECT_THAT(message({{"arm.tip", "hand"}, {"arm.gravity", std::vector<double>{0.0, 0.0}}}, xml),
              HasSubstr("given: 2 numbers"));
  const auto arm = solver("", {{"arm.tip", "hand"}, {"robot_description", xml}});
  EXPECT_THROW(arm->getGravityVector(VectorXd::Zero(6)), std::invalid_argument);
  const std::shared_ptr<Interface> empty =
      loader_.createSharedInstance("vms_ph/InverseDynamicsSolver");
  EXPECT_THROW(empty->getGravityVector(VectorXd::Zero(4)),
               inverse_dynamics_solver::UninitializedException);
}

}  // namespace
