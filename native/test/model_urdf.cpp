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

// What a URDF says about rotors is in the model.
#include <string>

#include "arm.hpp"
#include "check.hpp"
#include "vms_ph_native/model.hpp"

using vms_ph::Base;
using vms_ph::Model;
using vms_ph::ModelError;

namespace {

// The arm with <dynamics> in its elbow.
std::string arm_with(const std::string& dynamics) {
  std::string xml = kArm;
  return xml.insert(xml.rfind("</joint>"), dynamics);
}

}  // namespace

int main() {
  for (const Base base : {Base::fixed, Base::floating}) {
    const auto model =
        Model::from_urdf(arm_with("<dynamics armature = '0.25' damping='1'/>"), base);
    CHECK(model.pinocchio().armature.tail(2) == Eigen::Vector2d(0.0, 0.25));
    CHECK(model.pinocchio().armature.head(model.b()).isZero(0.0));
  }
  CHECK(Model::from_urdf(kArm, Base::fixed).pinocchio().armature.isZero(0.0));
  try {
    Model::from_urdf(arm_with("<dynamics armature=\"-1\" damping=\"0\"/>"), Base::fixed);
    CHECK(!"accepted");
  } catch (const ModelError& error) {
    CHECK_HAS(error.what(), "the armature of joint 'elbow' must be finite, not negative");
  }
}
