// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The passes along a tree: where its bodies are and how they move, the factors of its mass matrix,
// and what follows from efforts and momenta.
#include <algorithm>

#include <Eigen/LU>

#include "vms_ph_native/lanes.hpp"
#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {

/// Sines and cosines of all joints at once; pairs have theirs in the configuration.
VMS_PH_INLINED inline void Tree::compute_angles(const double* q) noexcept {
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (!joints_[i].is_continuous) angles_[i] = position(joints_[i], q);
  }
  sines_and_cosines(angles_.data(), angles_.size(), sines_.data(), cosines_.data());
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (!joints_[i].is_continuous) continue;
    // Scaled to length one, to second order: pairs are accepted as they come from integration,
    // and in common axes a rotation that stretches does so for all bodies behind it.
    const double c = q[joints_[i].position_index], s = q[joints_[i].position_index + 1];
    const double scale = 1.5 - 0.5 * (c * c + s * s);
    cosines_[i] = scale * c;
    sines_[i] = scale * s;
  }
}

VMS_PH_FMA void Tree::update_poses(const double* q) noexcept {
  compute_angles(q);
  for (std::size_t g = 0; g < group_count(); ++g) {
    const LinkConstants& link = link_constants_[g];
    Scratch& scratch = scratch_[g];
    const Lanes cosine = load(&cosines_[g * kLaneCount]), sine = load(&sines_[g * kLaneCount]),
                position = load(&angles_[g * kLaneCount]);
    for (int k = 0; k < 9; ++k) {
      store(scratch.rotation[k],
            load(link.fixed[k]) + cosine * load(link.cosine[k]) + sine * load(link.sine[k]));
    }
    for (int k = 0; k < 3; ++k) {
      store(scratch.translation[k], load(link.offset[k]) + position * load(link.linear_rate[k]));
    }
  }
  Lanes x{}, y{}, z{}, origin{};  // columns of the pose of a body, with a zero each
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Scratch& scratch = scratch_[i / kLaneCount];
    const std::size_t lane = i % kLaneCount;
    if (joints_[i].parent < 0) {
      x = Lanes{1.0}, y = Lanes{0.0, 1.0}, z = Lanes{0.0, 0.0, 1.0}, origin = Lanes{};
    } else if (const auto parent = static_cast<std::size_t>(joints_[i].parent); parent + 1 != i) {
      const auto column = [&](const LaneRow* rows) VMS_PH_INLINED {
        const Vector3d v = vector_at(rows, parent % kLaneCount);
        return Lanes{v.x(), v.y(), v.z(), 0.0};
      };
      const LinkGroup& group = link_groups_[parent / kLaneCount];
      x = column(group.rotation), y = column(group.rotation + 3), z = column(group.rotation + 6);
      origin = column(group.origin);
    }
    const auto rotate = [&](const LaneRow* rows) VMS_PH_INLINED {
      return x * rows[0][lane] + y * rows[1][lane] + z * rows[2][lane];
    };
    origin += rotate(scratch.translation);
    const Lanes columns[] = {rotate(scratch.rotation), rotate(scratch.rotation + 3),
                             rotate(scratch.rotation + 6)};
    x = columns[0], y = columns[1], z = columns[2];
    LinkGroup& group = link_groups_[i / kLaneCount];
    for (std::size_t k = 0; k < 3; ++k) {
      group.rotation[k][lane] = x[k];
      group.rotation[k + 3][lane] = y[k];
      group.rotation[k + 6][lane] = z[k];
      group.origin[k][lane] = origin[k];
    }
  }
}

VMS_PH_FMA void Tree::set_configuration(const VectorXd& q) noexcept {
  const int count = position_count();
  if (is_computed_ && q.tail(count) == computed_q_.tail(count)) return;
  computed_q_.tail(count) = q.tail(count);
  is_computed_ = true;
  has_unit_momenta_ = is_factorised_ = false;
  update_poses(q.data());
  for (std::size_t g = 0; g < group_count(); ++g) {
    const LinkConstants& link = link_constants_[g];
    LinkGroup& group = link_groups_[g];
    const LaneMatrix rotation(group.rotation);
    const LaneVector origin(group.origin), angular_axis = rotation * LaneVector(link.axis);
    const LaneVector linear_axis =
        rotation * LaneVector(link.linear_axis) + origin.cross(angular_axis);
    LaneScrew(linear_axis, angular_axis).store_in(group.screw);
    const LaneVector centre = origin + rotation * LaneVector(link.centre);
    const LaneInertia link_inertia(load(link.mass), centre, rotation, link.inertia);
    link_inertia.store_in(group.link_inertia);
    link_inertia.store_in(group.composite_inertia);
  }
  const auto rows = [this](std::size_t g)
                        VMS_PH_INLINED { return link_groups_[g].composite_inertia; };
  total_inertia_ = SpatialInertia(root_sum<10>(rows));
  total_inertia_.mass += root_inertia_.mass;
  total_inertia_.mc += root_inertia_.mc;
  total_inertia_.rotational += root_inertia_.rotational;
  centre_of_mass_ = total_inertia_.mc / total_inertia_.mass;
  net_mc_ = total_inertia_.mc;
  if (!fluid_groups_.empty()) place_fluid();
  if (b_ == 0) return;
  Matrix3d central_inertia =
      total_inertia_.rotational + total_inertia_.mc * centre_of_mass_.transpose();
  central_inertia.diagonal().array() -= total_inertia_.mc.dot(centre_of_mass_);
  if (b_ == 6) {
    inverse_inertia_ = central_inertia.inverse();
  } else {
    inverse_inertia_(2, 2) = 1.0 / central_inertia(2, 2);
  }
}

