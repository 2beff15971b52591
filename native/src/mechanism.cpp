// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/mechanism.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "mechanism_tree.hpp"

namespace vms_ph {

using rigid::SE3;
using rigid::Twist;
using Joint = MechanismTree::Joint;
using Body = MechanismTree::Body;

namespace {

double damping_at(const MechanismJoint& joint, double theta) {
  if (joint.thermal_softening == 0.0) return joint.damping;
  return joint.damping * std::exp(-joint.thermal_softening * (theta - joint.reference_theta));
}

double friction_coefficient(const MechanismJoint& joint, double rate, double theta) {
  const double ratio = std::abs(rate) / joint.slip_speed;
  const double fade_factor = ratio > 1e-4 ? std::tanh(ratio) / ratio : 1.0 - ratio * ratio / 3.0;
  return damping_at(joint, theta) + joint.dry_friction / joint.slip_speed * fade_factor;
}

void set_relative_pose(const MechanismJoint& joint, const SE3& pose, double* q) {
  if (joint.kind == JointKind::planar) {
    q[0] = pose.R(0, 0), q[1] = pose.R(0, 1), q[2] = pose.p[0];
    q[3] = pose.R(1, 0), q[4] = pose.R(1, 1), q[5] = pose.p[1];
  } else {
    rigid::write_rows(pose.R, q, 3);
  }
}

/// The components of a twist in which a planar or spherical joint moves.
Eigen::Vector3i step_axes(const MechanismJoint& joint) {
  return joint.kind == JointKind::planar ? Eigen::Vector3i(0, 1, 5) : Eigen::Vector3i(3, 4, 5);
}

Twist read_step(const MechanismJoint& joint, const double* u) {
  Twist step_twist = Twist::Zero();
  for (int k = 0; k < 3; ++k) step_twist[step_axes(joint)[k]] = u[k];
  return step_twist;
}

void write_step(const MechanismJoint& joint, const Twist& twist, double* u) {
  for (int k = 0; k < 3; ++k) u[k] = twist[step_axes(joint)[k]];
}

}  // namespace

Mechanism::Mechanism(MechanismParts parts) : parts_(std::move(parts)) {
  const auto fits = [](int i, int count, int size) { return i >= 0 && i + count <= size; };
  const int body_count = static_cast<int>(parts_.bodies.size());
  const int heat_count = static_cast<int>(parts_.heats.size());
  // What is stored has a place in the state, in its rates and among all efforts.
  const int smallest_size = std::min({parts_.nx, parts_.rate_size, parts_.effort_size});
  constexpr int kMaxSize = 1 << 24;
  bool is_valid =
      smallest_size >= 0 && std::max({parts_.nx, parts_.rate_size, parts_.effort_size}) <= kMaxSize;
  for (const MechanismBody& body : parts_.bodies) {
    is_valid = is_valid && fits(body.momentum_index, 6, smallest_size) &&
               fits(body.pose_index, 16, parts_.nx) &&
               fits(body.pose_rate_index, 6, smallest_size) && body.mass > 0.0;
  }
  for (const MechanismJoint& joint : parts_.joints) {
    const int d = joint.dofs;
    is_valid = is_valid && joint.body_1 >= -1 && joint.body_1 < body_count && joint.body_2 >= -1 &&
               joint.body_2 < body_count && joint.body_1 != joint.body_2 && d >= 1 && d <= 3 &&
               joint.subspace.cols() == d && joint.dual_basis.rows() == d &&
               joint.constraints.rows() == 6 - d &&
               fits(joint.position_index, has_matrix_position(joint) ? 9 : d, parts_.nx) &&
               fits(joint.rate_index, d, smallest_size) && joint.rotor_index < smallest_size &&
               (d == 3 || !has_matrix_position(joint)) &&
               (joint.rotor_index < 0 || (d == 1 && joint.armature > 0.0)) &&
               fits(joint.effort_index, d, parts_.effort_size) &&
               fits(joint.effort_index_1, 6, parts_.effort_size) &&
               fits(joint.effort_index_2, 6, parts_.effort_size) && joint.heat < heat_count &&
               (joint.friction == FrictionKind::none || joint.heat >= 0);
  }
  for (const MechanismHeat& heat : parts_.heats)
    is_valid = is_valid && fits(heat.entropy_index, 1, smallest_size);
  for (const MechanismConduction& conduction : parts_.conductions)
    is_valid = is_valid && fits(conduction.source_heat, 1, heat_count) &&
               fits(conduction.sink_heat, 1, heat_count);
  if (!is_valid) throw std::invalid_argument("a part of the mechanism is outside its vectors");
  tree_ = std::make_unique<MechanismTree>(parts_);
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    if (!tree_->joints[j].is_loop) {
      const MechanismJoint& joint = parts_.joints[j];
      tree_rows_ += joint.rotor_index < 0 ? 6 - joint.dofs : 6;
    } else if (parts_.joints[j].rotor_index >= 0) {
      throw std::invalid_argument("a joint that closes a loop has a rotor");
    }
  }
  theta_.resize(parts_.heats.size());
  for (auto& rate : stages_) rate = Eigen::VectorXd::Zero(parts_.rate_size);
  increment_ = stages_[0];
  flow_ = efforts_ = Eigen::VectorXd::Zero(parts_.effort_size);
  stage_state_ = Eigen::VectorXd::Zero(parts_.nx);
}

