// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

#include "vms_ph_native/dynamics.hpp"

#include <algorithm>

#include "vms_ph_native/linear_algebra.hpp"
#include "vms_ph_native/tree_inlined.hpp"

namespace vms_ph {
namespace {

constexpr std::size_t kParameters = 10, kParameterGroups = 3;

/// The rate of inertias of bodies that move with twists.
VMS_PH_INLINED inline void store_inertia_rate(const LaneInertia& inertia, const LaneScrew& twist,
                                              LaneRow* rows) {
  const LaneVector &mc = inertia.mc, &v = twist.linear, &w = twist.angular;
  const LaneVector a = w.cross(LaneVector(inertia.xx, inertia.xy, inertia.xz)),
                   b = w.cross(LaneVector(inertia.xy, inertia.yy, inertia.yz)),
                   c = w.cross(LaneVector(inertia.xz, inertia.yz, inertia.zz));
  const Lanes x = mc.x * v.x, y = mc.y * v.y, z = mc.z * v.z;
  store(rows[0], Lanes{});
  (v * inertia.mass + w.cross(mc)).store_in(rows + 1);
  store(rows[4], 2.0 * (a.x + y + z));
  store(rows[5], a.y + b.x - mc.x * v.y - mc.y * v.x);
  store(rows[6], a.z + c.x - mc.x * v.z - mc.z * v.x);
  store(rows[7], 2.0 * (b.y + x + z));
  store(rows[8], b.z + c.y - mc.y * v.z - mc.z * v.y);
  store(rows[9], 2.0 * (c.z + x + y));
}

}  // namespace

void write_momentum_regressor(const Screw& twist_1, const Screw& twist_2, double* out) noexcept {
  const Vector3d &w_1 = twist_1.angular, &w_2 = twist_2.angular;
  out[0] = twist_1.linear.dot(twist_2.linear);
  vector3(out + 1) = twist_1.linear.cross(w_2) + twist_2.linear.cross(w_1);
  out[4] = w_1.x() * w_2.x();
  out[5] = w_1.x() * w_2.y() + w_1.y() * w_2.x();
  out[6] = w_1.y() * w_2.y();
  out[7] = w_1.x() * w_2.z() + w_1.z() * w_2.x();
  out[8] = w_1.y() * w_2.z() + w_1.z() * w_2.y();
  out[9] = w_1.z() * w_2.z();
}

TreeDerivatives::TreeDerivatives(const Tree& tree)
    : base_column_(padded(static_cast<std::size_t>(tree.n()))), groups_(tree.group_count()) {
  const auto n = static_cast<std::size_t>(tree.n()), b = static_cast<std::size_t>(tree.b());
  const std::size_t nv = n + b, bodies = tree.joints_.size(),
                    lane_count = tree.group_count() * kLaneCount;
  stride_ = std::max(padded(base_column_ + b + nv), kParameterGroups * kLaneCount);
  for (Columns* columns : {&state_, &parameters_}) {
    for (auto* matrix :
         {&columns->momentum, &columns->projected, &columns->projected_rate, &columns->force,
          &columns->velocity, &columns->rate, &columns->pi, &columns->pi_rate})
      matrix->assign(nv * stride_, 0.0);
  }
  descendants_ = tree.descendants_;
  ancestors_.assign(bodies * lane_count, 0.0);
  for (std::size_t i = 0; i < bodies; ++i) {
    for (std::size_t j = 0; j < bodies; ++j)
      ancestors_[j * lane_count + i] = descendants_[i * lane_count + j];
    descendants_[i * lane_count + i] = 0.0;
  }
  friction_slopes_.assign(n, 0.0);
  if (!tree.fluid_groups_.empty()) {
    added_mass_rates_.resize(tree.fluid_groups_.size());
    drag_slopes_.setZero(tree.nv(), tree.nv());
    link_jacobian_ = damped_jacobian_ = tree.jacobian_;
  }
  difference_ = change_ = projected_velocity_ = state_.rate;
  locked_inverse_.assign(b * b, 0.0);
  twist_coadjoint_ = momentum_coadjoint_ = locked_inverse_;
  shape_inverse_.assign(n * base_column_, 0.0);
  connection_.assign(b * n, 0.0);
  connection_rate_ = connection_;
  connection_slope_.assign(n * base_column_, 0.0);
  clear_columns(tree, false);
}

/// Clear the columns, but those of momenta by themselves, which a task writes later.
void TreeDerivatives::clear_columns(const Tree& tree, bool is_task) noexcept {
  for (auto* matrix : {&state_.momentum, &state_.projected, &state_.projected_rate, &state_.force})
    std::fill(matrix->begin(), matrix->end(), 0.0);
  for (int i = 0; i < tree.nv() && !is_task; ++i) {
    const std::size_t column = base_column_ + static_cast<std::size_t>(tree.b_ + i);
    row(state_.momentum, i)[column] = -1.0;
    if (i < tree.b_) row(state_.projected, i)[column] = -1.0;
  }
}

VMS_PH_FMA void TreeDerivatives::reset(Tree& tree, bool is_decoupled, const Vector3d& field,
                                       const double* friction_slopes, const Screw& p_rate,
                                       TaskDerivatives* task) noexcept {
  const int b = tree.b_, n = tree.n_;
  if (task != nullptr || task_ != nullptr || tree.has_mimics_) clear_columns(tree, task != nullptr);
  task_ = task;
  is_decoupled_ = is_decoupled && b > 0;
  field_ = field;
  std::copy(friction_slopes, friction_slopes + n, friction_slopes_.data());
  drag_slopes_.setZero();
  tree.factorise();
  if (b > 0) {
    tree.write_connection(connection_.data());
    tree.write_locked_inverse(locked_inverse_.data());
  }
  const auto size = static_cast<std::ptrdiff_t>(n),
             width = static_cast<std::ptrdiff_t>(base_column_);
  std::fill(shape_inverse_.begin(), shape_inverse_.end(), 0.0);
  for (std::ptrdiff_t i = 0; i < size; ++i) shape_inverse_.data()[i * width + i] = 1.0;
  symmetric::solve_rows(tree.factor_.data(), tree.inverse_diagonal_.data(), size, width,
                        shape_inverse_.data(), width, width);
  tree.with_fluid([&](auto is_wet) VMS_PH_INLINED { compute_groups(tree, p_rate, is_wet); });
  compute_pairs(tree);
  // The columns of the base: what turns with it are field and base momentum.
  for (int k = 0; k < b; ++k) {
    const Screw e = tree.base_unit_twist(k);
    const Vector3d field_cross = field.cross(e.angular);
    const auto column = base_column_ + static_cast<std::size_t>(k),
               momentum_column = column + static_cast<std::size_t>(b);
    const Screw &v = tree.base_twist_, p = tree.momentum_;
    const auto stride = static_cast<int>(stride_);
    tree.write_base({tree.net_mass_ * field_cross, tree.net_mc_.cross(field_cross)},
                    &state_.force[column], stride);
    const Screw coadjoint_e = bracket_transpose(v, e);
    if (task == nullptr) tree.write_base(coadjoint_e, &state_.force[momentum_column], stride);
    tree.write_base(coadjoint_e, &twist_coadjoint_[static_cast<std::size_t>(k)], b);
    tree.write_base(bracket_transpose(e, p), &momentum_coadjoint_[static_cast<std::size_t>(k)], b);
    // As far as the field gives it, the second derivative is symmetric.
    for (int i = 0; i < n; ++i) row(state_.force, b + i)[column] = row(state_.force, k)[i];
  }
}

template <class IsWet>
VMS_PH_INLINED inline void TreeDerivatives::compute_groups(Tree& tree, const Screw& p_rate,
                                                           IsWet is_wet) noexcept {
  const LaneVector field(field_);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Tree::LinkGroup& link = tree.link_groups_[g];
    const LaneScrew screw(link.screw), twist(tree.motions_[g].twist);
    const LaneScrew ad_screw = bracket(twist, screw);
    ad_screw.store_in(groups_[g].ad_screw);
    (dual_bracket(screw, LaneScrew(tree.motions_[g].momentum)) +
     tree.subtree_inertia(g, is_wet) * ad_screw)
        .store_in(groups_[g].momentum_change);
    const LaneRow* net_mass = tree.net_mass(g);
    (screw.linear * load(net_mass[0]) + screw.angular.cross(LaneVector(net_mass + 1)))
        .store_in(groups_[g].weight);
    field.cross(screw.angular).store_in(groups_[g].field_cross);
  }
  if (!has_projection()) return;
  const LaneScrew base(tree.base_twist_);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Tree::LinkGroup& link = tree.link_groups_[g];
    const LaneScrew relative_twist = LaneScrew(tree.motions_[g].twist) - base;
    bracket(relative_twist, LaneScrew(link.screw)).store_in(groups_[g].screw_rate);
    store_inertia_rate(LaneInertia(link.link_inertia), relative_twist, groups_[g].inertia_rate);
    if (!is_wet) continue;
    const LaneRow* added_mass = tree.fluid_groups_[g].link_added_mass;
    for (int k = 0; k < 6; ++k) {  // columns: the products with unit twists
      LaneRow unit_twist[6] = {};
      store(unit_twist[k], Lanes{} + 1.0);
      (dual_bracket(relative_twist, LaneScrew(added_mass + 6 * k)) -
       matrix_product(added_mass, bracket(relative_twist, LaneScrew(unit_twist))))
          .store_in(added_mass_rates_[g].rows + 6 * k);
    }
  }
  if (task_ != nullptr) compute_null_motion(tree);
  const SpatialInertia total_inertia_rate(
      tree.root_sum<10>([this](std::size_t g) VMS_PH_INLINED { return groups_[g].inertia_rate; }));
  se3::Adjoint added_mass_rate;
  if (!added_mass_rates_.empty()) {
    added_mass_rate.reshaped() = tree.root_sum<36>(
        [this](std::size_t g) VMS_PH_INLINED { return added_mass_rates_[g].rows; });
  }
  const auto locked_momentum_rate = [&](const Screw& twist) {
    return tree.momentum_of(total_inertia_rate, added_mass_rate, twist);
  };
  if (is_decoupled_) {
    projected_twist_ = tree.locked_twist(tree.momentum_);
    projected_twist_rate_ = tree.locked_twist(p_rate - locked_momentum_rate(projected_twist_));
  }
  const LaneScrew v_hat(projected_twist_), v_hat_rate(projected_twist_rate_);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    const Tree::LinkGroup& link = tree.link_groups_[g];
    const LaneInertia composite_inertia = tree.subtree_inertia(g, is_wet),
                      composite_rate = inertia_rate(g, is_wet);
    const LaneScrew screw(link.screw), screw_rate(group.screw_rate);
    if (is_decoupled_) {
      v_hat.store_in(group.twist);
      v_hat_rate.store_in(group.twist_rate);
      (composite_inertia * v_hat).store_in(group.momentum);
      (composite_rate * v_hat + composite_inertia * v_hat_rate).store_in(group.momentum_rate);
    }
    const LaneScrew twist(group.twist), twist_rate(group.twist_rate), h(group.momentum),
        h_rate(group.momentum_rate);
    const LaneScrew ad_screw = bracket(twist, screw);
    const LaneScrew ad_screw_rate = bracket(twist_rate, screw) + bracket(twist, screw_rate);
    (composite_rate * screw + composite_inertia * screw_rate).store_in(group.unit_momentum_rate);
    ad_screw.store_in(group.projected_ad_screw);
    ad_screw_rate.store_in(group.ad_screw_rate);
    (dual_bracket(screw, h) + composite_inertia * ad_screw).store_in(group.projected_change);
    (dual_bracket(screw_rate, h) + dual_bracket(screw, h_rate) + composite_rate * ad_screw +
     composite_inertia * ad_screw_rate)
        .store_in(group.change_rate);
  }
  if (!is_decoupled_) return;
  // A = M_b^-1 M_bm changes with M_b^-1 (Mdot_bm - Mdot_b A).
  const int b = tree.b_, n = tree.n_;
  double* momenta = change_.data();  // (b,n)
  for (int i = 0; i < n; ++i) {
    const Screw momentum = locked_momentum_rate(tree.apply_mobility(tree.coupling(i)));
    tree.write_base(Screw{} - momentum, momenta + i, n);
  }
  for (std::size_t i = 0; i < tree.joints_.size(); ++i) {
    tree.add_base(screw_at(groups_[i / kLaneCount].unit_momentum_rate, i % kLaneCount),
                  momenta + tree.joints_[i].leader, n);
  }
  products::write({momenta, n, b, 1, n}, {locked_inverse_.data(), b, b, 1, b}, 1.0,
                  connection_rate_.data(), n);
}

