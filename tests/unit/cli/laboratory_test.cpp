#include "cli/laboratory.hpp"

#include <string>
#include <string_view>
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

TEST(Laboratory, KnowsAModelThatIsItsOwn) {
  EXPECT_TRUE(asks_for_laboratory(std::vector<std::string>{"--compare", "kernel,kernel-first"}));
  EXPECT_TRUE(asks_for_laboratory(std::vector<std::string>{"--latency=kernel-first"}));
  EXPECT_FALSE(asks_for_laboratory(std::vector<std::string>{"--latency", "kernel-vllm"}));
  EXPECT_FALSE(asks_for_laboratory(std::vector<std::string>{"-o", "kernel-first.json"}))
      << "a file may be called so";
}

TEST(Laboratory, KnowsWordsOfValidateThatAreItsOwn) {
  const auto asks = [](std::string_view verb, const std::vector<std::string>& words) {
    return asks_for_records(verb, words);
  };
  EXPECT_TRUE(asks("validate", {"runs.jsonl", "--ranking"}));
  EXPECT_TRUE(asks("validate", {"--leave_out=gpu"}));
  EXPECT_TRUE(asks("validate", {"--fail-over", "e2e=5,regret@0.5=1"}));
  EXPECT_TRUE(asks("validate", {"--fail-over=violations@0.9=5"}));
  EXPECT_FALSE(asks("validate", {"-o", "by-regret@0.9.json"})) << "a file may be called so";
  EXPECT_FALSE(asks("validate", {"--coverage", "--fail-over", "e2e=5"}));
  EXPECT_FALSE(asks("calibrate", {"--ranking"}));
}

}  // namespace
}  // namespace ridgeline::cli