Mechanism::~Mechanism() = default;

int Mechanism::loop_rows() const { return tree_->rows(); }

void Mechanism::set_loop_rank(int rank) {
  tree_->set_rank(std::max(0, std::min(rank, tree_->rows())));
}

const Eigen::VectorXd& Mechanism::loop_spectrum() const { return tree_->loop_spectrum(); }

bool Mechanism::find_temperatures(const double* x) {
  bool is_valid = true;
  for (std::size_t k = 0; k < theta_.size(); ++k) {
    const MechanismHeat& heat = parts_.heats[k];
    theta_[k] = heat.capacity > 0.0 ? heat.theta * std::exp(x[heat.entropy_index] / heat.capacity)
                                    : parts_.theta_0;
    is_valid = is_valid && theta_[k] > 0.0 && std::isfinite(theta_[k]);
  }
  return is_valid;
}

// Writes the forces into the tree and everything but the rates of momenta into `rate`.
void Mechanism::apply_forces(const double* flow, double* rate) {
  for (const MechanismHeat& heat : parts_.heats) rate[heat.entropy_index] = 0.0;
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& description = parts_.bodies[k];
    Body& body = tree_->bodies[k];
    const Vector3d p = rigid::linear(body.momentum), L = rigid::angular(body.momentum);
    const Vector3d v = rigid::linear(body.velocity), w = rigid::angular(body.velocity);
    rigid::write_twist(body.velocity, rate + description.pose_rate_index);
    body.force += rigid::make_twist(p.cross(w), L.cross(w) + p.cross(v));  // beside gravity
    if (flow) body.force += rigid::read_twist(flow + description.momentum_index);
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    const int d = description.dofs;
    std::copy_n(joint.rate.data(), d, rate + description.rate_index);
    for (int k = 0; flow && k < d; ++k) joint.force[k] += flow[description.effort_index + k];
    if (description.friction != FrictionKind::none) {
      const auto heat_index = static_cast<std::size_t>(description.heat);
      MechanismTree::JointVector force;
      if (description.friction == FrictionKind::coulomb) {
        force = friction_coefficient(description, joint.rate[0], theta_[heat_index]) * joint.rate;
      } else {
        force.resize(d);
        apply(description.friction_tensor.topLeftCorner(d, d), joint.rate.data(), force.data());
      }
      joint.force -= force;
      rate[parts_.heats[heat_index].entropy_index] += joint.rate.dot(force) / theta_[heat_index];
    }
    Twist motion;
    apply(description.subspace, joint.rate.data(), motion.data());
    joint.bias = -rigid::commutator(motion, joint.first_twist);
    if (joint.is_loop) {
      Twist wrench = Twist::Zero();
      for (int k = 0; k < d; ++k) wrench += joint.force[k] * row_of(description.dual_basis, k);
      if (description.body_1 >= 0) {
        tree_->bodies[static_cast<std::size_t>(description.body_1)].force -=
            joint.first_to_joint.act_dual(wrench);
      }
      if (description.body_2 >= 0) {
        tree_->bodies[static_cast<std::size_t>(description.body_2)].force +=
            joint.offset_2.act_dual(wrench);
      }
    }
  }
  for (const MechanismConduction& conduction : parts_.conductions) {
    const auto source = static_cast<std::size_t>(conduction.source_heat),
               sink = static_cast<std::size_t>(conduction.sink_heat);
    const double heat_flow = conduction.conductance * (theta_[source] - theta_[sink]);
    rate[parts_.heats[source].entropy_index] -= heat_flow / theta_[source];
    rate[parts_.heats[sink].entropy_index] += heat_flow / theta_[sink];
  }
  for (const MechanismHeat& heat : parts_.heats)
    if (flow) rate[heat.entropy_index] += flow[heat.entropy_index];
}

