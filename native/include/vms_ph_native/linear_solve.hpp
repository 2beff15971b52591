// Copyright 2026 The vms_ph authors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

// Square systems of linear equations.
#pragma once

#include <Eigen/Core>

namespace vms_ph {

/// Replace B (n,k) by the solution of A X = B, by elimination with partial pivoting, which destroys
/// A (n,n); false where a pivot is not larger than `least`. Eigen's decomposition, in blocks, takes
/// a compiler four seconds.
bool solve_square(Eigen::Ref<Eigen::MatrixXd> A, Eigen::Ref<Eigen::MatrixXd> B,
                  double least) noexcept;

}  // namespace vms_ph