/// The motion in the null space of a task, and its rate.
void TreeDerivatives::compute_null_motion(Tree& tree) noexcept {
  projected_twist_ = tree.base_twist(task_->null_velocity);
  projected_twist_rate_ = tree.base_twist(task_->null_velocity_rate);
  const auto twist_rate = [this](std::size_t g) VMS_PH_INLINED { return groups_[g].twist_rate; };
  const auto twist = [this](std::size_t g) VMS_PH_INLINED { return groups_[g].twist; };
  tree.propagate_velocities(projected_twist_rate_, task_->null_velocity_rate.data(), twist_rate);
  tree.propagate_velocities(projected_twist_, task_->null_velocity.data(), twist);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    (LaneScrew(groups_[g].screw_rate) * load(&tree.body_rates_[g * kLaneCount]))
        .store_in(groups_[g].momentum_rate);
  }
  tree.add_from_parents(Screw{},
                        [this](std::size_t g) VMS_PH_INLINED { return groups_[g].momentum_rate; });
  tree.with_fluid([&](auto is_wet) VMS_PH_INLINED {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      Group& group = groups_[g];
      const LaneInertia inertia = tree.link_inertia(g, is_wet), rate = inertia_rate(g, is_wet);
      const LaneScrew v(group.twist),
          a = LaneScrew(group.twist_rate) + LaneScrew(group.momentum_rate);
      a.store_in(group.twist_rate);
      (inertia * v).store_in(group.momentum);
      (rate * v + inertia * a).store_in(group.momentum_rate);
    }
  });
  tree.root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return groups_[g].momentum; });
  tree.root_sum<6>([this](std::size_t g) VMS_PH_INLINED { return groups_[g].momentum_rate; });
}

