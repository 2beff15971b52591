// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The wrench that the actuators of a guarded base deliver.
#pragma once

#include <optional>

#include "vms_ph_native/cholesky.hpp"
#include "vms_ph_native/model.hpp"
#include "vms_ph_native/prioritised_actuation.hpp"

namespace vms_ph {

/// Finds the wrench that the actuators of a base give for a wanted one, within their limits; see
/// vms_ph_controllers.guard.base_wrench. After construction nothing allocates or throws.
class BaseWrench {
 public:
  /// Serve a base. Without an allocation it can apply any wrench; one that is not actuated none.
  ///
  /// @param weights      (b,) of the components of a wrench, those of small weight are given up
  ///                     first; when (0,), forces before moments.
  /// @throws ModelError  an allocation or weights for another kind of base, or more actuators than
  ///                     kMaxVelocities.
  BaseWrench(const Model& model, std::optional<Allocation> allocation, bool actuated,
             const Eigen::VectorXd& weights);

  /// Whether every wrench is given, and so that of a fixed base.
  bool is_ideal() const noexcept { return is_ideal_; }

  /// Replace a wanted wrench (b,) by the nearest that is given; return whether it is another one.
  bool deliver(VectorB& wrench) noexcept;

  /// Replace a brake (b,) by the nearest wrench in the norm of the inverse of M_b (b,b), which
  /// takes energy out.
  void brake(VectorB& wrench, const Eigen::Ref<const Eigen::MatrixXd>& M_b) noexcept;

 private:
  bool is_ideal_;
  std::optional<Allocation> allocation_;
  std::optional<PrioritisedActuation> nearest_;
  std::optional<BoundedLeastSquares> search_;
  Cholesky root_;
  Eigen::MatrixXd scaled_;  // (b,m) map of the inputs in the norm of a brake
  Eigen::VectorXd inputs_;
};

}  // namespace vms_ph
