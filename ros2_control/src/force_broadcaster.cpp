// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/ForceBroadcaster: external wrenches, contacts and the payload, from state interfaces.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/force_broadcaster_parameters.hpp>
#include <vms_ph/msg/contact.hpp>
#include <vms_ph/msg/payload.hpp>

#include "broadcaster.hpp"
#include "interface_names.hpp"
#include "vms_ph_native/observers/robot_observers.hpp"

namespace vms_ph_ros2_control {

/// Observes contacts and payload at every update, and publishes them on the
/// topics of the node force_observer. It commands nothing.
class ForceBroadcaster final : public Broadcaster<force_broadcaster::ParamListener> {
 public:
  CallbackReturn on_activate(const rclcpp_lifecycle::State& previous) override {
    observers_->restart();
    has_last_sample_ = false;
    return Broadcaster::on_activate(previous);
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override {
    wrench_publishers_.clear();
    contact_publisher_.reset();
    payload_publisher_.reset();
    observers_.reset();
    gravity_evaluation_.reset();
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration state_interface_configuration() const override {
    auto configuration = Broadcaster::state_interface_configuration();
    for (const auto& name : command_interface_names(*model_, base_wrench_name_))
      configuration.names.push_back(name);
    return configuration;
  }

  return_type update(const rclcpp::Time& time, const rclcpp::Duration& period) override {
    const auto& state = reader_->read(state_interfaces_);
    const auto optional_stamp = reader_->stamp_or(time);
    if (!optional_stamp) return return_type::OK;
    const auto& stamp = *optional_stamp;
    const double dt = sample_interval(stamp, reader_->is_stamped() ? -1.0 : period.seconds());
    if (dt == 0.0) return return_type::OK;  // the hardware is slower than the loop
    read_efforts(state);
    mean_effort_ = effort_;
    if (averages_efforts_ && has_last_sample_) mean_effort_ = 0.5 * (effort_ + last_effort_);
    last_effort_ = effort_;
    last_stamp_ = stamp;
    has_last_sample_ = true;
    // A stamp that goes back is no sample: a clock was set, or a simulation began anew.
    if (dt < 0.0) observers_->restart();
    if (!observers_->add(state.q, state.v, mean_effort_, dt < 0.0 ? kDefaultPeriod : dt))
      return return_type::OK;
    if (sampling_->begin_sample_if_due(stamp) || observers_->contact().has_begun) publish(stamp);
    return return_type::OK;
  }

 private:
  void set_up(const Params& p) override {
    observers_.reset();  // before the model that it refers to
    set_robot(setup_of(p, get_robot_description()), p);
    observers_ = std::make_unique<vms_ph::RobotObservers>(*model_, observer_options(p));
    gravity_evaluation_ = std::make_unique<vms_ph::Evaluation>(*model_);
    base_wrench_name_ = p.base_wrench;
    averages_efforts_ = p.effort_at_ends;
    effort_carries_weight_ = p.effort_carries_weight;
    effort_ = last_effort_ = mean_effort_ = Eigen::VectorXd::Zero(model_->nv());
    prepare_messages(p.frame_prefix);
  }

  // A step for the first state, with which nothing is observed yet, s.
  static constexpr double kDefaultPeriod = 1e-3;

  static vms_ph::ObserverOptions observer_options(const Params& p) {
    vms_ph::ObserverOptions options;
    options.noise.velocity = p.velocity_noise;
    options.noise.position = p.position_noise;
    options.noise.torque = p.torque_noise;
    options.noise.base_linear = p.base_linear_noise;
    options.noise.base_angular = p.base_angular_noise;
    options.noise.force = p.force_noise;
    options.noise.moment = p.moment_noise;
    options.noise.torque_error = p.torque_error;
    options.noise.friction_error = p.friction_error;
    options.noise.model_error = p.model_error;
    options.is_decoupled = p.decoupled;
    options.has_friction = p.joint_friction;
    options.bandwidth = p.bandwidth;
    options.false_alarms = p.false_alarms;
    options.wind_force_deviation = p.wind_force;
    options.wind_moment_deviation = p.wind_moment;
    return options;
  }

  // Time since the last sample, s; 0 where there is no new one, negative for a clock set back.
  double sample_interval(const builtin_interfaces::msg::Time& stamp, double period) const noexcept {
    if (!has_last_sample_) return kDefaultPeriod;
    if (period >= 0.0) return period;
    return (stamp.sec - last_stamp_.sec) +
           1e-9 * (static_cast<double>(stamp.nanosec) - static_cast<double>(last_stamp_.nanosec));
  }

  void read_efforts(const vms_ph::RobotState& state) noexcept {
    const int b = model_->b(), n = model_->n();
    const std::size_t offset = reader_->interface_names().size();
    effort_.setZero();
    for (int i = 0; i < n; ++i) effort_[b + i] = state_value(offset + static_cast<std::size_t>(i));
    for (int i = 0; i < b && !base_wrench_name_.empty(); ++i)
      effort_[i] = state_value(offset + static_cast<std::size_t>(n + i));
    if (effort_carries_weight_ || !state.q.allFinite() || !state.v.allFinite()) return;
    gravity_evaluation_->set(state.q, state.v);
    effort_.tail(n) += gravity_evaluation_->g().tail(n);
  }

  void prepare_messages(const std::string& prefix) {
    auto& node = *get_node();
    const auto frame = model_->frame_name(model_->end_effector());
    contact_msg_.header.frame_id = payload_msg_.header.frame_id = prefix + frame;
    std::size_t max_length = 0;
    for (const auto& name : model_->joint_names()) max_length = std::max(max_length, name.size());
    contact_msg_.joint.assign(max_length, ' ');
    contact_publisher_ = make_publisher(node, "vms_ph/contact", contact_msg_);
    payload_publisher_ = make_publisher(node, "vms_ph/payload", payload_msg_);
    wrench_messages_.clear();
    wrench_publishers_.clear();
    add_wrench("vms_ph/estimated_wrench", prefix + frame);
    if (model_->b() > 0) add_wrench("vms_ph/estimated_wrench_base", prefix + root_link(*model_));
  }

  // The topic of a wrench, and that of its standard deviations.
  void add_wrench(const std::string& topic, const std::string& frame) {
    for (const char* suffix : {"", "_deviation"}) {
      wrench_messages_.emplace_back().header.frame_id = frame;
      wrench_publishers_.push_back(
          make_publisher(*get_node(), topic + suffix, wrench_messages_.back()));
    }
  }

  void publish(const builtin_interfaces::msg::Time& stamp) noexcept {
    const vms_ph::WrenchMap& wrench_map = observers_->wrench();
    for (std::size_t k = 0; k < wrench_messages_.size(); ++k) {
      const bool is_base = k >= 2, is_deviation = k % 2 == 1;
      Eigen::Matrix<double, 6, 1> components = Eigen::Matrix<double, 6, 1>::Zero();
      const int size = is_base ? wrench_map.wind_size() : 6, offset = is_base ? 6 : 0;
      for (int i = 0; i < size; ++i) {
        const int row = offset + i;
        const int axis = is_base && size == 3 ? kPlanarComponents[static_cast<std::size_t>(i)] : i;
        components[axis] =
            is_deviation ? std::sqrt(wrench_map.covariance()(row, row)) : wrench_map.wrench()[row];
      }
      auto& message = wrench_messages_[k];
      message.header.stamp = stamp;
      set_vector(message.wrench.force, components.head<3>());
      set_vector(message.wrench.torque, components.tail<3>());
      wrench_publishers_[k]->try_publish(message);
    }
    publish_contact(stamp);
    publish_payload(stamp);
  }

  void publish_contact(const builtin_interfaces::msg::Time& stamp) noexcept {
    const vms_ph::ContactReport& estimate = observers_->contact();
    contact_msg_.header.stamp = stamp;
    contact_msg_.contact = estimate.contact;
    contact_msg_.began = estimate.has_begun;
#define VMS_PH_FIELD(name) contact_msg_.name = estimate.name;
    VMS_PH_CONTACT_NUMBERS(VMS_PH_FIELD)
#undef VMS_PH_FIELD
    contact_msg_.joint.clear();
    if (estimate.joint >= 0) {
      contact_msg_.joint.assign(model_->joint_names()[static_cast<std::size_t>(estimate.joint)]);
    }
    contact_publisher_->try_publish(contact_msg_);
  }

  void publish_payload(const builtin_interfaces::msg::Time& stamp) noexcept {
    const vms_ph::Payload& estimate = observers_->payload();
    payload_msg_.header.stamp = stamp;
    payload_msg_.mass = estimate.mass;
    payload_msg_.mass_deviation = estimate.mass_deviation();
    set_vector(payload_msg_.centre_of_mass, estimate.centre());
    set_vector(payload_msg_.centre_deviation, estimate.centre_deviation());
    payload_msg_.changed = estimate.changed;
    payload_publisher_->try_publish(payload_msg_);
  }

  std::unique_ptr<vms_ph::RobotObservers> observers_;
  std::unique_ptr<vms_ph::Evaluation> gravity_evaluation_;
  std::string base_wrench_name_;
  bool averages_efforts_ = false, effort_carries_weight_ = true, has_last_sample_ = false;
  builtin_interfaces::msg::Time last_stamp_;
  Eigen::VectorXd effort_, last_effort_, mean_effort_;
  std::vector<geometry_msgs::msg::WrenchStamped> wrench_messages_;
  vms_ph::msg::Contact contact_msg_;
  vms_ph::msg::Payload payload_msg_;
  std::vector<SizedPublisher<geometry_msgs::msg::WrenchStamped>> wrench_publishers_;
  SizedPublisher<vms_ph::msg::Contact> contact_publisher_;
  SizedPublisher<vms_ph::msg::Payload> payload_publisher_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::ForceBroadcaster,
                       controller_interface::ControllerInterface)