// Row k and column j: where j moves body k, or is it, the change of the reaction of k; where k
// moves j, the change of the momentum behind j.
VMS_PH_FMA void TreeDerivatives::compute_pairs(const Tree& tree) noexcept {
  const auto compute = [&](auto has_mimics) VMS_PH_INLINED {
    const int b = tree.b_;
    const std::size_t bodies = tree.joints_.size(), lane_count = groups_.size() * kLaneCount;
    const auto write = [&](std::vector<double>& matrix, int i, std::size_t g, const Lanes& values)
                           VMS_PH_INLINED {
                             if (has_mimics) return tree.add_to_joints(g, values, row(matrix, i));
                             store(row(matrix, i) + g * kLaneCount, values);
                           };
    const auto add_rows_of_base = [&](std::vector<double>& matrix, std::size_t g,
                                      const LaneRow* rows_of_base) VMS_PH_INLINED {
      for (int k = 0; k < b; ++k) write(matrix, k, g, load(rows_of_base[tree.base_axis(k)]));
    };
    for (std::size_t g = 0; b > 0 && g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      add_rows_of_base(state_.momentum, g, group.momentum_change);
      LaneRow weight[6] = {};
      LaneVector(group.weight).cross(LaneVector(field_)).store_in(weight + 3);
      add_rows_of_base(state_.force, g, weight);
      if (!has_projection()) continue;
      add_rows_of_base(state_.projected, g, group.projected_change);
      add_rows_of_base(state_.projected_rate, g, group.change_rate);
    }
    for (std::size_t k = 0; k < bodies; ++k) {
      const std::size_t group = k / kLaneCount, lane = k % kLaneCount;
      const Group& group_k = groups_[group];
      const LaneScrew screw(tree.screw(k)), reaction(tree.unit_momentum(k));
      const LaneScrew ad_screw(screw_at(group_k.ad_screw, lane)),
          change(screw_at(group_k.momentum_change, lane));
      const LaneScrew screw_rate(screw_at(group_k.screw_rate, lane)),
          reaction_rate(screw_at(group_k.unit_momentum_rate, lane));
      const LaneVector field_cross(vector_at(group_k.field_cross, lane)),
          weight(vector_at(group_k.weight, lane));
      const int i = b + tree.joints_[k].leader;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Group& other = groups_[g];
        Lanes momentum{}, force{}, projected_momentum{}, projected_rate{};
        const auto add = [&](const std::vector<double>& masks, const LaneScrew& s,
                             const LaneScrew& s_rate, const LaneScrew& s_change,
                             const LaneVector& s_field, const LaneRow* rows,
                             const LaneRow* field_rows, const LaneRow* projected_rows,
                             const LaneRow* rate_rows) VMS_PH_INLINED {
          const Lanes mask = load(&masks[k * lane_count + g * kLaneCount]);
          const LaneScrew screws(rows);
          momentum += mask * s.dot(screws);
          force += mask * (s_change.dot(screws) + s_field.dot(LaneVector(field_rows)));
          if (!has_projection()) return;
          const LaneScrew projections(projected_rows);
          projected_momentum += mask * s.dot(projections);
          projected_rate += mask * (s_rate.dot(projections) + s.dot(LaneScrew(rate_rows)));
        };
        if (g <= group) {
          add(ancestors_, reaction, reaction_rate, change, weight, other.ad_screw,
              other.field_cross, other.projected_ad_screw, other.ad_screw_rate);
        }
        if (g >= group) {
          add(descendants_, screw, screw_rate, ad_screw, field_cross, other.momentum_change,
              other.weight, other.projected_change, other.change_rate);
        }
        write(state_.momentum, i, g, momentum);
        write(state_.force, i, g, force);
        if (!has_projection()) continue;
        write(state_.projected, i, g, projected_momentum);
        write(state_.projected_rate, i, g, projected_rate);
      }
    }
  };
  tree.has_mimics_ ? compute(std::true_type{}) : compute(std::false_type{});
}

