// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// vms_ph/EnergyGuard, vms_ph/PositionGuard and vms_ph/VelocityGuard: they bound the energy that any
// controller before them gives to a robot, by efforts or through its servos.
#include "vms_ph_native/energy_guard/port_guard.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <controller_interface/chainable_controller_interface.hpp>
#include <pluginlib/class_list_macros.hpp>
#include <vms_ph/controller_shell_parameters.hpp>
#include <vms_ph/energy_guard_parameters.hpp>
#include <vms_ph/energy_guard_settings_parameters.hpp>
#include <vms_ph/servo_guard_parameters.hpp>
#include <vms_ph/srv/change_budget.hpp>

#include "guard_certificate.hpp"
#include "law_parameters.hpp"
#include "robot_setup.hpp"
#include "state_reader.hpp"
#include "timed_command.hpp"
#include "vms_ph_native/energy_guard/servo_guard.hpp"

namespace vms_ph_ros2_control {

using controller_interface::interface_configuration_type;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using vms_ph::EnergyGuardSettings;
using vms_ph::JointServo;
using vms_ph::JointValues;
using vms_ph::kNaN;
using vms_ph::ServoGuard;

/// Changes of the budget on their way to the control loop; shared with callbacks that an executor
/// may still run when the controller is gone.
struct BudgetInbox {
  std::atomic<double> pending_energy{0.0};  ///< to add, J; negative to take out
  std::atomic<double> tank_level{0.0};      ///< as the control loop saw it last, J

  void add(double change) noexcept {
    double old_pending = pending_energy.load(std::memory_order_relaxed);
    while (!pending_energy.compare_exchange_weak(old_pending, old_pending + change,
                                                 std::memory_order_release)) {
    }
  }
};

/// Takes commands of any controller before it, passes them on unchanged while the energy of its
/// guard allows, and otherwise what the guard gives in their place.
template <class Guard>
class GuardPlugin : public controller_interface::ChainableControllerInterface {
 public:
  using CallbackReturn = controller_interface::CallbackReturn;

  CallbackReturn on_init() override {
    return try_to_set_up(CallbackReturn::ERROR, *get_node(), [this] {
      common_listener_ = std::make_shared<controller_shell::ParamListener>(get_node());
      declare_parameters();
    });
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
    const auto p = common_listener_->get_params();
    guard_.reset();  // before the model that it refers to
    const auto set_up = [&] {
      const RobotSetup setup = setup_of(p, get_robot_description(), joint_interface());
      model_ = std::make_unique<vms_ph::Model>(make_model(setup));
      make_guard(p, setup);
      const auto& table = EnergyGuardSettings::table();
      std::vector<vms_ph::Gain> settings;
      for (const auto& setting : table.list(guard_->settings)) {
        if (get_node()->has_parameter(setting.name)) settings.push_back(setting);
      }
      const auto set_setting = [&](const std::string& name, double value) {
        return table.set(guard_->settings, name, value);
      };
      setting_parameters_ = std::make_unique<GainParameters>(get_node(), settings, set_setting);
    };
    const auto outcome = try_to_set_up(CallbackReturn::FAILURE, *get_node(), set_up);
    if (outcome != CallbackReturn::SUCCESS) return outcome;
    command_timeout_ = p.command_timeout;
    reader_ = std::make_unique<StateReader>(*model_, p.base_name, p.stamp, kReadsPositionsOnly);
    stamp_monitor_ = StampMonitor(p.state_timeout);
    auto ports = model_->joint_names();
    if (!kReadsPositionsOnly && model_->b() > 0) ports.insert(ports.begin(), "wrench_base");
    certificate_ = std::make_unique<GuardCertificate>(
        *get_node(), ports, guard_->delay(), effort_carries_weight(),
        p.frame_prefix + inertial_frame(*model_), p.publish_rate);
    create_budget_service();
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return {interface_configuration_type::INDIVIDUAL,
            reference_names(common_listener_->get_params().following_controller, command_names())};
  }