/// Added masses and displaced fluid at the poses of the bodies.
void Tree::place_fluid() noexcept {
  for (std::size_t g = 0; g < group_count(); ++g) {
    fluid_groups_[g] = {};
    const LaneRow* composite_rows = link_groups_[g].composite_inertia;
    for (int k = 0; k < 4; ++k) store(fluid_groups_[g].net_mass[k], load(composite_rows[k]));
  }
  added_mass_.root.setZero();
  added_mass_.total.setZero();
  for (const ImmersedLink& link : immersed_links_) {
    const Frame pose = placement(link.frame);
    const Vector3d displaced_mc =
        link.displaced_mass * (pose.origin + pose.rotation * link.coefficients.centre_of_buoyancy);
    net_mc_ -= displaced_mc;
    se3::Adjoint to_link;
    to_link << pose.rotation.transpose(), -pose.rotation.transpose() * se3::skew(pose.origin),
        Matrix3d::Zero(), pose.rotation.transpose();
    const se3::Adjoint momentum_map = link.coefficients.added_mass.lazyProduct(to_link);
    const se3::Adjoint added_mass = to_link.transpose().lazyProduct(momentum_map);
    (pose.body < 0 ? added_mass_.root : added_mass_.total) += added_mass;
    for (int i = pose.body; i >= 0; i = joints_[static_cast<std::size_t>(i)].parent) {
      const auto body = static_cast<std::size_t>(i);
      FluidGroup& group = fluid_groups_[body / kLaneCount];
      const std::size_t lane = body % kLaneCount;
      group.net_mass[0][lane] -= link.displaced_mass;
      for (int k = 0; k < 3; ++k) group.net_mass[k + 1][lane] -= displaced_mc[k];
      for (int k = 0; k < 36; ++k) {
        group.added_mass[k][lane] += added_mass.data()[k];
        if (i == pose.body) group.link_added_mass[k][lane] += added_mass.data()[k];
      }
    }
  }
  added_mass_.total += added_mass_.root;
  MatrixB inertia(b_, b_), inverse = MatrixB::Identity(b_, b_);
  for (int k = 0; k < b_; ++k) {
    Screw twist = base_unit_twist(k);  // about the centre of mass
    twist.linear += centre_of_mass_.cross(twist.angular);
    write_base(about_centre(momentum_of(total_inertia_, added_mass_.total, twist)), &inertia(0, k));
  }
  Cholesky(inertia).solve_columns(inverse);
  se3::Adjoint& central_mobility = added_mass_.central_mobility;
  central_mobility.setZero();
  for (int i = 0; i < b_; ++i) {
    for (int k = 0; k < b_; ++k) central_mobility(base_axis(i), base_axis(k)) = inverse(i, k);
  }
  added_mass_.mobility = central_mobility;
  added_mass_.mobility.topRows<3>() +=
      se3::skew(centre_of_mass_) * central_mobility.bottomRows<3>();
}

void Tree::copy_configuration(const Tree& other) noexcept {
  computed_q_ = other.computed_q_;
  is_computed_ = other.is_computed_;
  has_unit_momenta_ = other.has_unit_momenta_;
  is_factorised_ = false;
  link_groups_ = other.link_groups_;
  columns_ = other.columns_;
  total_inertia_ = other.total_inertia_;
  centre_of_mass_ = other.centre_of_mass_;
  inverse_inertia_ = other.inverse_inertia_;
  net_mc_ = other.net_mc_;
  if (fluid_groups_.empty()) return;
  fluid_groups_ = other.fluid_groups_;
  added_mass_ = other.added_mass_;
}