void TreeDerivatives::add_wrench(const Tree& tree, int body, const Screw& wrench) noexcept {
  for (int j = body; j >= 0; j = tree.joints_[static_cast<std::size_t>(j)].parent) {
    const auto joint = static_cast<std::size_t>(j);
    const Screw s = tree.screw(joint);
    const Screw change = Screw{} - bracket_transpose(s, wrench);
    const int column = tree.joints_[joint].leader;
    tree.add_base(change, row(state_.force, 0) + column, static_cast<int>(stride_));
    for (int k = tree.joints_[joint].parent; k >= 0;
         k = tree.joints_[static_cast<std::size_t>(k)].parent) {
      const auto ancestor = static_cast<std::size_t>(k);
      row(state_.force, tree.b_ + tree.joints_[ancestor].leader)[column] +=
          tree.screw(ancestor).dot(change);
    }
  }
}

void TreeDerivatives::add_drag(const Tree& tree) noexcept {
  const auto stride = static_cast<Eigen::Index>(stride_);
  for (const Tree::ImmersedLink& link : tree.immersed_links_) {
    const Tree::Frame pose = tree.placement(link.frame);
    const Twist twist = numbers_of(in_axes_of(pose, tree.twist_of(pose.body)));
    const Twist quadratic_drag = link.coefficients.quadratic_drag.cwiseProduct(twist.cwiseAbs());
    const Twist drag = link.coefficients.linear_drag + quadratic_drag;
    add_wrench(tree, pose.body, Tree::in_root_axes(pose, screw_of(-drag.cwiseProduct(twist))));
    tree.write_jacobian(pose, pose.rotation, link_jacobian_.data());
    damped_jacobian_ = (drag + quadratic_drag).asDiagonal() * link_jacobian_;
    products::add(transposed(damped_jacobian_), link_jacobian_, 1.0, drag_slopes_.data(),
                  tree.nv());
    // Its twist in its own axes changes with joints that move it.
    for (int j = pose.body; j >= 0; j = tree.joints_[static_cast<std::size_t>(j)].parent) {
      const auto joint = static_cast<std::size_t>(j);
      const Twist change = numbers_of(
          in_axes_of(pose, screw_at(groups_[joint / kLaneCount].ad_screw, joint % kLaneCount)));
      Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>>(
          row(state_.force, 0) + tree.joints_[joint].leader, tree.nv(),
          Eigen::InnerStride<>(stride)) -= damped_jacobian_.transpose().lazyProduct(change);
    }
  }
}