MechanismStatus Mechanism::rates(const double* x, const double* flow, double* rate,
                                 double* efforts) {
  if (!find_temperatures(x)) return MechanismStatus::too_cold;
  tree_->set_configuration(x);
  tree_->find_rates(x);
  tree_->factorise();
  const auto weight_of = [x](const MechanismBody& body) {
    const Vector3d weight = SE3::read(x + body.pose_index).R.transpose() * body.weight;
    return rigid::make_twist(weight, Vector3d::Zero());
  };
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    tree_->bodies[k].force = -weight_of(parts_.bodies[k]);
  }
  const auto spring_effort = [x](const MechanismJoint& joint, int k) {
    if (!joint.has_spring) return 0.0;
    return joint.stiffness[k] * (x[joint.position_index + k] - joint.rest_position[k]);
  };
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    auto& force = tree_->joints[j].force;
    force.setZero();
    for (int k = 0; k < description.dofs; ++k) force[k] = -spring_effort(description, k);
  }
  apply_forces(flow, rate);
  if (efforts) {
    write_efforts(efforts);
    for (const MechanismBody& body : parts_.bodies)
      rigid::write_twist(weight_of(body), efforts + body.pose_rate_index);
    for (const MechanismJoint& joint : parts_.joints)
      for (int k = 0; k < joint.dofs; ++k) efforts[joint.rate_index + k] = spring_effort(joint, k);
  }
  tree_->solve();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& body = parts_.bodies[k];
    rigid::write_twist(momentum_of(body, tree_->bodies[k].acceleration),
                       rate + body.momentum_index);
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& joint = parts_.joints[j];
    if (joint.rotor_index >= 0)
      rate[joint.rotor_index] = joint.armature * tree_->joints[j].acceleration[0];
  }
  return MechanismStatus::ok;
}

void Mechanism::write_efforts(double* efforts) const {
  std::fill(efforts, efforts + parts_.effort_size, 0.0);
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k)
    rigid::write_twist(tree_->bodies[k].velocity, efforts + parts_.bodies[k].momentum_index);
  for (std::size_t k = 0; k < theta_.size(); ++k) {
    if (parts_.heats[k].capacity > 0.0)
      efforts[parts_.heats[k].entropy_index] = theta_[k] - parts_.theta_0;
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    const Joint& joint = tree_->joints[j];
    std::copy_n(joint.rate.data(), description.dofs, efforts + description.effort_index);
    const auto write_end_twist = [&](int index, const SE3& frame, double* out) {
      if (index < 0) return;
      rigid::write_twist(frame.act_inv(tree_->bodies[static_cast<std::size_t>(index)].velocity),
                         out);
    };
    write_end_twist(description.body_1, joint.offset_1, efforts + description.effort_index_1);
    write_end_twist(description.body_2, joint.offset_2, efforts + description.effort_index_2);
  }
}

void Mechanism::move(const double* x, const double* step, double* x_after) const {
  if (x_after != x) std::copy(x, x + parts_.nx, x_after);
  for (const MechanismBody& body : parts_.bodies) {
    for (int k = 0; k < 6; ++k)
      x_after[body.momentum_index + k] = x[body.momentum_index + k] + step[body.momentum_index + k];
    const SE3 pose = SE3::read(x + body.pose_index);
    rigid::cayley_step(pose, rigid::read_twist(step + body.pose_rate_index))
        .write(x_after + body.pose_index);
  }
  for (const MechanismHeat& heat : parts_.heats)
    x_after[heat.entropy_index] = x[heat.entropy_index] + step[heat.entropy_index];
  for (const MechanismJoint& joint : parts_.joints) {
    if (joint.rotor_index >= 0)
      x_after[joint.rotor_index] = x[joint.rotor_index] + step[joint.rotor_index];
    if (has_matrix_position(joint)) {
      const Twist u = read_step(joint, step + joint.rate_index);
      set_relative_pose(joint,
                        rigid::cayley_step(relative_pose(joint, x + joint.position_index), u),
                        x_after + joint.position_index);
      continue;
    }
    for (int k = 0; k < joint.dofs; ++k)
      x_after[joint.position_index + k] = x[joint.position_index + k] + step[joint.rate_index + k];
  }
}