  InterfaceConfiguration state_interface_configuration() const override {
    return {interface_configuration_type::INDIVIDUAL, reader_->interface_names()};
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
    const auto logger = get_node()->get_logger();
    if (!are_all_doubles(logger, state_interfaces_, command_interfaces_))
      return CallbackReturn::FAILURE;
    apply_settings();
    inbox_->pending_energy.store(0.0);
    stamp_monitor_.restart();
    for (auto& command : received_commands_) command.clear();
    if (!engage(reader_->read(state_interfaces_))) {
      RCLCPP_ERROR(logger, "cannot activate: the state of the robot is not finite");
      return CallbackReturn::FAILURE;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State&) override {
    stop();
    RCLCPP_INFO(get_node()->get_logger(), "%s",
                certificate_->text(guard_->certificate(), unseen_effects()).c_str());
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State&) override {
    budget_service_.reset();
    certificate_.reset();
    setting_parameters_.reset();
    guard_.reset();
    model_.reset();
    return CallbackReturn::SUCCESS;
  }

 protected:
  static constexpr bool kReadsPositionsOnly = std::is_same_v<Guard, ServoGuard>;

  virtual void declare_parameters() = 0;
  virtual void make_guard(const controller_shell::Params& p, const RobotSetup& setup) = 0;
  virtual bool effort_carries_weight() const = 0;
  virtual const char* unseen_effects() const = 0;
  virtual bool engage(const vms_ph::RobotState& state) = 0;
  // Update the guard with a state, of which something may be wrong, and write what it gives.
  virtual void update_guard(const vms_ph::RobotState& state, const char* problem, double dt,
                            const rclcpp::Time& time) noexcept = 0;

  // The last effort must not remain active: from here on the hardware holds the robot.
  virtual void stop() noexcept {
    for (auto& command : command_interfaces_) std::ignore = command.set_value(0.0);
  }

  // The commands that are guarded; those of joints first.
  std::vector<std::string> command_names() const {
    return command_interface_names(*model_, commanded_base_, joint_interface());
  }

  /// The command interface of the joints.
  virtual const char* joint_interface() const = 0;

  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
      override {
    std::vector<hardware_interface::CommandInterface::SharedPtr> exported_interfaces;
    received_commands_.clear();
    for (const auto& name : command_names()) {
      const auto slash_index = name.rfind('/');
      exported_interfaces.push_back(std::make_shared<hardware_interface::CommandInterface>(
          std::string(get_node()->get_name()) + "/" + name.substr(0, slash_index),
          name.substr(slash_index + 1)));
      received_commands_.emplace_back(exported_interfaces.back());
      received_commands_.back().clear();
    }
    return exported_interfaces;
  }

  // Without a controller before it the guard has nothing to pass on: its reflex acts.
  return_type update_reference_from_subscribers(const rclcpp::Time&,
                                                const rclcpp::Duration&) override {
    for (auto& command : received_commands_) command.clear();
    return return_type::OK;
  }

  return_type update_and_write_commands(const rclcpp::Time& time,
                                        const rclcpp::Duration& period) override {
    apply_settings();
    const auto& state = reader_->read(state_interfaces_);
    // After a change of the clock or a stalled loop, one period is assumed.
    const double elapsed_time = period.seconds();
    const double dt = vms_ph::is_usable_step(elapsed_time) ? elapsed_time : 1.0 / get_update_rate();
    const auto stamp = reader_->stamp();
    update_guard(state, stamp ? stamp_monitor_.update(*stamp, dt) : "", dt, time);
    // After the update a capacity that was changed before is in force.
    const double budget_change = inbox_->pending_energy.exchange(0.0, std::memory_order_acquire);
    if (budget_change > 0.0) guard_->refill(budget_change);
    if (budget_change < 0.0) guard_->drain(-budget_change);
    return return_type::OK;
  }

  // Write the i-th of the guarded commands, and publish at the time of the state.
  template <class Output, class CommandAt>
  void write(const rclcpp::Time& time, const Output& output, const CommandAt& command_at) noexcept {
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i)
      std::ignore = command_interfaces_[i].set_value(command_at(i));
    inbox_->tank_level.store(output.level, std::memory_order_relaxed);
    if (const auto stamp = reader_->stamp_or(time)) certificate_->publish(*stamp, *guard_, output);
  }

  std::unique_ptr<vms_ph::Model> model_;
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<StateReader> reader_;
  std::vector<TimedCommand> received_commands_;
  std::string commanded_base_;  ///< name of a base whose commands are guarded
  double command_timeout_ = 0.25;

