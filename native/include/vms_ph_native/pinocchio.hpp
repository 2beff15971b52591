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
// Pinocchio's spatial algebra, and the names of its models, under those of either major version.
#pragma once

#include <pinocchio/fwd.hpp>

#if __has_include(<pinocchio/spatial.hpp>)
#include <pinocchio/spatial.hpp>
#else
#include <pinocchio/spatial/explog.hpp>
#endif
#include <pinocchio/multibody/fwd.hpp>
