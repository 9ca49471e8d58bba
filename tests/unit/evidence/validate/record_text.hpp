#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

/// Records as text, and what was read of them.
namespace ridgeline::evidence::validate {

/// With `to` in place of the first `from`, which must be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The setting of the scenario that a record states; empty: none.
inline std::string stated(const Evidence& evidence, std::string_view path) {
  for (const auto& [known, text] : evidence.stated) {
    if (known == path) {
      return text;
    }
  }
  return "";
}

}  // namespace ridgeline::evidence::validate