 private:
  void apply_settings() noexcept {
    setting_parameters_->for_each_change([this](const std::string& name, double value) {
      EnergyGuardSettings::table().set(guard_->settings, name, value);
    });
  }

  void create_budget_service() {
    using ChangeBudget = vms_ph::srv::ChangeBudget;
    inbox_ = std::make_shared<BudgetInbox>();
    const std::weak_ptr<rclcpp_lifecycle::LifecycleNode> weak_node = get_node();
    budget_service_ = get_node()->create_service<ChangeBudget>(
        "~/change_budget",
        [inbox = inbox_, weak_node](const ChangeBudget::Request::SharedPtr request,
                                    ChangeBudget::Response::SharedPtr response) {
          response->level = inbox->tank_level.load(std::memory_order_relaxed);
          if (!std::isfinite(request->energy) || request->freezing > ChangeBudget::Request::THAW) {
            response->message = "energy must be finite, J, and freezing KEEP, FREEZE or THAW";
            return;
          }
          const auto node = weak_node.lock();
          if (node && request->freezing != ChangeBudget::Request::KEEP) {
            node->set_parameter({"freeze", request->freezing == ChangeBudget::Request::FREEZE});
          }
          inbox->add(request->energy);
          response->success = true;
          response->message = "takes effect in the next cycle";
        });
  }

  std::shared_ptr<controller_shell::ParamListener> common_listener_;
  std::unique_ptr<GainParameters> setting_parameters_;
  std::unique_ptr<GuardCertificate> certificate_;
  std::shared_ptr<BudgetInbox> inbox_ = std::make_shared<BudgetInbox>();
  rclcpp::Service<vms_ph::srv::ChangeBudget>::SharedPtr budget_service_;
  StampMonitor stamp_monitor_;
};

class EnergyGuard final : public GuardPlugin<vms_ph::PortGuard> {
 protected:
  void declare_parameters() override {
    guard_listener_ = std::make_shared<energy_guard::ParamListener>(get_node());
    settings_listener_ = std::make_shared<energy_guard_settings::ParamListener>(get_node());
  }

  void make_guard(const controller_shell::Params& p, const RobotSetup& setup) override {
    require_efforts(setup);
    const auto guard_parameters = guard_listener_->get_params();
    vms_ph::EnergyGuardOptions options;
    options.delay = static_cast<int>(guard_parameters.delay);
    options.effort_carries_weight = guard_parameters.effort_carries_weight;
    options.base_actuated = is_base_actuated_ = p.base_actuated;
    options.bounds = plausibility_bounds(p);
    options.period = 1.0 / get_update_rate();
    model_->set_command_period(options.period);
    commanded_base_ = p.base_actuated ? p.base_name : "";
    if (const auto actuators = base_actuators(setup); actuators && p.base_actuated) {
      options.allocation = allocation_without_failed(*actuators, guard_parameters.failed_actuators);
      options.weights = actuators->weights;
    } else if (!guard_parameters.failed_actuators.empty()) {
      throw vms_ph::ModelError(
          "failed_actuators are those of a base; the robot description has none "
          "(<vms_ph_actuators>), or base_actuated is false");
    }
    guard_ = std::make_unique<vms_ph::PortGuard>(*model_, EnergyGuardSettings(), options);
    desired_effort_ = acting_effort_ = Eigen::VectorXd::Constant(model_->nv(), kNaN);
  }

  const char* joint_interface() const override { return "effort"; }

  bool effort_carries_weight() const override { return guard_->carries_weight(); }

  const char* unseen_effects() const override {
    return "contacts, other ports, drives that do not follow commands, peaks between two samples";
  }

  bool engage(const vms_ph::RobotState& state) override {
    // What the controller before has left in the command interfaces acts now.
    acting_effort_.setConstant(kNaN);
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i)
      acting_effort_[velocity_index(i)] = command_interfaces_[i].get_optional().value_or(kNaN);
    if (!is_base_actuated_) acting_effort_.head(model_->b()).setZero();
    return guard_->engage(state.q, state.v, acting_effort_);
  }

  void update_guard(const vms_ph::RobotState& state, const char* problem, double dt,
                    const rclcpp::Time& time) noexcept override {
    if (!is_base_actuated_) desired_effort_.head(model_->b()).setZero();
    for (std::size_t i = 0; i < received_commands_.size(); ++i)
      desired_effort_[velocity_index(i)] = received_commands_[i].read(dt, command_timeout_);
    const auto& output = problem[0] != '\0' ? guard_->hold(problem, dt)
                                            : guard_->update(state.q, state.v, desired_effort_, dt);
    write(time, output, [&](std::size_t i) { return output.effort[velocity_index(i)]; });
  }

