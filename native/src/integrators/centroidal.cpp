// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/integrators/schemes.hpp"

#include <cmath>

#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

CentroidalRobot::CentroidalRobot(const Model& robot, bool has_gravity)
    : model(robot),
      tree(robot, has_gravity),
      centre_dim(tree.free_dimensions()),
      mass(tree.total_mass()),
      end_effector_force_(VectorXd::Zero(tree.nv())) {}

Matrix3d CentroidalRobot::rotation(const VectorXd& q) const noexcept {
  return base_rotation(tree.b(), q.data());
}

Vector3d CentroidalRobot::base_position(const VectorXd& q) const noexcept {
  Vector3d origin = Vector3d::Zero();
  for (int i = 0; i < centre_dim; ++i) origin[i] = q[i];
  return origin;
}

void CentroidalRobot::set_base_position(const Vector3d& origin, VectorXd& q) const noexcept {
  for (int i = 0; i < centre_dim; ++i) q[i] = origin[i];
}

void CentroidalRobot::move_centre_to_origin(const Matrix3d& attitude, VectorXd& q) const noexcept {
  set_base_position(-(attitude * tree.centre_of_mass()), q);
}

void CentroidalRobot::split(const VectorXd& q, const VectorXd& v, double t,
                            SolverState& x) noexcept {
  x.q = q;
  x.v = v;
  x.t = t;
  x.fall = Fall{};
  x.fall.start_time = t;
  x.fall.mass = mass;
  x.fall.gravity = tree.fall_acceleration();
  x.energy = CompensatedSum{};
  x.past_steps.count = 0;
  tree.set_configuration(q);
  if (centre_dim > 0) {
    const Matrix3d attitude = rotation(q);
    tree.set_velocity(v);
    Vector3d linear_momentum = tree.momentum().linear;
    if (centre_dim == 2) linear_momentum.z() = 0.0;
    const Vector3d centre_offset = attitude * tree.centre_of_mass();
    x.fall.linear_momentum = attitude * linear_momentum;
    x.fall.centre_of_mass = base_position(q) + centre_offset;
    if (centre_dim == 2) x.fall.centre_of_mass.z() = 0.0;
    for (int i = 0; i < centre_dim; ++i) x.v[i] -= linear_momentum[i] / mass;
    set_base_position(-centre_offset, x.q);
    tree.set_velocity(x.v);
    const Screw& p = tree.momentum();
    x.angular_momentum = attitude * (p.angular - tree.centre_of_mass().cross(p.linear));
    if (centre_dim == 2) x.angular_momentum.head<2>().setZero();
  }
  x.energy.value = energy(x.q, x.v);
}

void CentroidalRobot::to_inertial(const Vector3d& origin, const Vector3d& velocity, VectorXd& q,
                                  VectorXd& v) const noexcept {
  if (centre_dim == 0) return;
  const Vector3d base_velocity = rotation(q).transpose() * velocity;
  for (int i = 0; i < centre_dim; ++i) {
    v[i] += base_velocity[i];
    q[i] += origin[i];
  }
}

double CentroidalRobot::energy(const VectorXd& q, const VectorXd& v) noexcept {
  tree.set_configuration(q);
  tree.set_velocity(v);
  return tree.kinetic_energy() + tree.potential_energy();
}

double CentroidalRobot::friction_effort(const Ports& ports, int joint, double rate) const noexcept {
  const double dry_friction = ports.dry_friction[joint];
  return ports.damping[joint] * rate +
         (dry_friction == 0.0 ? 0.0 : dry_friction * std::tanh(rate / ports.slip_speed));
}

void CentroidalRobot::port_force(const Ports& ports, double t, const VectorXd& v,
                                 VectorXd& force) noexcept {
  const int b = tree.b();
  force.setZero();
  if (ports.torque.size() > 0) force.tail(tree.n()) += ports.torque;
  if (ports.wrench_base.size() > 0) force.head(b) += ports.wrench_base;
  if (ports.spin.is_spinning) force.segment<3>(3) += ports.spin.moment(t, v.segment<3>(3));
  if (ports.has_wrench_end_effector) {
    end_effector_force_.setZero();
    tree.add_wrench_end_effector(ports.wrench_end_effector, end_effector_force_.data());
    force += end_effector_force_;
  }
  if (ports.damping.size() == 0) return;
  for (int i = 0; i < tree.n(); ++i) force[b + i] -= friction_effort(ports, i, v[b + i]);
}

void CentroidalRobot::add_port_energies(const Ports& ports, const VectorXd& v, double duration,
                                        StepResult& result) const noexcept {
  const int b = tree.b(), n = tree.n();
  if (ports.torque.size() > 0) result.supplied_energy[0] += duration * ports.torque.dot(v.tail(n));
  if (ports.wrench_base.size() > 0)
    result.supplied_energy[1] += duration * ports.wrench_base.dot(v.head(b));
  if (ports.has_wrench_end_effector)
    result.supplied_energy[2] += duration * end_effector_force_.dot(v);
  if (ports.damping.size() == 0) return;
  for (int i = b; i < v.size(); ++i)
    result.dissipated_energy += duration * v[i] * friction_effort(ports, i - b, v[i]);
}

}  // namespace vms_ph
