#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/decisions/decisions.hpp"

namespace ridgeline::conform {

/// A recorded decision, small enough to check by hand.
struct SmallCase {
  const char* name;
  const char* text;
  const char* wrong;  ///< A part of the text ...
  const char* with;   ///< ... and what makes the decision another one.
};

inline std::vector<ConformResult> results_of(const std::string& text) {
  const auto document = document::parse_json("[" + text + "]", "cases.json");
  EXPECT_TRUE(is_decisions(*document));
  const auto results = conform_decisions(*document, "cases.json");
  EXPECT_TRUE(results.has_value());
  return results ? *results : std::vector<ConformResult>();
}

/// The case is repeated, and the changed one is not.
inline void expect_equal_or_different(const SmallCase& one) {
  const auto equal = results_of(one.text);
  ASSERT_EQ(equal.size(), 1) << one.name;
  EXPECT_FALSE(equal.front().difference.has_value())
      << one.name << ": " << equal.front().difference->where;
  std::string text = one.text;
  text.replace(text.find(one.wrong), std::string_view(one.wrong).size(), one.with);
  const auto different = results_of(text);
  ASSERT_EQ(different.size(), 1) << one.name;
  EXPECT_TRUE(different.front().difference.has_value()) << one.name;
}

}  // namespace ridgeline::conform
