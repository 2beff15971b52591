// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The terms of the equations of motion of a tree, by sums over pairs of a joint and one before it.
#include <algorithm>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

/// The integral of `(r . rdot) 1 - rdot r^T` over the mass of a body: what turns a rotation of it
/// into the change of its angular momentum that is due to its motion.
VMS_PH_INLINED inline Matrix3d spin_matrix(const SpatialInertia& inertia, const Screw& twist) {
  Matrix3d second_moments = -inertia.rotational;
  second_moments.diagonal().array() += 0.5 * inertia.rotational.trace();
  const Vector3d& w = twist.angular;
  Matrix3d spin;
  for (int j = 0; j < 3; ++j) {
    spin.col(j) = -inertia.mc[j] * twist.linear - w.cross(second_moments.col(j));
  }
  const double trace = spin.trace();
  spin.diagonal().array() -= trace;
  return spin;
}

/// Add two vectors, in the axes that `rotation` maps to theirs, to numbers that are `step` apart.
VMS_PH_INLINED inline void add_rotated(const Matrix3d& rotation, const Vector3d& linear,
                                       const Vector3d& angular, double* out, int step) {
  const Vector3d local_linear = rotation.transpose() * linear,
                 local_angular = rotation.transpose() * angular;
  for (int k = 0; k < 3; ++k) {
    out[k * step] += local_linear[k];
    out[(k + 3) * step] += local_angular[k];
  }
}

}  // namespace

double* Tree::write_base(const Screw& value, double* out, int stride) const noexcept {
  for (int k = 0; k < b_; ++k, out += stride) *out = base_component(value, k);
  return out;
}

VMS_PH_FMA void Tree::write_mass(double* out) noexcept {
  compute_unit_momenta();
  const int size = b_ + n_;
  std::fill(out, out + size * size, 0.0);
  for (int k = 0; k < b_; ++k) {
    const Screw unit_twist = base_unit_twist(k);
    write_base(momentum_of(total_inertia_, added_mass_.total, unit_twist), out + k * size);
  }
  for (std::size_t j = 0; b_ > 0 && j < joints_.size(); ++j) {
    const int index = b_ + joints_[j].leader;
    add_base(unit_momentum(j), out + index * size);
    add_base(unit_momentum(j), out + index, size);
  }
  add_joint_mass(out + b_ * (size + 1), size);
}

/// Add the mass matrix of the joints (n,n) to rows that are `stride` numbers apart.
VMS_PH_FMA void Tree::add_joint_mass(double* mass, int stride) noexcept {
  for (std::size_t j = 0; j < joints_.size(); ++j) {
    const int index = joints_[j].leader;
    mass[index * stride + index] += joints_[j].armature;
    const LaneScrew joint_screw(screw(j));
    for (std::size_t g = j / kLaneCount; g < group_count(); ++g) {
      const Lanes values = joint_screw.dot(LaneScrew(link_groups_[g].unit_momentum));
      store(&products_[g * kLaneCount], values * load(descendant_mask(j, g)));
    }
    mass[index * stride + index] += products_[j];
    for (std::size_t i = j + 1; i < joints_.size(); ++i) {
      const int column = joints_[i].leader;
      mass[index * stride + column] += products_[i];
      mass[column * stride + index] += products_[i];  // twice on a diagonal if one mimics another
    }
  }
}

void Tree::write_locked_inverse(double* out) const noexcept {
  for (int k = 0; k < b_; ++k) {
    write_base(apply_mobility(about_centre(base_unit_twist(k))), out + k * b_);
  }
}

VMS_PH_FMA void Tree::write_connection(double* out) noexcept {
  compute_unit_momenta();
  for (int i = 0; i < n_; ++i) write_base(apply_mobility(coupling(i)), out + i, n_);
}

VMS_PH_FMA void Tree::write_shape_inertia(double* out, int stride) noexcept {
  compute_unit_momenta();
  std::fill(out, out + n_ * stride, 0.0);
  add_joint_mass(out, stride);
  for (int i = 0; b_ > 0 && i < n_; ++i) {
    for (int j = 0; j <= i; ++j) {
      out[i * stride + j] -= coupling(j).dot(connection(i));
      out[j * stride + i] = out[i * stride + j];
    }
  }
}

void Tree::add_weight(const Vector3d& field, double factor, double* force) const noexcept {
  const Vector3d acceleration = -factor * field;
  add_base({net_mass_ * acceleration, net_mc_.cross(acceleration)}, force);
  add_joint_weight(acceleration, force + b_);
}

/// Add to the efforts tau (n,) of the joints those of bodies that all accelerate alike, m/s^2.
VMS_PH_FMA void Tree::add_joint_weight(const Vector3d& acceleration, double* tau) const noexcept {
  const LaneVector a(acceleration);
  for (std::size_t g = 0; g < group_count(); ++g) {
    const LaneScrew screw(link_groups_[g].screw);
    const LaneRow* mass = net_mass(g);
    const Lanes values =
        screw.linear.dot(a) * load(mass[0]) + screw.angular.dot(LaneVector(mass + 1).cross(a));
    add_to_joints(g, values, tau);
  }
}

