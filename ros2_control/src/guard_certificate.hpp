// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The certificate of an energy guard on a topic.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <vms_ph/msg/energy_certificate.hpp>

#include "publishing.hpp"
#include "vms_ph_native/energy_guard/port_guard.hpp"

namespace vms_ph_ros2_control {

/// Publishes ~/certificate from the control loop.
class GuardCertificate {
 public:
  /// @param rate  of the topic, Hz.
  GuardCertificate(rclcpp_lifecycle::LifecycleNode& node, const vms_ph::Model& model,
                   const vms_ph::PortGuard& guard, const std::string& frame, double rate)
      : sampling_(rate) {
    if (model.b() > 0) message_.ports.emplace_back("wrench_base");
    for (const auto& name : model.joint_names()) message_.ports.push_back(name);
    message_.header.frame_id = frame;
    message_.delay = static_cast<std::uint8_t>(guard.delay());
    message_.effort_carries_weight = guard.carries_weight();
    message_.reason.assign(kTextLength, ' ');
    message_.verdict.assign(kTextLength, ' ');
    publisher_ = make_publisher(node, "~/certificate", message_, rclcpp::QoS(1).transient_local());
  }

  /// Publish when due; neither blocks nor allocates.
  void add(const builtin_interfaces::msg::Time& stamp, const vms_ph::PortGuard& guard,
           const vms_ph::GuardedEffort& output) noexcept {
    if (!sampling_.is_due(stamp)) return;
    fill(stamp, guard, output);
    publisher_->try_publish(message_);
  }

  /// The certificate in words, for the log at the end of a run.
  std::string text(const vms_ph::PortGuard& guard) const {
    const vms_ph::Certificate c = guard.certificate();
    char line[1024];
    std::snprintf(
        line, sizeof line,
        "certificate: %s. Given at most %.4g J of a budget of %.4g J, margin %.4g J; not "
        "yet seen at most %.4g J over %d samples; %.3f s, %llu samples, %llu lost%s%s, "
        "%llu scaled, %llu braked, %llu reflexes. Not seen: contacts and other ports, drives "
        "that do not follow their commands, peaks between two samples",
        c.verdict(), c.largest_given, c.budget, c.margin, c.largest_unseen, guard.delay() + 1,
        c.duration, c.samples, c.lost, c.lost > 0 ? ", the first as " : "", c.first_loss, c.scaled,
        c.braked, c.reflexes);
    return line;
  }

 private:
  using Message = vms_ph::msg::EnergyCertificate;
  static constexpr std::size_t kTextLength = 1024;

  void fill(const builtin_interfaces::msg::Time& stamp, const vms_ph::PortGuard& guard,
            const vms_ph::GuardedEffort& output) noexcept {
    const vms_ph::Certificate certificate = guard.certificate();
    message_.header.stamp = stamp;
    message_.status = static_cast<std::uint8_t>(output.status);
    message_.reason.assign(output.reason, std::min(kTextLength, std::strlen(output.reason)));
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
