#include "vms_ph_native/gravity_compensating_fallback.hpp"

#include <utility>

namespace vms_ph {
namespace {

// Rate at which base and joints are slowed down, 1/s.
constexpr double kSlowing = 10.0;

}  // namespace

GravityCompensatingFallback::GravityCompensatingFallback(const Model& model, std::unique_ptr<PythonController> law)
    : model_(model), law_(std::move(law)), d_(model) {
  if (law_->b() != model.b() || law_->joint_names() != model.joint_names()) {
    throw ModelError("Python sees other joints in this robot description than Pinocchio");
  }
  steady_.wrench_base = Eigen::VectorXd::Zero(model.b());
  steady_.torque = Eigen::VectorXd::Zero(model.n());
}

const Command& GravityCompensatingFallback::update(const RobotState& state, const Reference& reference,
                                      double dt) noexcept {
  const auto before = law_->late() + law_->failed();
  const auto& command = law_->update(state, reference, dt);
  if (law_->late() + law_->failed() == before || !state.is_usable(model_)) return command;
  const int b = model_.b(), n = model_.n();
  d_.set(state.q, state.v);
  // Base and joints for themselves: each takes energy out, whether the base has actuators or not.
  steady_.wrench_base = d_.g().head(b);
  steady_.wrench_base.noalias() -= kSlowing * (d_.M_b() * state.v.head(b));
  steady_.torque = d_.g().tail(n);
  steady_.torque.noalias() -= kSlowing * (d_.M_m() * state.v.tail(n));
  steady_.torque = steady_.torque.cwiseMax(-model_.effort()).cwiseMin(model_.effort());
  steady_.status = command.status;
  steady_.reason = command.reason;
  steady_.task_error = command.task_error;
  steady_.smallest_singular_value = command.smallest_singular_value;
  return steady_;
}

}  // namespace vms_ph
