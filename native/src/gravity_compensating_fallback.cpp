#include "vms_ph_native/gravity_compensating_fallback.hpp"

#include <utility>

namespace vms_ph {
namespace {

// Rate at which the motion of base and joints is damped, 1/s.
constexpr double kBraking = 10.0;

}  // namespace

GravityCompensatingFallback::GravityCompensatingFallback(const Model& model,
                                                         std::unique_ptr<PythonController> law)
    : model_(model), law_(std::move(law)), d_(model) {
  if (law_->b() != model.b() || law_->joint_names() != model.joint_names()) {
    throw ModelError("Python finds other joints in this robot description than Pinocchio");
  }
  fallback_.wrench_base = Eigen::VectorXd::Zero(model.b());
  fallback_.torque = Eigen::VectorXd::Zero(model.n());
}

const Command& GravityCompensatingFallback::update(const RobotState& state,
                                                   const Reference& reference, double dt) noexcept {
  const auto before = law_->late() + law_->failed();
  const auto& command = law_->update(state, reference, dt);
  if (law_->late() + law_->failed() == before || !state.is_usable(model_)) return command;
  const int b = model_.b(), n = model_.n();
  d_.set(state.q, state.v);
  // Base and joints separately: each dissipates, whether the base has actuators or not.
  fallback_.wrench_base = d_.g().head(b);
  fallback_.wrench_base.noalias() -= kBraking * (d_.M_b() * state.v.head(b));
  fallback_.torque = d_.g().tail(n);
  fallback_.torque.noalias() -= kBraking * (d_.M_m() * state.v.tail(n));
  fallback_.torque = fallback_.torque.cwiseMax(-model_.effort()).cwiseMin(model_.effort());
  fallback_.status = command.status;
  fallback_.reason = command.reason;
  fallback_.task_error = command.task_error;
  fallback_.smallest_singular_value = command.smallest_singular_value;
  return fallback_;
}

}  // namespace vms_ph
