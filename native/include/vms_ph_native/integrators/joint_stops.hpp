// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Stops at the ends of the joints: inelastic, one-sided, and held over each step.
#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/dynamics.hpp"
#include "vms_ph_native/fluid.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/wheels.hpp"

namespace vms_ph {

/// Torques of the stops of joints that reach their limits; as in
/// vms_ph_dynamics.simulation.joint_stops.
///
/// A stop only pushes, and only as much as a joint needs to end each step where it can still come
/// to rest before the limit in the next. Its work is never positive: stops dissipate. After
/// construction nothing allocates or throws.
class JointStops {
 public:
  /// @param wheels       on which the robot rolls without slip.
  /// @throws ModelError  a mistake in the wheels.
  explicit JointStops(const Model& model, const std::vector<Wheel>& wheels = {});

  /// Whether a joint has a limit.
  bool exist() const { return exist_; }

  /// Whether a joint can no longer come to rest before its stop in a step of dt s.
  bool is_stop_reached(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double dt) noexcept;

  /// Torques (n,) of the stops for a step.
  ///
  /// @param q, v            motion at its start.
  /// @param free_q, free_v  motion at its end without stops.
  const Eigen::VectorXd& torque(const Eigen::VectorXd& q, const Eigen::VectorXd& v,
                                const Eigen::VectorXd& free_q, const Eigen::VectorXd& free_v,
                                double dt) noexcept;

  /// Displacement (n,) of the joints that have limits; zero for continuous joints.
  const Eigen::VectorXd& displacement(const Eigen::VectorXd& from,
                                      const Eigen::VectorXd& to) noexcept;

 private:
  void compute_mobility(const Eigen::VectorXd& q) noexcept;
  bool compute_wheeled_mobility(const Eigen::VectorXd& q, const Eigen::VectorXd& v) noexcept;

  Model model_;
  Tree tree_;
  std::optional<Dynamics> robot_;  ///< in a fluid, for the added mass
  FluidTerms fluid_;
  MatrixV added_mass_;
  std::optional<WheeledTerms> rolling_;  ///< on wheels
  RobotState wheeled_state_;
  bool exist_ = false;
  Eigen::VectorXd lower_, upper_, positions_, displacement_, impulse_, rates_, lower_rates_,
      upper_rates_, torque_;
  Eigen::MatrixXd mass_, mobility_;  ///< symmetric: the order of their entries does not matter
};

}  // namespace vms_ph