void Mechanism::map_rates(const double* step, double* rate) const {
  for (const MechanismBody& body : parts_.bodies) {
    double* u = rate + body.pose_rate_index;
    const Twist pose_step = rigid::read_twist(step + body.pose_rate_index);
    rigid::write_twist(rigid::step_rate(pose_step, rigid::read_twist(u)), u);
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (!has_matrix_position(joint)) continue;
    const Twist u = read_step(joint, rate + joint.rate_index);
    write_step(joint, rigid::step_rate(read_step(joint, step + joint.rate_index), u),
               rate + joint.rate_index);
  }
}

double Mechanism::close_joints(double* x) {
  tree_->set_configuration(x);
  tree_->factorise();
  for (Body& body : tree_->bodies) body.force.setZero();
  double opening = 0.0;
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    Joint& joint = tree_->joints[j];
    joint.bias = tree_->opening(j, x);
    joint.force.setZero();
    opening = std::max(opening, joint.bias.cwiseAbs().maxCoeff());
    if (!joint.bias.allFinite()) opening = std::nan("");
  }
  tree_->solve();
  increment_.setZero();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k)
    rigid::write_twist(tree_->bodies[k].acceleration,
                       increment_.data() + parts_.bodies[k].pose_rate_index);
  for (std::size_t j = 0; j < parts_.joints.size(); ++j)
    std::copy_n(tree_->joints[j].acceleration.data(), parts_.joints[j].dofs,
                increment_.data() + parts_.joints[j].rate_index);
  move(x, increment_.data(), x);
  project_momenta(x);
  return opening;
}

/// Project momenta on the constraints at the configuration placed last, in the kinetic metric.
void Mechanism::project_momenta(double* momenta) {
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& description = parts_.bodies[k];
    Body& body = tree_->bodies[k];
    body.velocity =
        velocity_of(description, rigid::read_twist(momenta + description.momentum_index));
    body.force.setZero();
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    Joint& joint = tree_->joints[j];
    joint.force.setZero();
    joint.bias = joint.first_to_joint.act_inv(tree_->velocity(description.body_1));
    joint.bias -= joint.offset_2.act_inv(tree_->velocity(description.body_2));
    if (description.rotor_index >= 0) {
      joint.bias += (momenta[description.rotor_index] / description.armature) *
                    Twist(description.subspace.col(0));
    }
  }
  tree_->solve();
  for (std::size_t k = 0; k < parts_.bodies.size(); ++k) {
    const MechanismBody& description = parts_.bodies[k];
    const Twist momentum_change = momentum_of(description, tree_->bodies[k].acceleration);
    for (int i = 0; i < 6; ++i) momenta[description.momentum_index + i] += momentum_change[i];
  }
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    if (description.rotor_index >= 0)
      momenta[description.rotor_index] += description.armature * tree_->joints[j].acceleration[0];
  }
}

double Mechanism::project(double* x, double tolerance) {
  if (parts_.joints.empty()) return 0.0;
  const double opening = close_joints(x);
  if (opening > tolerance && opening * opening <= tolerance) close_joints(x);
  return opening;
}

double Mechanism::violation(const double* x) {
  tree_->set_configuration(x);
  double largest_opening = 0.0;
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    largest_opening = std::max(largest_opening, tree_->opening(j, x).cwiseAbs().maxCoeff());
  }
  return largest_opening;
}

