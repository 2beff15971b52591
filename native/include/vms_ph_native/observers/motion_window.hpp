// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Velocities of a robot smoothed over a short window, independent of the sample they belong to.
#pragma once

#include <array>

#include "vms_ph_native/observers/impulse_balance.hpp"

namespace vms_ph {

/// The samples of at least 4.5 ms, added up; see vms_ph_controllers.observers.motion_window.
struct Frame {
  double time = 0.0, dt = 0.0;  ///< of its end, and its duration, s
  VectorQ q;                    ///< (nq,) and (nv,) measured at its end
  VectorV v;
  VectorV value;       ///< (nv,) external impulse, in the standard coordinates
  VectorV held;        ///< (nv,) variances of the impulse by noise of the efforts
  VectorV systematic;  ///< (nv,) standard deviations of slow errors
};

/// The frame in the middle of a window.
struct SmoothedFrame {
  const Frame* frame = nullptr;
  VectorV velocity;  ///< (nv,) at its end, from all velocities of the window but its own
  VectorV missed;    ///< (nv,) what the measured velocity differs by beyond noise
  int lasting = 0;   ///< number of frames for which such an error lasts
};

/// Frames around the one for which a velocity is wanted; see
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
  static constexpr int kMost = 10;
  static constexpr int kFrames = 2 * kMost + 1;

  Frame& at(int k) noexcept { return frames_[static_cast<std::size_t>((first_ + k) % kFrames)]; }
  void smooth() noexcept;

  const VectorV deviations_;
  std::array<Frame, kFrames> frames_;
  int first_ = 0, count_ = 0, half_ = 0;
  bool is_open_ = false;
  double time_ = 0.0;
  SmoothedFrame found_;
};

}  // namespace vms_ph