VMS_PH_FMA void Tree::write_jacobian(const Frame& frame, const Matrix3d& rotation, double* out,
                                     bool includes_mimics) const noexcept {
  const int width = b_ + (includes_mimics ? body_count() : n_);
  std::fill(out, out + 6 * width, 0.0);
  if (frame.body < -1) return;  // it stands beside a base that moves
  const auto add_column = [&](const Screw& s, int column) VMS_PH_INLINED {
    add_rotated(rotation, s.linear + s.angular.cross(frame.origin), s.angular, out + column, width);
  };
  for (int k = 0; k < b_; ++k) add_column(base_unit_twist(k), k);
  for (int i = frame.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
    const auto index = static_cast<std::size_t>(i);
    add_column(screw(index), b_ + (includes_mimics ? i : joints_[index].leader));
  }
}

Screw Tree::twist_of(int body) const noexcept {
  return body < 0 ? base_twist_ : twist(static_cast<std::size_t>(body));
}

VMS_PH_FMA void Tree::write_jacobian_rate(const Frame& frame, const Matrix3d& rotation,
                                          const Vector3d& angular_velocity,
                                          double* out) const noexcept {
  const int size = b_ + n_;
  std::fill(out, out + 6 * size, 0.0);
  if (frame.body < -1) return;
  const Screw body_twist = twist_of(frame.body);
  const Vector3d origin_velocity = body_twist.linear + body_twist.angular.cross(frame.origin);
  const auto add_column = [&](const Screw& twist, const Screw& s, int column) VMS_PH_INLINED {
    const Screw rate = bracket(twist, s);
    const Vector3d linear = s.linear + s.angular.cross(frame.origin);
    const Vector3d linear_rate = rate.linear + rate.angular.cross(frame.origin) +
                                 s.angular.cross(origin_velocity) - angular_velocity.cross(linear);
    add_rotated(rotation, linear_rate, rate.angular - angular_velocity.cross(s.angular),
                out + column, size);
  };
  for (int k = 0; k < b_; ++k) add_column(base_twist_, base_unit_twist(k), k);
  for (int i = frame.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
    const auto index = static_cast<std::size_t>(i);
    add_column(twist(index), screw(index), b_ + joints_[index].leader);
  }
}

void Tree::write_shape_momentum(double* out) noexcept {
  const Screw v_hat = locked_twist(momentum_);
  compute_unit_momenta();
  write_joint_momenta(out);
  for (std::size_t i = 0; i < joints_.size(); ++i)
    out[joints_[i].leader] -= unit_momentum(i).dot(v_hat);
}

// With the velocity field `v_i(r)` of joint i, C_ij is the integral of `v_i . d(v_j)/dt` over the
// mass that both move. Over a subtree with composite inertia Y and linear momentum l it is
// `S_i . (Y dS_j/dt + B S_j)` with `B (v, w) = (w x l, spin w)`.
VMS_PH_FMA void Tree::write_coriolis(double* out) noexcept {
  compute_unit_momenta();
  const int size = b_ + n_;
  std::fill(out, out + size * size, 0.0);
  Matrix3d total_spin = b_ == 0 ? Matrix3d::Zero() : spin_matrix(root_inertia_, base_twist_);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const LinkGroup& link_group = link_groups_[i / kLaneCount];
    set_lane(spin_matrix(inertia_at(link_group.link_inertia, i % kLaneCount), twist(i)),
             scratch_[i / kLaneCount].rotation, i % kLaneCount);
  }
  const Eigen::Matrix<double, 9, 1> spin_sum =
      root_sum<9>([this](std::size_t g) VMS_PH_INLINED { return scratch_[g].rotation; });
  total_spin += Eigen::Map<const Matrix3d>(spin_sum.data());
  const bool is_dry = fluid_groups_.empty();
  Vector3d total_linear_momentum = momentum_.linear;
  if (!is_dry) {  // of the rigid bodies alone
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      const SpatialInertia inertia =
          inertia_at(link_groups_[i / kLaneCount].link_inertia, i % kLaneCount);
      set_lane((inertia * twist(i)).linear, scratch_[i / kLaneCount].translation, i % kLaneCount);
    }
    total_linear_momentum =
        root_sum<3>([this](std::size_t g) VMS_PH_INLINED { return scratch_[g].translation; });
    total_linear_momentum += (root_inertia_ * base_twist_).linear;
  }
  for (int k = 0; k < b_; ++k) {
    const Screw unit_twist = base_unit_twist(k);
    Screw column = total_inertia_ * bracket(base_twist_, unit_twist);
    column.linear += unit_twist.angular.cross(total_linear_momentum);
    column.angular += total_spin * unit_twist.angular;
    write_base(column, out + k, size);
  }
  for (std::size_t g = 0; g < group_count(); ++g) {
    bracket(LaneScrew(motions_[g].twist), LaneScrew(link_groups_[g].screw))
        .store_in(scratch_[g].screw_rate);
  }
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const std::size_t group = i / kLaneCount, lane = i % kLaneCount;
    const SpatialInertia inertia = composite_inertia(i);
    const Screw joint_screw = screw(i),
                joint_reaction = is_dry ? unit_momentum(i) : inertia * joint_screw;
    const Matrix3d spin = matrix_at(scratch_[group].rotation, lane);
    const Vector3d linear_momentum =
        is_dry ? momentum(i).linear : vector_at(scratch_[group].translation, lane);
    Screw column = inertia * screw_at(scratch_[group].screw_rate, lane);
    column.linear += joint_screw.angular.cross(linear_momentum);
    column.angular += spin * joint_screw.angular;
    // S_i . B, which has no linear part.
    const Vector3d moment =
        linear_momentum.cross(joint_screw.linear) + spin.transpose() * joint_screw.angular;
    const int index = b_ + joints_[i].leader;
    double* row = out + index * size;
    if (b_ > 0) {
      add_base(column, out + index, size);
      Screw row_wrench = bracket_transpose(base_twist_, joint_reaction);
      row_wrench.angular += moment;
      add_base(row_wrench, row);
    }
    row[index] += joint_screw.dot(column);
    for (int j = joints_[i].parent; j >= 0; j = joints_[static_cast<std::size_t>(j)].parent) {
      const auto ancestor = static_cast<std::size_t>(j);
      const Screw ancestor_screw = screw(ancestor);
      const Screw ancestor_rate =
          screw_at(scratch_[ancestor / kLaneCount].screw_rate, ancestor % kLaneCount);
      const int k = b_ + joints_[ancestor].leader;
      out[k * size + index] += ancestor_screw.dot(column);
      row[k] += joint_reaction.dot(ancestor_rate) + moment.dot(ancestor_screw.angular);
    }
  }
  add_fluid_coriolis(out);
}

