// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// How a wrench on the base is made by its actuators.
#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// A rotor or thruster fixed to the base.
struct Rotor {
  Eigen::Vector3d position;   ///< in the base frame, m
  Eigen::Vector3d axis;       ///< direction of its thrust in the base frame; scaled to length one
  double drag_ratio = 0.0;    ///< reaction torque on the base about the axis over thrust, m
  double lower = -kInfinity;  ///< smallest thrust, N
  double upper = kInfinity;   ///< largest thrust, N
};

/// The map w = B u from actuator thrusts to the base wrench.
class Allocation {
 public:
  /// Construct the map from the actuators of a robot on a floating or planar base.
  ///
  /// @throws ModelError  no actuator, a fixed base, or an actuator with an entry that is not
  ///                     finite, an axis of length zero, or limits in the wrong order.
  explicit Allocation(const std::vector<Rotor>& rotors, Base base = Base::floating);

  /// Construct it from B itself, (6,m) or (3,m), and the limits of the thrusts, (m,) each, N.
  ///
  /// @throws ModelError  wrong shapes, entries that are not finite, limits in the wrong order.
  Allocation(Eigen::MatrixXd matrix, Eigen::VectorXd lower, Eigen::VectorXd upper);

  /// B, linear first; for a planar base the rows (x, y, rotation about z).
  const Eigen::MatrixXd& matrix() const { return matrix_; }
  const Eigen::VectorXd& lower() const { return lower_; }
  const Eigen::VectorXd& upper() const { return upper_; }

  /// Whether every wrench can be produced, apart from limits.
  bool is_fully_actuated() const;

 private:
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd lower_, upper_;
};

/// The actuators of a base; after construction they do not allocate or throw.
class Actuation {
 public:
  virtual ~Actuation() = default;

  /// Whether the base has actuators.
  virtual bool is_actuated() const noexcept = 0;

  /// The wrench (b,) that the base applies for a desired one.
  ///
  /// @param desired_wrench  (b,) wrench of the law.
  /// @param static_wrench  (b,) wrench that compensates gravity.
  virtual const VectorB& apply(const ConstVector& desired_wrench,
                               const ConstVector& static_wrench) noexcept = 0;

  /// Why the last wrench differs from the desired one; empty when it does not.
  virtual const Reason& reason() const noexcept = 0;
};

/// The share, at most 1, of a step (m,) from a start (m,) that stays within limits.
double share_within_limits(const ConstVector& start, const ConstVector& step,
                           const ConstVector& lower, const ConstVector& upper) noexcept;

/// Maps desired wrenches of a base to those that its actuators can apply.
/// A wrench beyond the limits is moved towards the one that compensates gravity, keeping the
/// direction of the difference: clipping every rotor separately would turn the vehicle over. If
/// the actuators do not span a direction, the nearest wrench that they span is applied.
class BaseActuation final : public Actuation {
 public:
  /// Serve a base with these actuators. Without an allocation it can apply any wrench; a base that
  /// is not actuated applies none.
  ///
  /// @throws ModelError  an allocation for another kind of base.
  BaseActuation(const Model& model, std::optional<Allocation> allocation, bool base_actuated);

  bool is_actuated() const noexcept override { return is_actuated_; }

  const VectorB& apply(const ConstVector& desired_wrench,
                       const ConstVector& static_wrench) noexcept override;
  const Reason& reason() const noexcept override { return reason_; }

 private:
  void clip_thrusts() noexcept;
  bool static_thrusts_exceed_limits() const noexcept;

  bool is_actuated_;
  std::optional<Allocation> allocation_;
  Eigen::MatrixXd inverse_, projector_;  // (m,b) of B; (b,b) onto the wrenches that inputs can make
  Eigen::VectorXd fixed_inputs_;         // (m,) inputs whose bounds leave no room, else zero
  Eigen::VectorXd thrusts_, static_thrusts_, thrust_step_;
  VectorB fixed_wrench_;  // (b,) wrench of the fixed inputs
  VectorB wrench_, residual_;
  Reason reason_;
};

/// Maps desired wrenches to the nearest that the actuators can apply within their limits; forces
/// are given up before moments, see vms_ph_controllers/safety/base_actuation.py.
class PrioritisedActuation final : public Actuation {
 public:
  /// @param weights      (b,) of the components of a wrench; when (0,), a force has the weight 1
  ///                     and a moment ten over the actuators' mean lever arm.
  /// @throws ModelError  more actuators than kMaxVelocities, or weights of another size.
  explicit PrioritisedActuation(const Allocation& allocation, const Eigen::VectorXd& weights = {});

  bool is_actuated() const noexcept override { return true; }
  const VectorB& apply(const ConstVector& desired_wrench,
                       const ConstVector& static_wrench) noexcept override;
  const Reason& reason() const noexcept override { return reason_; }

  /// The inputs (m,) that make the last wrench, N or N m.
  const Eigen::VectorXd& inputs() const noexcept { return inputs_; }

 private:
  bool is_within_limits() const noexcept;

  Allocation allocation_;
  VectorB weights_;
  Eigen::MatrixXd weighted_map_;  // diag(weights) B
  Eigen::MatrixXd projector_;     // onto the weighted wrenches that inputs can make
  Eigen::MatrixXd inverse_;       // of the weighted map of the inputs that are not fixed, (m,b)
  Eigen::VectorXd fixed_inputs_;  // (m,) inputs whose bounds leave no room, else zero
  Eigen::VectorXd inputs_;
  BoundedLeastSquares solver_;
  VectorB wrench_, weighted_goal_, residual_;
  Reason reason_;
};

}  // namespace vms_ph
