#include "vms_ph_native/symmetric_eigen.hpp"

namespace vms_ph {

void decompose_symmetric(const MatrixV& matrix, SymmetricEigen& result) noexcept {
  result.compute(matrix);
}

}  // namespace vms_ph