Mechanism::Step Mechanism::step(double t, const double* x, double dt, const Flows* flows,
                                double tolerance, double* x_after, double* total_step,
                                double* flow_integral, double* exergy) {
  using Values = Eigen::Map<Eigen::VectorXd>;
  Step result;
  if (flow_integral) std::fill(flow_integral, flow_integral + parts_.effort_size, 0.0);
  if (exergy) std::fill(exergy, exergy + parts_.effort_size, 0.0);
  const double fractions[4] = {0.0, 0.5, 0.5, 1.0};
  const double weights[4] = {dt / 6.0, dt / 3.0, dt / 3.0, dt / 6.0};
  const bool has_exergy = exergy && flows;
  for (int k = 0; k < 4; ++k) {
    const double* state = x;
    if (k) {
      increment_ = (fractions[k] * dt) * stages_[k - 1];
      move(x, increment_.data(), stage_state_.data());
      state = stage_state_.data();
    }
    if (flows) {
      flow_.setZero();
      (*flows)(t + fractions[k] * dt, state, flow_.data());
    }
    result.status = rates(state, flows ? flow_.data() : nullptr, stages_[k].data(),
                          has_exergy ? efforts_.data() : nullptr);
    if (result.status != MechanismStatus::ok) return result;
    if (k) map_rates(increment_.data(), stages_[k].data());
    if (flow_integral && flows) Values(flow_integral, parts_.effort_size) += weights[k] * flow_;
    if (has_exergy) Values(exergy, parts_.effort_size) += weights[k] * efforts_.cwiseProduct(flow_);
  }
  Values(total_step, parts_.rate_size) = weights[0] * stages_[0] + weights[1] * stages_[1] +
                                         weights[2] * stages_[2] + weights[3] * stages_[3];
  move(x, total_step, x_after);
  for (const MechanismBody& body : parts_.bodies) {
    SE3 pose = SE3::read(x_after + body.pose_index);
    pose.R = rigid::orthonormal(pose.R);
    pose.write(x_after + body.pose_index);
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (!has_matrix_position(joint)) continue;
    SE3 pose = relative_pose(joint, x_after + joint.position_index);
    pose.R = rigid::orthonormal(pose.R);
    set_relative_pose(joint, pose, x_after + joint.position_index);
  }
  const auto is_finite = [&] {
    return std::all_of(x_after, x_after + parts_.nx, [](double v) { return std::isfinite(v); });
  };
  if (is_finite()) result.opening = project(x_after, tolerance);
  if (!is_finite()) {
    result.status = MechanismStatus::not_finite;
  } else if (!find_temperatures(x_after)) {
    result.status = MechanismStatus::too_cold;
  }
  return result;
}

double Mechanism::energy(const double* x) const {
  double energy = 0.0;
  for (const MechanismBody& body : parts_.bodies) {
    const Twist momentum = rigid::read_twist(x + body.momentum_index);
    energy += 0.5 * momentum.dot(velocity_of(body, momentum));
    energy += body.weight.dot(SE3::read(x + body.pose_index).p);
  }
  for (const MechanismJoint& joint : parts_.joints) {
    if (joint.rotor_index >= 0)
      energy += 0.5 * x[joint.rotor_index] * x[joint.rotor_index] / joint.armature;
    for (int k = 0; joint.has_spring && k < joint.dofs; ++k) {
      const double stretch = x[joint.position_index + k] - joint.rest_position[k];
      energy += 0.5 * joint.stiffness[k] * stretch * stretch;
    }
  }
  for (const MechanismHeat& heat : parts_.heats) {
    energy += heat.capacity > 0.0
                  ? heat.capacity * heat.theta * std::exp(x[heat.entropy_index] / heat.capacity)
                  : parts_.theta_0 * x[heat.entropy_index];
  }
  return energy;
}

double Mechanism::friction_decay_rate(const double* x) {
  find_temperatures(x);
  tree_->set_configuration(x);
  double decay_rate = 0.0;
  for (std::size_t j = 0; j < parts_.joints.size(); ++j) {
    const MechanismJoint& description = parts_.joints[j];
    if (description.friction == FrictionKind::none) continue;
    const Joint& joint = tree_->joints[j];
    const int d = description.dofs;
    MechanismTree::JointMatrix mobility = MechanismTree::JointMatrix::Zero(d, d);
    if (description.rotor_index >= 0) {
      mobility(0, 0) = 1.0 / description.armature;
    } else {
      const std::pair<int, const SE3*> joint_ends[] = {{description.body_1, &joint.first_to_joint},
                                                       {description.body_2, &joint.offset_2}};
      for (const auto& [body_index, frame] : joint_ends) {
        if (body_index < 0) continue;
        const MechanismBody& body = parts_.bodies[static_cast<std::size_t>(body_index)];
        for (int k = 0; k < d; ++k) {
          const Twist body_twist =
              velocity_of(body, frame->act_dual(row_of(description.dual_basis, k)));
          for (int l = 0; l < d; ++l) {
            mobility(k, l) += frame->act_dual(row_of(description.dual_basis, l)).dot(body_twist);
          }
        }
      }
    }
    if (description.friction == FrictionKind::coulomb) {
      const double theta = theta_[static_cast<std::size_t>(description.heat)];
      decay_rate += mobility(0, 0) * (damping_at(description, theta) +
                                      description.dry_friction / description.slip_speed);
    } else {
      decay_rate += mobility.cwiseProduct(description.friction_tensor.topLeftCorner(d, d)).sum();
    }
  }
  return decay_rate;
}

}  // namespace vms_ph
