// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/EnergyGuard: bounds the energy that any controller before it gives to a robot.
#include "vms_ph_native/energy_guard/port_guard.hpp"

#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <std_msgs/msg/float64.hpp>
#include <vms_ph/controller_shell_parameters.hpp>
#include <vms_ph/energy_guard_parameters.hpp>
#include <vms_ph/energy_guard_settings_parameters.hpp>
#include <vms_ph/srv/change_budget.hpp>

#include "guard_certificate.hpp"
#include "law_parameters.hpp"
#include "robot_setup.hpp"
#include "state_reader.hpp"
#include "timed_command.hpp"

namespace vms_ph_ros2_control {

using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Changes of the budget on their way to the control loop; shared with callbacks that an executor
/// may still run when the controller is gone.
struct BudgetInbox {
  std::atomic<double> energy{0.0};  ///< to add, J; negative to take out
  std::atomic<double> level{0.0};   ///< as the control loop saw it last, J

  void add(double amount) noexcept {
    double before = energy.load(std::memory_order_relaxed);
    while (!energy.compare_exchange_weak(before, before + amount, std::memory_order_release)) {
    }
  }
};

}  // namespace

/// Takes effort references of any controller before it, passes them on unchanged while energy
/// allows, and otherwise scales them or brakes.
class EnergyGuard final : public controller_interface::ChainableControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;

  CallbackReturn on_init() override {
    try {
      common_listener_ = std::make_shared<controller_shell::ParamListener>(get_node());
      placement_listener_ = std::make_shared<energy_guard::ParamListener>(get_node());
      settings_listener_ = std::make_shared<energy_guard_settings::ParamListener>(get_node());
    } catch (const std::exception& error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
    const auto p = common_listener_->get_params();
    const auto placement = placement_listener_->get_params();
    const RobotSetup setup = setup_of(p, get_robot_description());
    vms_ph::EnergyGuardOptions options;
    options.delay = static_cast<int>(placement.delay);
    options.effort_carries_weight = placement.effort_carries_weight;
    options.base_actuated = p.base_actuated;
    options.bounds = bounds_of(p);
    options.period = 1.0 / get_update_rate();
    guard_.reset();  // before the model that it refers to
    try {
      if (const auto actuators = base_actuators(setup); actuators && p.base_actuated) {
        options.allocation = without_failed(*actuators, placement.failed_actuators);
        options.weights = actuators->weights;
      } else if (!placement.failed_actuators.empty()) {
        throw vms_ph::ModelError(
            "failed_actuators are those of a base; the robot description has none "
            "(<vms_ph_actuators>), or base_actuated is false");
      }
      model_ = std::make_unique<vms_ph::Model>(make_model(setup));
      guard_ = std::make_unique<vms_ph::PortGuard>(*model_, vms_ph::EnergyGuardSettings(), options);
      const auto set = [this](const std::string& name, double value) {
        return vms_ph::EnergyGuardSettings::table().set(guard_->settings, name, value);
      };
      settings_ = std::make_unique<GainParameters>(
          get_node(), vms_ph::EnergyGuardSettings::table().list(guard_->settings), set);
    } catch (const std::exception& error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::FAILURE;
    }
    base_actuated_ = p.base_actuated;
    base_name_ = p.base_name;
    timeout_ = p.command_timeout;
    reader_ = std::make_unique<StateReader>(*model_, p.base_name, p.stamp);
    stamp_monitor_ = StampMonitor(p.state_timeout);
    desired_ = acting_effort_ = Eigen::VectorXd::Constant(model_->nv(), kNaN);
    certificate_ = std::make_unique<GuardCertificate>(
        *get_node(), *model_, *guard_, p.frame_prefix + inertial_frame(*model_), p.publish_rate);
    subscribe();
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return {interface_configuration_type::INDIVIDUAL, effort_names("")};
  }

  InterfaceConfiguration state_interface_configuration() const override {
    return {interface_configuration_type::INDIVIDUAL, reader_->names()};
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
    if (!are_doubles(get_node()->get_logger(), state_interfaces_, command_interfaces_)) {
      return CallbackReturn::FAILURE;
    }
    apply_settings();
    budget_->energy.store(0.0);
    const auto& state = reader_->read(state_interfaces_);
    // What the controller before has left in the command interfaces acts now.
    acting_effort_.setConstant(kNaN);
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
      acting_effort_[velocity_index(i)] = command_interfaces_[i].get_optional().value_or(kNaN);
    }
    if (!base_actuated_) acting_effort_.head(model_->b()).setZero();
    stamp_monitor_.restart();
    for (auto& port : commands_) port.clear();
    if (!guard_->engage(state.q, state.v, acting_effort_)) {
      RCLCPP_ERROR(get_node()->get_logger(),
                   "cannot activate: the state of the robot is not finite");
      return CallbackReturn::FAILURE;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State&) override {
    // The last command must not remain active: from here on the hardware holds the robot.
    for (auto& port : command_interfaces_) std::ignore = port.set_value(0.0);
    RCLCPP_INFO(get_node()->get_logger(), "%s", certificate_->text(*guard_).c_str());
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override {
    topic_.reset();
    service_.reset();
    certificate_.reset();
    settings_.reset();
    reader_.reset();
    guard_.reset();
    model_.reset();
    return CallbackReturn::SUCCESS;
  }

 protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
      override {
    std::vector<hardware_interface::CommandInterface::SharedPtr> exported;
    commands_.clear();
    for (const auto& port : effort_names("")) {
      const auto slash = port.rfind('/');
      exported.push_back(std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + port.substr(0, slash),
          port.substr(slash + 1)));
      commands_.emplace_back(exported.back());
      commands_.back().clear();
    }
    return exported;
  }

  // Without a controller before it the guard has no effort to pass on: its reflex acts.
  return_type update_reference_from_subscribers(const rclcpp::Time&,
                                                const rclcpp::Duration&) override {
    for (auto& port : commands_) port.clear();
    return return_type::OK;
  }

  return_type update_and_write_commands(const rclcpp::Time& time,
                                        const rclcpp::Duration& period) override {
    apply_settings();
    const double change = budget_->energy.exchange(0.0, std::memory_order_acquire);
    if (change > 0.0) guard_->refill(change);
    if (change < 0.0) guard_->drain(-change);
    const auto& state = reader_->read(state_interfaces_);
    // After a change of the clock or a stalled loop, one period is assumed.
    const double elapsed = period.seconds();
    const bool is_valid_period = elapsed >= 0.0 && elapsed <= vms_ph::kLongestSample;
    const double dt = is_valid_period ? elapsed : 1.0 / get_update_rate();
    if (!base_actuated_) desired_.head(model_->b()).setZero();
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      desired_[velocity_index(i)] = commands_[i].read(dt, timeout_);
    }
    const auto& output = guard_output(state, dt);
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
      std::ignore = command_interfaces_[i].set_value(output.effort[velocity_index(i)]);
    }
    budget_->level.store(output.level, std::memory_order_relaxed);
    const auto stamp = reader_->stamp();
    if (stamp || !reader_->is_stamped()) {
      certificate_->add(stamp ? *stamp : builtin_interfaces::msg::Time(time), *guard_, output);
    }
    return return_type::OK;
  }

 private:
  // The efforts that are guarded: joints, then the wrench of a base with actuators.
  std::vector<std::string> effort_names(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& joint : model_->joint_names()) names.push_back(prefix + joint + "/effort");
    if (base_actuated_) {
      for (const auto& name : wrench_interfaces(*model_, base_name_)) {
        names.push_back(prefix + name);
      }
    }
    return names;
  }

  // The index among the velocities of the i-th interface: joints come first among interfaces.
  Eigen::Index velocity_index(std::size_t i) const noexcept {
    const auto k = static_cast<Eigen::Index>(i);
    return k < model_->n() ? model_->b() + k : k - model_->n();
  }

  const vms_ph::GuardedEffort& guard_output(const vms_ph::RobotState& state, double dt) noexcept {
    if (const auto stamp = reader_->stamp()) {
      const char* problem = stamp_monitor_.problem(*stamp, dt);
      if (problem[0] != '\0') return guard_->hold(problem, dt);
    }
    return guard_->update(state.q, state.v, desired_, dt);
  }

  void apply_settings() noexcept {
    settings_->apply_to([this](const std::string& name, double value) {
      vms_ph::EnergyGuardSettings::table().set(guard_->settings, name, value);
    });
  }

  void subscribe() {
    using ChangeBudget = vms_ph::srv::ChangeBudget;
    budget_ = std::make_shared<BudgetInbox>();
    topic_ = get_node()->create_subscription<std_msgs::msg::Float64>(
        "~/budget", 10,
        [to = budget_, logger = get_node()->get_logger()](const std_msgs::msg::Float64& m) {
          if (std::isfinite(m.data)) {
            to->add(m.data);
          } else {
            RCLCPP_WARN(logger, "ignored: a change of the budget must be finite, J");
          }
        });
    const std::weak_ptr<rclcpp_lifecycle::LifecycleNode> owner = get_node();
    service_ = get_node()->create_service<ChangeBudget>(
        "~/change_budget", [to = budget_, owner](const ChangeBudget::Request::SharedPtr request,
                                                 ChangeBudget::Response::SharedPtr response) {
          response->level = to->level.load(std::memory_order_relaxed);
          if (!std::isfinite(request->energy) || request->freezing > ChangeBudget::Request::THAW) {
            response->message = "energy must be finite, J, and freezing KEEP, FREEZE or THAW";
            return;
          }
          const auto node = owner.lock();
          if (node && request->freezing != ChangeBudget::Request::KEEP) {
            node->set_parameter({"freeze", request->freezing == ChangeBudget::Request::FREEZE});
          }
          to->add(request->energy);
          response->success = true;
          response->message = "takes effect in the next cycle";
        });
  }

  std::shared_ptr<controller_shell::ParamListener> common_listener_;
  std::shared_ptr<energy_guard::ParamListener> placement_listener_;
  std::shared_ptr<energy_guard_settings::ParamListener> settings_listener_;
  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<vms_ph::PortGuard> guard_;
  std::unique_ptr<GainParameters> settings_;
  std::unique_ptr<StateReader> reader_;
  std::unique_ptr<GuardCertificate> certificate_;
  std::shared_ptr<BudgetInbox> budget_ = std::make_shared<BudgetInbox>();
  rclcpp::Subscription<std_msgs::msg::Float64>::SharedPtr topic_;
  rclcpp::Service<vms_ph::srv::ChangeBudget>::SharedPtr service_;
  StampMonitor stamp_monitor_;
  std::vector<TimedCommand> commands_;
  Eigen::VectorXd desired_, acting_effort_;
  std::string base_name_;
  double timeout_ = 0.25;
  bool base_actuated_ = true;
};

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::EnergyGuard,
                       controller_interface::ChainableControllerInterface)