/// Add `J^T (M_A Jdot - ad~_p J)` of every link in a fluid, with `p = M_A V` and
/// `ad~_p V = ad_V^T p`; see vms_ph_dynamics/actuation/fluid.py.
void Tree::add_fluid_coriolis(double* out) noexcept {
  for (const ImmersedLink& link : immersed_links_) {
    const Frame pose = placement(link.frame);
    const Screw twist = in_axes_of(pose, twist_of(pose.body));
    const Screw momentum = screw_of(link.coefficients.added_mass * numbers_of(twist));
    write_jacobian(pose, pose.rotation, jacobian_.data());
    write_jacobian_rate(pose, pose.rotation, twist_of(pose.body).angular, jacobian_rate_.data());
    for (Eigen::Index k = 0; k < nv(); ++k) {
      const Twist column = link.coefficients.added_mass * jacobian_rate_.col(k);
      jacobian_rate_.col(k) =
          column - numbers_of(bracket_transpose(screw_of(jacobian_.col(k)), momentum));
    }
    products::add(transposed(jacobian_rate_), jacobian_, 1.0, out, nv());  // transposed: by rows
  }
}

Screw Tree::momentum_rate() const noexcept {
  return planar_part(bracket_transpose(base_twist_, momentum_));
}

// pi_hat_i = S_i . (h_i - Y_i v_hat), with the momentum h_i and the inertia Y_i of the subtree; u
// is the twist relative to the base, h the momentum in the locked motion.
VMS_PH_FMA void Tree::add_shape_rates(const Screw& p_rate, double* pi_rate) noexcept {
  if (b_ == 0) return;
  compute_unit_momenta();
  const LaneScrew root_twist(base_twist_), v_hat(locked_twist(momentum_));
  with_fluid([&](auto is_wet) VMS_PH_INLINED {
    for (std::size_t g = 0; g < group_count(); ++g) {
      const LaneInertia inertia = link_inertia(g, is_wet);
      const LaneScrew u = LaneScrew(motions_[g].twist) - root_twist, h = inertia * v_hat;
      h.store_in(scratch_[g].locked_momentum);
      (dual_bracket(u, h) - inertia * bracket(u, v_hat)).store_in(scratch_[g].bias);
    }
  });
  root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return scratch_[g].locked_momentum; });
  const Screw bias =
      screw_of(root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return scratch_[g].bias; }));
  // The rate of the locked velocity.
  Screw locked_rate = about_centre(p_rate - bias);
  locked_rate = fluid_groups_.empty() ? Screw{locked_rate.linear / total_inertia_.mass,
                                              inverse_inertia_ * locked_rate.angular}
                                      : map_screw(added_mass_.central_mobility, locked_rate);
  for (std::size_t g = 0; g < group_count(); ++g) {
    const LaneScrew u = LaneScrew(motions_[g].twist) - root_twist, screw(link_groups_[g].screw);
    const Lanes rates = bracket(u, screw).dot(LaneScrew(scratch_[g].locked_momentum)) +
                        screw.dot(LaneScrew(scratch_[g].bias));
    add_to_joints(g, -rates, pi_rate);
  }
  for (int i = 0; i < n_; ++i) pi_rate[i] -= coupling(i).dot(locked_rate);
}

}  // namespace vms_ph