VMS_PH_FMA void TreeDerivatives::complete_columns(const Tree& tree, Columns& c,
                                                  std::size_t group_count) noexcept {
  const int b = tree.b_, n = tree.n_, nv = b + n;
  const std::size_t width = group_count * kLaneCount, joint_rows = row_offset(b);
  const auto stride = static_cast<Eigen::Index>(stride_),
             padded_n = static_cast<Eigen::Index>(base_column_);
  const products::Rows rows{stride, stride, static_cast<Eigen::Index>(width)};
  const MatrixView connection{connection_.data(), b, n, n, 1},
      inverse{shape_inverse_.data(), n, n, padded_n, 1},
      locked_inverse{locked_inverse_.data(), b, b, b, 1};
  const auto subtract = [&](const double* x, const std::vector<double>& y) VMS_PH_INLINED {
    for (std::size_t i = 0; i < row_offset(nv); i += stride_) {
      for (std::size_t k = i; k < i + width; ++k) difference_[k] = (x ? x[k] : 0.0) - y[k];
    }
  };
  // The velocity of the momenta in `difference_`; the base's are `sign` times others.
  const auto solve = [&](double sign, const std::vector<double>& base_momenta,
                         std::vector<double>& velocity) VMS_PH_INLINED {
    rows.add(connection.transposed(), difference_.data(), &difference_[joint_rows], -1.0);
    rows.write(inverse, &difference_[joint_rows], &velocity[joint_rows]);
    rows.write(locked_inverse, base_momenta.data(), velocity.data(), sign);
    rows.add(connection, &velocity[joint_rows], velocity.data(), -1.0);
  };
  if (task_ != nullptr) {
    rows.add(task_->task_inverse().transposed(), c.projected.data(), c.pi.data(), -1.0);
    rows.write(transposed(task_->extended_jacobian), c.pi.data(), change_.data(), -1.0);
  }
  // The momenta conjugate to the velocity, at which it is fixed, less their change.
  subtract(task_ ? change_.data() : is_decoupled_ ? c.projected.data() : nullptr, c.momentum);
  solve(is_decoupled_ ? -1.0 : 1.0, is_decoupled_ ? c.momentum : difference_, c.velocity);
  for (int i = 0; i < nv; ++i) std::copy_n(row(c.force, i), width, row(c.rate, i));
  // The slope of the kinetic energy changes with the velocity as its momenta do with the joints.
  rows.add({momentum_coadjoint_.data(), b, b, b, 1}, c.velocity.data(), c.rate.data());
  rows.add({state_.momentum.data(), n, nv, 1, stride}, c.velocity.data(), &c.rate[joint_rows]);
  for (int i = 0; i < n; ++i) {
    const double slope = friction_slopes_[static_cast<std::size_t>(i)];
    double *rate_row = row(c.rate, b + i), *velocity_row = row(c.velocity, b + i);
    for (std::size_t k = 0; k < width; ++k) rate_row[k] -= slope * velocity_row[k];
  }
  if (drag_slopes_.size() > 0) rows.add(drag_slopes_, c.velocity.data(), c.rate.data(), -1.0);
  if (task_ != nullptr) {
    rows.add({twist_coadjoint_.data(), b, b, b, 1}, change_.data(), c.rate.data());
    subtract(change_.data(), c.projected);
    solve(1.0, difference_, projected_velocity_);
    double* null_rows = row(c.pi_rate, task_->rows());
    rows.add(transposed(task_->inverse), c.rate.data(), c.pi_rate.data());
    rows.add(task_->task_inverse().transposed(), c.projected_rate.data(), c.pi_rate.data(), -1.0);
    rows.add(task_->force_by_null_velocity, projected_velocity_.data(), c.pi_rate.data());
    rows.add(task_->basis_rate, change_.data(), null_rows);
    rows.add({state_.pi.data(), nv, n, stride, 1}, &c.velocity[joint_rows], c.pi_rate.data());
    rows.add({&state_.pi[base_column_], nv, b, stride, 1}, c.velocity.data(), c.pi_rate.data());
    // From the axes of the null space to its basis.
    for (int i = 0; i < task_->rows(); ++i) std::copy_n(row(c.pi_rate, i), width, row(c.rate, i));
    rows.write(task_->null_space.axes(), null_rows, row(c.rate, task_->rows()));
  }
  if (!is_decoupled_) return;
  subtract(c.projected_rate.data(), c.rate);
  for (int i = b; i < nv; ++i)
    for (std::size_t k = row_offset(i); k < row_offset(i) + width; ++k)
      c.rate[k] -= c.projected_rate[k];
  rows.add(connection.transposed(), difference_.data(), &c.rate[joint_rows]);
  rows.add({connection_rate_.data(), n, b, 1, n}, c.projected.data(), &c.rate[joint_rows]);
  rows.add({connection_slope_.data(), n, n, padded_n, 1}, &c.velocity[joint_rows],
           &c.rate[joint_rows], -1.0);
}

