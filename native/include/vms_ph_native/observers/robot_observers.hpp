// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The observers of contacts and of payloads, from the balances of momentum and energy; and all
// observers of a robot together, for a host that has its states and efforts.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// The value that a chi-square variable of a dimension exceeds with probability `tail`.
double chi_square_quantile(double tail, int dimension) noexcept;

/// What is known of contact after a sample; see vms_ph_controllers.observers.ContactReport. The
/// bindings follow from this list.
#define VMS_PH_CONTACT_NUMBERS(FIELD) \
  FIELD(by_momentum)                  \
  FIELD(by_energy)                    \
  FIELD(duration)                     \
  FIELD(work)                         \
  FIELD(work_deviation)

struct ContactReport {
  bool contact = false, has_begun = false;
#define VMS_PH_FIELD(name) double name = 0.0;
  VMS_PH_CONTACT_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
  int joint = -1;
};

/// Tests whether the external impulse and work of the last samples are noise; see
/// vms_ph_controllers.observers.ContactDetector. Nothing but the constructor allocates.
class ContactDetector {
 public:
  /// @param false_alarms  largest expected number of false alarms in an hour.
  /// @param window_count  the longest window has 2^(window_count - 1) samples.
  /// @throws ModelError   a number is not in its range.
  ContactDetector(const ImpulseBalance& balance, double false_alarms, int window_count = 6);

  /// Begin without contact.
  void restart() noexcept;

  /// What is known after a sample.
  const ContactReport& add(const ExternalImpulse& impulse) noexcept;

 private:
  // The work of the external forces over a sample, with its uncertainty, J and J^2.
  struct Work {
    bool is_valid = false;
    double work = 0.0, start_variance = 0.0, end_variance = 0.0, effort_noise = 0.0,
           slow_error = 0.0, curvature = 0.0;
  };
  // Sums over all samples up to one, and the work of it; a window is the difference of two sums.
  struct Sums {
    explicit Sums(Eigen::Index nv);
    double time = 0.0, work_sum = 0.0, work_noise = 0.0, work_bias = 0.0;
    Eigen::VectorXd impulse, slow_error;
    Eigen::MatrixXd effort_noise, start_covariance;
    Work work;
  };

  void restart_windows() noexcept;
  void add_work(const ExternalImpulse& impulse) noexcept;
  double work_variance(const VectorV& momentum, const VectorV& gravity) noexcept;
  void find_thresholds(double dt) noexcept;
  void test_momentum(const ExternalImpulse& impulse) noexcept;
  void test_energy() noexcept;
  Sums& recent_sums(int k) noexcept;  // the k-th sums from the end, 1 for the last

  const Model& model_;
  const double false_alarms_;
  const int window_count_;
  const VectorV position_variances_, velocity_variances_, effort_variances_;
  std::vector<Sums> sums_;
  int sum_count_ = 0, newest_index_ = 0, samples_without_contact_ = 0;
  bool has_contact_ = false, has_last_state_ = false;
  double threshold_period_ = 0.0, momentum_threshold_ = 0.0, energy_threshold_ = 0.0,
         joint_threshold_ = 0.0, last_energy_ = 0.0;
  Work sample_work_;
  VectorQ last_q_;
  VectorV last_momentum_, last_weight_, known_effort_, displacement_;
  VectorV impulse_, scaled_impulse_, variances_;
  MatrixV noise_covariance_;
  ContactReport report_;
};

/// The samples of at least 4.5 ms, added up; see vms_ph_controllers.observers.motion_window.
struct TimeInterval {
  double time = 0.0, dt = 0.0;  ///< of its end, and its duration, s
  VectorQ q;                    ///< (nq,) and (nv,) measured at its end
  VectorV v;
  VectorV impulse;       ///< (nv,) external impulse, in the standard coordinates
  VectorV effort_noise;  ///< (nv,) variances of the impulse by noise of the efforts
  VectorV slow_error;    ///< (nv,) standard deviations of slow errors
};

/// The interval in the middle of a window.
struct SmoothedInterval {
  const TimeInterval* interval = nullptr;
  VectorV velocity;             ///< (nv,) at its end, smoothed without the one measured there
  VectorV smoothing_error;      ///< (nv,) measured minus smoothed velocity, beyond noise
  int error_intervals = 0;      ///< intervals over which a smoothing error is correlated
  double variance_share = 0.0;  ///< variance of the velocity over that of one measurement
};

/// Intervals around the one whose velocity is smoothed; see
/// vms_ph_controllers.observers.motion_window.MotionWindow. Nothing but the constructor allocates.
class MotionWindow {
 public:
  /// Smooth velocities with the standard deviations (nv,) of their noise.
  MotionWindow(const Model& model, const VectorV& deviations);

  /// Forget all intervals.
  void restart() noexcept;

  /// The middle of the window where a sample completes it, valid until the next one; else nullptr.
  const SmoothedInterval* add(const ExternalImpulse& impulse) noexcept;

 private:
  static constexpr int kMaxHalfWidth = 10;
  static constexpr int kIntervals = 2 * kMaxHalfWidth + 1;

  TimeInterval& interval_at(int k) noexcept {
    return intervals_[static_cast<std::size_t>((first_index_ + k) % kIntervals)];
  }
  void smooth() noexcept;

  const VectorV deviations_;
  std::array<TimeInterval, kIntervals> intervals_;
  int first_index_ = 0, interval_count_ = 0, half_width_ = 0;
  bool is_interval_open_ = false;
  double time_ = 0.0;
  SmoothedInterval smoothed_interval_;
};

