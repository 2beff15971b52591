// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/DynamicsBroadcaster: gravity torques, inertia and energies, from state interfaces.
#include <memory>

#include <control_msgs/msg/dynamic_joint_state.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/dynamics_broadcaster_parameters.hpp>

#include "broadcaster.hpp"
#include "telemetry.hpp"
#include "vms_ph_native/energy_split.hpp"

namespace vms_ph_ros2_control {

/// Publishes ~/joint_dynamics and ~/energy. It commands nothing. Without positions nothing is
/// published; without velocities the kinetic energies are NaN.
class DynamicsBroadcaster final : public Broadcaster<dynamics_broadcaster::ParamListener> {
 public:
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override {
    energy_publisher_.reset();
    joint_publisher_.reset();
    return CallbackReturn::SUCCESS;
  }

  return_type update(const rclcpp::Time& time, const rclcpp::Duration&) override {
    const auto& state = reader_->read(state_interfaces_);
    const auto stamp = reader_->stamp_or(time);
    if (!stamp || !sampling_->begin_sample_if_due(*stamp) || !state.q.allFinite())
      return return_type::OK;
    evaluation_->set(state.q, zero_velocity_);
    energy_message_.header.stamp = joint_message_.header.stamp = *stamp;
    publish_energy(state);
    publish_joints();
    return return_type::OK;
  }

 private:
  void set_up(const Params& p) override {
    evaluation_.reset();  // before the model that it refers to
    set_robot(setup_of(p, get_robot_description()), p);
    evaluation_ = std::make_unique<vms_ph::Evaluation>(*model_);
    energy_split_ = std::make_unique<vms_ph::EnergySplit>(*model_);
    zero_velocity_ = Eigen::VectorXd::Zero(model_->nv());
    energy_message_.header.frame_id = p.frame_prefix + inertial_frame(*model_);
    joint_message_.joint_names = model_->joint_names();
    control_msgs::msg::InterfaceValue gravity_and_inertia;
    gravity_and_inertia.interface_names = {"gravity", "inertia"};
    gravity_and_inertia.values.resize(gravity_and_inertia.interface_names.size());
    joint_message_.interface_values.assign(joint_message_.joint_names.size(), gravity_and_inertia);
    energy_publisher_ = make_publisher(*get_node(), "~/energy", energy_message_);
    joint_publisher_ = make_publisher(*get_node(), "~/joint_dynamics", joint_message_);
  }

  void publish_energy(const vms_ph::RobotState& state) noexcept {
    vms_ph::Energies energies = energy_split_->compute(state);  // NaN without velocities
    energies.potential = evaluation_->potential_energy();
    fill(energy_message_, energies);
    energy_publisher_->try_publish(energy_message_);
  }

  void publish_joints() noexcept {
    const Eigen::Index b = model_->b();
    for (std::size_t i = 0; i < joint_message_.interface_values.size(); ++i) {
      const Eigen::Index row = b + static_cast<Eigen::Index>(i);
      joint_message_.interface_values[i].values[0] = evaluation_->g()[row];
      joint_message_.interface_values[i].values[1] = evaluation_->M()(row, row);
    }
    joint_publisher_->try_publish(joint_message_);
  }

  std::unique_ptr<vms_ph::Evaluation> evaluation_;
  std::unique_ptr<vms_ph::EnergySplit> energy_split_;
  Eigen::VectorXd zero_velocity_;
  vms_ph::msg::Energy energy_message_;
  control_msgs::msg::DynamicJointState joint_message_;
  SizedPublisher<vms_ph::msg::Energy> energy_publisher_;
  SizedPublisher<control_msgs::msg::DynamicJointState> joint_publisher_;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::DynamicsBroadcaster,
                       controller_interface::ControllerInterface)
