// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The energy- and momentum-conserving scheme, with no projection.
#pragma once

#include <Eigen/Core>

#include "vms_ph_native/integrators/centroidal.hpp"
#include "vms_ph_native/integrators/stepper.hpp"

namespace vms_ph {

/// Finds the fixed point of a sweep; see vms_ph_dynamics/integrators/implicit.py.
class FixedPoint {
 public:
  /// Evaluates one sweep from a guess of the unknown; false when the result is not finite.
  class Sweep {
   public:
    virtual ~Sweep() = default;
    virtual bool sweep(const Eigen::VectorXd& unknown, Eigen::VectorXd& following) noexcept = 0;
  };

  explicit FixedPoint(int size);

  Eigen::VectorXd unknown;  ///< the guess, then the solution

  /// Solve; the last sweep made is that of the solution. Writes iterations and failure.
  bool solve(Sweep& sweep, StepResult& result) noexcept;

 private:
  bool newton(Sweep& sweep, StepResult& result) noexcept;

  Eigen::VectorXd y_, following_, residual_, step_, trial_, left_;
  Eigen::MatrixXd slope_;
};

/// Advances by the Cayley map of the velocity in the middle of the step, with Gonzalez' correction
/// of the shape force; see vms_ph_dynamics/integrators/{cayley,discrete_gradient}.py.
class DiscreteGradient final : public Stepper, private FixedPoint::Sweep {
 public:
  DiscreteGradient(const Model& model, bool gravity);

  int order() const override { return 2; }
  SolverState begin(const Eigen::VectorXd& q, const Eigen::VectorXd& v, double t) override;
  StepResult step(const SolverState& x, const Ports& ports, double t, double dt,
                  SolverState& next) noexcept override;
  void motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept override;

 private:
  /// An energy and the magnitude of its terms; the velocity is in `velocity_`.
  struct Energy {
    double value, scale;
  };

  bool sweep(const Eigen::VectorXd& unknown, Eigen::VectorXd& following) noexcept override;
  void guess(const SolverState& x, double t, double dt, bool fresh) noexcept;
  Energy energy(const Eigen::VectorXd& q, const Eigen::Vector3d& angular,
                const Eigen::VectorXd& pi) noexcept;
  double multiplier(const Eigen::VectorXd& following, const Eigen::Vector3d& l1) noexcept;
  void correct(double by) noexcept;
  void polish(StepResult& result) noexcept;
  void inertial_motion(const SolverState& x, Eigen::VectorXd& q, Eigen::VectorXd& v) noexcept;
  Eigen::Vector3d in_base(const Eigen::VectorXd& q, const Eigen::Vector3d& angular) const noexcept;

  Centroidal robot_;
  Tree end_;  ///< evaluated at the end of the step; that of robot_ in the middle
  FixedPoint free_, forced_;
  Eigen::VectorXd weights_;  ///< (n,) of the joints in the discrete gradient
  double typical_;
  Eigen::VectorXd zero_effort_, reach_, q_mid_, v_mid_, force_, slope_, pi_mean_, velocity_,
      weighted_;
  // The present step:
  const SolverState* from_ = nullptr;
  const Ports* ports_ = nullptr;
  SolverState* result_state_ = nullptr;
  double t_ = 0.0, dt_ = 0.0, square_ = 0.0;
  Eigen::Vector3d l0_ = Eigen::Vector3d::Zero();
};

}  // namespace vms_ph
