// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// What broadcasters share.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <controller_interface/controller_interface.hpp>

#include "publishing.hpp"
#include "robot_setup.hpp"
#include "state_reader.hpp"

namespace vms_ph_ros2_control {

/// Reads the state of a robot, and commands nothing.
///
/// @tparam Listener  of the parameters of a plugin.
template <class Listener>
class Broadcaster : public controller_interface::ControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using InterfaceConfiguration = controller_interface::InterfaceConfiguration;
  using return_type = controller_interface::return_type;

  CallbackReturn on_init() override {
    listener_ = std::make_shared<Listener>(get_node());
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
    return try_to_set_up(CallbackReturn::FAILURE, *get_node(),
                         [this] { set_up(listener_->get_params()); });
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
    const bool is_valid = are_all_doubles(get_node()->get_logger(), state_interfaces_);
    return is_valid ? CallbackReturn::SUCCESS : CallbackReturn::FAILURE;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return {controller_interface::interface_configuration_type::NONE, {}};
  }

  /// The interfaces of the reader come first.
  InterfaceConfiguration state_interface_configuration() const override {
    return {controller_interface::interface_configuration_type::INDIVIDUAL,
            reader_->interface_names()};
  }

 protected:
  using Params = decltype(std::declval<Listener>().get_params());

  /// Make all that parameters determine; may throw a std::exception whose message is shown.
  virtual void set_up(const Params& p) = 0;

  /// Make the model, its reader and the times of publication.
  void set_robot(const RobotSetup& setup, const Params& p) {
    model_ = std::make_unique<vms_ph::Model>(make_model(setup));
    reader_ = std::make_unique<StateReader>(*model_, p.base_name, p.stamp);
    sampling_ = std::make_unique<Sampling>(p.publish_rate);
  }

  /// The value of a state interface; NaN for none.
  double state_value(std::size_t i) const noexcept {
    return state_interfaces_[i].get_optional().value_or(vms_ph::kNaN);
  }

  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<StateReader> reader_;
  std::unique_ptr<Sampling> sampling_;

 private:
  std::shared_ptr<Listener> listener_;
};

}  // namespace vms_ph_ros2_control
