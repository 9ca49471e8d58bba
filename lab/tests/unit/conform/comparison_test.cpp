#include "lab/conform/comparison.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {
namespace {

/// One request of 4 tokens and one token of answer, alone: one step, four of five usable blocks
/// free.
constexpr const char* kOneStep =
    R"({"step": 0, "scheduled": {"A": 4}, "new": ["A"], "running": ["A"], "waiting": [],
        "free_blocks": 4, "tokens_out": {"A": 1}, "finished": ["A"], "free_blocks_after": 5})";

std::optional<Difference> difference_of(const std::string& result) {
  core::Errors errors;
  Recording recording;
  read_configuration(*document::parse_json(R"({"num_blocks": 6, "block_size": 4, "max_num_seqs": 2,
    "max_num_batched_tokens": 8, "max_model_len": 16, "enable_prefix_caching": false})",
                                           "cfg"),
                     recording,
                     errors);
  read_requests(
      *document::parse_json(
          R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 4]], "max_tokens": 1}])", "requests"),
      recording,
      errors);
  EXPECT_TRUE(errors.empty());
  const engine::Profile profile = engine::find_profile("0.15").value();
  const auto probe = engine::make_reference_probe(options_for(recording, profile));
  return compare(*document::parse_json(result, "result"), recording, profile, *probe);
}

void expect_difference(const std::string& result,
                       const std::string& where,
                       const std::string& recorded,
                       const std::string& ours) {
  const auto found = difference_of(result);
  ASSERT_TRUE(found.has_value()) << result;
  EXPECT_EQ(found->where, where);
  EXPECT_EQ(found->recorded, recorded);
  EXPECT_EQ(found->ours, ours);
}

std::string with_trace(const std::string& records, const std::string& rest = "") {
  return R"({"trace": [)" + records + "]" + rest + "}";
}

/// Totals and rows; A ends in `step`.
std::string whole(const std::string& step) {
  return R"(, "totals": {"num_preemptions": 0, "final_free_queue": [2, 3, 4, 5, 1]},
            "per_request": {"A": {"first_sched_step": 0, "first_token_step": 0,
                                  "output_tokens": 1, "finish_step": )" +
         step + "}}";
}

TEST(Comparison, EqualRecordsHaveNoDifference) {
  EXPECT_FALSE(difference_of(with_trace(kOneStep)).has_value());
  EXPECT_FALSE(difference_of(with_trace(kOneStep, whole("0"))).has_value());
}

TEST(Comparison, MissingAndSuperfluousRecordsAreNamed) {
  expect_difference(with_trace(""), "record 0", "no record", "a record of step 0");
  const auto second = difference_of(with_trace(std::string(kOneStep) + ", " + kOneStep));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->where, "record 1");
  EXPECT_EQ(second->ours, "no record");
  expect_difference(with_trace("7"), "record 0", "7", "a map");
}

TEST(Comparison, ADifferentOrMissingValueIsNamedWithBothSides) {
  std::string record = kOneStep;
  record.replace(record.find("\"free_blocks\": 4"), 16, "\"free_blocks\": 3");
  expect_difference(with_trace(record), "record 0 (step 0): free_blocks", "3", "4");
  record = kOneStep;
  record.replace(record.find("\"free_blocks\": 4, "), 18, "");
  expect_difference(with_trace(record), "record 0 (step 0): free_blocks", "absent", "4");
  expect_difference(with_trace(kOneStep, whole("3")), "per_request.A.finish_step", "3", "0");
}

}  // namespace
}  // namespace ridgeline::conform
