// Pinocchio's headers under the names of either major version.
#pragma once

#include <pinocchio/fwd.hpp>

#if __has_include(<pinocchio/multibody.hpp>)
#include <pinocchio/multibody.hpp>
#include <pinocchio/spatial.hpp>
#else
#include <pinocchio/multibody/data.hpp>
#include <pinocchio/multibody/model.hpp>
#include <pinocchio/spatial/explog.hpp>
#endif
