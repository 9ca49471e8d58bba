#include "cli/laboratory.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/record_reader.hpp"

namespace ridgeline::cli {
namespace {

TEST(Laboratory, KnowsItsVerbsAndItsRecords) {
  EXPECT_TRUE(is_laboratorys("conform"));
  EXPECT_FALSE(is_laboratorys("run"));
  std::vector<evidence::validate::Evidence> records(2);
  EXPECT_FALSE(needs_laboratory(records));
  records[1].problem = evidence::validate::kNeedsLaboratory;
  EXPECT_TRUE(needs_laboratory(records));
}

}  // namespace
}  // namespace ridgeline::cli