VMS_PH_FMA void Tree::set_velocity(const VectorXd& v) noexcept {
  const Screw& root_twist = base_twist_ = base_twist(v);
  momentum_ = b_ == 0 ? Screw{} : momentum_of(root_inertia_, added_mass_.root, root_twist);
  double twice_kinetic_energy = momentum_.dot(root_twist);
  joint_rates_ = v.tail(n_);
  propagate_velocities(root_twist, v.data(),
                       [this](std::size_t g) VMS_PH_INLINED { return motions_[g].twist; });
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const double rate = joint_rates_[joints_[i].leader];
    twice_kinetic_energy += joints_[i].armature * rate * rate;
  }
  Lanes twice_energies{};
  with_fluid([&](auto is_wet) VMS_PH_INLINED {
    for (std::size_t g = 0; g < group_count(); ++g) {
      const LaneScrew twist(motions_[g].twist);
      const LaneScrew momentum = link_inertia(g, is_wet) * twist;
      momentum.store_in(motions_[g].momentum);
      twice_energies += momentum.dot(twist);
    }
  });
  kinetic_energy_ = 0.5 * (twice_kinetic_energy + sum_of(twice_energies));
  momentum_ +=
      screw_of(root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return motions_[g].momentum; }));
}

VMS_PH_FMA void Tree::compute_unit_momenta() noexcept {
  if (has_unit_momenta_) return;
  has_unit_momenta_ = true;
  with_fluid([&](auto is_wet) VMS_PH_INLINED {
    for (std::size_t g = 0; g < group_count(); ++g) {
      LinkGroup& group = link_groups_[g];
      (subtree_inertia(g, is_wet) * LaneScrew(group.screw)).store_in(group.unit_momentum);
    }
  });
  if (b_ == 0) return;
  if (has_mimics_) {
    std::fill(columns_.begin(), columns_.end(), Column{});
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      const auto index = static_cast<std::size_t>(joints_[i].leader);
      Screw coupling_sum = coupling(joints_[i].leader);
      coupling_sum += about_centre(unit_momentum(i));
      set_lane(coupling_sum, columns_[index / kLaneCount].coupling, index % kLaneCount);
    }
  } else {
    const LaneVector centre(centre_of_mass_);
    for (std::size_t g = 0; g < group_count(); ++g) {
      LaneScrew column(link_groups_[g].unit_momentum);
      // Only what acts on a planar base.
      if (b_ == 3) {
        const Lanes zeros{};
        column = {{column.linear.x, column.linear.y, zeros}, {zeros, zeros, column.angular.z}};
      }
      column.angular = column.angular - centre.cross(column.linear);
      column.store_in(columns_[g].coupling);
    }
  }
  if (!fluid_groups_.empty()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_); ++i) {
      set_lane(map_screw(added_mass_.central_mobility, coupling(static_cast<int>(i))),
               columns_[i / kLaneCount].connection, i % kLaneCount);
    }
    return;
  }
  const Lanes inverse_mass = Lanes{} + 1.0 / total_inertia_.mass;
  for (Column& column : columns_) {
    const LaneScrew coupling(column.coupling);
    LaneVector angular_part = LaneVector(inverse_inertia_.col(0)) * coupling.angular.x;
    angular_part = angular_part + LaneVector(inverse_inertia_.col(1)) * coupling.angular.y;
    angular_part = angular_part + LaneVector(inverse_inertia_.col(2)) * coupling.angular.z;
    LaneScrew(coupling.linear * inverse_mass, angular_part).store_in(column.connection);
  }
}

VMS_PH_FMA void Tree::factorise() noexcept {
  if (is_factorised_) return;
  is_factorised_ = true;
  compute_unit_momenta();
  const auto n = static_cast<std::size_t>(n_), stride = columns_.size() * kLaneCount;
  if (has_mimics_) {
    write_shape_inertia(factor_.data(), static_cast<int>(stride));
  } else {
    // The columns of the shape inertia below the diagonal.
    for (std::size_t j = 0; j < n; ++j) {
      double* column = &factor_[j * stride];
      const LaneScrew joint_screw(screw(j)),
          base_coupling(b_ > 0 ? coupling(static_cast<int>(j)) : Screw{});
      for (std::size_t g = j / kLaneCount; g < group_count(); ++g) {
        Lanes values =
            joint_screw.dot(LaneScrew(link_groups_[g].unit_momentum)) * load(descendant_mask(j, g));
        if (b_ > 0) values -= base_coupling.dot(LaneScrew(columns_[g].connection));
        store(column + g * kLaneCount, values);
      }
      column[j] += joints_[j].armature;
    }
  }
  const auto size = static_cast<std::ptrdiff_t>(n);
  if (!symmetric::factorise(factor_.data(), inverse_diagonal_.data(), size,
                            static_cast<std::ptrdiff_t>(stride))) {
    std::fill(inverse_diagonal_.begin(), inverse_diagonal_.end(), kNaN);
  }
}

