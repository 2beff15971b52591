// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The outcome of an update, and a sentence about it, written without allocating memory; and the
// sentences that the laws share, also with those in Python: a test compares them.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace vms_ph {

/// The outcome of an update; the values are those of the ControllerState message.
enum class Status : unsigned char { ok = 0, saturated = 1, holding = 2, degraded = 3 };

/// A sentence in memory of its own.
class Reason {
 public:
  /// @param max_length  longest sentence; a longer one is truncated.
  explicit Reason(std::size_t max_length = 256) : text_(max_length + 1, '\0') {}

  const char* text() const noexcept { return text_.data(); }
  bool empty() const noexcept { return text_[0] == '\0'; }
  void clear() noexcept { text_[0] = '\0', size_ = 0; }

  /// Replace the sentence, formatted as by printf.
  [[gnu::format(printf, 2, 3)]] void set(const char* format, ...) noexcept {
    clear();
    std::va_list arguments;
    va_start(arguments, format);
    write(format, arguments);
    va_end(arguments);
  }

  /// Append another sentence, if it is not empty, after a semicolon.
  void add_sentence(const char* sentence) noexcept {
    if (*sentence != '\0') add_text(empty() ? "%s" : "; %s", sentence);
  }

  /// Append text to the sentence, formatted as by printf.
  [[gnu::format(printf, 2, 3)]] void add_text(const char* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    write(format, arguments);
    va_end(arguments);
  }

 private:
  void write(const char* format, std::va_list arguments) noexcept {
    const std::size_t room = text_.size() - size_;  // with its end
    const int length = std::vsnprintf(text_.data() + size_, room, format, arguments);
    if (length <= 0) return;
    const auto full_size = static_cast<std::size_t>(length);
    size_ += full_size < room ? full_size : room - 1;
  }

  std::vector<char> text_;
  std::size_t size_ = 0;
};

}  // namespace vms_ph

// The reasons of a status, by name.
#define VMS_PH_REASONS(REASON)                                                                     \
  REASON(attitude_reversed, "attitude error past half a turn: its correction is reversed")         \
  REASON(base_wrench_limited, "base wrench at the limits of its actuators")                        \
  REASON(torque_limited, "torque at its limit")                                                    \
  REASON(torque_rate_limited, "rate of torque at its limit")                                       \
  REASON(damping_reduced, "damping reduced to what is stable at this rate")                        \
  REASON(stiffness_reduced, "stiffness reduced to what is stable at this rate")                    \
  REASON(no_finite_efforts, "the law returned no finite efforts of this robot")                    \
  REASON(unusable_state,                                                                           \
         "the state is not finite or does not fit this robot, or the time step is not in [0, 1] "  \
         "s; holding against gravity")                                                             \
  REASON(reference_too_large,                                                                      \
         "the effort of the law is not finite, because its reference is too large; holding "       \
         "against gravity until the next reset")                                                   \
  REASON(unusable_state_of_arm,                                                                    \
         "the state is not finite or does not fit this robot, or the time step is not in [0, 1] "  \
         "s; holding the last gravity torque")                                                     \
  REASON(reference_not_finite, "the reference is not finite; the last one is kept")                \
  REASON(                                                                                          \
      tank_empty,                                                                                  \
      "the energy tank is empty: changes of reference or stiffness wait until damping refills it") \
  REASON(reference_out_of_reach,                                                                   \
         "the minimum cannot follow the reference: holding the closest reachable one")             \
  REASON(tank_in_debt, "the energy tank has a debt")                                               \
  REASON(tank_uncovered,                                                                           \
         "the energy tank does not cover the effort against a motion that is not seen")            \
  REASON(push_energy_used_up, "the energy for pushing is used up")                                 \
  REASON(feedback_off, "feedback of the measured wrench is off: it would add energy")              \
  REASON(turning_over, "turning over: the least thrust")                                           \
  REASON(wrong_size, "its size is not that of this robot")                                         \
  REASON(implausible_before, "the state was implausible a moment ago")                             \
  REASON(not_finite, "it is not finite")                                                           \
  REASON(rotation_not_normalised, "a rotation is not normalised")                                  \
  REASON(step_not_finite, "the motion within the step is not finite")

// A test compares them with those in Python by these names.
// NOLINTBEGIN(readability-identifier-naming)
namespace vms_ph::reasons {

#define VMS_PH_REASON(name, text) inline constexpr char name[] = text;
VMS_PH_REASONS(VMS_PH_REASON)
#undef VMS_PH_REASON

}  // namespace vms_ph::reasons

/// Descriptions of gains that several laws have.
namespace vms_ph::gain_text {

inline constexpr char stiffness[] = "stiffness of the end-effector position, N/m";
inline constexpr char stiffness_rotation[] = "stiffness of its attitude, N m/rad";
inline constexpr char damping[] = "damping of its velocity, N s/m";
inline constexpr char damping_rotation[] = "damping of its rotation, N m s/rad";
inline constexpr char limit_margin[] = "range of the joint-limit springs, rad or m";
inline constexpr char limit_frequency[] = "joint-limit natural frequency, rad/s";
inline constexpr char speed[] = "largest linear speed of the reference, m/s";
inline constexpr char turn_rate[] = "largest angular speed of the reference, rad/s";
inline constexpr char base_speed[] = "largest linear speed of the base reference, m/s";
inline constexpr char base_turn_rate[] = "largest turn rate of the base reference, rad/s";
inline constexpr char frequency_shape[] = "natural frequency of the joints, rad/s";
inline constexpr char joint_speed[] = "largest joint reference rate, rad/s or m/s";
inline constexpr char integral[] = "integral action: correction rate, share of damping";
inline constexpr char cancel_coupling[] = "cancel the coupling of task and null space";
inline constexpr char tank_capacity[] = "tank capacity, J; 0: no tank";
inline constexpr char tank_initial[] = "level of the tank after a reset, J";
inline constexpr char frequency_base[] = "natural frequency of a base that is held, rad/s";
inline constexpr char hold_base[] = "hold the base where it was at the reset";
inline constexpr char torque_rate[] = "largest rate of a torque, N m/s; 0: no limit";

}  // namespace vms_ph::gain_text
// NOLINTEND(readability-identifier-naming)
