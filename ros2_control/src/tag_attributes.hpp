// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// The elements of a robot description and the numbers in their attributes.
#pragma once

#include <optional>
#include <string>

#include <Eigen/Core>
#include <boost/property_tree/ptree.hpp>

namespace vms_ph_ros2_control {

using boost::property_tree::ptree;

/// Relative error of numbers that are equal, or of an axis of length one, but for the last digits.
inline constexpr double kRounded = 1e-9;

/// The element of a robot that has a name, if the text has it.
///
/// @throws vms_ph::ModelError  the text is not XML.
std::optional<ptree> element_of(const std::string& urdf, const std::string& name);

/// Whether an element has an attribute.
bool has(const ptree& element, const std::string& key);

/// The text of an attribute; empty without it.
std::string text_of(const ptree& element, const std::string& key);

/// An attribute of numbers, of which a certain count is accepted.
///
/// @param what  name of the element, in messages.
/// @throws vms_ph::ModelError  they are not numbers, or of another count. As those below, its
///                             message names the attribute, what was given and what is accepted.
Eigen::VectorXd numbers(const ptree& element, const std::string& what, const std::string& key,
                        Eigen::Index count);

/// The same, all finite; zero without the attribute.
Eigen::VectorXd finite_numbers(const ptree& element, const std::string& what,
                               const std::string& key, Eigen::Index count);

double number(const ptree& element, const std::string& what, const std::string& key,
              std::optional<double> otherwise = std::nullopt);

/// A number that is not negative; infinite only where that is what it is without the attribute.
double size_of(const ptree& element, const std::string& what, const std::string& key,
               double otherwise = 0.0);

/// An axis, of length one.
Eigen::Vector3d axis_of(const ptree& element, const std::string& what, const std::string& key);

}  // namespace vms_ph_ros2_control