/// Replace `right_side_` by its product with the inverse shape inertia.
VMS_PH_INLINED inline void Tree::solve_right_side() noexcept {
  right_side_.tail(right_side_.size() - n_).setZero();  // also after numbers that were not finite
  symmetric::solve(factor_.data(), inverse_diagonal_.data(), n_,
                   static_cast<std::ptrdiff_t>(columns_.size() * kLaneCount), right_side_.data());
}

VMS_PH_FMA void Tree::solve_shape_rates(double* pi_hat) noexcept {
  factorise();
  std::copy(pi_hat, pi_hat + n_, right_side_.data());
  solve_right_side();
  std::copy(right_side_.data(), right_side_.data() + n_, pi_hat);
}

Vector3d Tree::linear_coupling(int joint) noexcept {
  compute_unit_momenta();
  return coupling(joint).linear;
}

/// Write the velocity (nv,) of a momentum and of those of the joints in `right_side_`.
VMS_PH_FMA void Tree::solve_mass(const Screw& momentum, VectorXd& v) noexcept {
  factorise();
  if (b_ == 0) {
    solve_right_side();
    v = right_side_.head(n_);
    return;
  }
  const Screw p = about_centre(momentum);
  const LaneScrew lane_momentum(p);
  for (std::size_t g = 0; g < columns_.size(); ++g) {
    double* right_side = right_side_.data() + g * kLaneCount;
    store(right_side, load(right_side) - LaneScrew(columns_[g].connection).dot(lane_momentum));
  }
  solve_right_side();
  complete_velocity(p, v);
}

/// Write the velocity (nv,) of the rates in `right_side_` and a momentum about the mass centre.
VMS_PH_INLINED inline void Tree::complete_velocity(Screw p, VectorXd& v) const noexcept {
  for (int i = 0; i < n_; ++i) {
    const Screw column = coupling(i);
    p.linear -= right_side_[i] * column.linear;
    p.angular -= right_side_[i] * column.angular;
  }
  set_base(apply_mobility(p), v);
  v.tail(n_) = right_side_.head(n_);
}

VMS_PH_FMA void Tree::solve_decoupled(const Screw& p, const double* pi_hat, VectorXd& v) noexcept {
  factorise();
  std::copy(pi_hat, pi_hat + n_, right_side_.data());
  solve_right_side();
  complete_velocity(b_ > 0 ? about_centre(p) : Screw{}, v);
}

// Newton-Euler recursion with zero accelerations of joints and base.
VMS_PH_FMA void Tree::solve_acceleration(const VectorXd& v, const VectorXd& force,
                                         VectorXd& a) noexcept {
  const Screw root_twist = base_twist(v);
  propagate_velocities(root_twist, v.data(),
                       [this](std::size_t g) VMS_PH_INLINED { return motions_[g].twist; });
  for (std::size_t g = 0; g < group_count(); ++g) {
    const LaneScrew joint_twist =
        LaneScrew(link_groups_[g].screw) * load(&body_rates_[g * kLaneCount]);
    bracket(LaneScrew(motions_[g].twist), joint_twist).store_in(scratch_[g].acceleration);
  }
  const Screw root_acceleration{-field_, Vector3d::Zero()};
  add_from_parents(root_acceleration,
                   [this](std::size_t g) VMS_PH_INLINED { return scratch_[g].acceleration; });
  with_fluid([&](auto is_wet) VMS_PH_INLINED {
    for (std::size_t g = 0; g < group_count(); ++g) {
      const LaneInertia inertia = link_inertia(g, is_wet);
      const LaneScrew twist(motions_[g].twist),
          inertial_force = inertia * LaneScrew(scratch_[g].acceleration);
      (inertial_force + dual_bracket(twist, inertia * twist)).store_in(scratch_[g].force);
    }
  });
  const Screw link_forces =
      screw_of(root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return scratch_[g].force; }));
  right_side_.head(n_) = force.tail(n_);
  for (std::size_t g = 0; g < group_count(); ++g) {
    const Lanes joint_effort = LaneScrew(link_groups_[g].screw).dot(LaneScrew(scratch_[g].force));
    add_to_joints(g, -joint_effort, right_side_.data());
  }
  Screw net_wrench;
  if (b_ > 0) {
    const Screw root_force =
        momentum_of(root_inertia_, added_mass_.root, root_acceleration) -
        bracket_transpose(root_twist, momentum_of(root_inertia_, added_mass_.root, root_twist));
    net_wrench = base_twist(force) - link_forces - root_force;
  }
  solve_mass(net_wrench, a);
}

}  // namespace vms_ph
