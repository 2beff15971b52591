// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

// Tags of a URDF that Pinocchio's parser does not pass on, found in the text.
#pragma once

#include <optional>
#include <string>

namespace vms_ph::urdf {

constexpr const char* kSpace = " \t\r\n";

inline std::string without_comments(std::string xml) {
  for (auto at = xml.find("<!--"); at != std::string::npos; at = xml.find("<!--", at)) {
    const auto end = xml.find("-->", at + 4);
    xml.erase(at, end == std::string::npos ? end : end + 3 - at);
  }
  return xml;
}

/// The text of the tag that begins at a position, up to its bracket.
inline std::string tag_at(const std::string& xml, std::size_t at) {
  return xml.substr(at, xml.find('>', at) - at);
}

/// The value of an attribute of a tag.
inline std::optional<std::string> attribute(const std::string& tag, const std::string& name) {
  for (auto equals = tag.find('='); equals != std::string::npos;) {
    const auto quote = tag.find_first_of("\"'", equals);
    const auto end = quote == std::string::npos ? quote : tag.find(tag[quote], quote + 1);
    if (end == std::string::npos) return std::nullopt;
    const auto last = tag.find_last_not_of(kSpace, equals - 1);
    const auto first = tag.find_last_of(kSpace, last) + 1;
    if (tag.compare(first, last + 1 - first, name) == 0) {
      return tag.substr(quote + 1, end - quote - 1);
    }
    equals = tag.find('=', end);
  }
  return std::nullopt;
}

/// The tag of the joint whose element encloses a position; empty if none does.
inline std::string joint_around(const std::string& xml, std::size_t at) {
  const auto joint = xml.rfind("<joint", at);
  return joint == std::string::npos ? "" : tag_at(xml, joint);
}

}  // namespace vms_ph::urdf
