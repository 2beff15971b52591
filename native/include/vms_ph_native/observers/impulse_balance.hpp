// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The balances of momentum and energy, and the forces and wrenches observed from them.
#pragma once

#include "vms_ph_native/evaluation.hpp"

namespace vms_ph {

/// Standard deviations of the inputs of an observer: name and default. See
/// vms_ph_controllers.observers.NoiseModel, which describes them.
#define VMS_PH_NOISE_FIELDS(FIELD) \
  FIELD(velocity, 1e-3)            \
  FIELD(position, 1e-5)            \
  FIELD(torque, 0.1)               \
  FIELD(base_linear, 2e-3)         \
  FIELD(base_angular, 2e-3)        \
  FIELD(force, 0.1)                \
  FIELD(moment, 0.02)              \
  FIELD(torque_error, 0.05)        \
  FIELD(friction_error, 0.2)       \
  FIELD(model_error, 0.0)

struct NoiseModel {
#define VMS_PH_FIELD(name, initial) double name = initial;
  VMS_PH_NOISE_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD

  /// This noise. @throws ModelError  a number is negative or not finite.
  const NoiseModel& check() const;

  /// Standard deviations (nv,) of velocities and of efforts.
  VectorV velocities(const Model& model) const {
    return stack(model, base_linear, base_angular, velocity);
  }
  VectorV efforts(const Model& model) const { return stack(model, force, moment, torque); }

  /// Standard deviations (nv,) with the same number for all components of a kind.
  static VectorV stack(const Model& model, double linear_deviation, double angular_deviation,
                       double joint_deviation);
};

/// The impulse of the external forces over one sample, with its uncertainty; see
/// vms_ph_controllers.observers.ExternalImpulse. Valid until the next sample.
struct ExternalImpulse {
  Evaluation* d = nullptr;  ///< the state at the end of the sample
  double dt = 0.0;          ///< its duration, s
  VectorV vector;           ///< (nv,) N s and N m s, in the coordinates of the balance
  const MatrixV* start_covariance = nullptr;  ///< (nv,nv) covariances of the momenta at both ends
  const MatrixV* end_covariance = nullptr;
  MatrixV effort_noise;      ///< (nv,nv) covariance by noise of the efforts
  VectorV slow_error;        ///< (nv,) standard deviations of slow errors
  VectorV effort, friction;  ///< (nv,) means over the sample
  bool is_first = false;     ///< whether it is the first sample after a beginning
};

/// Momentum gained over a sample, less the impulse of everything that is known; see
/// vms_ph_controllers.observers.ImpulseBalance. Nothing but the constructor allocates.
class ImpulseBalance {
 public:
  /// @param is_decoupled  balance in the decoupled coordinates of a moving base [A (56), (59)].
  /// @param has_friction  whether the friction of the robot description acts.
  /// @throws ModelError  a number of the noise is negative or not finite.
  ImpulseBalance(const Model& model, const NoiseModel& noise, bool is_decoupled = false,
                 bool has_friction = false);

  /// Begin at the next state.
  void restart() noexcept { has_last_state_ = has_rate_change_ = false; }

  /// The external impulse since the last state; nullptr at the first one, and for a state (nq,) and
  /// (nv,), an effort (nv,) or a time step, s, that is not usable.
  const ExternalImpulse* add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
                             double dt) noexcept;

  /// Turn columns (nv,k) of forces into these coordinates at a state.
  void decouple(Evaluation& d, MatrixV& columns) const noexcept;

  const Model& model() const noexcept { return model_; }
  const NoiseModel& noise() const noexcept { return noise_; }

 private:
  // What the balance needs of one end of a sample.
  struct StateTerms {
    explicit StateTerms(const Model& model);
    Evaluation d;
    VectorV momentum, momentum_rate, friction;
    MatrixV covariance;
  };

  void compute_terms(StateTerms& terms) noexcept;

  const Model& model_;
  const NoiseModel noise_;
  const bool is_decoupled_;
  VectorV damping_, dry_friction_;  // (n,); empty without friction
  const VectorV velocity_variance_, effort_variance_;
  StateTerms terms_[2];
  int latest_index_ = 0;
  bool has_last_state_ = false, has_rate_change_ = false;
  VectorV rate_change_, second_difference_, slow_error_;  // of momentum_rate; effort
  MatrixV inertia_, scaled_inertia_;  // in these coordinates; times velocity variances
  MatrixBN connection_;               // mean of both ends
  ExternalImpulse impulse_;
};

/// The residual of the generalised momentum; see vms_ph_controllers.observers.MomentumObserver.
class MomentumObserver {
 public:
  /// @param bandwidth  1/s.
  /// @throws ModelError  the bandwidth is not positive and finite.
  MomentumObserver(const Model& model, double bandwidth);

  /// Begin with a force of zero.
  void restart() noexcept;

  /// Observe a sample.
  void add(const ExternalImpulse& impulse) noexcept;

  /// The external force (nv,) in the coordinates of the balance, and its covariance (nv,nv).
  const VectorV& force() const noexcept { return force_; }
  const MatrixV& covariance() const noexcept { return covariance_; }

 private:
  const double bandwidth_;
  VectorV force_, slow_error_;
  MatrixV start_covariance_, effort_noise_, end_covariance_, covariance_;
  double end_weight_ = 0.0;  // of the last momentum in force_
};

/// Distributes an observed force over end effector and base; see
/// vms_ph_controllers.observers.WrenchMap.
class WrenchMap {
 public:
  /// Standard deviations before anything is measured; those of the wind are at a moving base.
  WrenchMap(const ImpulseBalance& balance, double force_deviation, double moment_deviation,
            double wind_force_deviation, double wind_moment_deviation);

  /// Find the wrenches of an observed force at the state of the last sample.
  void estimate(Evaluation& d, const MomentumObserver& observer) noexcept;

  /// Wrench (6,) on the end effector in its own axes, linear first, and its covariance (6,6).
  const VectorV& wrench() const noexcept { return wrench_; }
  const MatrixV& covariance() const noexcept { return covariance_; }

  /// Number of components of the base that are estimated; they follow those of the end effector.
  int wind_size() const noexcept { return wind_size_; }

 private:
  const ImpulseBalance& balance_;
  const int wind_size_;
  VectorV prior_information_, wrench_;
  MatrixV noise_covariance_, wrench_map_, weighted_map_, information_, covariance_;
};

}  // namespace vms_ph
