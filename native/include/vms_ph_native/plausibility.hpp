// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Whether a measured state can be the robot's, and a reference one that it is meant to follow.
#pragma once

#include <vector>

#include "vms_ph_native/controller.hpp"
#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/reason.hpp"
#include "vms_ph_native/sizes.hpp"

namespace vms_ph {

/// The fields of PlausibilityBounds, as in vms_ph_controllers.safety.plausibility, which describes
/// them: name, default, least and largest value.
#define VMS_PH_PLAUSIBILITY_FIELDS(FIELD)  \
  FIELD(position_margin, 0.25, 0.0, 100.0) \
  FIELD(velocity_factor, 5.0, 1.0, 1e6)    \
  FIELD(joint_speed, 50.0, 1e-3, 1e6)      \
  FIELD(base_speed, 30.0, 1e-3, 1e6)       \
  FIELD(base_turn, 20.0, 1e-3, 1e6)        \
  FIELD(step_tolerance, 0.05, 0.0, 1e6)    \
  FIELD(frozen_distance, 0.2, 1e-6, 1e6)   \
  FIELD(recovery_samples, 5.0, 1.0, 1e6)   \
  FIELD(restart_time, 0.5, 0.0, 1e3)       \
  FIELD(reference_distance, 100.0, 1e-3, 1e6)

/// Bounds of plausible states and references; those of joints derive from the robot's limits.
struct PlausibilityBounds {
#define VMS_PH_FIELD(name, initial, least, most) double name = initial;
  VMS_PH_PLAUSIBILITY_FIELDS(VMS_PH_FIELD)
#undef VMS_PH_FIELD

  /// @throws ModelError  a bound is out of its range.
  void check() const;

  /// Speed bounds (nv,) of base and joints.
  VectorV speeds(const Model& model) const;

  /// Smallest and largest joint positions, (n,) each.
  void positions(const Model& model, VectorV& lower, VectorV& upper) const;
};

/// The outcome of a check.
struct Judgement {
  const char* reason = "";           ///< why the law must not act; empty when it may
  VectorQ q;                         ///< (nq,) of the safe output: the last one that is believed
  VectorV v;                         ///< (nv,) of the safe output, within the speed bounds
  bool must_reset = false;           ///< whether the law must be reset: the robot is elsewhere
  bool is_position_measured = true;  ///< whether q is measured now, though v may be implausible

  bool must_hold() const noexcept { return reason[0] != '\0'; }
};

/// The rate at which the safe output damps motion at a time step (s), 1/s: the k of
/// (D^-1 + h M^-1)^-1 = k M with D = 10 M and h = 3 dt + 2 age, stable at any rate, with a sample
/// of delay and states of an age, s, with which it is up to twice as large.
double braking_rate(double dt, double age = 0.0) noexcept;

/// Judges every state by itself and by its predecessors, and decides when the law may go on; see
/// vms_ph_controllers.safety.plausibility. The model must outlive it.
class StatePlausibility {
 public:
  /// @throws ModelError  a bound is out of its range.
  StatePlausibility(const Model& model, const PlausibilityBounds& bounds);

  const Model& model() const noexcept { return model_; }

  /// Accept a state as that of the robot, even beyond the position bounds.
  void restart(const ConstVector& q, const ConstVector& v) noexcept;

  /// Whether the law may act on a state, measured dt (s) after the last one; valid until the next
  /// call. `v` or `q` may have any size and any value.
  const Judgement& judge(const ConstVector& q, const ConstVector& v, double dt) noexcept;

 private:
  struct JointLimit {
    int joint, index;
    double lower, upper;
  };

  void accept(const ConstVector& q, const ConstVector& v) noexcept;
  void update_while_holding(const ConstVector& q, const ConstVector& v, double dt,
                            bool has_position, bool is_continuous) noexcept;
  bool values_are_plausible(const ConstVector& q, const ConstVector& v, Reason& problem) noexcept;
  bool is_configuration(const ConstVector& q) const noexcept;
  bool check_motion(const ConstVector& v, double dt) noexcept;
  void find_plausible_velocity(const ConstVector& v, bool has_rate, double dt) noexcept;
  const char* name(Eigen::Index i) const noexcept;

  const Model& model_;
  const PlausibilityBounds bounds_;
  const VectorV speed_bounds_;
  VectorV lower_, upper_;
  std::vector<JointLimit> joint_limits_;
  VectorQ q_, last_measured_q_;
  VectorV v_, step_, mean_v_;  // believed with q_; from q_ and since last_measured_q_ to the new q
  VectorV frozen_path_, frozen_motion_;  // integrals of |v| and v since a position has changed
  double lost_time_ = 0.0;               // time without a position, s
  bool is_holding_ = false;
  double plausible_samples_ = 0.0, relocation_time_ = 0.0;
  Reason problem_, discarded_reason_;
  Judgement judgement_;
};

/// Removes implausible parts of a reference; the last plausible one is kept.
class ReferencePlausibility {
 public:
  /// @throws ModelError  a bound is out of its range.
  ReferencePlausibility(const Model& model, const PlausibilityBounds& bounds);

  /// Remove the implausible parts of a reference, for a robot at q (nq,).
  void check(Reference& reference, const ConstVector& q) noexcept;

  /// What the last call has removed, and why; empty when nothing.
  const Reason& reason() const noexcept { return reason_; }

 private:
  bool is_near(const char* name, const Eigen::Vector3d& point, const ConstVector& q) noexcept;
  bool joints_are_plausible(const ConstVector& joints) noexcept;
  bool reject(const char* name, const char* cause) noexcept;  ///< false

  const Model& model_;
  const PlausibilityBounds bounds_;
  VectorV lower_, upper_, zero_velocity_;
  Evaluation d_;
  Reason reason_;
};

}  // namespace vms_ph