void TreeDerivatives::write(const Tree& tree, const RateDerivatives& out) noexcept {
  const int b = tree.b_, n = tree.n_, nv = b + n;
  const auto b_size = static_cast<std::size_t>(b), n_size = static_cast<std::size_t>(n);
  if (is_decoupled_) {
    for (std::size_t i = 0; i < n_size; ++i) {
      const double* projected_row = row(state_.projected, b + static_cast<int>(i));
      std::copy(projected_row, projected_row + base_column_, &connection_slope_[i * base_column_]);
      for (std::size_t k = 0; k < b_size; ++k) {
        const double factor = connection_[k * n_size + i];
        for (std::size_t j = 0; j < base_column_; ++j) {
          connection_slope_[i * base_column_ + j] -= factor * state_.projected[k * stride_ + j];
        }
      }
    }
  }
  complete_columns(tree, state_, stride_ / kLaneCount);
  const auto write_rows = [&](std::vector<double>& matrix, double* by_q, double* by_momenta) {
    for (int i = 0; i < nv; ++i, by_q += nv, by_momenta += nv) {
      const double* source_row = row(matrix, i);
      std::copy_n(source_row + base_column_, b, by_q);
      std::copy_n(source_row, n, by_q + b);
      std::copy_n(source_row + base_column_ + b_size, nv, by_momenta);
    }
  };
  write_rows(state_.velocity, out.velocity_by_q, out.velocity_by_momenta);
  write_rows(state_.rate, out.rate_by_q, out.rate_by_momenta);
  double* rate_by_force = out.rate_by_force;
  std::fill(rate_by_force, rate_by_force + nv * nv, 0.0);
  for (int i = 0; i < nv; ++i) {
    rate_by_force[i * nv + i] = 1.0;
    for (int k = 0; is_decoupled_ && i >= b && k < b; ++k) {
      rate_by_force[i * nv + k] = -connection_[static_cast<std::size_t>(k * n + i - b)];
    }
  }
  if (task_ != nullptr) {
    // The rows of the map are the columns of its transpose.
    MatrixV transposed_map = task_->inverse;
    transposed_map.rightCols(nv - task_->rows()) =
        product<MatrixV>(task_->null_space.axes(), task_->null_space.Z).transpose();
    std::copy_n(transposed_map.data(), nv * nv, rate_by_force);
  }
  if (out.velocity_by_parameters != nullptr) write_parameters(tree, out);
}

