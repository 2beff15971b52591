// A motion split by a task, in what a control law needs of it, through singularities.
#pragma once

#include "vms_ph_native/evaluation.hpp"
#include "vms_ph_native/sizes.hpp"
#include "vms_ph_native/task_svd.hpp"

namespace vms_ph {

/// Velocity in the task and in its null space, with the maps that damp them.
///
/// Where the task is regular the null space has an orthonormal basis Z, N = (Z M Z^T)^-1 Z M, and
/// N^T N does not depend on which. Where a singular value of J falls to zero the kernel gains a
/// direction at once, and so would the damping of the null space jump. There Z is replaced by
/// S = h(J^T J), a continuous function with h = 1 at zero and h = 0 from the threshold on:
/// directions that the task loses are handed to the null space step by step.
class SplitMotion {
 public:
  /// Split the velocity of an evaluation.
  ///
  /// @param jacobian        of the task, (3,nv), and its decomposition.
  /// @param singular_below  smallest singular value at which J counts as regular.
  void compute(Evaluation& d, const Matrix3V& jacobian, const TaskSvd& svd,
               double singular_below) noexcept;

  /// The velocity that damping would leave at the end of a sample, (nv,): (M + dt D) w = M v with
  /// D = J^T D_t J + N^T D_nu N. To damp w instead of v, as an implicit scheme does, never
  /// overshoots: held over the sample, D v shakes a joint whose inertia is below dt D / 2.
  VectorV damped_velocity(Evaluation& d, const Matrix3V& jacobian, double damping_task,
                          double damping_null, double dt) const noexcept;

  /// The power that goes from null-space into task energy by inertia alone, W:
  /// pi^T Jdot n - u^T C n with v = u + n and M u = J^T pi. Zero near a singularity, where the
  /// split is not that of the task.
  double exchange(Evaluation& d, const TaskSvd& svd, const Matrix3V& jacobian_rate) const noexcept;

  Eigen::Vector3d eta;    ///< J v
  MatrixV null_map;       ///< N (k,nv)
  VectorV nu;             ///< null-space velocity N v, (k,)
  VectorV null_velocity;  ///< its velocity of the joints, (nv,)
  double kinetic_null = 0.0, smallest = 0.0;
  bool is_regular = true;

 private:
  double singular_below_ = 0.0;
};

/// N = (Z M Z^T)^-1 Z M (k,nv) of orthonormal rows Z (k,nv) and a mass matrix.
MatrixV null_space_map(const MatrixV& z, const MatrixV& mass) noexcept;

}  // namespace vms_ph
