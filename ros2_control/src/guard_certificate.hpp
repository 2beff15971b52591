// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The certificate of an energy guard on a topic.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <vms_ph/msg/energy_certificate.hpp>

#include "publishing.hpp"
#include "vms_ph_native/energy_account.hpp"
#include "vms_ph_native/reason.hpp"

namespace vms_ph_ros2_control {

/// Publishes ~/certificate from the control loop.
class GuardCertificate {
 public:
  /// @param ports  that are guarded.
  /// @param rate   of the topic, Hz.
  GuardCertificate(rclcpp_lifecycle::LifecycleNode& node, std::vector<std::string> ports, int delay,
                   bool effort_carries_weight, const std::string& frame, double rate)
      : sampling_(rate) {
    message_.ports = std::move(ports);
    message_.header.frame_id = frame;
    message_.delay = static_cast<std::uint8_t>(delay);
    message_.effort_carries_weight = effort_carries_weight;
    message_.reason.assign(kTextLength, ' ');
    message_.verdict.assign(kTextLength, ' ');
    publisher_ = make_publisher(node, "~/certificate", message_, rclcpp::QoS(1).transient_local());
  }

  /// Publish when due; neither blocks nor allocates.
  template <class Guard, class Output>
  void publish(const builtin_interfaces::msg::Time& stamp, const Guard& guard,
               const Output& output) noexcept {
    if (!sampling_.begin_sample_if_due(stamp)) return;
    fill(stamp, guard.certificate(), output.status, output.reason);
    publisher_->try_publish(message_);
  }

  /// The certificate in words, for the log at the end of a run.
  std::string text(const vms_ph::Certificate& certificate, const char* unseen_effects) const {
    char sentence[1024];
    std::snprintf(sentence, sizeof sentence,
                  "certificate: %s. Given at most %.4g J of a budget of %.4g J, margin %.4g J; not "
                  "yet seen at most %.4g J over %d samples; %.3f s, %llu samples, %llu lost%s%s, "
                  "%llu scaled, %llu braked, %llu reflexes. Not seen: %s",
                  certificate.verdict(), certificate.largest_given, certificate.budget,
                  certificate.margin, certificate.largest_unseen, message_.delay + 1,
                  certificate.duration, certificate.samples, certificate.lost,
                  certificate.lost > 0 ? ", the first as " : "", certificate.first_loss,
                  certificate.scaled, certificate.braked, certificate.reflexes, unseen_effects);
    return sentence;
  }

 private:
  using Message = vms_ph::msg::EnergyCertificate;
  static constexpr std::size_t kTextLength = 1024;

  void fill(const builtin_interfaces::msg::Time& stamp, const vms_ph::Certificate& certificate,
            vms_ph::Status status, const char* reason) noexcept {
    message_.header.stamp = stamp;
    message_.status = static_cast<std::uint8_t>(status);
    message_.reason.assign(reason, std::min(kTextLength, std::strlen(reason)));
#define VMS_PH_FIELD(name) message_.name = certificate.name;
    VMS_PH_CERTIFICATE_COUNTS(VMS_PH_FIELD)
    VMS_PH_CERTIFICATE_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
    message_.verdict = certificate.verdict();
  }

  Sampling sampling_;
  Message message_;
  SizedPublisher<Message> publisher_;
};

}  // namespace vms_ph_ros2_control