void TreeDerivatives::write_parameters(const Tree& tree, const RateDerivatives& out) noexcept {
  const int b = tree.b_, nv = b + tree.n_, count = tree.body_count() + (b > 0 ? 1 : 0);
  Columns& c = parameters_;
  for (int body = tree.body_count() - count, block = 0; block < count; ++body, ++block) {
    for (auto* matrix : {&c.momentum, &c.projected, &c.projected_rate, &c.force, &c.pi, &c.pi_rate})
      for (int i = 0; i < nv; ++i) std::fill_n(row(*matrix, i), kParameters, 0.0);
    const Tree::Frame body_frame = tree.placement({body, Matrix3d::Identity(), Vector3d::Zero()});
    const Screw twist = tree.twist_of(body), relative = twist - tree.base_twist_;
    const auto motion = [&](const Screw& root, const LaneRow* rows) {
      return task_ && body >= 0 ? screw_at(rows, static_cast<std::size_t>(body) % kLaneCount)
                                : root;
    };
    const Group& body_group = groups_[static_cast<std::size_t>(std::max(0, body)) / kLaneCount];
    const Screw projected = motion(projected_twist_, body_group.twist);
    const Screw body_twist = in_axes_of(body_frame, twist),
                body_projected = in_axes_of(body_frame, projected);
    const Screw body_field = in_axes_of(body_frame, {field_, Vector3d::Zero()});
    const Screw body_projected_rate =
        in_axes_of(body_frame, motion(projected_twist_rate_, body_group.twist_rate) -
                                   bracket(relative, projected));
    // What a twist, its rate along the motion and its change with the velocity pair with.
    const auto add = [&](int i, const Screw& s, const Screw& s_rate, const Screw& ad_screw) {
      double regressor[kParameters];
      const Screw body_screw = in_axes_of(body_frame, s);
      const auto add_row = [&](std::vector<double>& matrix, const Screw& u, const Screw& v) {
        write_momentum_regressor(u, v, regressor);
        double* sums = row(matrix, i);
        for (std::size_t k = 0; k < kParameters; ++k) sums[k] += regressor[k];
      };
      add_row(c.momentum, body_screw, body_twist);
      add_row(c.force, body_screw, body_field);
      if (i >= b) add_row(c.force, in_axes_of(body_frame, ad_screw), body_twist);
      if (!has_projection()) return;
      add_row(c.projected, body_screw, body_projected);
      add_row(c.projected_rate, body_screw, body_projected_rate);
      add_row(c.projected_rate, in_axes_of(body_frame, s_rate - bracket(relative, s)),
              body_projected);
    };
    for (int k = 0; k < b; ++k) add(k, tree.base_unit_twist(k), {}, {});
    for (int j = body; j >= 0; j = tree.joints_[static_cast<std::size_t>(j)].parent) {
      const auto k = static_cast<std::size_t>(j);
      const Group& group = groups_[k / kLaneCount];
      add(b + tree.joints_[k].leader, tree.screw(k), screw_at(group.screw_rate, k % kLaneCount),
          screw_at(group.ad_screw, k % kLaneCount));
    }
    complete_columns(tree, c, kParameterGroups);
    for (int i = 0; i < nv; ++i) {
      const int start = (i * count + block) * static_cast<int>(kParameters);
      std::copy_n(row(c.velocity, i), kParameters, out.velocity_by_parameters + start);
      std::copy_n(row(c.rate, i), kParameters, out.rate_by_parameters + start);
    }
  }
}

}  // namespace vms_ph
