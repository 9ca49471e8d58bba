#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/benchmark_results.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// The runs of a client's result, which must be taken for one of that kind.
inline std::vector<Evidence> read_result(const std::string& text, ResultKind expected) {
  const auto document = document::parse_json(text, "own.json").value();
  EXPECT_EQ(kind_of_result(document), expected);
  return read_benchmark_result(document, expected, "own.json");
}

}  // namespace ridgeline::evidence::validate