 private:
  // The index among the velocities of the i-th interface: joints come first among interfaces.
  Eigen::Index velocity_index(std::size_t i) const noexcept {
    const auto k = static_cast<Eigen::Index>(i);
    return k < model_->n() ? model_->b() + k : k - model_->n();
  }

  std::shared_ptr<energy_guard::ParamListener> guard_listener_;
  std::shared_ptr<energy_guard_settings::ParamListener> settings_listener_;
  Eigen::VectorXd desired_effort_, acting_effort_;
  bool is_base_actuated_ = true;
};

/// A guard of servos that take positions or velocities.
template <class JointGuard>
class ServoGuardPlugin final : public GuardPlugin<ServoGuard> {
 protected:
  void declare_parameters() override {
    parameter_listener_ = std::make_shared<servo_guard::ParamListener>(get_node());
  }

  void make_guard(const controller_shell::Params&, const RobotSetup&) override {
    const auto p = parameter_listener_->get_params();
    const auto stiffness = expand_to_joints(p.stiffness, *model_, "stiffness");
    const auto damping = expand_to_joints(p.damping, *model_, "damping");
    std::vector<JointServo> servos;
    for (const auto& joint : model_->joint_names()) {
      const auto k = static_cast<Eigen::Index>(servos.size());
      servos.push_back(
          {joint, stiffness[k], damping[k], model_->max_effort()[k], model_->max_velocity()[k]});
    }
    positions_ = desired_command_ = last_command_ = JointValues(servos.size(), kNaN);
    guard_ = std::make_unique<JointGuard>(std::move(servos), p.uncertainty,
                                          static_cast<std::size_t>(p.delay));
  }

  const char* joint_interface() const override { return kIsPosition ? "position" : "velocity"; }

  // The last position may remain: a servo gives no more than its spring holds.
  void stop() noexcept override {
    if (!kIsPosition) GuardPlugin::stop();
  }

  bool effort_carries_weight() const override { return false; }

  const char* unseen_effects() const override {
    return "servos of another kind than declared; contacts, people, other actuators, and the "
           "weight, which the servos carry";
  }

  bool engage(const vms_ph::RobotState& state) override {
    positions_.assign(state.q.begin(), state.q.end());
    read_last_command();
    return guard_->engage(positions_, last_command_);
  }

  void update_guard(const vms_ph::RobotState& state, const char* problem, double dt,
                    const rclcpp::Time& time) noexcept override {
    positions_.assign(state.q.begin(), state.q.end());
    read_last_command();  // the controller manager may have limited it
    guard_->replace_last_command(last_command_, dt);
    for (std::size_t k = 0; k < desired_command_.size(); ++k) {
      desired_command_[k] = kIsPosition ? received_commands_[k].last_written_command()
                                        : received_commands_[k].read(dt, command_timeout_);
    }
    const auto& output = guard_->update(positions_, desired_command_, dt, problem);
    write(time, output, [&](std::size_t k) { return output.command[k]; });
  }

 private:
  static constexpr bool kIsPosition = std::is_same_v<JointGuard, vms_ph::PositionGuard>;

  void read_last_command() noexcept {
    for (std::size_t k = 0; k < last_command_.size(); ++k)
      last_command_[k] = command_interfaces_[k].get_optional().value_or(kNaN);
  }

  std::shared_ptr<servo_guard::ParamListener> parameter_listener_;
  JointValues positions_, desired_command_, last_command_;
};

using PositionGuardPlugin = ServoGuardPlugin<vms_ph::PositionGuard>;
using VelocityGuardPlugin = ServoGuardPlugin<vms_ph::VelocityGuard>;

}  // namespace vms_ph_ros2_control

PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::EnergyGuard,
                       controller_interface::ChainableControllerInterface)
PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::PositionGuardPlugin,
                       controller_interface::ChainableControllerInterface)
PLUGINLIB_EXPORT_CLASS(vms_ph_ros2_control::VelocityGuardPlugin,
                       controller_interface::ChainableControllerInterface)