/// An observed payload; see vms_ph_controllers.observers.Payload.
struct Payload {
  double mass = 0.0;                                         ///< kg
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();          ///< mass times centre of mass, kg m
  Eigen::Matrix4d covariance = Eigen::Matrix4d::Identity();  ///< of mass and moment
  bool changed = false;  ///< whether a change was noticed in this sample

  /// Standard deviation of the mass, kg.
  double mass_deviation() const noexcept { return std::sqrt(covariance(0, 0)); }

  /// Centre of mass from the end effector in its axes, m; zero without a mass.
  Eigen::Vector3d centre() const noexcept {
    return mass > 0.0 ? Eigen::Vector3d(moment / mass) : Eigen::Vector3d::Zero();
  }

  /// Its standard deviations, m; infinite without a mass.
  Eigen::Vector3d centre_deviation() const noexcept;
};

/// Least squares of the momentum that a payload takes from the robot; see
/// vms_ph_controllers.observers.PayloadObserver. Nothing but the constructor allocates.
class PayloadObserver {
 public:
  /// The standard coordinates are those of the balance. Standard deviations before anything is
  /// measured: of the mass, kg, of the distance of its parts from the end effector, m, and of the
  /// external force on a moving base, N.
  PayloadObserver(const ImpulseBalance& balance, double prior_mass = 10.0, double prior_reach = 0.2,
                  double prior_wind = 0.5);

  /// Forget payload and offsets.
  void restart() noexcept;

  /// The payload observed half a window before the end of a sample.
  const Payload& add(const ExternalImpulse& impulse) noexcept;

 private:
  using Regressor = Eigen::Matrix<double, Eigen::Dynamic, 10, 0, kMaxVelocities, 10>;

  // Terms of the model at the end of an interval.
  struct StateTerms {
    Regressor momentum, rate;  // of the payload's momentum and of its rate
    MatrixV noise_covariance;  // covariance of the momentum by noise of the velocity
    VectorV smoothing_error;   // momentum of the payload by the error of the smoothed velocity
  };

  void restart_window() noexcept;
  void forget_payload() noexcept;
  bool observe(const SmoothedInterval& smoothed_interval) noexcept;
  void compute_terms(const SmoothedInterval& smoothed_interval, StateTerms& terms) noexcept;
  void solve() noexcept;
  const Payload& report(bool has_changed) noexcept;

  const Model& model_;
  const int nv_;
  const double torque_error_, change_threshold_;
  const VectorV deviations_;
  MotionWindow window_;
  Evaluation smoothed_state_;  // the state with the smoothed velocity
  // Of slow errors of the efforts, then of the payload's parameters:
  Eigen::VectorXd prior_information_, information_vector_, mean_, scales_;
  Eigen::MatrixXd information_, inverse_information_, scaled_information_;
  Cholesky cholesky_;
  Eigen::MatrixXd regressor_, weighted_regressor_, regressor_product_;  // (nv,nv+10)
  Eigen::MatrixXd cross_terms_;                                         // (10,nv+1)
  VectorV impulse_sum_, filtered_impulse_, decorrelated_impulse_, residual_;
  MatrixV covariance_, noise_covariance_, gain_transpose_, workspace_, payload_mass_matrix_;
  StateTerms terms_[2];
  int latest_index_ = 0;
  bool has_impulse_sum_ = false, has_last_terms_ = false;
  Payload payload_;
};

/// What a host may choose of the observers; see the parameters of force_observer.
struct ObserverOptions {
  NoiseModel noise;
  bool is_decoupled = false;           ///< observe wrench and contact in decoupled coordinates
  bool has_friction = false;           ///< whether the friction of the robot description acts
  double bandwidth = 30.0;             ///< of the wrench, 1/s
  double false_alarms = 1.0;           ///< largest expected number in an hour
  int window_count = 6;                ///< of the contact detector
  double wind_force_deviation = 10.0;  ///< standard deviation of forces at a moving base, N
  double wind_moment_deviation = 1.0;  ///< the same of moments, N m
  double force_deviation = 300.0;  ///< of the force at the end effector before anything is seen, N
  double moment_deviation = 60.0;  ///< the same of its moment, N m
};

/// External wrench, contact and payload, of the same samples; only the constructor allocates.
class RobotObservers {
 public:
  /// The model must outlive the observers.
  ///
  /// @throws ModelError  an option is out of its range.
  RobotObservers(const Model& model, const ObserverOptions& options);

  /// Begin at the next state.
  void restart() noexcept;

  /// Take a sample: the state (nq,), (nv,) at its end, the mean effort (nv,) over it, base wrench
  /// first, and its duration, s. Returns false for the first one and for what is not usable: then
  /// the estimates are those of the sample before.
  bool add(const ConstVector& q, const ConstVector& v, const ConstVector& effort,
           double dt) noexcept;

  const MomentumObserver& force() const noexcept { return momentum_observer_; }
  const WrenchMap& wrench() const noexcept { return wrench_map_; }
  const ContactReport& contact() const noexcept { return contact_; }
  const Payload& payload() const noexcept { return payload_; }

 private:
  ImpulseBalance balance_;
  ImpulseBalance standard_balance_;  // of the payload, whose regressor is that of these coordinates
  const bool is_decoupled_;
  MomentumObserver momentum_observer_;
  WrenchMap wrench_map_;
  ContactDetector contact_detector_;
  PayloadObserver payload_observer_;
  ContactReport contact_;
  Payload payload_;
};

}  // namespace vms_ph
