// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The mass and centre of mass of a payload, observed online from the balance of momentum.
#pragma once

#include <array>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// The samples of at least 4.5 ms, added up; see vms_ph_controllers.observers.motion_window.
struct Frame {
  double time = 0.0, dt = 0.0;  ///< of its end, and its duration, s
  VectorQ q;                    ///< (nq,) and (nv,) measured at its end
  VectorV v;
  VectorV value;         ///< (nv,) external impulse, in the standard coordinates
  VectorV effort_noise;  ///< (nv,) variances of the impulse by noise of the efforts
  VectorV systematic;    ///< (nv,) standard deviations of slow errors
};

/// The frame in the middle of a window.
struct SmoothedFrame {
  const Frame* frame = nullptr;
  VectorV velocity;         ///< (nv,) at its end, from all velocities of the window but its own
  VectorV smoothing_error;  ///< (nv,) measured minus smoothed velocity, beyond noise
  int error_frames = 0;     ///< frames over which a smoothing error is correlated
  double share = 0.0;       ///< variance of the velocity by noise, of that of one measurement
};

/// Frames around the one whose velocity is smoothed; see
/// vms_ph_controllers.observers.motion_window.MotionWindow. Nothing but the constructor allocates.
class MotionWindow {
 public:
  /// Smooth velocities with the standard deviations (nv,) of their noise.
  MotionWindow(const Model& model, const VectorV& deviations);

  /// Forget all frames.
  void restart() noexcept;

  /// The middle of the window where a sample completes it, valid until the next one; else nullptr.
  const SmoothedFrame* add(const ExternalImpulse& impulse) noexcept;

 private:
  static constexpr int kMaxHalfWidth = 10;
  static constexpr int kFrames = 2 * kMaxHalfWidth + 1;

  Frame& at(int k) noexcept { return frames_[static_cast<std::size_t>((first_ + k) % kFrames)]; }
  void smooth() noexcept;

  const VectorV deviations_;
  std::array<Frame, kFrames> frames_;
  int first_ = 0, count_ = 0, half_width_ = 0;
  bool is_frame_open_ = false;
  double time_ = 0.0;
  SmoothedFrame smoothed_;
};

/// An observed payload; see vms_ph_controllers.observers.Payload.
struct Payload {
  double mass = 0.0;                                         ///< kg
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();          ///< mass times centre of mass, kg m
  Eigen::Matrix4d covariance = Eigen::Matrix4d::Identity();  ///< of mass and moment
  bool changed = false;  ///< whether a change was noticed in this sample

  /// Standard deviation of the mass, kg.
  double mass_deviation() const noexcept;

  /// Centre of mass from the end effector in its axes, m; zero without a mass.
  Eigen::Vector3d centre() const noexcept;

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
  PayloadObserver(const ImpulseBalance& balance, double mass = 10.0, double reach = 0.2,
                  double wind = 0.5);

  /// Forget payload and offsets.
  void restart() noexcept;

  /// The payload observed half a window before the end of a sample.
  const Payload& add(const ExternalImpulse& impulse) noexcept;

 private:
  using Regressor = Eigen::Matrix<double, Eigen::Dynamic, 10, 0, kMaxVelocities, 10>;

  // What the model says of the end of a frame.
  struct End {
    Regressor momentum, rate;  // of the payload's momentum and of its rate
    MatrixV noise;             // covariance of the momentum by noise of the velocity
    VectorV smoothing_error;   // momentum of the payload at the error of the smoothing
  };

  void begin() noexcept;
  void forget_payload() noexcept;
  bool observe(const SmoothedFrame& smoothed) noexcept;
  void find_end(const SmoothedFrame& smoothed, End& end) noexcept;
  void solve() noexcept;
  const Payload& report(bool changed) noexcept;

  const Model& model_;
  const int nv_;
  const double error_, limit_;
  const VectorV deviations_;
  MotionWindow window_;
  Evaluation smoothed_state_;  // the state with the smoothed velocity
  // Slow efforts, then payload: prior, information, mean and covariance.
  Eigen::VectorXd prior_, vector_, mean_, scale_;
  Eigen::MatrixXd information_, inverse_, scaled_;
  Cholesky factors_;
  Eigen::MatrixXd slope_, weighted_, product_;  // (nv,nv+10)
  Eigen::MatrixXd cross_terms_;                 // (10,nv+1)
  VectorV sum_, expected_, innovation_, rest_;
  MatrixV covariance_, spread_, gain_, predicted_, load_;
  End ends_[2];
  int latest_ = 0;
  bool has_sum_ = false, has_last_ = false;
  Payload payload_;
};

}  // namespace vms_ph
